"""Reads a notebook's text (nbformat 3 and 4) without nbformat: each cell with its outputs, as they were saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.errors import UsageError
from agentnb.plugins.verify.result import CellPosition, Finding, Kind
from agentnb.plugins.verify.widget_states import add_states, saved_models
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterable

LARGEST_FILE = 256 * 1024 * 1024
MOST_CELLS = 20_000
SKIPPED_TAGS = frozenset({"skip-execution", "agentnb-skip"})
FAILING_TAGS = frozenset({"raises-exception", "nbval-raises-exception"})
UNSAVED_TAG = "agentnb-unsaved-results"
"""Internal tag, never saved to a file: the cell was run since the last save, so only the page has its results."""
UNCOMPARED_TAGS = frozenset({"nbval-ignore-output", "nbval-skip", "agentnb-ignore-output"})


class Cell(msgspec.Struct, kw_only=True):
    """A cell: its place, text and saved outputs (nbformat's dicts)."""

    index: int
    id: str
    kind: str
    source: str
    outputs: list[dict[str, Any]] = []
    count: int | None = None
    tags: frozenset[str] = frozenset()

    @property
    def place(self) -> CellPosition:
        return CellPosition(index=self.index, id=self.id, label=f"[{self.count or ' '}]")

    @property
    def name(self) -> str:
        """Returns how a sentence names the cell."""
        text = str(self.place)
        return f"{text[0].lower()}{text[1:]}"

    def line(self, number: int) -> str:
        """Returns a line of the cell, counted from 1; '' if there is no such line."""
        lines = self.source.splitlines()
        return lines[number - 1].strip()[:200] if 0 < number <= len(lines) else ""

    def finding(self, kind: Kind, what: str, *, evidence: str, advice: str, related: Iterable[Cell] = ()) -> Finding:
        """Returns a finding about the cell; *what* continues the sentence after its name."""
        others = tuple(each.place for each in related if each is not self)
        cause = f"{self.place} {what}"
        return Finding(kind=kind, cell=self.place, cause=cause, evidence=evidence, advice=advice, related=others)

    @property
    def is_code(self) -> bool:
        """True if it holds code that could be run."""
        return self.kind == "code" and any(
            line.strip() and not line.lstrip().startswith("#") for line in self.source.splitlines()
        )

    @property
    def error_name(self) -> str | None:
        """Returns the exception in the saved outputs; None if there is none."""
        return next((str(each.get("ename", "")) for each in self.outputs if each.get("output_type") == "error"), None)

    @property
    def has_run(self) -> bool:
        """True if it has been run, as far as the file says."""
        return self.count is not None


class Notebook(msgspec.Struct, kw_only=True):
    cells: list[Cell]
    kernel: str = ""
    language: str = "python"
    path: Path | None = None

    @property
    def code(self) -> list[Cell]:
        return [each for each in self.cells if each.is_code]

    @property
    def is_cleared(self) -> bool:
        """True if it has no outputs and no counts: there is nothing to compare."""
        return not any(each.outputs or each.has_run for each in self.code)


def read_file(path: Path) -> str:
    if path.is_dir():
        raise UsageError(f"{path} is a folder.", hint=f"Specify the notebooks in it: {path}/*.ipynb.")
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UsageError(f"{path} has more than {LARGEST_FILE:,} bytes.", hint="It is too large to be verified.")
        return path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", hint="Check the path.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8.", hint="Open it in Jupyter, and save it again.") from None


def read_notebook(text: str | dict[str, Any], path: Path | None = None) -> Notebook:
    """Returns the notebook in *text*; raises a UsageError if it is none."""
    named = "The notebook" if path is None else path.name
    content = _parsed(text, named) if isinstance(text, str) else text
    if not isinstance(content, dict):
        raise _corrupt(named, "it is not a JSON object")
    cells = content.get("cells")
    if cells is None and isinstance(content.get("worksheets"), list):
        sheets = [each for each in content["worksheets"] if isinstance(each, dict)]
        cells = [cell for sheet in sheets for cell in sheet.get("cells") or []]
    if not isinstance(cells, list) or not all(isinstance(each, dict) for each in cells):
        raise _corrupt(named, "it has no list of cells")
    if len(cells) > MOST_CELLS:
        raise UsageError(f"{named} has {len(cells):,} cells.", hint=f"At most {MOST_CELLS:,} are verified.")
    metadata = _dict(content.get("metadata"))
    made = [_cell(at, each) for at, each in enumerate(cells)]
    models = saved_models(metadata)
    for each in made:
        add_states(each.outputs, models)
    spec, language = _dict(metadata.get("kernelspec")), _dict(metadata.get("language_info"))
    return Notebook(
        cells=made,
        kernel=str(spec.get("name", "")),
        language=str(language.get("name") or spec.get("language") or "python").lower(),
        path=path,
    )


def _parsed(text: str, named: str) -> Any:
    try:
        return read_json(text, repair=False)
    except ValueError as error:
        why = "it is empty" if not text.strip() else f"its JSON breaks off or is damaged ({error})"
        raise _corrupt(named, why) from None
    except RecursionError:
        raise _corrupt(named, "it is nested too deeply") from None


def _corrupt(named: str, why: str) -> UsageError:
    return UsageError(f"{named} is not a notebook: {why}.", hint="Restore it from a backup or a checkpoint.")


def _cell(at: int, cell: dict[str, Any]) -> Cell:
    count = cell.get("execution_count", cell.get("prompt_number"))
    tags = _dict(cell.get("metadata")).get("tags")
    outputs = cell.get("outputs")
    return Cell(
        index=at,
        id=str(cell.get("id") or at),
        kind=str(cell.get("cell_type", "raw")),
        source=_joined(cell.get("source", cell.get("input", ""))),
        outputs=[_modern(each) for each in outputs if isinstance(each, dict)] if isinstance(outputs, list) else [],
        count=count if isinstance(count, int) and not isinstance(count, bool) else None,
        tags=frozenset(map(str, tags)) if isinstance(tags, list) else frozenset(),
    )


def _modern(output: dict[str, Any]) -> dict[str, Any]:
    """Convert an output of nbformat 3 to nbformat 4."""
    kind = {"pyout": "execute_result", "pyerr": "error"}.get(str(output.get("output_type")), output.get("output_type"))
    if kind in {"execute_result", "display_data"} and "data" not in output:
        names = {"text": "text/plain", "html": "text/html", "png": "image/png", "svg": "image/svg+xml"}
        data = {names[key]: value for key, value in output.items() if key in names}
        return {"output_type": kind, "data": data}
    return {**output, "output_type": kind}


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _joined(text: Any) -> str:
    return "".join(map(str, text)) if isinstance(text, list) else str(text or "")


def text_of(value: Any) -> str:
    """Returns a value of a bundle as text: lines are joined, and JSON is written with sorted keys."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "".join(value)
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
