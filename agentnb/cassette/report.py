"""The report: what of a cassette was played, for whoever started the player (the pytest plugin does)."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.errors import CassetteBroken
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Collection

from agentnb.events.kinds import CASSETTE_FINISHED, CASSETTE_MATCHED, CASSETTE_MISMATCHED

REPORTS = "AGENTNB_CASSETTE_REPORT"
"""Environment: a folder in which each player keeps a file about what it played."""


class Report:
    """What one player has played so far; kept on disk, since a player may be ended at any moment.

    Args:
        cassette: The cassette's path.
        folder: Where to keep it; None keeps it in memory only.
    """

    def __init__(self, cassette: Path, folder: str | None) -> None:
        self.turns: list[list[int]] = []
        self.mismatches: list[str] = []
        self._cassette = str(cassette.resolve())
        self._file = Path(folder) / f"replay-{uuid.uuid4().hex}.json" if folder else None
        self._write()

    def used(self, session: int, turn: int) -> None:
        """Turn number *turn* of session number *session* was asked for."""
        self.turns.append([session, turn])
        CASSETTE_MATCHED.tell(path=self._cassette, session=session, turn=turn)
        self._write()

    def mismatch(self, message: str) -> None:
        """Something was not as recorded."""
        self.mismatches.append(message)
        CASSETTE_MISMATCHED.tell(path=self._cassette, error=message)
        self._write()

    def finished(self) -> None:
        """The player ends."""
        CASSETTE_FINISHED.tell(path=self._cassette, mode="replay", turns=len(self.turns))

    def _write(self) -> None:
        if self._file is not None:
            draft = self._file.with_suffix(".part")
            draft.write_text(
                json.dumps({"cassette": self._cassette, "turns": self.turns, "mismatches": self.mismatches})
            )
            draft.replace(self._file)


def reports(folder: Path) -> list[dict[str, Any]]:
    """All reports in *folder*, each with its player's name."""
    files = sorted(folder.glob("replay-*.json"))
    return [{**read_json(file.read_text(encoding="utf-8")), "player": file.stem} for file in files]


def not_asked_for(path: Path, played: Collection[tuple[int, ...]]) -> list[str]:
    """A line for each turn of the cassette at *path* that is not among *played*, as (session, turn).

    Of a cassette that cannot be read nothing is said here: whoever played it has been told.
    """
    from agentnb.cassette.file import read

    lines = []
    with contextlib.suppress(CassetteBroken):
        for lane in read(path).lanes:
            for number, turn in enumerate(lane.turns, 1):
                if (lane.session, number) not in played:
                    place = f"{os.path.relpath(path)}:{turn.line}"
                    lines.append(f"{place}: turn {number} of session {lane.session} was not asked for")
    return lines
