"""`agentnb replay PATH`: the player as a program."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from agentnb.cassette import file
from agentnb.cassette.player import Player
from agentnb.cassette.report import REPORTS, Report
from agentnb.cassette.secrets import Secrets
from agentnb.cassette.shelf import Shelf
from agentnb.cassette.stdio import Stdio, say
from agentnb.errors import AgentnbError

if TYPE_CHECKING:
    from pathlib import Path


def replay(path: Path, *, agent: str | None = None, launch: int | None = None, paced: bool = False) -> int:
    """Serve one ACP client on stdin and stdout until it closes stdin.

    Args:
        path: The cassette.
        agent: Whose sessions to play; by default everybody's.
        launch: Those of which process; by default of all.
        paced: Whether to take as long as the recorded agent did.

    Returns:
        The exit code: 1 where the cassette cannot be used, or something was not as recorded; else 0.
    """
    report = Report(path, os.environ.get(REPORTS))
    shelf: Shelf | AgentnbError
    try:
        shelf = Shelf(file.read(path), agent, launch, Secrets(os.environ))
    except AgentnbError as error:
        say(str(error))
        shelf = error
    asyncio.run(Player(shelf, Stdio(), paced=paced, report=report).run())
    report.finished()
    if isinstance(shelf, AgentnbError):
        return 1
    for lane, number in shelf.unused():
        say(f"{path}:{lane.turns[number - 1].line}: turn {number} of session {lane.session} was not asked for.")
    return 1 if report.mismatches else 0
