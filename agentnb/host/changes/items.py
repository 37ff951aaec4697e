"""The changed files of a turn, one item each: who changed them, and recording a turn."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.acp.peer import ChangedFile
from agentnb.changes.coverage import is_file_name
from agentnb.changes.model import path_to_json
from agentnb.changes.text_diff import count_lines
from agentnb.errors import ChangesError
from agentnb.host.changes.records import Item, TurnChangeRecord, count_by_kind
from agentnb.kernel.cell_changes import CellRecord
from agentnb.kernel.variables.changes import NameChange
from agentnb.policy.sensitive import secret_pattern
from agentnb.state import ToolCallResponsePart, ToolDiffContent, TurnChanges

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from agentnb.cassette.switch import CassetteSwitch
    from agentnb.changes.model import FileVersion, PathChange
    from agentnb.changes.store import ChangeStore
    from agentnb.host.agents.agent_lifecycle import AgentLifecycle
    from agentnb.host.changes.records import By, State
    from agentnb.host.changes.workspace_store import WorkspaceStore
    from agentnb.state import ResponsePart


_WRITES = frozenset({"edit", "delete", "move"})


def named_files(parts: Iterable[ResponsePart], workspace: str) -> tuple[frozenset[str], frozenset[str]]:
    """The files that tool calls report as changed: in the workspace (relative, with slashes), and outside it."""
    return split_by_workspace(_paths(parts), workspace)


def split_by_workspace(paths: Iterable[str], workspace: str) -> tuple[frozenset[str], frozenset[str]]:
    """*paths* in the workspace (relative, with slashes), and outside it; impossible file names are dropped."""
    inside, outside = set[str](), set[str]()
    for path in filter(is_file_name, paths):
        real = _normal(workspace, path)
        file = PurePath(real)
        if file.is_relative_to(workspace):
            inside.add(file.relative_to(workspace).as_posix())
        else:
            outside.add(real)
    return frozenset(inside), frozenset(outside)


def shown_outside(path: str, workspace: str | Path) -> str:
    """*path* as it is displayed: relative to the workspace if it is near it."""
    near = os.path.relpath(path, workspace)
    return path if PurePath(near).parts[:3] == ("..", "..", "..") else near


def runs_commands(parts: Iterable[ResponsePart]) -> bool:
    calls = (part.tool_call for part in parts if isinstance(part, ToolCallResponsePart))
    return any(call.details is not None and call.details.kind == "execute" for call in calls)


def attributed(
    paths: Iterable[str], named: frozenset[str], others: frozenset[str], saved: frozenset[str]
) -> tuple[By, ...]:
    """Returns who changed a file, as far as is known."""
    wanted = frozenset(paths)
    causes: list[By] = ["toolCall"] if wanted & named else []
    if wanted & others:
        causes.append("otherTab")
    if wanted & saved:
        causes.append("user")
    return tuple(causes) or ("during",)


def by_others(who: tuple[By, ...]) -> bool:
    """True if, as far as is known, the turn did not change a file: the user saved it, or another tab named it."""
    return bool(who) and set(who) <= {"user", "otherTab"}


def is_left_alone(who: tuple[By, ...]) -> bool:
    """True if undo of a whole turn skips a change, since it would remove more than the turn's work."""
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
    """*path* with the links of its folder resolved, since agents name files by any route."""
    try:
        folder, name = os.path.split(os.path.join(workspace, path))  # noqa: PTH118 - as text
        return os.path.join(os.path.realpath(folder), name)  # noqa: PTH118
    except (OSError, ValueError):
        return os.path.normpath(os.path.join(workspace, path))  # noqa: PTH118


def file_item(change: PathChange, counted: tuple[int | None, int | None] | None, by: tuple[By, ...]) -> Item:
    added, removed = counted or (None, None)
    name = path_to_json(change.path)
    return Item(
        id=f"file:{name}",
        kind="file",
        name=name,
        was=None if change.was is None else path_to_json(change.was),
        status=change.status,
        by=by,
        added=added,
        removed=removed,
        undoable=change.undoable,
        reason=change.reason,
        file=change,
        binary=counted == (None, None) and change.undoable,
    )


def kernel_item(change: CellRecord | NameChange, *, is_kept: bool) -> Item:
    """A changed cell or variable as an item: its texts are a cell's source, or a line describing an object."""
    item = Item(
        id=change.id,
        kind="variable",
        name=change.name,
        status=change.status,
        state=_state(change, is_kept=is_kept),
        by=("during",) if isinstance(change, CellRecord) and change.from_file else ("toolCall",),
        undoable=change.refusal is None,
        detail=change.detail or None,
    )
    if isinstance(change, NameChange):
        before, after = (None if each is None else each.summary.text for each in (change.before, change.after))
        return replace(item, reason=change.reason, before=before, after=after)
    kind = change.kind if change.after is not None else change.old_kind or change.kind
    texts = ((each or "").encode("utf-8", "replace") for each in (change.before, change.after))
    added, removed = count_lines(*texts)
    return replace(
        item,
        kind="cell",
        reason=change.refusal,
        before=change.before,
        after=change.after,
        added=added,
        removed=removed,
        language={"code": "python", "markdown": "markdown"}.get(kind),
        place=change.old_place,
        notebook=change.notebook,
    )


def _state(change: CellRecord | NameChange, *, is_kept: bool) -> State:
    if isinstance(change, CellRecord) and change.offered:
        return "kept" if is_kept else "offered"
    return "undone" if change.undone else "kept" if is_kept else "open"


def numbers(record: TurnChangeRecord) -> TurnChanges:
    items, counts = record.items, count_by_kind(record.items)
    return TurnChanges(
        status="ready",
        files=counts["file"],
        added=sum(each.added or 0 for each in items if each.kind == "file"),
        removed=sum(each.removed or 0 for each in items if each.kind == "file"),
        cells=counts["cell"],
        variables=counts["variable"],
        undone=sum(each.state == "undone" for each in items),
        kept=sum(each.state == "kept" for each in items),
        undoable=sum(each.state == "open" and each.undoable and not is_left_alone(each.by) for each in items),
        notes=record.notes or None,
        data_checks=record.data_checks or None,
    )


def stored_content(store: ChangeStore, version: FileVersion | None) -> bytes | None:
    """The content of one side of a change; None if there is no such side, or its content is not stored."""
    try:
        return None if version is None else store.content(version)
    except ChangesError:
        return None


async def record_files(
    lifecycle: AgentLifecycle, cassette: CassetteSwitch, store: WorkspaceStore, changes: Sequence[PathChange]
) -> None:
    """Record *changes* as those of the agent's last turn; no effect if nothing is being recorded."""
    agent, session_id = lifecycle.agent, lifecycle.session_id
    tap = None if agent is None else agent.tap
    if tap is None or not tap.takes_files or session_id is None or not changes:
        return
    workspace, patterns = store.workspace, store.patterns

    def is_sensitive(change: PathChange) -> bool:
        paths = filter(None, (change.path, change.was))
        return any(secret_pattern(path, patterns) is not None for path in paths)

    def record_all(store: ChangeStore) -> None:
        files = [
            ChangedFile(each, stored_content(store, each.before), stored_content(store, each.after), is_sensitive(each))
            for each in changes
        ]
        tap.changed_files(session_id, files, lambda path: cassette.is_notebook(workspace / path))

    await store.run(record_all)
