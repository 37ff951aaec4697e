"""Provenance as PROV-JSON, the form of W3C PROV in JSON (https://www.w3.org/submissions/prov-json/, 2013)."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentnb.plugins.provenance.result import CellProvenance, Provenance
    from agentnb.plugins.provenance.turns import ProvenanceTurn

NAMESPACE = "urn:agentnb:provenance:"
_USER = "nb:you"
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")


class _Document:
    """Collects statements; relations have ids of blank nodes, counted."""

    def __init__(self) -> None:
        self.parts: dict[str, dict[str, Any]] = {"prefix": {"nb": NAMESPACE}}

    def add(self, kind: str, name: str, **attributes: Any) -> str:
        """An entity, activity or agent."""
        self.parts.setdefault(kind, {})[name] = attributes
        return name

    def relate(self, kind: str, **ends: str) -> None:
        """A relation between two of them; its ends as PROV names them."""
        relations = self.parts.setdefault(kind, {})
        relations[f"_:{kind}{len(relations) + 1}"] = {f"prov:{name}": each for name, each in ends.items()}


def prov_document(provenance: Provenance) -> dict[str, Any]:
    """The document: the lines of each cell, the turns that generated them, and who is responsible."""
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
    """The turn's activity and its agent."""
    agent = document.add(
        "agent",
        f"nb:agent-{_local(turn.agent)}" + (f"-{_local(turn.model)}" if turn.model else ""),
        **{
            "prov:type": _name("prov:SoftwareAgent"),
            "prov:label": turn.agent,
            **({"nb:model": turn.model} if turn.model else {}),
        },
    )
    facts = {"nb:conversation": turn.session, "nb:turn": turn.turn, "nb:number": turn.number}
    if turn.time is not None:
        ended = datetime.fromtimestamp(turn.time / 1000, timezone.utc)
        facts["prov:endTime"] = ended.isoformat(timespec="seconds")
    if turn.prompt:
        facts["prov:label"] = turn.prompt
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
    """A qualified name as a value."""
    return {"$": qualified, "type": "prov:QUALIFIED_NAME"}


def _local(name: str) -> str:
    """*name* as the local part of a qualified name."""
    return _NOT_IN_A_NAME.sub("-", name)
