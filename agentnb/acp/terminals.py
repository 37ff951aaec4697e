"""The terminals service: commands that agents run through us (ACP ``terminal/*``)."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import shlex
import shutil
import signal
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.acp.failure import NOT_FOUND
from agentnb.acp.fields import objects, texts
from agentnb.agent.child import Child, inherited
from agentnb.errors import OutsideWorkspace
from agentnb.policy.request import PolicyRequest
from agentnb.policy.shell.words import script_of
from agentnb.rpc_message import INVALID_PARAMS, RpcError
from agentnb.state import TerminalView, XTerminalData, XTerminalExited, XTerminalOpened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.acp.peer import SessionListener
    from agentnb.policy.workspace import WorkspaceBoundary

DEFAULT_LIMIT = 1024 * 1024
"""Bytes kept when the agent names no limit."""

_FLUSH = 0.04
_BURST = 256 * 1024


class Terminal:
    """One command, running or ended."""

    def __init__(self, limit: int, listener: SessionListener) -> None:
        self.id: str = f"term-{uuid.uuid4().hex[:12]}"
        self.ended: asyncio.Event = asyncio.Event()
        self.truncated: bool = False
        self._limit = limit
        self._listener = listener
        self._kept = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unsent: list[str] = []
        self._burst = 0
        self._flushing: asyncio.TimerHandle | None = None
        self._child: Child | None = None
        self._started = asyncio.Event()
        self._ending: asyncio.Task[None] | None = None

    async def start(self, command: list[str], command_line: str, cwd: Path, env: dict[str, str]) -> None:
        self._child = await Child.spawn(
            command,
            cwd=cwd,
            env=env,
            on_output=self._received,
            on_end=self._stopped,
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.STDOUT,
        )
        view = TerminalView(id=self.id, command=command_line, cwd=str(cwd))
        self._listener.actions((XTerminalOpened(terminal=view),))
        self._started.set()
        self._flush()

    @property
    def output(self) -> str:
        """The kept output, beginning at a character boundary."""
        kept = bytes(self._kept)
        while self.truncated and kept and kept[0] & 0xC0 == 0x80:  # noqa: PLR2004 - a UTF-8 continuation byte
            kept = kept[1:]
        return kept.decode("utf-8", "replace")

    @property
    def exit_status(self) -> dict[str, Any]:
        """ACP ``TerminalExitStatus``."""
        code = self._child.returncode if self._child is not None else None
        if code is None or code >= 0:
            return {"exitCode": code, "signal": None}
        with contextlib.suppress(ValueError):
            return {"exitCode": None, "signal": signal.Signals(-code).name}
        return {"exitCode": None, "signal": str(-code)}

    async def kill(self) -> None:
        """End the command and everything it started."""
        if self._child is not None:
            await self._child.kill()
            await self.ended.wait()
            if self._ending is not None:
                await asyncio.wait([self._ending])

    def _received(self, _: int, data: bytes) -> None:
        self._kept += data
        if len(self._kept) > self._limit:
            del self._kept[: len(self._kept) - self._limit]
            self.truncated = True
        self._unsent.append(self._decoder.decode(data))
        self._burst += len(data)
        if self._burst >= _BURST and self._child is not None:
            self._child.pause()
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().call_later(_FLUSH, self._flush)

    def _flush(self) -> None:
        if self._child is None:
            return  # output waits until the terminal is announced
        self._flushing = None
        text = "".join(self._unsent)
        self._unsent.clear()
        if self._burst >= _BURST:
            self._child.resume()
        self._burst = 0
        if text:
            self._listener.actions((XTerminalData(terminal_id=self.id, data=text),))

    def _stopped(self) -> None:
        self._ending = asyncio.ensure_future(self._end())
        self._ending.add_done_callback(lambda _: self.ended.set())

    async def _end(self) -> None:
        """Wait for a command that closed its output early, then end what it left running."""
        await self._started.wait()
        child = self._child
        if child is None:
            return
        await child.exited.wait()
        if self._flushing is not None:
            self._flushing.cancel()
        self._unsent.append(self._decoder.decode(b"", final=True))
        self._flush()
        status = self.exit_status
        code, signal_name = status["exitCode"], status["signal"]
        self._listener.actions((XTerminalExited(terminal_id=self.id, exit_code=code, signal=signal_name),))
        self.ended.set()
        await child.stop(0)


class Terminals:
    def __init__(
        self,
        workspace: WorkspaceBoundary,
        listener: SessionListener,
        confined: Callable[[Sequence[str]], list[str]] = list,
    ) -> None:
        self._confined = confined
        self._workspace = workspace
        self._listener = listener
        self._terminals: dict[str, Terminal] = {}

    async def create(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answer ``terminal/create``."""
        words = _words(params)
        variables = _variables(params.get("env"))
        env = inherited(variables)
        named, line = str(params.get("cwd") or self._workspace.root), shlex.join(words)
        cwd = self._folder(
            named, PolicyRequest(kind="terminal", title=f"Run {line}", command=line, env=tuple(variables.items()))
        )
        command = _command(words, cwd, env)
        line = _command_line(words, command)
        request = PolicyRequest(
            kind="terminal", title=f"Run {line}", command=line, path=str(cwd), env=tuple(variables.items())
        )
        allowed = await self._listener.authorize(request)
        if self._workspace.follow(named) != cwd:  # a link was moved while the user decided
            raise RpcError(INVALID_PARAMS, f"{named} no longer leads to the same folder.")
        edited = allowed.command is not None and (allowed.command, allowed.env) != (request.command, request.env)
        if edited and allowed.command is not None:
            env = inherited(dict(allowed.env))
            command = _by_shell(allowed.command, env)
        displayed = allowed.line or line
        terminal = Terminal(_limit(params.get("outputByteLimit")), self._listener)
        self._terminals[terminal.id] = terminal
        try:
            await terminal.start(self._confined(command), displayed, cwd, env)
        except (OSError, ValueError) as error:
            del self._terminals[terminal.id]
            raise RpcError(INVALID_PARAMS, f"{displayed!r} could not be run in {cwd}: {error}.") from error
        changed = {"_meta": {"agentnb": {"editedCommand": displayed}}} if edited else {}
        return {"terminalId": terminal.id, **changed}

    def _folder(self, named: str, request: PolicyRequest) -> Path:
        try:
            return self._workspace.resolve(named)
        except OutsideWorkspace as error:
            self._listener.refused(request, error)
            raise

    async def output(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answer ``terminal/output``: the output kept so far, and the exit status once the command has ended."""
        terminal = self._find(params)
        answer: dict[str, Any] = {"output": terminal.output, "truncated": terminal.truncated}
        return {**answer, "exitStatus": terminal.exit_status} if terminal.ended.is_set() else answer

    async def wait_for_exit(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answer ``terminal/wait_for_exit``."""
        terminal = self._find(params)
        await terminal.ended.wait()
        return terminal.exit_status

    async def kill(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answer ``terminal/kill``: the command ends, its output stays."""
        await self._find(params).kill()
        return {}

    async def release(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answer ``terminal/release``: the command ends, and its terminal is forgotten."""
        terminal = self._find(params)
        del self._terminals[terminal.id]
        await terminal.kill()
        return {}

    async def close(self) -> None:
        """End every command."""
        terminals, self._terminals = list(self._terminals.values()), {}
        await asyncio.gather(*(terminal.kill() for terminal in terminals))

    def _find(self, params: dict[str, Any]) -> Terminal:
        wanted = params.get("terminalId")
        terminal = self._terminals.get(wanted) if isinstance(wanted, str) else None
        if terminal is None:
            raise RpcError(NOT_FOUND, f"There is no terminal {wanted!r}.")
        return terminal


def _words(params: dict[str, Any]) -> list[str]:
    command = params.get("command")
    if not isinstance(command, str) or not command.strip():
        raise RpcError(INVALID_PARAMS, "`command` must name a program.")
    return [command, *texts(params.get("args"))]


def _command_line(words: list[str], command: list[str]) -> str:
    """The command line that is shown: for a system shell, the script it runs rather than the shell's own command."""
    if len(words) == 1 and command[1:] == ["-c", words[0]]:
        return words[0]
    return script_of(words, command[0]) or shlex.join(words)


def _command(words: list[str], cwd: Path, env: dict[str, str]) -> list[str]:
    """The command to execute: the program, or a shell if the agent put a whole line into ``command``."""
    name = words[0]
    where = str(cwd / name) if "/" in name and not Path(name).is_absolute() else name
    program_path = shutil.which(where, path=env.get("PATH"))
    if program_path is not None:
        return [program_path, *words[1:]]
    shell = shutil.which("sh", path=env.get("PATH"))
    if len(words) == 1 and shell is not None and not name.replace("-", "").replace("_", "").isalnum():
        return [shell, "-c", name]
    raise RpcError(INVALID_PARAMS, f"There is no program {name!r}.")


def _by_shell(line: str, env: dict[str, str]) -> list[str]:
    shell = shutil.which("sh", path=env.get("PATH"))
    if shell is None:
        raise RpcError(INVALID_PARAMS, "There is no shell `sh` to run the changed command with.")
    return [shell, "-c", line]


def _variables(env: Any) -> dict[str, str]:
    return {
        each["name"]: each["value"]
        for each in objects(env)
        if isinstance(each.get("name"), str) and isinstance(each.get("value"), str)
    }


def _limit(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else DEFAULT_LIMIT
