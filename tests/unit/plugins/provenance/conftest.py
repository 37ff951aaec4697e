"""An agent that changes the page's notebook, saved notebooks, and records of turns."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agentnb
from tests.unit.api.conftest import AGENTS
from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.server.asking_page import Page


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns agentnb's own folder, which is empty."""
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def notebook() -> Iterator[NotebookPage]:
    """Shows a notebook of two cells."""
    page = NotebookPage("fit.ipynb", {"a": "import math\nx = 1", "b": "print(x)"})
    yield page
    page.close()


@pytest.fixture
def analyst(kernel_page: Page, tmp_path: Path) -> Iterator[agentnb.Session]:
    """Starts an agent that changes cells and runs code, as its prompts say, in this process's host."""
    del kernel_page
    (tmp_path / "work").mkdir()
    command = [sys.executable, str(AGENTS / "calls_kernel.py")]
    options: dict[str, Any] = {"permissions": "allow", "kernel_tools": True}
    with agentnb.start("analyst", command=command, cwd=tmp_path / "work", **options) as session:
        yield session


def code(source: str, **more: Any) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": 1, **more}


def saved(folder: Path, *cells: dict[str, Any], minor: int = 5) -> Path:
    """Returns the file of a notebook with these cells."""
    path = folder / "nb.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": minor, "metadata": {}, "cells": cells}))
    return path


def record(data: Path, session: str, *items: dict[str, Any], model: str = "") -> None:
    """Writes the record of a conversation whose only turn changed *items*, and which the log does not have."""
    folder = data / "changes/0123/records"
    folder.mkdir(parents=True, exist_ok=True)
    turns = [{"turnId": "t", "items": items, "model": model}]
    text = json.dumps({"session": session, "workspace": "/elsewhere", "turns": turns})
    (folder / f"{len([*folder.iterdir()])}.json").write_text(text)


def cell_item(cell: str, before: str | None, after: str) -> dict[str, Any]:
    """Returns the change of a cell, for `record`."""
    status = "added" if before is None else "changed"
    return {"id": f"cell:{cell}", "kind": "cell", "name": cell, "status": status, "before": before, "after": after}
