"""Assertions on turns, for tests. Each raises AssertionError that shows the actual value, and returns the turn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from agentnb.state import ToolCallCancelledState, ToolCallCompletedState, ToolCallResponsePart, ToolDiffContent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentnb.api.session import Turn
    from agentnb.api.turn_view import ToolCall


def assert_text(
    turn: Turn, text: str | None = None, *, contains: str | Iterable[str] = (), matches: str | None = None
) -> Turn:
    """Check what the agent said.

    Args:
        turn: The turn, which has ended.
        text: The whole message, except for space at both ends.
        contains: Words that the message contains.
        matches: A regular expression that matches in the message.

    Example:
        >>> assert_text(session.prompt("/say Hi").wait(), "Hi")  # doctest: +SKIP
    """
    _ended(turn)
    answer = turn.text.strip()
    if text is not None and answer != text.strip():
        raise AssertionError(f"The agent did not say {text.strip()!r}, but {answer!r}.")
    for words in [contains] if isinstance(contains, str) else contains:
        if words not in answer:
            raise AssertionError(f"The agent did not say {words!r}. It answered {answer!r}.")
    if matches is not None and not re.search(matches, answer):
        raise AssertionError(f"The agent's answer does not match {matches!r}. It answered {answer!r}.")
    return turn


def assert_tool_calls(turn: Turn, *wanted: str | Mapping[str, Any]) -> Turn:
    """Check which tools the agent called, in order.

    Args:
        turn: The turn, which has ended.
        wanted: For each call, its title or some of its fields (``title``, ``kind``, ``status``, …).

    Example:
        >>> assert_tool_calls(turn, {"kind": "edit", "status": "completed"})  # doctest: +SKIP
    """
    _ended(turn)
    calls = turn.tool_calls
    if len(calls) != len(wanted) or not all(map(_is_call, calls, wanted)):
        actual = [f"{call.title} ({call.kind}, {call.status})" for call in calls]
        raise AssertionError(f"The agent's tool calls are not {list(wanted)}, but {actual}.")
    return turn


def assert_files_written(turn: Turn, files: Mapping[str, str | None] | Iterable[str]) -> Turn:
    """Check which files the agent wrote, and that they exist.

    Args:
        turn: The turn, which has ended.
        files: Their paths in the workspace, or a mapping of paths to contents; None accepts any content.
    """
    _ended(turn)
    root = _workspace(turn)
    wanted: dict[str, str | None] = dict(files) if hasattr(files, "keys") else dict.fromkeys(files)  # type: ignore[arg-type]
    written = files_written(turn)
    if sorted(wanted) != written:
        raise AssertionError(f"The agent did not write {sorted(wanted)}, but {written}.")
    for name, content in wanted.items():
        path = root / name
        if not path.is_file():
            raise AssertionError(f"The agent wrote {name}, but it is not there.")
        if content is not None and (held := path.read_text(encoding="utf-8")) != content:
            raise AssertionError(f"{name} does not contain {content!r}, but {held!r}.")
    return turn


def files_written(turn: Turn) -> list[str]:
    """The files that completed edits of *turn* wrote, relative to the workspace, by name."""
    root = _workspace(turn)
    written = set()
    for call in turn.tool_calls:
        if call.status == "completed":
            paths = [item.path for item in call.content if isinstance(item, ToolDiffContent)]
            if call.kind == "edit" and not paths:
                paths = [place.path for place in call.locations]
            written |= {_relative(path, root) for path in paths}
    return sorted(written)


def assert_permissions(turn: Turn, *wanted: tuple[str, str]) -> Turn:
    """Check which permissions the agent requested, and the answers.

    Args:
        turn: The turn, which has ended.
        wanted: For each request, its title or some words of it, and ``"allowed"`` or ``"denied"``.

    Example:
        >>> assert_permissions(turn, ("Run `rm -r data`", "denied"))  # doctest: +SKIP
    """
    _ended(turn)
    actual = permissions_asked(turn)
    alike = len(actual) == len(wanted) and all(
        title in was and answer == outcome for (title, answer), (was, outcome) in zip(wanted, actual, strict=True)
    )
    if not alike:
        raise AssertionError(f"The agent did not ask for {list(wanted)}, but for {actual}.")
    return turn


def permissions_asked(turn: Turn) -> list[tuple[str, str]]:
    """The permission requests in *turn*, each with ``"allowed"`` or ``"denied"``, in order."""
    snapshot = turn.snapshot
    permissions = []
    for part in snapshot.response_parts if snapshot is not None else ():
        call = part.tool_call if isinstance(part, ToolCallResponsePart) else None
        if isinstance(call, ToolCallCompletedState) and call.selected_option is not None:
            permissions.append((call.display_name, "allowed"))
        elif isinstance(call, ToolCallCancelledState) and call.reason == "denied":
            permissions.append((call.display_name, "denied"))
    return permissions


def _ended(turn: Turn) -> None:
    if not turn.done:
        raise AssertionError(f"The turn has not ended: {turn!r}. Wait for it with turn.wait().")
    if turn.error is not None:
        raise AssertionError(f"The turn failed: {turn.error.message}")


def _is_call(call: ToolCall, wanted: str | Mapping[str, Any]) -> bool:
    if isinstance(wanted, str):
        return call.title == wanted
    return all(getattr(call, name) == value for name, value in wanted.items())


def _workspace(turn: Turn) -> Path:
    uris = turn.session.state.working_directories
    return Path(url2pathname(urlsplit(uris[0]).path)).resolve() if uris else Path.cwd()


def _relative(path: str, root: Path) -> str:
    whole = (root / path).resolve()
    return whole.relative_to(root).as_posix() if whole.is_relative_to(root) else str(whole)
