"""The command line, run in this process: without a new one, a command takes a few milliseconds."""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
from subprocess import CompletedProcess


def run_here(*words: str) -> CompletedProcess[str]:
    """Runs like ``python -m agentnb words``, in this process with its environment and folder."""
    buffers = [io.BytesIO(), io.BytesIO()]
    streams = [io.TextIOWrapper(buffer, "utf-8", "surrogateescape") for buffer in buffers]
    before, sys.argv = sys.argv, ["agentnb", *words]
    status = 0
    try:
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            runpy.run_module("agentnb", run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv = before
    for stream in streams:
        stream.flush()
    output, errors = (buffer.getvalue().decode(errors="surrogateescape") for buffer in buffers)
    return CompletedProcess(["agentnb", *words], status, output, errors)
