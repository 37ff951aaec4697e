"""Finds the processes below another one, and sends signals to them alone."""

from __future__ import annotations

import os

from agentnb.system_calls import prctl

TYPE_CHECKING = False  # not from typing: importing it costs start-up time
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # signal loads enum, which costs as much as the rest of a small program


def try_prctl(option: int, value: int) -> bool:
    """Set an attribute of this process (``prctl(2)``) if the system supports it; returns True if that worked."""
    try:
        prctl(option, value)
    except (OSError, AttributeError):
        return False
    return True


def _stat(pid: int) -> tuple[int, bytes] | None:
    """Returns the parent and start time of process *pid*; None if it is gone or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in {b"Z", b"X"} else (int(fields[1]), fields[19])


def descendants(root: int) -> list[tuple[int, bytes]]:
    """Returns every running process below *root*, as (id, start time)."""
    statuses = {int(name): _stat(int(name)) for name in os.listdir("/proc") if name.isdigit()}
    children: dict[int, list[tuple[int, bytes]]] = {}
    for pid, stat in statuses.items():
        if stat is not None:
            children.setdefault(stat[0], []).append((pid, stat[1]))
    below: list[tuple[int, bytes]] = []
    waiting = [root]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            below.append(child)
            waiting.append(child[0])
    return below


def signal_process(pid: int, start: bytes, number: int) -> None:
    """Send signal *number* to the process with the id *pid* that started at *start*, and to no other."""
    try:
        handle = os.pidfd_open(pid)  # type: ignore[attr-defined,unused-ignore]
    except AttributeError:  # an old system: only the check below protects
        handle = None
    except OSError:
        return
    try:
        stat = _stat(pid)
        if stat is None or stat[1] != start:
            return
        if handle is None:
            os.kill(pid, number)
        else:
            signal.pidfd_send_signal(handle, number)  # type: ignore[attr-defined,unused-ignore]
    except OSError:  # the process has ended, or belongs to another user
        pass
    finally:
        if handle is not None:
            os.close(handle)


def signal_descendants(number: int) -> None:
    for pid, start in descendants(os.getpid()):
        signal_process(pid, start, number)
