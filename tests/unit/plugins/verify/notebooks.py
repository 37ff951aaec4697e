"""Notebooks for the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def cell(source: str, count: int | None = None, outputs: str | list[Json] | None = None, *tags: str) -> Json:
    """Returns a code cell; a text is its printed output."""
    if isinstance(outputs, str):
        outputs = [{"output_type": "stream", "name": "stdout", "text": outputs}]
    metadata = {"tags": [*tags]} if tags else {}
    return {
        "cell_type": "code",
        "metadata": metadata,
        "source": source,
        "outputs": outputs or [],
        "execution_count": count,
    }


def ran(*sources: str) -> list[Json]:
    """Returns cells that ran in order and printed nothing."""
    return [cell(source, number) for number, source in enumerate(sources, 1)]


def notebook(*cells: Json, **metadata: Any) -> Json:
    """Returns a notebook; its cells have the ids c0, c1 and so on."""
    numbered = [{**each, "id": f"c{number}"} for number, each in enumerate(cells)]
    return {"cells": numbered, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def saved(folder: Path, content: Json, name: str = "nb.ipynb") -> Path:
    """Returns a notebook's file."""
    path = folder / name
    path.write_text(json.dumps(content))
    return path
