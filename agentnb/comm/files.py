"""The files of a workspace, as a page is answered: folders, and pieces of files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from agentnb.comm.content_refs import RANGE
from agentnb.errors import UsageError
from agentnb.host.files.workspace_files import for_page, listed, snippet
from agentnb.policy.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from agentnb.comm import file_messages as fm
    from agentnb.policy.sensitive import Patterns


def folder(cwd: Path, params: fm.ListFilesParams) -> dict[str, Any]:
    """Answer ``listFiles``."""
    path, entries, more = listed(Workspace(cwd), params.path)
    rows = [
        {"name": _text(name), "kind": kind, "modified": modified, **({} if size is None else {"size": size})}
        for name, kind, size, modified in entries
    ]
    return {"path": _text(path), "entries": rows, "more": more}


def piece(cwd: Path, params: fm.ReadFileParams, patterns: Patterns) -> tuple[dict[str, Any], tuple[bytes, ...]]:
    """Answer ``readFile``: the result and its buffer.

    Raises:
        UsageError: If both ends are wanted at once.
    """
    if params.head is not None and params.tail is not None:
        raise UsageError("head and tail are both given.", hint="Ask for one after the other.")
    length, from_end = min(params.length, RANGE), params.tail is not None
    found = snippet(Workspace(cwd), params.path, offset=params.offset, length=length, from_end=from_end)
    found = for_page(found, patterns)
    if params.head is not None or params.tail is not None:
        found = found.only(params.head, params.tail)
    result = {"path": _text(found.path), "offset": found.offset, "size": found.size, "modified": found.modified}
    return result, (found.data,)


def _text(name: str) -> str:
    """A name as JSON can have it."""
    return os.fsencode(name).decode("utf-8", "replace")
