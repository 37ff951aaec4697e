"""Whose change it is, as far as is known: a turn's tool calls name files; another tab worked meanwhile; users save."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING

from agentnb.changes.coverage import is_file_name
from agentnb.state import ToolCallResponsePart, ToolDiffContent

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from agentnb.host.changes.records import By
    from agentnb.state import ResponsePart

_WRITES = frozenset({"edit", "delete", "move"})


def named_files(parts: Iterable[ResponsePart], workspace: str) -> tuple[frozenset[str], frozenset[str]]:
    """The files that tool calls say they change: in the workspace (relative, with slashes), and outside of it."""
    return split_by_workspace(_paths(parts), workspace)


def split_by_workspace(paths: Iterable[str], workspace: str) -> tuple[frozenset[str], frozenset[str]]:
    """*paths* in the workspace (relative, with slashes), and outside of it; names that no file can have are dropped."""
    inside, outside = set[str](), set[str]()
    for path in filter(is_file_name, paths):
        real = _normal(workspace, path)
        found = PurePath(real)
        if found.is_relative_to(workspace):
            inside.add(found.relative_to(workspace).as_posix())
        else:
            outside.add(real)
    return frozenset(inside), frozenset(outside)


def shown_outside(path: str, workspace: str | Path) -> str:
    """*path* as people read it: from the workspace where it is near."""
    near = os.path.relpath(path, workspace)
    return path if PurePath(near).parts[:3] == ("..", "..", "..") else near


def runs_commands(parts: Iterable[ResponsePart]) -> bool:
    """True if tool calls among *parts* ran commands: what these do elsewhere is not known."""
    calls = (part.tool_call for part in parts if isinstance(part, ToolCallResponsePart))
    return any(call.details is not None and call.details.kind == "execute" for call in calls)


def attributed(
    paths: Iterable[str], named: frozenset[str], others: frozenset[str], saved: frozenset[str]
) -> tuple[By, ...]:
    """Returns who changed a file, as far as is known."""
    wanted = frozenset(paths)
    found: list[By] = ["toolCall"] if wanted & named else []
    if wanted & others:
        found.append("otherTab")
    if wanted & saved:
        found.append("user")
    return tuple(found) or ("during",)


def by_others(who: tuple[By, ...]) -> bool:
    """True if the turn did not change a file, as far as is known: the user saved it, or another tab named it."""
    return bool(who) and set(who) <= {"user", "otherTab"}


def is_left_alone(who: tuple[By, ...]) -> bool:
    """True if undo of a whole turn leaves a change alone, since it would take more than the turn's work away."""
    return "user" in who or by_others(who)


def _paths(parts: Iterable[ResponsePart]) -> Iterable[str]:
    for part in parts:
        details = part.tool_call.details if isinstance(part, ToolCallResponsePart) else None
        if details is None:
            continue
        for piece in details.content or ():
            if isinstance(piece, ToolDiffContent):
                yield piece.path
        if details.kind in _WRITES:
            for place in details.locations or ():
                yield place.path


def _normal(workspace: str, path: str) -> str:
    """*path* with the links of its folder followed: agents name files by whatever way they took."""
    try:
        folder, name = os.path.split(os.path.join(workspace, path))  # noqa: PTH118 - as text
        return os.path.join(os.path.realpath(folder), name)  # noqa: PTH118
    except (OSError, ValueError):
        return os.path.normpath(os.path.join(workspace, path))  # noqa: PTH118
