"""The answer of ``agentnb.provenance``, as Python, notebooks and programs have it."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from agentnb.api.columns import Rows, Table, moment
from agentnb.plugins.provenance.prov_json import prov_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentnb.plugins.provenance.turns import ProvenanceTurn

NOTHING = "No lines by agents were found."


class LineRange(NamedTuple):
    """Lines of a cell, one after the other, that have one author.

    Attributes:
        first: The first line, from 1.
        last: The last line.
        turn: Which of :attr:`Provenance.turns` wrote them; None: you.
    """

    first: int
    last: int
    turn: int | None


class CellProvenance(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A cell that contains lines by an agent.

    Attributes:
        index: Its place in the notebook, from 0.
        id: Its id; empty where it has none.
        kind: ``"code"``, ``"markdown"`` or ``"raw"``.
        count: The number of its last run; None where it was not run.
        line_count: How many lines it has.
        lines: Its lines by their authors, without blank lines at the ends; empty where the lines are not known.
        turns: Which of :attr:`Provenance.turns` wrote in it, the earliest first.
        is_edited: Whether you have edited the agent's lines since.
        agent_line_count: How many lines agents wrote, without blank ones.
    """

    index: int
    id: str
    kind: str
    count: int | None
    line_count: int
    lines: tuple[LineRange, ...]
    turns: tuple[int, ...]
    is_edited: bool
    agent_line_count: int = 0

    @property
    def name(self) -> str:
        """The cell as the notebook shows it."""
        return f"[{self.count}]" if self.count is not None else f"{self.kind} cell {self.index + 1}"

    def lines_of(self, turn: int) -> str:
        """The lines that a turn wrote, such as ``"1-4, 7"``; empty where they are not known."""
        ranges = [each for each in self.lines if each.turn == turn]
        return ", ".join(f"{each.first}" if each.first == each.last else f"{each.first}-{each.last}" for each in ranges)


class Provenance(Table, Rows[CellProvenance]):
    """The cells that contain lines by agents; a table when displayed.

    Args:
        cells: The cells, in the notebook's order.
        turns: The turns that wrote them.
        notebook: The notebook's path; empty where it has none.
        cell_count: How many cells the notebook has.
        line_count: How many lines that are not blank they have.
        verified: When the notebook was verified as it stands, in milliseconds since 1970; None: it is not.
        note: What is not known, and why; empty where all is well.
    """

    _head = ("cell", "lines", "by", "turn", "when", "prompt", "edited")

    def __init__(
        self,
        cells: Iterable[CellProvenance] = (),
        turns: Sequence[ProvenanceTurn] = (),
        *,
        notebook: str = "",
        cell_count: int = 0,
        line_count: int = 0,
        verified: int | None = None,
        note: str = "",
    ) -> None:
        super().__init__(cells)
        self.turns: tuple[ProvenanceTurn, ...] = tuple(turns)
        self.notebook = notebook
        self.cell_count = cell_count
        self.line_count = line_count
        self.verified = verified
        self.note = note
        self._none = NOTHING

    def as_dict(self) -> dict[str, Any]:
        """The provenance as JSON-compatible data."""
        return {
            "notebook": self.notebook,
            "cells": [{**msgspec.to_builtins(each), "lines": [part._asdict() for part in each.lines]} for each in self],
            "turns": [{**msgspec.to_builtins(each), "time": _iso(each.time)} for each in self.turns],
            "cellCount": self.cell_count,
            "lineCount": self.line_count,
            "agentLineCount": self.agent_line_count,
            "verified": _iso(self.verified),
            "note": self.note,
        }

    def as_prov(self) -> dict[str, Any]:
        """The provenance as a W3C PROV document, in PROV-JSON (https://www.w3.org/submissions/prov-json/)."""
        return prov_document(self)

    @property
    def agent_line_count(self) -> int:
        """How many lines agents wrote."""
        return sum(each.agent_line_count for each in self)

    def _table(self) -> list[tuple[str, ...]]:
        return [self._head, *(row for cell in self for row in self._rows_of(cell))]

    def _rows_of(self, cell: CellProvenance) -> list[tuple[str, ...]]:
        edited = "edited since" if cell.is_edited else ""
        return [(cell.name, cell.lines_of(each) or "?", *self._turn(self.turns[each]), edited) for each in cell.turns]

    @staticmethod
    def _turn(turn: ProvenanceTurn) -> tuple[str, ...]:
        when = "" if turn.time is None else moment(datetime.fromtimestamp(turn.time / 1000, timezone.utc))
        prompt = turn.prompt or why_without_prompt(turn)
        return (by_words(turn), "" if turn.number is None else str(turn.number), when, prompt)

    def _notes(self) -> list[str]:
        lines = []
        if self:
            of_lines = f"{self.agent_line_count} of {self.line_count} lines"
            lines.append(f"Agents wrote {of_lines}, in {len(self)} of {self.cell_count} cells.")
        if self.verified is not None:
            when = moment(datetime.fromtimestamp(self.verified / 1000, timezone.utc))
            lines.append(f"The notebook was verified on {when}.")
        return [*lines, *([self.note] if self.note else [])]


def by_words(turn: ProvenanceTurn) -> str:
    """The agent and its model."""
    return f"{turn.agent}, {turn.model}" if turn.model else turn.agent


def why_without_prompt(turn: ProvenanceTurn) -> str:
    """Why the prompt is not known; empty where it is."""
    if turn.from_notebook:
        return "(as the notebook says; its conversation is not in this log)"
    return "" if turn.is_kept else "(its conversation was deleted, or is in another log)"


def _iso(time: int | None) -> str | None:
    return None if time is None else datetime.fromtimestamp(time / 1000, timezone.utc).isoformat(timespec="seconds")
