"""A child: one program in its own process group, whose output is passed on as it comes and whose end is certain."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from typing import TYPE_CHECKING, Any, TypeVar, cast

from agentnb.agent import subreaper
from agentnb.agent.group_end import GroupEnd, SubreaperLink, until_set
from agentnb.agent.guard import GUARD
from agentnb.agent.watchdog import MARK, is_running, signal_group
from agentnb.events.kinds import PROCESS_ENDED, PROCESS_STARTED

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from pathlib import Path

T = TypeVar("T")

BELOW_SUBREAPER = sys.platform == "linux"

DRAIN = 0.25
"""Seconds without output after the program's end until its output counts as complete.

A child process of the program can hold the pipe open forever.
"""
MOST_DRAINS = 20
"""Times that output restarts these seconds; while no one reads the output, they restart without limit."""
ONE_DRAIN = 1
"""The same for a program that is useless without its own process, such as an agent behind a launcher (npx)."""
MOST_OUTPUT = 10_000
"""The most bytes that :func:`output_of` reads."""

_OF_JUPYTER_SERVER = re.compile(
    r"JPY_.*|JUPYTERHUB_.*|JUPYTER_(?:TOKEN|PASSWORD|SERVER_.*|GATEWAY_.*)|(?:NB|NOTEBOOK|CONFIGPROXY|BINDER)_.*TOKEN.*"
)


class Child(asyncio.SubprocessProtocol):
    def __init__(self, on_output: Callable[[int, bytes], None], on_end: Callable[[], None]) -> None:
        self.exited: asyncio.Event = asyncio.Event()
        self.pid: int = 0
        self.on_full: Callable[[bool], None] = lambda _is_full: None
        self._mark = GUARD.mark()
        self._on_output = on_output
        self._on_end: Callable[[], None] | None = on_end
        self._transport: asyncio.SubprocessTransport | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._link = SubreaperLink(self._began, self._record_end)
        self.reaped: asyncio.Event = self._link.ended
        self._status: int | None = None
        self._paused = False
        self._reads = 0
        self._drains = MOST_DRAINS

    @classmethod
    async def spawn(
        cls,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        on_output: Callable[[int, bytes], None],
        on_end: Callable[[], None],
        stdin: int = asyncio.subprocess.PIPE,
        stderr: int = asyncio.subprocess.PIPE,
        drains: int = MOST_DRAINS,
    ) -> Child:
        """Start *command* in *cwd* with exactly the environment *env*, plus our mark."""
        child = cls(on_output, on_end)
        child._drains = drains
        options: dict[str, Any] = {"stdin": stdin, "stdout": asyncio.subprocess.PIPE, "stderr": stderr, "cwd": str(cwd)}
        try:
            if BELOW_SUBREAPER:
                await child._spawn_below_subreaper(command, env, options)
            else:
                starting = asyncio.get_running_loop().subprocess_exec(
                    lambda: child,
                    *command,
                    **options,
                    env={**env, MARK: child._mark},
                    start_new_session=sys.platform != "win32",
                )
                await _unbroken(starting)
        except BaseException:
            await _unbroken(child._give_up())
            raise
        PROCESS_STARTED.tell(pid=child.pid, program=command[0])
        return child

    async def _give_up(self) -> None:
        """End a program whose start was abandoned."""
        self._link.give_up()
        try:
            if self.pid:
                await self.kill()
            self._link.close()
            await self._link.wait_ended(2.0)
        finally:
            self._link.close()
            if self._transport is not None:
                self._transport.close()

    async def _spawn_below_subreaper(
        self, command: Sequence[str], env: Mapping[str, str], options: Mapping[str, Any]
    ) -> None:
        with self._link.opened() as theirs:
            arguments = [str(theirs), str(os.getpid()), f"{MARK}={self._mark}", *command]
            starting = asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                *(sys.executable, "-I", "-S", subreaper.__file__, *arguments),
                **options,
                env=dict(env),
                pass_fds=(theirs,),
                start_new_session=True,
            )
            await _unbroken(starting)  # asyncio leaks a program's pipes if it is cancelled while connecting them
        self.pause()  # no output is delivered before the caller has the child
        failed = await self._link.started()
        if failed:
            raise OSError(failed, os.strerror(failed), command[0])
        self.resume()
        GUARD.add(self.pid)

    def _began(self, pid: int) -> None:
        self.pid = pid

    @property
    def returncode(self) -> int | None:
        """The program's exit code (negative: a signal's number), or None while it runs."""
        if BELOW_SUBREAPER:
            return self._status
        return None if self._transport is None else self._transport.get_returncode()

    @property
    def over(self) -> bool:
        """True if the program has ended, even if the loop has not been notified yet (it soon will be)."""
        if self.returncode is not None:
            return True
        if BELOW_SUBREAPER:
            return not is_running(self.pid)
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # asyncio has reaped it; its callback follows
            return True
        except AttributeError:  # this system has no waitid
            return False

    def write(self, data: bytes) -> None:
        """Hand *data* to the program's stdin; data that a dead program does not read is dropped."""
        stdin = self._pipe(0)
        if stdin is not None and not stdin.is_closing():
            cast("asyncio.WriteTransport", stdin).write(data)

    @property
    def unwritten(self) -> int:
        """The number of bytes that the program has not yet read from its stdin."""
        stdin = self._pipe(0)
        return 0 if stdin is None else cast("asyncio.WriteTransport", stdin).get_write_buffer_size()

    def close_stdin(self) -> None:
        stdin = self._pipe(0)
        if stdin is not None:
            stdin.close()

    def pause(self) -> None:
        """Read no output until :meth:`resume`; the program will wait when the pipe is full."""
        stdout = self._pipe(1)
        if stdout is not None and not stdout.is_closing():
            cast("asyncio.ReadTransport", stdout).pause_reading()
            self._paused = True

    def resume(self) -> None:
        stdout = self._pipe(1)
        if stdout is not None and not stdout.is_closing():
            cast("asyncio.ReadTransport", stdout).resume_reading()
            self._paused = False

    async def stop(self, patience: float = 2.5) -> None:
        """End the program and everything it started: close its stdin, then terminate, then kill."""
        if self._stopping is None:
            self._stopping = asyncio.ensure_future(self._stop(patience))
        await asyncio.shield(self._stopping)

    async def kill(self) -> None:
        """End the program and everything it started, now."""
        if self.returncode is None and sys.platform != "win32":
            signal_group(self.pid, signal.SIGKILL)
        await self.stop(0)

    async def _stop(self, patience: float) -> None:
        try:
            self.close_stdin()
            await until_set(self.exited, patience)
            if sys.platform == "win32":
                if self._transport is not None and self.returncode is None:
                    self._transport.terminate()
                    await until_set(self.exited, 1.0)
                    if self.returncode is None:
                        self._transport.kill()
            else:
                await GroupEnd(self.pid, self._mark, self._link, lambda: self.returncode is not None).end()
            await until_set(self.exited, 1.0)
            self._ended()
        finally:  # also if the loop ends meanwhile: the subreaper then ends the remaining processes
            if self._transport is not None:
                self._transport.close()
            self._link.close()

    def _pipe(self, descriptor: int) -> Any:
        return None if self._transport is None else self._transport.get_pipe_transport(descriptor)

    # asyncio calls these.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        if BELOW_SUBREAPER:
            self._link.runs = True
            return  # the program's own id comes over the socket
        self.pid = self._transport.get_pid()
        if sys.platform != "win32":
            GUARD.add(self.pid)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._reads += fd == 1
        self._on_output(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Called when the program closed a pipe; once its stdout is closed, it is treated as ended."""
        if fd == 1:
            self._ended()

    def pause_writing(self) -> None:
        """Called when the program reads its stdin more slowly than it is written to."""
        self.on_full(True)

    def resume_writing(self) -> None:
        """Called when the program has read nearly all of its stdin."""
        self.on_full(False)

    def process_exited(self) -> None:
        """Called when the program or its subreaper ended; a subreaper that is killed takes the program with it."""
        if BELOW_SUBREAPER:
            self._link.record_end()
            if self._status is not None:
                return
        status = self._transport.get_returncode() if self._transport is not None else None
        self._record_end(-signal.SIGKILL if status is None else status)

    def _record_end(self, status: int) -> None:
        if self.exited.is_set():
            return
        self._status = status
        self.exited.set()
        PROCESS_ENDED.tell(pid=self.pid, status=status)
        if status < 0 and sys.platform != "win32":  # it was killed, so it did not end its children
            signal_group(self.pid, signal.SIGTERM)
            self._link.send(b"t")
        self._drain(self._drains)

    def _drain(self, rounds: int, reads: int = -1) -> None:
        """Wait while output is still arriving from the pipe."""
        if self._on_end is None:
            return
        if self._paused:
            rounds += 1
        if (reads == self._reads and not self._paused) or not rounds:
            self._ended()
        else:
            asyncio.get_running_loop().call_later(DRAIN, self._drain, rounds - 1, self._reads)

    def _ended(self) -> None:
        on_end, self._on_end = self._on_end, None
        if on_end is not None:
            on_end()


async def output_of(command: Sequence[str], cwd: Path, env: Mapping[str, str], seconds: float) -> str:
    """The beginning of what *command* prints within *seconds*, read with its stdin closed."""
    output, ended = bytearray(), asyncio.Event()

    def received(descriptor: int, data: bytes) -> None:
        if descriptor == 1 and len(output) < MOST_OUTPUT:
            output.extend(data)

    child = await Child.spawn(
        command, cwd=cwd, env=env, on_output=received, on_end=ended.set, stdin=asyncio.subprocess.DEVNULL
    )
    await until_set(ended, seconds)
    await child.stop(patience=0)
    return output.decode("utf-8", "replace")


def inherited(extra: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The user's environment (keys and proxies are in it) with *extra* on top, without access to Jupyter servers."""
    kept = {name: value for name, value in environ.items() if not _OF_JUPYTER_SERVER.fullmatch(name)}
    return {**kept, **extra}


async def _unbroken(work: Coroutine[Any, Any, T]) -> T:
    """Returns the result of *work*; a cancellation takes effect only when it is done."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return task.result()
    if not task.cancelled():
        task.exception()  # marks the exception as retrieved
    raise cancelled
