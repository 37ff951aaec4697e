"""Folds a turn's finished tool calls between two texts into one line, as the chat does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.state import (
    ReasoningResponsePart,
    ToolCallCompletedState,
    ToolCallResponsePart,
    ToolDiffContent,
    ToolTerminalContent,
    ToolTextContent,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from agentnb.state import ResponsePart, TerminalView, ToolCallState, ToolContent

_WORDS = {
    "read": ("read", "file"),
    "edit": ("edited", "file"),
    "delete": ("deleted", "file"),
    "move": ("moved", "file"),
    "search": ("searched", ""),
    "fetch": ("fetched", "page"),
    "execute": ("ran", "command"),
    "kernel": ("ran", "code snippet"),
    "insertCell": ("inserted", "cell"),
    "deleteCell": ("deleted", "cell"),
    "moveCell": ("moved", "cell"),
    "changeCell": ("changed", "cell"),
    "other": ("used", "tool"),
}
"""A verb and the counted noun; the same words as in the chat (js/src/view/tool-runs.ts)."""
_OF_FILES = frozenset({"read", "edit", "delete", "move"})
"""Kinds of calls that count files: the same file twice counts as one."""
_OF_CELLS = {"insert": "insertCell", "delete": "deleteCell", "move": "moveCell"}


def groups(parts: Iterable[ResponsePart], terminals: Mapping[str, TerminalView]) -> Iterator[tuple[ResponsePart, ...]]:
    """The parts of a turn in order; those that share a line are grouped."""
    work: list[ResponsePart] = []
    for part in parts:
        if isinstance(part, ToolCallResponsePart | ReasoningResponsePart):
            work.append(part)
            continue
        yield from _of_work(work, terminals)
        work = []
        yield (part,)
    yield from _of_work(work, terminals)


def _of_work(work: Sequence[ResponsePart], terminals: Mapping[str, TerminalView]) -> Iterator[tuple[ResponsePart, ...]]:
    """Group what is between two texts: finished calls with the thoughts about them, and each other part alone."""
    folds = [isinstance(part, ToolCallResponsePart) and _is_done(part.tool_call, terminals) for part in work]
    if any(folds):
        folds = [fold or isinstance(part, ReasoningResponsePart) for part, fold in zip(work, folds, strict=True)]
    together = tuple(part for part, fold in zip(work, folds, strict=True) if fold)
    for part, fold in zip(work, folds, strict=True):
        if not fold:
            yield (part,)
        elif part is together[0]:
            yield together


def line(parts: Sequence[ResponsePart]) -> str:
    """A summary of the calls among *parts*, such as ``Inserted 14 cells, ran 1 command``."""
    things: dict[str, set[str]] = {}
    for part in parts:
        if not isinstance(part, ToolCallResponsePart):
            continue
        call = part.tool_call
        kind = _work_of(call)
        places = (call.details.locations if call.details is not None else None) or ()
        names = {place.path for place in places} if kind in _OF_FILES else set()
        things.setdefault(kind, set()).update(names or {f"call {call.tool_call_id}"})
    words = ", ".join(_counted(*_WORDS[kind], len(some)) for kind, some in things.items())
    return words[:1].upper() + words[1:]


def _counted(verb: str, thing: str, number: int) -> str:
    if not thing:
        return f"{verb} once" if number == 1 else f"{verb} {number:,} times"
    return f"{verb} {number:,} {thing}{'' if number == 1 else 's'}"


def _work_of(call: ToolCallState) -> str:
    details = call.details
    if details is not None and details.cell is not None:
        return _OF_CELLS.get(details.cell.action, "changeCell")
    kind = (details.kind if details is not None else None) or call.tool_name
    return kind if kind in _WORDS else "other"


def _is_done(call: ToolCallState, terminals: Mapping[str, TerminalView]) -> bool:
    """True if *call* folds away; calls with a picture, run unasked or unlike their preview stay visible."""
    if not isinstance(call, ToolCallCompletedState) or not call.success:
        return False
    details = call.details
    if details is None:
        return True
    if details.ran_without_asking or details.research is not None or details.differences:
        return False
    contents = [*(details.content or ()), *(details.run.content if details.run is not None else ())]
    return all(_is_quiet(piece, terminals) for piece in contents)


def _is_quiet(piece: ToolContent, terminals: Mapping[str, TerminalView]) -> bool:
    if not isinstance(piece, ToolTerminalContent):
        return isinstance(piece, ToolTextContent | ToolDiffContent)
    terminal = terminals.get(piece.terminal_id)
    return terminal is None or (bool(terminal.exited) and not terminal.signal and not terminal.exit_code)
