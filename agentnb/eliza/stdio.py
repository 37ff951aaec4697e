"""Eliza as a program: ACP over stdin and stdout."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import sys
from typing import TYPE_CHECKING, TextIO, cast

from acp import run_agent, stdio_streams

from agentnb.eliza.agent import Eliza
from agentnb.eliza.extra_methods import MessageRouter, Wire
from agentnb.eliza.store import open_store

if TYPE_CHECKING:
    from acp import Agent

STORE_VARIABLE = "AGENTNB_ELIZA_STORE"
"""Environment: a folder that keeps the sessions; without it they live as long as the process."""

LOGIN_VARIABLE = "AGENTNB_ELIZA_LOGIN"
"""Environment: ``1`` makes eliza refuse new sessions until the client has called `authenticate`."""

LONGEST_LINE = 256 * 1024 * 1024
"""How many bytes one message from the client may have."""


def main(version: str) -> None:
    """Serve one client until it closes stdin.

    Args:
        version: What eliza tells as its own version.

    Raises:
        OSError: Stdin or stdout is a file or ``/dev/null``, or the folder for sessions can not be made.
    """
    for stream in (sys.stdin, sys.stdout):
        _check(stream)
    asyncio.run(_serve(version))


async def _serve(version: str) -> None:
    store = open_store(os.environ.get(STORE_VARIABLE))
    reader, writer = await stdio_streams(limit=LONGEST_LINE)
    wants_login = os.environ.get(LOGIN_VARIABLE) == "1"
    wire = Wire(writer.write)
    agent = Eliza(store, writer.write, wire, version=version, wants_login=wants_login)
    router = MessageRouter(reader, writer.write, agent.unrouted, wire, limit=LONGEST_LINE)
    standing = asyncio.ensure_future(router.run())
    with _stray_prints_to_stderr():
        await run_agent(cast("Agent", agent), writer, router.passed, use_unstable_protocol=True)
    standing.cancel()


def _check(stream: TextIO) -> None:
    """Refuse what the event loop can not wait for: it would hang or print a traceback for it."""
    mode = os.fstat(stream.fileno()).st_mode
    if sys.platform != "win32" and not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stream.isatty()):
        raise OSError(f"{stream.name.strip('<>')} is no pipe")


def _stray_prints_to_stderr() -> contextlib.AbstractContextManager[object]:
    """Keep `print` off the wire. On Windows the SDK itself writes through `sys.stdout`."""
    return contextlib.nullcontext() if sys.platform == "win32" else contextlib.redirect_stdout(sys.stderr)
