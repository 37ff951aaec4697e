"""Rehearsing a command: it runs for real, on a copy of the file system that is thrown away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.kernel.rehearsal_result import SECONDS, Rehearsal, unavailable
from agentnb.plugins.rehearsal import command_program, limits
from agentnb.plugins.rehearsal.running import Running, scene_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def rehearse_command(
    command: str,
    cwd: str | os.PathLike[str],
    *,
    env: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    ways: Sequence[str] | None = None,
) -> Rehearsal:
    """What a command of the shell would do.

    Args:
        command: The command, for ``/bin/sh -c``.
        cwd: The folder that it runs in.
        env: Its environment; this process's where None.
        seconds: How long it may take.
        ways: The ways to close it in that may be used; all where None.

    Example:
        >>> rehearse_command("rm -rf build", ".").files  # doctest: +SKIP
    """
    if not limits.is_linux():
        return unavailable("Commands can be rehearsed on Linux only.")
    # What Python compiles by the way is not what the command is about; a command that writes it itself is shown.
    environ = {**(os.environ if env is None else env), "PYTHONDONTWRITEBYTECODE": "1"}
    folder = os.path.realpath(cwd)
    temporary = tempfile.mkdtemp(prefix="agentnb-rehearsal-")
    printed, printing = os.pipe()
    report, reporting = os.pipe()
    asked = {**scene_options(folder, temporary, seconds, environ), "report": reporting, "command": command}
    if ways is not None:
        asked["ways"] = list(ways)
    program = [sys.executable, "-I", "-S", command_program.__file__, json.dumps(asked)]
    try:
        started = subprocess.Popen(
            program,
            stdin=subprocess.DEVNULL,
            stdout=printing,
            stderr=subprocess.STDOUT,
            env=environ,
            pass_fds=(reporting,),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        for each in (printed, report):
            os.close(each)
        os.rmdir(temporary)
        return unavailable(f"The command could not be started: {error}.")
    finally:
        os.close(printing)
        os.close(reporting)
    running = Running(started.pid, printed, report, cwd=folder, temporary=temporary, seconds=seconds)
    try:
        told, rehearsal = running.wait()
    finally:
        started.returncode = 0  # it was waited for
    if not rehearsal.available:
        return rehearsal
    return replace(rehearsal, exit_code=told.status, reason=_limits(rehearsal.way))


def _limits(way: str) -> str:
    if way == "namespaces":
        return ""
    return "This system lets no user make namespaces: what the command wanted to write was refused, not shown."
