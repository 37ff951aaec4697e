"""Turns the ways in which a command can end into exit codes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from agentnb.command import FAILED, INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable


def exit_code_of(run: Callable[[], int]) -> int:
    """Run a command; the exit code that it gives, or that stands for how it was ended."""
    try:
        return run()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; what is still buffered must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
