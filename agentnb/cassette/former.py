"""The former recording: put by while a cassette is recorded anew, until the new one is at least as long."""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING

from agentnb.cassette import file
from agentnb.cassette.blobs import folder_of
from agentnb.errors import CassetteBroken, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from agentnb.cassette.tape import Cassette


class Former:
    """What was at *path* before; a run that breaks off must not cost a good recording.

    Args:
        path: The cassette that is recorded.

    Attributes:
        place: Where the former one is kept: a cassette like others, that can be played.
        cassette: What is in it; None where there is none that can be used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turns = 0
        self.cassette = _cassette(path)
        self.place = path.with_name(f"{path.name.removesuffix('.jsonl')}.old.jsonl")

    def put_by(self) -> None:
        """Keep what is at the path; one that is kept already, from a run that broke off, stays."""
        kept = _cassette(self.place)
        self._turns = kept.turns if kept is not None else 0
        if not self._turns and (turns := self.cassette.turns if self.cassette is not None else 0):
            shutil.copyfile(self._path, self.place)
            if folder_of(self._path).is_dir():
                shutil.copytree(folder_of(self._path), folder_of(self.place), dirs_exist_ok=True)
            self._turns = turns

    def settle(self, turns: int) -> str | None:
        """The new recording holds *turns*: give the former one up, or say where it is."""
        if not self._turns:
            return None
        if turns < self._turns:
            return (
                f"{self._path} holds {turns} turns now, and held {self._turns}: the former recording is kept as "
                f"{self.place}. Rename it if this one broke off, remove it if not."
            )
        self.place.unlink(missing_ok=True)
        shutil.rmtree(folder_of(self.place), ignore_errors=True)
        self._turns = 0
        return None


def check_place(path: Path) -> None:
    """Make sure that a cassette can be written to *path*, before anybody talks to an agent for it.

    Raises:
        UsageError: If not.
    """
    folder = next(each for each in path.parents if each.exists() or each == each.parent)
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(f"{path}: no cassette can be written there.", hint="Name a file in a folder that is yours.")


def _cassette(path: Path) -> Cassette | None:
    """The cassette at *path*; None where there is none that can be used."""
    with contextlib.suppress(CassetteBroken):
        return file.read(path)
    return None
