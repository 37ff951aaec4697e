"""Short words to the user beside what a command shows."""

from __future__ import annotations

import os
import sys

from agentnb.credentials import Credentials


def say(message: str, *, warns: bool = True) -> None:
    """Write *message* to the cell that runs, without credentials, from the main thread only; a warning is red."""
    (sys.stderr if warns else sys.stdout).write(f"{Credentials(os.environ).hidden_in_command(message)}\n")
