"""Runs eliza as a program that starts quickly: each user's first agent waits for it, and thousands of tests do.

It loads nothing of the other commands. Where the process is eliza's alone (:func:`run_alone`), it also leaves out TLS,
searches for garbage among the modules that it loads, and taking these down at its end.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import TYPE_CHECKING

from agentnb import __version__
from agentnb.cli.exit_code import exit_code_of
from agentnb.command import OK, complain

if TYPE_CHECKING:
    from typing import Any, NoReturn


def run() -> int:
    """Run eliza until its client closes stdin; the exit code."""
    if sys.stdin.isatty():
        complain("eliza speaks ACP, not English, on stdin and stdout: start it from an ACP client. Ctrl+D ends it.")
    from agentnb.eliza.stdio import main as serve

    gc.freeze()
    gc.enable()
    try:
        serve(__version__)
    except (OSError, ValueError) as error:
        return complain(f"eliza cannot start: {error}. An ACP client starts it with pipes for stdin and stdout.")
    return OK


def run_alone() -> NoReturn:
    """Run eliza, and end this process."""
    gc.disable()
    _load_asyncio_without_tls()
    code = exit_code_of(run)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more, or it is closed
            stream.flush()
    os._exit(code)


def _load_asyncio_without_tls() -> None:
    """Have asyncio do as on a Python that was built without TLS: eliza talks to nobody but its client."""
    modules: dict[str, Any] = sys.modules
    modules["ssl"] = None  # the import fails, as asyncio expects where it is missing
    try:
        import asyncio  # noqa: F401
    finally:
        del modules["ssl"]
