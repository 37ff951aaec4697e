"""The content on each side of a change, and the three versions of a file that changed since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from agentnb.changes.model import path_to_json
from agentnb.changes.text_diff import begins_as_text, text_of
from agentnb.errors import ChangesUnavailable, ContentNotStored, FileUnavailable, UsageError
from agentnb.host.changes.notebook_cells import SUFFIX, cells_as_text
from agentnb.host.files.workspace_files import for_page, snippet
from agentnb.policy.sensitive import secret_pattern
from agentnb.policy.workspace import WorkspaceBoundary

if TYPE_CHECKING:
    from agentnb.changes.model import Conflict, FileVersion
    from agentnb.changes.store import ChangeStore
    from agentnb.errors import FilesConflict
    from agentnb.host.changes.change_tracker import ChangeTracker
    from agentnb.host.changes.records import Item
    from agentnb.policy.sensitive import Patterns

Side: TypeAlias = Literal["before", "after", "now"]
"""The version of a file: before a change, after it, or in the workspace now."""

LONGEST_VERSION = 200_000
"""The largest version in a conflict, in bytes, that is returned as text."""


class ContentRange(NamedTuple):
    data: bytes
    size: int
    is_cut: bool
    is_binary: bool


async def range_for_page(
    tracker: ChangeTracker, item: Item, side: Side, patterns: Patterns, *, first: int, length: int
) -> ContentRange:
    """A range of one side of *item* that may be sent to a page: never content that may hold secrets."""
    for path in () if item.file is None else (item.file.path, item.file.was):
        if path is not None and (pattern := secret_pattern(path, patterns)) is not None:
            message = f"{item.name!r} may hold secrets: it matches {pattern}, and such files are not sent to a page."
            raise FileUnavailable(message, hint="View it in Python: change.diff.")
    if side == "now":
        if item.file is None:
            raise UsageError("The current version can be read only for files.", hint="Check the notebook.")
        excerpt = for_page(
            snippet(WorkspaceBoundary(tracker.workspace), item.file.path, offset=first, length=length), patterns
        )
        return _content_range(excerpt.data, excerpt.size, first, excerpt.data)
    content = _readable(item.name, await _content(tracker, item, after=side == "after"))
    return _content_range(content[first : first + length], len(content), first, content)


async def versions(tracker: ChangeTracker, refused: FilesConflict) -> list[dict[str, Any]]:
    """The conflicts in the form of the protocol: the three versions as text, if they are text."""
    store, conflicts = tracker.store, refused.conflicts
    return (
        [] if store is None else await store.run(lambda opened: [_conflict_to_json(opened, each) for each in conflicts])
    )


async def _content(tracker: ChangeTracker, item: Item, *, after: bool) -> bytes:
    store, file = tracker.store, item.file
    if file is None:
        text = item.after if after else item.before
        return (text or "").encode("utf-8", "replace")
    version = file.after if after else file.before
    if version is None:
        return b""
    if store is None:
        raise ChangesUnavailable("Changes are not tracked here.", hint="AGENTNB_CHANGES switches that off.")
    return await store.run(lambda opened: opened.content(version))


def _readable(name: str, content: bytes) -> bytes:
    """Returns a file's content in readable form: for a notebook, its cells."""
    if not name.endswith(SUFFIX) or not content:
        return content
    cells = cells_as_text(content)
    if cells is None:
        raise FileUnavailable(f"{name!r} is not a readable notebook.", hint="Open the file in a text editor.")
    return cells


def _content_range(data: bytes, size: int, first: int, beginning: bytes) -> ContentRange:
    return ContentRange(data, size, first + len(data) < size, not begins_as_text(beginning))


def _conflict_to_json(store: ChangeStore, conflict: Conflict) -> dict[str, Any]:
    path = path_to_json(conflict.path)
    versions = {"base": conflict.base, "current": conflict.current, "target": conflict.target}
    texts = {name: _text(store, version) for name, version in versions.items()}
    texts["merged"] = conflict.merged
    if path.endswith(SUFFIX):
        texts = {name: None if text is None else _cells(text) for name, text in texts.items()}
    return {"id": f"file:{path}", "path": path, **{name: text for name, text in texts.items() if text is not None}}


def _cells(notebook: str) -> str | None:
    cells = cells_as_text(notebook.encode("utf-8", "replace"))
    return None if cells is None else cells.decode()


def _text(store: ChangeStore, version: FileVersion | None) -> str | None:
    if version is None or version.size > LONGEST_VERSION:
        return None
    try:
        return text_of(store.content(version))
    except ContentNotStored:
        return None
