"""Keeps sessions in the process, or as one JSON file each in a folder that processes can share.

Session ids are `sess-1`, `sess-2` … In the process they are counted, so that a run is like the one before.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from agentnb.atomic_write import write_atomically
from agentnb.safe_json import read_json

_SESSION_ID = re.compile(r"sess-([1-9]\d*)")

SessionRecord = dict[str, Any]


class SessionStore:
    """Keeps the records of sessions as long as the process lives."""

    def __init__(self) -> None:
        self._count = 0
        self._records: dict[str, SessionRecord] = {}

    def new_id(self) -> str:
        """Returns an id that no other session of this store has."""
        self._count += 1
        return f"sess-{self._count}"

    def save(self, record: SessionRecord) -> None:
        """Keeps a record; it replaces the one with the same `session_id`."""
        self._records[record["session_id"]] = record

    def load(self, session_id: str) -> SessionRecord | None:
        return self._records.get(session_id)

    def records(self) -> list[SessionRecord]:
        """Returns every record, the oldest session first."""
        return list(self._records.values())

    def delete(self, session_id: str) -> bool:
        """Keeps the record of a session no more; False where there was none."""
        return self._records.pop(session_id, None) is not None


class SessionFolder(SessionStore):
    """Keeps sessions as JSON files."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def new_id(self) -> str:
        """Takes the next free number, by making its file."""
        number = max(self._numbers(), default=0) + 1
        while True:
            try:
                self._path(f"sess-{number}").touch(exist_ok=False)
            except FileExistsError:
                number += 1
            else:
                return f"sess-{number}"

    def save(self, record: SessionRecord) -> None:
        """Writes the file whole or not at all."""
        write_atomically(self._path(record["session_id"]), json.dumps(record, ensure_ascii=False).encode("utf-8"))

    def load(self, session_id: str) -> SessionRecord | None:
        """Returns the record of a session; None if there is none, or if its file is empty or no JSON."""
        if not _SESSION_ID.fullmatch(session_id):
            return None
        try:
            record: SessionRecord = read_json(self._path(session_id).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return record

    def records(self) -> list[SessionRecord]:
        """Returns every record, the oldest session first."""
        loaded = [self.load(f"sess-{number}") for number in sorted(self._numbers())]
        return [record for record in loaded if record is not None]

    def delete(self, session_id: str) -> bool:
        """Deletes the file."""
        exists = self.load(session_id) is not None
        if exists:
            self._path(session_id).unlink(missing_ok=True)
        return exists

    def _path(self, session_id: str) -> Path:
        return self._folder / f"{session_id}.json"

    def _numbers(self) -> list[int]:
        names = (_SESSION_ID.fullmatch(path.stem) for path in self._folder.glob("sess-*.json"))
        return [int(match[1]) for match in names if match]


def open_store(folder: str | None) -> SessionStore:
    """The store in `folder`, or in the process when there is none."""
    return SessionFolder(Path(folder).expanduser()) if folder else SessionStore()
