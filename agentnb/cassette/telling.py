"""The telling: what a process whose agents were played says at its end, where nobody else gathers the reports.

A kernel that nbconvert or papermill runs is such a process. What was not as recorded may have gone by unseen there: a
turn in the background, or one whose error no cell looked at.
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from pathlib import Path

from agentnb.cassette.report import not_asked_for, reports


class Telling:
    """Gathers what the players of one cassette report, and says it when this process ends.

    Args:
        cassette: Its path.
    """

    def __init__(self, cassette: Path) -> None:
        self._cassette = cassette
        self._reports = tempfile.TemporaryDirectory(prefix="agentnb-replay-")
        self._process = os.getpid()
        self.folder = self._reports.name
        atexit.register(self._tell)

    def lines(self) -> list[str]:
        """What was not as recorded, and which turns nobody asked for."""
        found = reports(Path(self.folder))
        differs = [text for report in found for text in report["mismatches"]]
        said = [f"not as recorded in {self._cassette}: {text}" for text in dict.fromkeys(differs)]
        return said + not_asked_for(self._cassette, {tuple(turn) for report in found for turn in report["turns"]})

    def _tell(self) -> None:
        if os.getpid() != self._process:  # a fork of it
            return
        for line in self.lines():
            print(f"agentnb: {line}", file=sys.__stderr__)
        self._reports.cleanup()
