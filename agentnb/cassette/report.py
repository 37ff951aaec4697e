"""Reports to whoever started the replayer which turns were replayed, and which deviated."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.errors import CassetteBroken
from agentnb.events.kinds import CASSETTE_FINISHED, CASSETTE_MATCHED, CASSETTE_MISMATCHED
from agentnb.safe_files import write_atomically
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Collection

REPORTS = "AGENTNB_CASSETTE_REPORT"
"""Environment: a folder in which each replayer keeps a file about what it played."""


class ReplayReport:
    """The turns that one replayer has played so far; kept on disk, since a replayer may be ended at any moment."""

    def __init__(self, cassette: Path, folder: str | None) -> None:
        self.turns: list[list[int]] = []
        self.mismatches: list[str] = []
        self._cassette = str(cassette.resolve())
        self._file = Path(folder) / f"replay-{uuid.uuid4().hex}.json" if folder else None
        self._write()

    def used(self, session: int, turn: int) -> None:
        """Record that turn number *turn* of session number *session* was requested."""
        self.turns.append([session, turn])
        CASSETTE_MATCHED.tell(path=self._cassette, session=session, turn=turn)
        self._write()

    def mismatch(self, message: str) -> None:
        self.mismatches.append(message)
        CASSETTE_MISMATCHED.tell(path=self._cassette, error=message)
        self._write()

    def finished(self) -> None:
        CASSETTE_FINISHED.tell(path=self._cassette, mode="replay", turns=len(self.turns))

    def _write(self) -> None:
        if self._file is not None:
            played = {"cassette": self._cassette, "turns": self.turns, "mismatches": self.mismatches}
            write_atomically(self._file, json.dumps(played).encode())


def reports(folder: Path) -> list[dict[str, Any]]:
    """All reports in *folder*, each with its replayer's name."""
    files = sorted(folder.glob("replay-*.json"))
    return [{**read_json(file.read_text(encoding="utf-8")), "replayer": file.stem} for file in files]


def not_asked_for(path: Path, played: Collection[tuple[int, ...]]) -> list[str]:
    """Returns a line for each turn of the cassette at *path* that is not among *played*, as (session, turn).

    An unreadable cassette gives no lines: whoever replayed it already got the error.
    """
    from agentnb.cassette.file import read

    lines = []
    with contextlib.suppress(CassetteBroken):
        for section in read(path).sections:
            for number, turn in enumerate(section.turns, 1):
                if (section.session, number) not in played:
                    place = f"{os.path.relpath(path)}:{turn.line}"
                    lines.append(f"{place}: turn {number} of session {section.session} was not used")
    return lines


class ExitReport:
    """Gathers the reports of one cassette's replayers, and prints them when this process ends."""

    def __init__(self, cassette: Path) -> None:
        self._cassette = cassette
        self._reports = tempfile.TemporaryDirectory(prefix="agentnb-replay-")
        self._process = os.getpid()
        self.folder: str = self._reports.name
        atexit.register(self._tell)

    def lines(self) -> list[str]:
        deviations = reports(Path(self.folder))
        differs = [text for report in deviations for text in report["mismatches"]]
        texts = [f"not as recorded in {self._cassette}: {text}" for text in dict.fromkeys(differs)]
        return texts + not_asked_for(self._cassette, {tuple(turn) for report in deviations for turn in report["turns"]})

    def _tell(self) -> None:
        if os.getpid() != self._process:  # in a fork
            return
        for line in self.lines():
            print(f"agentnb: {line}", file=sys.__stderr__)
        self._reports.cleanup()


def say(text: str) -> None:
    """Write a line for people to stderr."""
    sys.stderr.write(f"agentnb: {text}\n")
    sys.stderr.flush()
