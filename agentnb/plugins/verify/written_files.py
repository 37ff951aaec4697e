"""Compares the files that a run wrote with those that are there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.plugins.verify.compare_text import compare_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.plugins.verify.notebook_text import Cell
    from agentnb.plugins.verify.result import Finding
    from agentnb.plugins.verify.run import VerifiedRun
    from agentnb.state import RehearsalFile

_COMPARED = frozenset(
    {".csv", ".tsv", ".json", ".txt", ".md", ".html", ".tex", ".yaml", ".yml", ".xml", ".jsonl", ".py"}
)


def written_files(run: VerifiedRun, cells: Mapping[int, Cell]) -> list[Finding]:
    """A finding for each file that now gets other content; only where the run came to its end."""
    if run.why != "done":
        return []
    findings = []
    for file in run.files:
        path = Path(file.path)
        if (
            file.status != "changed"
            or path.is_absolute()
            or path.suffix not in _COMPARED
            or path.parts[0].startswith(".")
        ):
            continue
        cell, appends = _writer(run, path, cells)
        lines = _lines(file)
        if cell is None or appends or lines is None:
            continue
        difference = compare_texts(*lines)
        if difference is None or difference.is_mild:
            continue
        findings.append(
            cell.finding(
                "file-differs",
                f"writes {path}, but with different content than the existing file.",
                evidence=f"there: {difference.stored}\nnow:   {difference.now}",
                advice=f"Run the notebook again, or find out what else changes {path}.",
            )
        )
    return findings


def _writer(run: VerifiedRun, path: Path, cells: Mapping[int, Cell]) -> tuple[Cell | None, bool]:
    """The last cell that wrote the file, and whether it appended to it or read it before."""
    writer: Cell | None = None
    appends = False
    for index, result in run.cells.items():
        for name in result.trace.get("written", ()):
            if name.removeprefix("a:").endswith(f"/{path}"):
                writer, appends = cells.get(index), appends or name.startswith("a:")
        if writer is None and any(name.endswith(f"/{path}") for name in result.trace.get("read", ())):
            appends = True  # it changes its own input
    return writer, appends


def _lines(file: RehearsalFile) -> tuple[str, str] | None:
    """The lines that went and those that came."""
    if not file.diff or file.diff.startswith("Binary"):
        return None
    lines = [each for each in file.diff.splitlines() if not each.startswith(("---", "+++", "\\"))]
    return tuple("\n".join(each[1:] for each in lines if each.startswith(sign)) for sign in "-+")  # type: ignore[return-value]
