"""The result of ``agentnb.provenance``, for Python, notebooks and other programs."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from agentnb.api.columns import Rows, Table, moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentnb.plugins.provenance.turns import ProvenanceTurn


NAMESPACE = "urn:agentnb:provenance:"
_USER = "nb:you"
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")


class _Document:
    """Collects the statements of a PROV document; its relations have numbered blank-node ids."""

    def __init__(self) -> None:
        self.parts: dict[str, dict[str, Any]] = {"prefix": {"nb": NAMESPACE}}

    def add(self, kind: str, name: str, **attributes: Any) -> str:
        self.parts.setdefault(kind, {})[name] = attributes
        return name

    def relate(self, kind: str, **ends: str) -> None:
        """Add a relation between two of them, with its ends as PROV names them."""
        relations = self.parts.setdefault(kind, {})
        relations[f"_:{kind}{len(relations) + 1}"] = {f"prov:{name}": each for name, each in ends.items()}


def prov_document(provenance: Provenance) -> dict[str, Any]:
    """Returns the document: the lines of each cell, the turns that generated them, and who is responsible."""
    document = _Document()
    notebook = document.add(
        "entity",
        "nb:notebook",
        **{"prov:type": _name("prov:Collection"), "prov:label": Path(provenance.notebook).name or "notebook"},
    )
    document.add("agent", _USER, **{"prov:type": _name("prov:Person"), "prov:label": "the notebook's user"})
    turns = [_turn(document, number, turn) for number, turn in enumerate(provenance.turns)]
    for cell in provenance:
        _cell(document, notebook, cell, turns)
    return document.parts


def _turn(document: _Document, number: int, turn: ProvenanceTurn) -> tuple[str, str]:
    name, model = f"nb:agent-{_local(turn.agent)}", {}
    if turn.model:
        name, model = f"{name}-{_local(turn.model)}", {"nb:model": turn.model}
    kind = _name("prov:SoftwareAgent")
    agent = document.add("agent", name, **{"prov:type": kind, "prov:label": turn.agent, **model})
    facts = {
        "nb:conversation": turn.session,
        "nb:turn": turn.turn,
        "nb:number": turn.number,
        "prov:endTime": _iso(turn.time),
        "prov:label": turn.prompt or None,
    }
    known = {name: value for name, value in facts.items() if value is not None}
    activity = document.add("activity", f"nb:turn-{number + 1}", **{"prov:type": "turn", **known})
    document.relate("wasAssociatedWith", activity=activity, agent=agent)
    document.relate("actedOnBehalfOf", delegate=agent, responsible=_USER, activity=activity)
    return activity, agent


def _cell(document: _Document, notebook: str, cell: CellProvenance, turns: list[tuple[str, str]]) -> None:
    name = document.add(
        "entity",
        f"nb:cell-{cell.index + 1}",
        **{
            "prov:type": _name("prov:Collection"),
            "prov:label": cell.name,
            "nb:cellId": cell.id,
            "nb:cellType": cell.kind,
            "nb:lineCount": cell.line_count,
            "nb:editedSince": cell.is_edited,
        },
    )
    document.relate("hadMember", collection=notebook, entity=name)
    for part in cell.lines:
        lines = document.add(
            "entity",
            f"{name}-lines-{part.first}-{part.last}",
            **{"prov:type": "lines", "nb:firstLine": part.first, "nb:lastLine": part.last},
        )
        document.relate("hadMember", collection=name, entity=lines)
        if part.turn is None:
            document.relate("wasAttributedTo", entity=lines, agent=_USER)
            continue
        activity, agent = turns[part.turn]
        document.relate("wasGeneratedBy", entity=lines, activity=activity)
        document.relate("wasAttributedTo", entity=lines, agent=agent)
    for turn in () if cell.lines else cell.turns:
        document.relate("wasInfluencedBy", influencee=name, influencer=turns[turn][0])


def _name(qualified: str) -> dict[str, str]:
    return {"$": qualified, "type": "prov:QUALIFIED_NAME"}


def _local(name: str) -> str:
    """Returns *name* as the local part of a qualified name."""
    return _NOT_IN_A_NAME.sub("-", name)


NOTHING = "No lines by agents were found."


class LineRange(NamedTuple):
    """Consecutive lines of a cell that have one author.

    Attributes:
        first: The first line, from 1.
        last: The last line.
        turn: The index in :attr:`Provenance.turns` of the turn that wrote them; None: you.
    """

    first: int
    last: int
    turn: int | None


class CellProvenance(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A cell that contains lines by an agent.

    Attributes:
        index: Its place in the notebook, from 0.
        id: Its id; empty if it has none.
        kind: ``"code"``, ``"markdown"`` or ``"raw"``.
        count: The number of its last run; None if it was not run.
        line_count: How many lines it has.
        lines: Its lines by their authors, without blank lines at the ends; empty if the lines are not known.
        turns: The indexes in :attr:`Provenance.turns` of the turns that wrote in it, the earliest first.
        is_edited: True if you have edited the agent's lines since.
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
        notebook: The notebook's path; empty if it has none.
        cell_count: How many cells the notebook has.
        line_count: How many lines they have, without blank ones.
        verified: When the current notebook was verified, in milliseconds since 1970; None if it was not.
        note: What is not known, and why; empty if all is known.
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
        by = f"{turn.agent}, {turn.model}" if turn.model else turn.agent
        return (by, "" if turn.number is None else str(turn.number), when, prompt)

    def _notes(self) -> list[str]:
        lines = []
        if self:
            of_lines = f"{self.agent_line_count} of {self.line_count} lines"
            lines.append(f"Agents wrote {of_lines}, in {len(self)} of {self.cell_count} cells.")
        if self.verified is not None:
            when = moment(datetime.fromtimestamp(self.verified / 1000, timezone.utc))
            lines.append(f"The notebook was verified on {when}.")
        return [*lines, *([self.note] if self.note else [])]


def why_without_prompt(turn: ProvenanceTurn) -> str:
    """Returns why the prompt is not known, or '' if it is."""
    if turn.from_notebook:
        return "(as the notebook says; its conversation is not in this log)"
    return "" if turn.is_kept else "(its conversation was deleted, or is in another log)"


def _iso(time: int | None) -> str | None:
    return None if time is None else datetime.fromtimestamp(time / 1000, timezone.utc).isoformat(timespec="seconds")
