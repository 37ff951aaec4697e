"""``agentnb.rehearse``: a preview of what code or a command would do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.api.unattended import current_shell
from agentnb.errors import UsageError
from agentnb.events.kinds import REHEARSAL_ENDED
from agentnb.kernel.rehearsal_result import SECONDS, Rehearsal, begin_code, rehearse_command

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

MOST_SECONDS = 600.0


def rehearse(
    code: str | None = None,
    *,
    command: str | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
) -> Rehearsal:
    """Returns what code or a command would do, without doing it.

    Code runs in a copy of this kernel with all its variables; a command really runs, but on a copy of the file system.
    Neither can reach the network, other processes or the page, and nothing of it is left when this function returns.
    It works only on Linux. It cannot show what a server would answer, nor what would happen after the time limit.

    Args:
        code: Python code, with magics and top-level ``await`` as in a cell.
        command: Instead of *code*: a command line for ``/bin/sh``.
        cwd: The folder to run in; the current one by default. Paths in the result are relative to it.
        env: A command's environment; this process's by default.
        seconds: The time limit in seconds, up to 600.

    Returns:
        The result; a notebook shows it as a table with diffs. If nothing could be run, ``available`` is False and
        ``reason`` says why.

    Raises:
        UsageError: If *code* and *command* are both given, or neither is, or another argument is not valid.

    Example:
        >>> agentnb.rehearse("df['c'] = df.a * 2").variables  # doctest: +SKIP
        >>> agentnb.rehearse(command="rm -rf build").files  # doctest: +SKIP
    """
    folder = _checked(code, command, cwd, seconds)
    if command is not None:
        result = rehearse_command(command, folder, env=env, seconds=seconds)
    else:
        if env is not None:
            raise UsageError("env can only be used with command=.", hint="Set os.environ in the code.")
        result = begin_code(current_shell(), code or "", folder, seconds=seconds)()
    what, milliseconds = "code" if command is None else "command", round(result.seconds * 1000)
    REHEARSAL_ENDED.tell(what=what, available=result.available, way=result.way, milliseconds=milliseconds)
    return result


def _checked(code: object, command: object, cwd: str | os.PathLike[str] | None, seconds: object) -> str:
    if (code is None) == (command is None):
        raise UsageError("rehearse takes either code or command=.", hint='For example agentnb.rehearse("x = 1").')
    for name, value in (("code", code), ("command", command)):
        if value is not None and not isinstance(value, str):
            raise UsageError(f"{name} must be text, not {value!r}.", hint="Give it as one string.")
        if isinstance(value, str) and "\0" in value:
            raise UsageError(f"{name} has a null character in it.", hint="Leave it out.")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= MOST_SECONDS:
        raise UsageError(f"seconds must be a number up to {MOST_SECONDS:g}, not {seconds!r}.", hint="5 is the default.")
    folder = Path(Path.cwd() if cwd is None else cwd).expanduser().resolve()
    if not folder.is_dir():
        raise UsageError(f"cwd={str(cwd)!r} is not a folder.", hint="Give the folder that it should run in.")
    return str(folder)
