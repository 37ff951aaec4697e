"""Runs eliza until its client closes stdin."""

from __future__ import annotations

import sys

from agentnb import __version__
from agentnb.command import INTERRUPTED, OK, complain
from agentnb.plugins.eliza.stdio import main as serve


def run() -> int:
    """Serve one client; returns the exit code."""
    if sys.stdin.isatty():
        complain("eliza speaks ACP, not English, on stdin and stdout: start it from an ACP client. Ctrl+D ends it.")
    try:
        serve(__version__)
    except (OSError, ValueError) as error:
        return complain(f"eliza cannot start: {error}. An ACP client starts it with pipes for stdin and stdout.")
    except KeyboardInterrupt:
        return INTERRUPTED
    return OK
