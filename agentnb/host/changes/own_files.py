"""The files that agentnb itself writes and that may lie in a workspace: the log, the data folder, a cassette.

A write to them is not a change of a turn, and undo must not touch them. So no snapshot covers them, whatever the
workspace's ignore files say.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from agentnb.cassette.large_content import belongs_to
from agentnb.changes.ignore import is_ignored, literal, read_rules
from agentnb.folders import data_folder
from agentnb.log.location import batch_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SUFFIXES = ("", "-wal", "-shm", "-journal", ".lock", ".damaged-*")
"""The suffixes of a database and of the files that SQLite and the log keep beside it, as patterns of an ignore file."""

IN_DATA_FOLDER = (
    *("audit.jsonl", "audit.1.jsonl", "changes", "install-folders.json", ".install-folders.json.*.part", "installs"),
    *("local", "paired", "research", "wire"),
)
"""agentnb's files in its data folder besides the log, as patterns of an ignore file.

Other files there are the user's: they are covered.
"""

OF_AGENTS = "/.fast-agent/sessions/\n"
"""Places in the workspace where agents keep their memory of a conversation, as lines of an ignore file: fast-agent's.

Undoing them with a turn would make the agent forget; each turn changes them, so undo of an earlier one would conflict.
"""


class OwnFilesInside:
    def __init__(self, workspace: PurePath, lines: str, cassette: Callable[[], Path | None]) -> None:
        self.lines = lines
        self._workspace = Path(workspace)
        self._rules = read_rules(lines)
        self._cassette = cassette

    def has(self, path: str) -> bool:
        """True if *path*, relative to the workspace, is currently one of the own files."""
        if self._rules and is_ignored(self._rules, path):
            return True
        cassette = self._cassette()
        return cassette is not None and belongs_to(self._workspace / path, cassette)


class OwnFiles:
    def __init__(
        self,
        log: Path | None,
        cassette: Callable[[], Path | None] = lambda: None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._cassette = cassette
        data = _real(data_folder(environ))
        self._places = [(data, name) for name in IN_DATA_FOLDER]
        if log is not None:
            folder = _real(log.parent)
            databases = (log, log.with_name(f"{log.stem}-search.db"), batch_file(log))
            self._places += [(folder, f"{literal(each.name)}{end}") for each in databases for end in SUFFIXES]

    def of(self, workspace: Path) -> OwnFilesInside:
        root = _real(workspace)
        places = {folder for folder, _ in self._places if folder.is_relative_to(root)}
        inside = {folder: ["", *map(literal, folder.relative_to(root).parts)] for folder in places}
        lines = ["/".join([*inside[folder], name]) for folder, name in self._places if folder in inside]
        named = "".join(f"{each}\n" for each in lines if "\n" not in each)  # an ignore file can't name the others
        return OwnFilesInside(root, named + OF_AGENTS, self._cassette)


def _real(folder: Path) -> PurePath:
    return PurePath(os.path.realpath(folder))
