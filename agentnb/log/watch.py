"""Notices that sessions were added, changed or removed in the log, by this kernel or another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentnb.log import database

if TYPE_CHECKING:
    from pathlib import Path

_LATEST = "SELECT coalesce(max(number), 0) FROM changes"
_SINCE = "SELECT number, uri, kind FROM changes WHERE number > ? ORDER BY number"


class Changes(NamedTuple):
    """The sessions that changed since the last look, by URI."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


class LogWatch:
    """Looks at one log."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = database.connect(path)
        with database.explained(path):
            self._version = self._data_version()
            self._number = int(self._connection.execute(_LATEST).fetchone()[0])

    def look(self) -> Changes | None:
        """Returns what has changed since the last look; None where nothing has, or the file is another one by now."""
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
        """True if the path still leads to the file that is looked at."""
        return database.file_at(self._path) == self._connection.file

    def close(self) -> None:
        """Look no more."""
        self._connection.close()

    def _data_version(self) -> int:
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])
