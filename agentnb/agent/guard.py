"""The guard: the kernel's end of the watchdog, so that nothing an agent started outlives the kernel.

``prctl(PR_SET_PDEATHSIG)`` would suffice for the agent alone, but it fires when the *thread* that spawned the agent
ends, needs code between fork and exec in a threaded process, and does not cover the agent's children.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading
import uuid
from typing import TYPE_CHECKING

from agentnb.agent import watchdog

if TYPE_CHECKING:
    from pathlib import Path

_KEPT = ("LD_", "DYLD_", "SYSTEMROOT")
_FAREWELL = 3.0


class Guard:
    """Ends the process groups of one kernel when the kernel ends; safe to use from any thread."""

    def __init__(self) -> None:
        self.owner: str = uuid.uuid4().hex
        self._groups: set[int] = set()
        self._folders: set[str] = set()
        self._children = 0
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    @property
    def groups(self) -> frozenset[int]:
        with self._lock:
            return frozenset(self._groups)

    @property
    def watchdog(self) -> int | None:
        """The process id of the watchdog; None before it is first needed and after :meth:`close`."""
        process = self._process
        return None if process is None else process.pid

    def mark(self) -> str:
        """A mark for the environment of one new child (:data:`agentnb.agent.watchdog.MARK`)."""
        with self._lock:
            self._children += 1
            return f"{self.owner}.{self._children}."

    def add(self, group: int) -> None:
        with self._lock:
            self._groups.add(group)
            if self._process is None or not self._tell(b"+%d\n" % group):
                self._start()

    def discard(self, group: int) -> None:
        """Stop guarding *group*: none of its processes is left."""
        with self._lock:
            self._groups.discard(group)
            self._tell(b"-%d\n" % group)

    def sweep(self, folder: Path) -> None:
        """Have the watchdog remove *folder* and the files in it once the kernel is gone."""
        with self._lock:
            self._folders.add(str(folder))
            if self._process is None or not self._tell(b"/%s\n" % _quoted(str(folder))):
                self._start()

    def sweep_no_more(self, folder: Path) -> None:
        """Stop sweeping *folder*: it was removed."""
        with self._lock:
            self._folders.discard(str(folder))
            self._tell(b".%s\n" % _quoted(str(folder)))

    def close(self) -> None:
        """End everything still guarded, and wait for that a moment."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            _dismiss(process)

    def _tell(self, line: bytes) -> bool:
        if self._process is None or self._process.stdin is None:
            return False
        try:
            os.write(self._process.stdin.fileno(), line)
        except OSError:
            return False
        return True

    def _start(self) -> None:
        if sys.platform == "win32":
            return
        if self._process is not None:  # the previous one was killed
            _dismiss(self._process)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", watchdog.__file__, self.owner, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name.startswith(_KEPT)},
            cwd="/",
            start_new_session=True,
        )
        groups = (b"+%d\n" % group for group in sorted(self._groups))
        self._tell(b"".join([*groups, *(b"/%s\n" % _quoted(folder) for folder in sorted(self._folders))]))

    def _forget(self) -> None:
        process, self._process = self._process, None
        self._groups, self._folders = set(), set()
        self._lock = threading.Lock()
        self.owner = uuid.uuid4().hex
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
            process.returncode = 0  # not this process's child: nothing to wait for


def _dismiss(process: subprocess.Popen[bytes]) -> None:
    """Close the pipe to the watchdog *process*, and wait a moment for its end."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_FAREWELL)


def _quoted(folder: str) -> bytes:
    """A folder's path as bytes that contain no line break."""
    return os.fsencode(folder).hex().encode()


GUARD = Guard()
"""The one guard of this kernel; it starts nothing until a group is added."""
