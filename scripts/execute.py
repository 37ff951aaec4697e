"""Execute notebooks in place and store their outputs, with nothing in them that changes from run to run.

Usage: ``python scripts/execute.py NOTEBOOK...``
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

KEPT = ("kernelspec", "language_info")
CELL_SECONDS = 120


def execute(path: Path) -> None:
    """Run every cell in the notebook's own folder and write the outputs back."""
    document: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(
        document,
        timeout=CELL_SECONDS,
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    document.metadata = {key: document.metadata[key] for key in KEPT}
    document.metadata["language_info"] = {"name": "python"}
    for cell in document.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", ()):
            output.pop("transient", None)
    nbformat.validate(document)
    nbformat.write(document, path)  # type: ignore[no-untyped-call]


def main() -> None:
    """Execute what was named."""
    for name in sys.argv[1:]:
        print(name, flush=True)
        execute(Path(name))


if __name__ == "__main__":
    main()
