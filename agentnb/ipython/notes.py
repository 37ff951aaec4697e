"""Short words to the user beside what a command shows."""

from __future__ import annotations

import os
import sys

from agentnb.credentials import Credentials


def say(message: str) -> None:
    """Write *message* to stderr, of the cell that runs, without credentials; from the main thread only."""
    sys.stderr.write(f"{Credentials(os.environ).hidden_in_command(message)}\n")
