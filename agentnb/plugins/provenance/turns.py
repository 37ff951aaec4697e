"""A turn that wrote cells, and the steps in which it did so."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from agentnb.plugins.provenance.line_ledger import CellChange, LineLedger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentnb.host.changes.records import Item, PlacedCode
    from agentnb.state import ToolCallCell


class ProvenanceTurn(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A turn in which an agent wrote lines of a notebook.

    Attributes:
        session: The conversation's URI.
        turn: The turn's id.
        agent: The agent's name.
        model: The language model's id; empty if that is not known.
        number: The turn's number in its conversation, from 1; None if that is not known.
        time: When it ended, in milliseconds since 1970; None if that is not known.
        prompt: The first words of the prompt; empty if the conversation is not in this machine's log.
        title: The conversation's title.
        is_kept: True if the conversation is in this machine's log.
        from_notebook: True if only the notebook itself names the turn, in the metadata of its cells.
    """

    session: str
    turn: str
    agent: str
    model: str = ""
    number: int | None = None
    time: int | None = None
    prompt: str = ""
    title: str = ""
    is_kept: bool = True
    from_notebook: bool = False


class TurnStep(NamedTuple):
    """Changes that a turn made at once.

    Attributes:
        changes: The changes.
        undone: True if they were undone, or are not in the notebook yet.
        time: The time of the changes, in milliseconds since 1970, if it differs from the turn's time.
    """

    changes: tuple[CellChange, ...]
    undone: bool = False
    time: int | None = None


class TurnSteps(NamedTuple):
    """A turn with the steps in which it changed cells, in order."""

    turn: ProvenanceTurn
    steps: tuple[TurnStep, ...]

    def with_placed(self, other: TurnSteps) -> TurnSteps:
        """Returns these steps, plus code of the answer that the user put into cells from a copy of the conversation."""
        return self._replace(steps=(*self.steps, *(each for each in other.steps if each.time is not None)))


def steps_of_calls(calls: Iterable[ToolCallCell]) -> Iterator[TurnStep]:
    """Yields the texts that tool calls wrote; a turn's changes lack those that the user typed over while it ran."""
    for call in calls:
        if call.action == "insert" and call.new_text is not None:
            yield TurnStep((CellChange("", None, call.new_text),))
        elif call.action in {"replace", "split"} and None not in {call.cell_id, call.old_text, call.new_text}:
            made = () if call.more_text is None else (CellChange("", None, call.more_text),)
            yield TurnStep((CellChange(call.cell_id or "", call.old_text, call.new_text), *made))


def steps_of_items(items: Iterable[Item]) -> Iterator[TurnStep]:
    """Yields a step with a turn's changes of cells, then one with those that are undone or only offered."""
    cells = [each for each in items if each.kind == "cell"]
    for is_undone in (False, True):
        changes = tuple(
            CellChange(cell_id_of(each), each.before, each.after)
            for each in cells
            if (each.state in {"undone", "offered"}) is is_undone
        )
        if changes:
            yield TurnStep(changes, undone=is_undone)


def steps_of_placed(placed: Iterable[PlacedCode]) -> Iterator[TurnStep]:
    """Yields what the user inserted into cells from a turn's answer: the user only clicked, the agent wrote it."""
    return (TurnStep((CellChange(each.cell_id, each.before, each.after),), time=each.time) for each in placed)


def cell_id_of(item: Item) -> str:
    """Returns the id of the item's cell (:func:`agentnb.kernel.cell_changes.cell_change_id`)."""
    return item.id.removeprefix("cell:").partition("@")[0]


def ledger_of(turns: Sequence[TurnSteps]) -> LineLedger:
    ledger = LineLedger()
    steps = [(step.time or each.turn.time or 0, at, step) for at, each in enumerate(turns) for step in each.steps]
    for _, number, step in sorted(steps, key=lambda each: each[0]):
        ledger.write(number, step.changes, undone=step.undone)
    return ledger
