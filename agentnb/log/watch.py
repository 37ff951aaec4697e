"""Notices that sessions were added, changed or removed in the log, by this kernel or another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentnb.log import database

if TYPE_CHECKING:
    from pathlib import Path

_LATEST = "SELECT coalesce(max(number), 0) FROM changes"
_SINCE = "SELECT number, uri, kind FROM changes WHERE number > ? ORDER BY number"


class Changes(NamedTuple):
    """What has changed since the last look: the sessions' URIs.

    Attributes:
        added: They are new.
        removed: They were deleted.
        changed: Something happened in them, or to them.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


class LogWatch:
    """Looks at one log. A look while nothing has changed reads one number that kernels share in memory.

    The number is SQLite's ``data_version``, which changes with each transaction of another connection; which sessions
    it was about, triggers of the file write down (:mod:`agentnb.log.database`). Not for two threads at once.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = database.connect(path)
        with database.explained(path):
            self._version = self._data_version()
            self._number = int(self._connection.execute(_LATEST).fetchone()[0])

    def look(self) -> Changes | None:
        """What has changed since the last look; None where nothing has, or the file is another one by now."""
        with database.explained(self._path):
            version = self._data_version()
            if version == self._version:
                return None
            self._version = version
            kinds: dict[str, list[str]] = {"added": [], "removed": [], "changed": []}
            for number, uri, kind in self._connection.execute(_SINCE, (self._number,)):
                self._number = number
                kinds[kind].append(uri)
        return Changes(*map(tuple, kinds.values())) if any(kinds.values()) else None

    @property
    def is_current(self) -> bool:
        """Whether the path still leads to the file that is looked at."""
        return database.file_at(self._path) == self._connection.file

    def close(self) -> None:
        """Look no more."""
        self._connection.close()

    def _data_version(self) -> int:
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])
