"""The subreaper: a small program that starts another program and ends everything that it started (Linux).

It writes ``pid N`` when the program runs, or ``error N`` (an errno) if it cannot be executed, and ``status N`` when it
has ended.
"""

from __future__ import annotations

import os
import select
import sys
import time

if __name__ == "__main__":  # only the standard library is found under `-I -S`
    sys.path.append(__file__.rpartition("/agentnb/")[0])

from agentnb.processes import signal_descendants, try_prctl
from agentnb.system_calls import PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG

TYPE_CHECKING = False  # not from typing: importing it costs start-up time
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping
else:
    import _signal as signal  # signal loads enum, which costs as much as the rest of this program

GRACE = 0.7
"""Seconds between the request to end and the kill, when the kernel is gone."""
STEP = 0.02
ROUNDS = 250
_PACKAGE = f"{__file__.rpartition('/agentnb/')[0]}/agentnb/"
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals for the program, which this one ignores."""


class Subreaper:
    """One program and what it started."""

    def __init__(self, link: int, kernel: int) -> None:
        self._link = link
        self._kernel = kernel
        self._program = 0

    def start(self, mark: str, command: list[str]) -> bool:
        """Start the program; returns True if it could be executed."""
        before = {number: signal.signal(number, signal.SIG_IGN) for number in IGNORED}
        failed, failing = os.pipe()
        self._program = os.fork()
        if self._program == 0:
            _become(before, failing, mark, command)
        os.close(failing)
        empty = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):  # only the program keeps its pipes, so that their end is noticed
            os.dup2(empty, descriptor)
        reason = os.read(failed, 20)
        os.close(failed)
        self._tell(f"error {reason.decode()}" if reason else f"pid {self._program}")
        return not reason

    def watch(self) -> None:
        """Serve the kernel until no process is left."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        waking, woken = os.pipe()
        for descriptor in (waking, woken):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(woken)
        kernel = self._kernel_ends()
        while self._reap():
            ready, _, _ = select.select([self._link, waking, *kernel], [], [])
            if waking in ready:
                os.read(waking, 4096)
            request = self._read_request() if self._link in ready else b" "
            if b"k" in request:
                self.kill()
            elif b"t" in request:
                signal_descendants(signal.SIGTERM)
            if not request or (kernel and kernel[0] in ready):
                self.end()

    def end(self) -> None:
        """Terminate everything, wait at most :data:`GRACE` seconds, then kill."""
        signal_descendants(signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline and self._reap():
            select.select([], [], [], STEP)
        self.kill()

    def kill(self) -> None:
        """Kill everything; processes forked meanwhile are killed in the next round."""
        for _ in range(ROUNDS):
            signal_descendants(signal.SIGKILL)
            if not self._reap():
                break
            select.select([], [], [], STEP)

    def _reap(self) -> bool:
        """Wait for processes that have ended; returns True if any is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._program:
                self._tell(f"status {os.waitstatus_to_exitcode(status)}")

    def _kernel_ends(self) -> list[int]:
        """A descriptor that becomes readable when the kernel ends; a fork of the kernel may keep the socket open."""
        try:
            handle = [os.pidfd_open(self._kernel)]  # type: ignore[attr-defined,unused-ignore]
        except ProcessLookupError:
            self.end()
            return []
        except (AttributeError, OSError):
            return []
        if os.getppid() != self._kernel:  # the kernel has ended, and another process may have its id
            self.end()
        return handle

    def _read_request(self) -> bytes:
        """Returns what the kernel wrote; empty if its end of the socket is closed."""
        try:
            return os.read(self._link, 4096)
        except OSError:
            return b""

    def _tell(self, line: str) -> None:
        try:  # noqa: SIM105 - contextlib costs start-up time
            os.write(self._link, f"{line}\n".encode())
        except OSError:  # the kernel has ended
            pass


def _become(before: Mapping[signal.Signals, object], failing: int, mark: str, command: list[str]) -> None:
    """Turn this forked process into the program; if that fails, write the reason to *failing*."""
    try:
        os.setsid()
        try_prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # the program ends if this subreaper is killed
        for number in (*before, signal.SIGPIPE, signal.SIGXFSZ):
            ignored = before.get(number) == signal.SIG_IGN
            signal.signal(number, signal.SIG_IGN if ignored else signal.SIG_DFL)
        name, _, value = mark.partition("=")
        if command[:3] == [sys.executable, "-I", "-S"] and "".join(command[3:4]).startswith(_PACKAGE):
            os.environ[name] = value
            _run(command[3:])
            sys.stdout.flush()
            os._exit(0)
        os.execvpe(command[0], command, {**os.environ, name: value})  # noqa: S606 - starting programs is the job
    except OSError as error:
        os.write(failing, str(error.errno).encode())
    finally:
        os._exit(127)


def _run(words: list[str]) -> None:
    """Run an agentnb program that becomes another, such as one that confines itself, without restarting Python."""
    sys.argv = words
    with open(words[0], "rb") as file:  # noqa: PTH123 - pathlib costs start-up time
        code = compile(file.read(), words[0], "exec")
    exec(code, {"__name__": "__main__", "__file__": words[0]})  # noqa: S102 - it is ours


def main(link: str, kernel: str, mark: str, *command: str) -> None:
    """Run *command* below this process."""
    os.set_inheritable(int(link), False)
    try_prctl(PR_SET_CHILD_SUBREAPER, 1)
    subreaper = Subreaper(int(link), int(kernel))
    if subreaper.start(mark, list(command)):
        subreaper.watch()


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)  # exit at once: there is nothing to clean up
