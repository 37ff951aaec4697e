"""Installs an agent with npm or uv, as they are configured on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from agentnb.agent.child import Child, inherited, output_of
from agentnb.agent.process import INSTALLERS
from agentnb.agent.programs import find_on_path, neutral_folder, remember_folder, search_path
from agentnb.errors import AgentnbError
from agentnb.safe_files import try_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentnb.agent.catalog import AgentSpec

SILENT_SECONDS = 600.0
"""Seconds that an installer may print nothing."""
ASKING_SECONDS = 10.0
"""Seconds that it may print nothing after a text that looks like a password prompt."""
_FOLDER_SECONDS = 60.0
_TAIL = 4000
_PLAIN = re.compile(r"[A-Za-z0-9@/._=+:,~^-]+\Z")
_ASKS = re.compile(r"(?i)(?:password|passphrase|user ?name|one-time|otp)\b[^\n]{0,100}[:?]\s*\Z")
_PROMPT_LINE = re.compile(_ASKS.pattern.replace(r"\s*\Z", r"[ \t]*$"), re.MULTILINE)
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_FORMS = (("npm", "install"), ("uv", "tool", "install"))


class InstallEnd(msgspec.Struct, frozen=True, kw_only=True):
    state: Literal["done", "failed", "stopped"]
    message: str = ""
    exit_code: int | None = None


def install_words(spec: AgentSpec) -> tuple[str, ...] | None:
    """The command that installs *spec*; None where it has none that can be run without a shell."""
    return _words(spec.install or "")


@functools.lru_cache(maxsize=256)  # every list of agents shows which ones can be installed
def _words(install: str) -> tuple[str, ...] | None:
    try:
        words = tuple(shlex.split(install))
    except ValueError:
        return None
    is_known = any(words[: len(form)] == form and len(words) > len(form) for form in _FORMS)
    return words if is_known and all(_PLAIN.match(word) for word in words) else None


class Installation:
    def __init__(
        self,
        spec: AgentSpec,
        on_output: Callable[[bytes], None],
        *,
        silent_seconds: float = SILENT_SECONDS,
        asking_seconds: float = ASKING_SECONDS,
    ) -> None:
        words = install_words(spec)
        if words is None:
            message = f"{spec.title} has no command that can be run here."
            raise AgentnbError(message, hint=f"In a terminal: {spec.install}" if spec.install else None)
        program = find_on_path(words[0])
        if program is None:
            raise AgentnbError(f"{spec.title} can't be installed: {INSTALLERS[words[0]]}")
        self.line: str = shlex.join(words)
        self._spec = spec
        self._words = words
        self._program = program
        self._on_output = on_output
        self._silent_seconds = silent_seconds
        self._asking_seconds = asking_seconds
        self._tail = ""
        self._news = asyncio.Event()
        self._stopped = False
        self._child: Child | None = None

    async def run(self) -> InstallEnd:
        """Run the installation to its end, then make sure that the agent's program can be found."""
        with _alone() as is_alone:
            if not is_alone:
                message = "Another notebook or terminal is installing something on this machine."
                return InstallEnd(state="failed", message=f"{message} Try again when it is done.")
            return await self._run()

    def stop(self) -> None:
        """End the installation; :meth:`run` then returns."""
        self._stopped = True
        self._news.set()

    async def _run(self) -> InstallEnd:
        ended = asyncio.Event()

        def end() -> None:
            ended.set()
            self._news.set()

        try:
            self._child = await Child.spawn(
                [self._program, *self._words[1:]],
                cwd=neutral_folder(),
                env=_environment(),
                on_output=self._received,
                on_end=end,
                stdin=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.STDOUT,
            )
        except OSError as error:
            return self._failed(f"{self._words[0]} could not be started: {error.strerror or error}.")
        try:
            while not ended.is_set() and not self._stopped:
                self._news.clear()
                try:
                    await asyncio.wait_for(self._news.wait(), self._patience)
                except asyncio.TimeoutError:
                    silent = f"{self._words[0]} printed nothing for {self._silent_seconds:.0f} seconds and was stopped."
                    return self._failed(self._password() if self._asks else silent)
            if ended.is_set():
                await self._child.exited.wait()
        finally:
            await self._child.kill()
        if self._stopped:
            return InstallEnd(state="stopped", message=f"The install of {self._spec.title} was stopped.")
        code = self._child.returncode
        return await self._check_program() if code == 0 else self._failed(self._why_failed(code), code)

    def _received(self, _: int, data: bytes) -> None:
        self._tail = (self._tail + _ESCAPE.sub("", data.decode("utf-8", "replace")))[-_TAIL:]
        self._on_output(data)
        self._news.set()

    @property
    def _patience(self) -> float:
        return min(self._asking_seconds, self._silent_seconds) if self._asks else self._silent_seconds

    @property
    def _asks(self) -> bool:
        return _ASKS.search(self._tail.rstrip(" \t")) is not None

    def _why_failed(self, code: int | None) -> str:
        if _PROMPT_LINE.search(self._tail):
            return self._password()
        why = f"{self._words[0]} ended with exit code {code}."
        if "EACCES" in self._tail or "permission denied" in self._tail.lower():
            why += " It cannot write to its folder."
            if self._words[0] == "npm":
                why += " Choose a folder of your own with `npm config set prefix ~/.local`."
        elif "E401" in self._tail or "ENEEDAUTH" in self._tail:
            why += " The package index requires a login."
        elif "ENOTFOUND" in self._tail or "ECONNREFUSED" in self._tail or "ETIMEDOUT" in self._tail:
            why += " The package index could not be reached."
        return why

    def _password(self) -> str:
        return f"{self._words[0]} asked for a password, which can't be typed here. Run `{self.line}` in a terminal."

    async def _check_program(self) -> InstallEnd:
        """Find the program; if it was installed into a folder that is not on the PATH, search that from now on."""
        name = self._spec.command[0]
        if find_on_path(name) is not None:
            return InstallEnd(state="done", exit_code=0)
        folder = await self._folder()
        if folder is not None and find_on_path(name, str(folder)) is not None:
            try:
                remember_folder(folder)
            except OSError as error:
                return self._failed(f"{name!r} is in {folder}, which is not on the PATH ({error.strerror}).", 0)
            return InstallEnd(state="done", exit_code=0)
        where = f" It installed programs in {folder}." if folder is not None else ""
        return self._failed(f"{self._words[0]} finished successfully, but there is no command {name!r}.{where}", 0)

    async def _folder(self) -> Path | None:
        """The folder that npm or uv installs programs into; None if it does not report one."""
        words = ("prefix", "-g") if self._words[0] == "npm" else ("tool", "dir", "--bin")
        output = await output_of([self._program, *words], neutral_folder(), _environment(), _FOLDER_SECONDS)
        line = output.strip().rpartition("\n")[2]
        if not Path(line).is_absolute():
            return None
        is_prefix = self._words[0] == "npm" and sys.platform != "win32"
        return Path(line) / "bin" if is_prefix else Path(line)

    def _failed(self, message: str, exit_code: int | None = None) -> InstallEnd:
        return InstallEnd(state="failed", message=message, exit_code=exit_code)


def _environment() -> dict[str, str]:
    """The user's environment, set so that git and ssh, which npm may start, do not prompt."""
    env = inherited({"GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never"})
    return {**env, "PATH": search_path(env.get("PATH"))}


@contextlib.contextmanager
def _alone() -> Iterator[bool]:
    """Yields True if no other kernel or terminal of this user is installing an agent; a killed one drops the lock."""
    descriptor = os.open(neutral_folder() / "lock", os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        yield try_lock(descriptor)
    finally:
        os.close(descriptor)
