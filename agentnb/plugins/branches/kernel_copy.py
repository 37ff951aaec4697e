"""An isolated copy of the kernel: a fork of it, or a fresh process that runs the notebook's cells.

Both see the branch's copy of the workspace in the workspace's place, and nothing that they write elsewhere stays.
"""

from __future__ import annotations

import itertools
import os
import shlex
import socket
import sys
import threading
from collections import deque
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLong
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.errors import KernelBusy, UsageError
from agentnb.plugins.branches.copy_serving import CopyAnswer, CopyLink, CopyRequest
from agentnb.plugins.rehearsal.code import begin_code
from agentnb.plugins.rehearsal.command import rehearse_command
from agentnb.plugins.rehearsal.kernel_code import cut_off, new_shell
from agentnb.plugins.rehearsal.thread_pools import libraries_that_hang

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agentnb.kernel.rehearsal_result import Rehearsal
    from agentnb.plugins.branches.at_fork import AtFork
    from agentnb.plugins.rehearsal.code import Notes

LONGEST_SECONDS = 7 * 24 * 3600.0
"""Seconds that a copy may live: a week."""
REPLAY_SECONDS = 600.0
"""Seconds that each of the notebook's cells may take in a fresh process."""
END_SECONDS = 15.0
MOST_PICTURES = 8


class KernelCopy:
    """A copy that serves requests.

    Attributes:
        way: ``"fork"`` or ``"replay"``.
        printed: The end of what the running code has printed.
        pictures: The last pictures that code showed, PNG in base64.
        at_fork: The kernel's variables when it was copied; None if nothing is to be kept, or the copy was closed.
    """

    def __init__(self, end: socket.socket, wait: Callable[[], Rehearsal], way: str) -> None:
        self.way = way
        self.at_fork: AtFork | None = None
        self.printed: str = ""
        self.pictures: deque[str] = deque(maxlen=MOST_PICTURES)
        self._link = CopyLink(end)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[CopyAnswer]] = {}
        self._ended: Future[Rehearsal] = Future()
        threading.Thread(target=self._wait, args=(wait,), name="agentnb branch end", daemon=True).start()
        threading.Thread(target=self._read, name="agentnb branch answers", daemon=True).start()

    @property
    def is_alive(self) -> bool:
        """True until it has ended, by itself or because it was closed."""
        return not self._ended.done()

    def ask(
        self,
        kind: str,
        text: str = "",
        *,
        watch: bool = True,
        names: tuple[str, ...] | None = None,
        seconds: float | None = None,
    ) -> CopyAnswer:
        """Returns the answer to a request. It blocks, so do not call it on the thread of a host.

        Raises:
            UsageError: If the copy could not do it.
            KernelBusy: If it took longer than *seconds*; the running code was interrupted.
            CopyEnded: If the copy has ended.
        """
        number = next(self._numbers)
        answer: Future[CopyAnswer] = Future()
        with self._lock:
            self._waiting[number] = answer
        try:
            self._send(CopyRequest(number=number, kind=kind, text=text, watch=watch, names=names))
            answered = answer.result(seconds)
        except TooLong:
            self.stop(is_late=True)
            raise KernelBusy(f"It took longer than {seconds:g} s, and was interrupted.") from None
        finally:
            with self._lock:
                self._waiting.pop(number, None)
        if answered.error:
            raise UsageError(answered.error)
        return answered

    def stop(self, *, is_late: bool = False) -> None:
        if self.is_alive:
            self._send(CopyRequest(number=0, kind="stop", text="timeout" if is_late else ""))

    def close(self) -> Rehearsal | None:
        """End the copy and everything that it started; returns what it did elsewhere, or None if it does not end."""
        self._link.close()
        self.at_fork = None
        try:
            return self._ended.result(END_SECONDS)
        except TooLong:
            return None

    @property
    def why(self) -> str:
        """The reason it has ended, as a sentence; '' while it is alive."""
        if self.is_alive:
            return ""
        rehearsal = self._ended.result()
        return rehearsal.reason if not rehearsal.available else rehearsal.error or "It ended."

    def _send(self, request: CopyRequest) -> None:
        try:
            self._link.send(request)
        except OSError as error:
            raise self._gone() from error

    def _gone(self) -> CopyEnded:
        try:
            self._ended.result(END_SECONDS)
        except TooLong:
            return CopyEnded("The copy of the kernel does not answer.")
        return CopyEnded(f"The copy of the kernel has ended. {self.why}".strip())

    def _read(self) -> None:
        try:
            while True:
                answer: CopyAnswer = self._link.receive(CopyAnswer)
                if not answer.number:
                    self.printed = answer.text
                    continue
                with self._lock:
                    waiting = self._waiting.get(answer.number)
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
        except EOFError:
            error = self._gone()
            with self._lock:
                waiting_still = [*self._waiting.values()]
            for each in waiting_still:
                if not each.done():
                    each.set_exception(error)

    def _wait(self, wait: Callable[[], Rehearsal]) -> None:
        try:
            self._ended.set_result(wait())
        except BaseException as error:  # noqa: BLE001 - whoever waits for the end hears of it
            self._ended.set_exception(error)


class CopyEnded(UsageError):
    """A copy of the kernel that has ended cannot be asked anything."""


def cannot_fork() -> str:
    """Returns the reason a fork of this kernel would not work, or ''; cannot detect what only trying would show."""
    stuck = libraries_that_hang()
    return f"{stuck} cannot calculate in a copy of a process" if stuck else ""


def fork_kernel(
    shell: Any,
    folder: Path,
    workspace: Path | None,
    *,
    at_fork: AtFork | None = None,
    evaluate: Callable[[str], tuple[Any, str]] | None = None,
) -> KernelCopy:
    """Fork this process; the fork sees *workspace*, a copy of *folder*, in its place. Call it on the main thread.

    Without a *workspace*, it sees the folder itself, but its writes there do not stay. Changes are kept relative to
    *at_fork*. *evaluate* returns a measure's value and a text; if None, a measure is an expression.
    """
    ours, theirs = socket.socketpair()

    def play(_notes: Notes) -> int:
        from agentnb.plugins.branches.copy_serving import CopyServer

        own = shell if shell is not None else new_shell()
        cut_off(own)
        CopyServer(own, theirs, at_fork, evaluate).serve()
        return 0

    wait = begin_code(
        play,
        folder,
        seconds=LONGEST_SECONDS,
        descriptors=(theirs.fileno(),),
        shared=() if workspace is None else shared_folders(workspace, folder),
    )
    theirs.close()
    copy = KernelCopy(ours, wait, "fork")
    copy.at_fork = at_fork
    return copy


def shared_folders(workspace: Path, folder: Path) -> tuple[tuple[str, str], ...]:
    """Returns the folders to share: the workspace's copy in its place, and the folder around it, for saved data."""
    return (str(workspace), str(folder)), (str(workspace.parent), str(workspace.parent))


def fresh_kernel(folder: Path, shared: Sequence[tuple[str, str]], hidden: Sequence[str] = ()) -> KernelCopy:
    """Start a fresh, confined process; *shared* and *hidden* are as for a rehearsed command."""
    ours, theirs = socket.socketpair()
    program = shlex.join(replay_command(theirs.fileno()))

    def wait() -> Rehearsal:
        try:
            ended = rehearse_command(
                f"exec {program}",
                folder,
                env=dict(os.environ),
                seconds=LONGEST_SECONDS,
                descriptors=(theirs.fileno(),),
                shared=shared,
                hidden=hidden,
            )
        finally:
            theirs.close()
        return replace(ended, error=f"It ended with exit code {ended.exit_code}.") if ended.exit_code else ended

    return KernelCopy(ours, wait, "replay")


def replay_command(descriptor: int) -> list[str]:
    """Returns the command that starts a fresh process, which serves this descriptor."""
    return [sys.executable, "-m", "agentnb.plugins.branches.replay_program", str(descriptor)]


def replay_kernel(cells: Sequence[str], folder: Path, workspace: Path, at_fork: AtFork) -> KernelCopy:
    """Start a fresh process, and run *cells* in it; raises a UsageError if one fails, or takes too long."""
    copy = fresh_kernel(folder, shared_folders(workspace, folder))
    copy.at_fork = at_fork
    try:
        for number, cell in enumerate(cells, 1):
            ran = copy.ask("run", cell, watch=False, seconds=REPLAY_SECONDS).ran
            if ran is not None and ran.failure is not None:
                message = f"Cell [{number}] failed in a fresh kernel: {ran.failure.name}: {ran.failure.message}"
                raise UsageError(
                    message[:500],
                    hint="Make sure that the notebook runs from the top; `%agents verify` says why it does not.",
                )
    except BaseException:
        copy.close()
        raise
    return copy
