"""The watchdog: a small program that outlives the kernel by a moment and ends what the kernel's agents left running."""

from __future__ import annotations

import os
import select
import sys
import time

TYPE_CHECKING = False  # not from typing: importing it costs start-up time
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # signal loads enum, which costs as much as the rest of this program

MARK = "AGENTNB_OWNER"
"""The environment variable that names the kernel whose agent a process belongs to."""

GRACE = 0.7
"""Seconds between the request to end and the kill."""

STEP = 0.02
ROUNDS = 50


def marked(owner: str) -> list[int]:
    """The processes whose environment contains the mark *owner*, a kernel or one of its children (Linux; else none)."""
    wanted = f"\0{MARK}={owner}".encode()
    return [pid for pid in _pids() if pid != os.getpid() and wanted in _environment(pid)]


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - pathlib costs start-up time
    except OSError:
        return []


def _environment(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - as above
            return b"\0" + file.read()
    except OSError:
        return b""


def group_alive(group: int) -> bool:
    """True if a process of *group* is still running (a dead one that nobody has waited for does not count)."""
    if not group:
        return False
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return not _only_zombies(group)


def is_running(pid: int) -> bool:
    """True if process *pid* is there and has not ended (Linux)."""
    return _stat(pid)[0] not in "ZX"


def _only_zombies(group: int) -> bool:
    if not os.path.exists("/proc/self/stat"):  # noqa: PTH110 - as above
        return False
    return all(state == "Z" for state, of_group in map(_stat, _pids()) if of_group == group)


def _stat(pid: int) -> tuple[str, int]:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - as above
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return "X", 0
    return (fields[0].decode(), int(fields[2])) if len(fields) > 2 else ("X", 0)  # noqa: PLR2004 - state ppid pgrp


def signal_group(group: int, number: int) -> None:
    """Send signal *number* to *group*; one that is gone, or not yet started (0 is our own group), is ignored."""
    if not group:
        return
    try:  # noqa: SIM105 - contextlib costs start-up time
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass


def signal_marked(owner: str, number: int) -> bool:
    """Send signal *number* to every process marked with *owner*; returns True if there were any."""
    pids = [pid for pid in marked(owner) if _stat(pid)[0] != "Z"]
    for pid in pids:
        try:  # noqa: SIM105 - as above
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            pass
    return bool(pids)


def end(groups: set[int], owner: str) -> None:
    """End all *groups* and everything marked with *owner*: terminate, wait at most :data:`GRACE` seconds, kill."""
    for group in groups:
        signal_group(group, signal.SIGTERM)
    signal_marked(owner, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while time.monotonic() < deadline and (any(map(group_alive, groups)) or marked(owner)):
        select.select([], [], [], STEP)
    for group in groups:
        signal_group(group, signal.SIGKILL)
    for _ in range(ROUNDS):  # some processes fork while they are killed
        if not signal_marked(owner, signal.SIGKILL):
            break
        select.select([], [], [], STEP)


def remove(folder: bytes) -> None:
    """Remove *folder* and the files in it; a missing folder is ignored."""
    try:
        for name in os.listdir(folder):  # noqa: PTH208 - as above
            os.unlink(os.path.join(folder, name))  # noqa: PTH108, PTH118 - as above
        os.rmdir(folder)  # noqa: PTH106 - as above
    except OSError:
        pass


def _parent_fd(parent: int) -> list[int]:
    """A descriptor that becomes readable when *parent* ends; empty if the system has none."""
    try:
        return [os.pidfd_open(parent)]  # type: ignore[attr-defined,unused-ignore]
    except (AttributeError, OSError):
        return []


def watch(owner: str, parent: int) -> None:
    """Guard groups named on stdin until the kernel, process *parent*, is gone; then end them."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    folders: set[bytes] = set()
    ends = _parent_fd(parent)
    pending = b""
    while True:
        ready, _, _ = select.select([0, *ends], [], [])
        data = os.read(0, 65536) if 0 in ready else b""
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            if line[:1] in b"+-":
                (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
            else:
                (folders.add if line[:1] == b"/" else folders.discard)(bytes.fromhex(line[1:].decode()))
        if not data:
            break
    end(groups, owner)
    for folder in folders:
        remove(folder)


if __name__ == "__main__":
    watch(sys.argv[1], int(sys.argv[2]))
    os._exit(0)  # exit at once: there is nothing to clean up
