"""Agents of ours as programs that start quickly: each user's first agent waits for eliza, and thousands of tests do.

eliza loads nothing of the other commands. Where the process is the agent's alone, it leaves out TLS, and taking down
what it has loaded at its end.
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

GARBAGE = 20_000
"""How many objects are made before garbage is looked for. Python's own number is 700; a start makes many that stay."""


def run() -> int:
    """Run eliza until its client closes stdin; the exit code."""
    if sys.stdin.isatty():
        complain("eliza speaks ACP, not English, on stdin and stdout: start it from an ACP client. Ctrl+D ends it.")
    from agentnb.plugins.eliza.stdio import main as serve

    try:
        serve(__version__)
    except (OSError, ValueError) as error:
        return complain(f"eliza cannot start: {error}. An ACP client starts it with pipes for stdin and stdout.")
    return OK


def run_alone() -> NoReturn:
    """Run eliza, and end this process."""
    begin_process()
    end_process(exit_code_of(run))


def end_process(code: int) -> NoReturn:
    """End this process now; what it has loaded is not taken down.

    Args:
        code: Its exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more, or it is closed
            stream.flush()
    os._exit(code)


def begin_process() -> None:
    """Look for garbage rarely, and load asyncio as on a Python that was built without TLS.

    Only for what talks to nobody but its client and kernels on this machine, in a process of its own.
    """
    gc.set_threshold(GARBAGE)
    modules: dict[str, Any] = sys.modules
    modules["ssl"] = None  # the import fails, as asyncio expects where it is missing
    try:
        import asyncio  # noqa: F401
    finally:
        del modules["ssl"]
