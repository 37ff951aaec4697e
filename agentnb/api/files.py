"""The files of a session, seen from Python: the changes of a turn, and the files of the workspace."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from agentnb.api.arguments import check_count
from agentnb.api.columns import Table, line_counts, moment, on_one_line
from agentnb.errors import UsageError
from agentnb.host.files.changes import FileChange, changes, relative
from agentnb.host.files.workspace_files import LARGEST, FolderEntry, Snippet, listed, snippet
from agentnb.policy.workspace import WorkspaceBoundary

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from agentnb.host.conversation import Conversation

MOST = 1024 * 1024
"""Bytes that :meth:`SessionFiles.read` returns by default."""


class FileChangeTable(Table, tuple[FileChange, ...]):
    """The changes of files; a table when displayed."""

    __slots__ = ()

    _head = ("path", "change", "added", "removed")
    _none = "No file was changed."

    def _cells(self, row: FileChange) -> tuple[str, ...]:
        return (on_one_line(row.path), row.kind, *line_counts(row.added, row.removed))


class FileTable(Table):
    """The contents of a folder; a table when displayed.

    Args:
        path: The folder, relative to the workspace.
        entries: The folder's entries: folders first, by name.
        more: The number of entries left out.
    """

    _head = ("name", "kind", "bytes", "changed")

    def __init__(self, path: str, entries: Iterable[FolderEntry], more: int = 0) -> None:
        self.path = path
        self.entries: tuple[FolderEntry, ...] = tuple(entries)
        self.more = more

    def __iter__(self) -> Iterator[FolderEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def _cells(self, row: FolderEntry) -> tuple[str, ...]:
        when = moment(datetime.fromtimestamp(row.modified / 1000, timezone.utc))
        return (on_one_line(row.name), row.kind, "" if row.size is None else f"{row.size:,}", when)

    def _notes(self) -> list[str]:
        return [f"And {self.more:,} more."] if self.more else []


class SessionFiles:
    """The files of a session's workspace. Paths that lead out of it, by ``..`` or a link, are refused.

    Example:
        >>> session.files.list("report")  # doctest: +SKIP
        >>> session.files.read("fit.log", tail=20).text  # doctest: +SKIP
        >>> print(session.files.diff("fit.py"))  # doctest: +SKIP
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def list(self, path: str | os.PathLike[str] = ".") -> FileTable:
        """Returns the entries of a folder, at most 1,000.

        Args:
            path: Relative to the workspace, or absolute.

        Raises:
            OutsideWorkspace: If the path leads out of the workspace.
            FileUnavailable: If it is not a folder that can be read.
        """
        return FileTable(*listed(self._workspace, str(path)))

    def read(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int = MOST,
        head: int | None = None,
        tail: int | None = None,
    ) -> Snippet:
        """Returns a file's bytes, or its first or last lines.

        Args:
            path: Relative to the workspace, or absolute.
            max_bytes: The most bytes to return, up to 64 MiB; the result's ``cut`` and ``size`` show if more exist.
            head: The number of first lines to return, if not all.
            tail: The number of last lines to return, if not all.

        Returns:
            The piece of the file: its bytes as ``data``, as ``text``, and its position in the file.

        Raises:
            OutsideWorkspace: If the path leads out of the workspace.
            FileUnavailable: If it is not a file that can be read.
            UsageError: If a number is not valid, or both *head* and *tail* are given.
        """
        for name, limit in (("max_bytes", max_bytes), ("head", head), ("tail", tail)):
            if limit is not None:
                check_count(name, limit)
        if max_bytes > LARGEST:
            raise UsageError(f"max_bytes must be at most {LARGEST}.", hint="Open a larger file yourself.")
        if head is not None and tail is not None:
            raise UsageError(
                "Both head and tail were given.", hint="Read the beginning and the end one after the other."
            )
        piece = snippet(self._workspace, str(path), length=max_bytes, from_end=tail is not None)
        return piece if head is None and tail is None else piece.only(head, tail)

    def diff(self, path: str | os.PathLike[str]) -> str:
        """Returns what the session's tool calls have changed in a file since its first turn, as a unified diff.

        Args:
            path: Relative to the workspace, or absolute.

        Returns:
            The diff; empty if they changed nothing in the file, or do not show what they changed.
        """
        chat, cwd = self._conversation.chat.state, self._conversation.cwd
        parts = [part for turn in chat.turns for part in turn.response_parts]
        parts += chat.active_turn.response_parts if chat.active_turn is not None else ()
        wanted = relative(str(path), cwd)
        return next((each.diff for each in changes(parts, cwd) if each.path == wanted), "")

    @property
    def _workspace(self) -> WorkspaceBoundary:
        return WorkspaceBoundary(self._conversation.cwd)

    def __repr__(self) -> str:
        return f"<Files of {self._conversation.cwd}>"
