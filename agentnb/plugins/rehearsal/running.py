"""A running rehearsal: its output is read while it runs, and its report on what it would have done at the end."""

from __future__ import annotations

import base64
import os
import selectors
import signal
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.changes.file_operations import TemporaryFolder
from agentnb.changes.text_diff import count_lines, unified
from agentnb.kernel.rehearsal_result import Rehearsal, unavailable
from agentnb.plugins.rehearsal.limits import MOST_AT_ONCE, MOST_PROCESSES, hidden_paths, touched_folders
from agentnb.processes import descendants, signal_process
from agentnb.safe_json import read_record
from agentnb.state import RehearsalFile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

GRACE_SECONDS = 10.0
"""Seconds that ending all processes may take, on top of the rehearsal's own time."""
MOST_PRINTED = 200_000
"""Bytes of output that are kept: half from the start and half from the end."""
STEP = 0.002
LARGEST_REPORT = 64 * 1024 * 1024
_SIGNALS = {each.value: each.name for each in signal.Signals}


class _Change(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    status: str
    before: str | None = None
    after: str | None = None


class SupervisorReport(msgspec.Struct, frozen=True, kw_only=True):
    unavailable: str | None = None
    way: str = ""
    seconds: float = 0.0
    late: bool = False
    status: int | None = None
    memory: int | None = None
    crowded: bool = False
    connections: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    changes: tuple[_Change, ...] = ()
    more: int = 0


class Running:
    def __init__(
        self, pid: int, printed: int, report: int, *, cwd: str, temporary: TemporaryFolder, seconds: float
    ) -> None:
        self._pid = pid
        self._pipes = {printed: bytearray(), report: bytearray()}
        self._printed, self._report = printed, report
        self._cwd = cwd
        self._temporary = temporary
        self._seconds = seconds

    def wait(self) -> tuple[SupervisorReport, Rehearsal]:
        """Wait until the rehearsal has ended; end it if this is interrupted.

        Call it once, on any thread.
        """
        try:
            self._read(time.monotonic() + self._seconds + GRACE_SECONDS)
        finally:
            self._end()
        try:
            report = read_record(bytes(self._pipes[self._report]), SupervisorReport)
        except ValueError:
            last = _text(self._pipes[self._printed]).strip().rpartition("\n")[2]
            report = SupervisorReport(unavailable=f"it ended without a report {last}".strip())
        if report.unavailable is not None:
            return report, unavailable(f"It could not be isolated: {report.unavailable}.")
        return report, self._rehearsal(report)

    def _rehearsal(self, report: SupervisorReport) -> Rehearsal:
        status = report.status or 0
        error = None
        if report.late:
            error = f"It took longer than the limit of {self._seconds:g} s"
        elif status < 0:
            error = f"It was stopped by {_SIGNALS.get(-status, f'signal {-status}')}"
        elif report.crowded:
            error = f"It tried to start more than {MOST_PROCESSES:,} processes, or {MOST_AT_ONCE} at once"
        return Rehearsal(
            stdout=_text(self._pipes[self._printed]),
            error=error,
            files=tuple(file_of(each, self._cwd) for each in report.changes),
            more_files=report.more,
            connections=report.connections,
            refused=report.refused,
            seconds=report.seconds,
            memory=report.memory,
            way=report.way,
        )

    def _read(self, deadline: float) -> None:
        with selectors.DefaultSelector() as selector:
            for pipe in self._pipes:
                selector.register(pipe, selectors.EVENT_READ)
            while selector.get_map() and (left := deadline - time.monotonic()) > 0:
                for key, _ in selector.select(left):
                    data = os.read(key.fd, 65536)
                    if not data:
                        selector.unregister(key.fd)
                    self._keep(key.fd, data)

    def _keep(self, pipe: int, data: bytes) -> None:
        held = self._pipes[pipe]
        most = LARGEST_REPORT if pipe == self._report else MOST_PRINTED
        held += data
        if len(held) > 2 * most:
            del held[most // 2 : len(held) - most // 2]

    def _end(self) -> None:
        for pipe in self._pipes:
            os.close(pipe)
        with suppress(ChildProcessError):
            if not os.waitpid(self._pid, os.WNOHANG)[0]:
                self._kill()
        self._temporary.remove()

    def _kill(self) -> None:
        """End the supervisor and its descendants; it writes its report last, so usually none are left."""
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            if os.waitpid(self._pid, os.WNOHANG)[0]:
                return
            threading.Event().wait(STEP)
        below = descendants(self._pid)
        os.kill(self._pid, signal.SIGKILL)
        for pid, start in below:
            signal_process(pid, start, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def file_of(change: _Change, cwd: str) -> RehearsalFile:
    """Returns a file's change in the form in which it is shown."""
    path = os.path.relpath(change.path, cwd) if change.path.startswith(f"{cwd}/") else change.path
    path = f"{path.rstrip('/')}/" if change.path.endswith("/") else path
    added: int | None = None
    removed: int | None = None
    diff = ""
    missing = (change.status != "created" and change.before is None) or (
        change.status != "deleted" and change.after is None
    )
    if not missing:
        before, after = (base64.b64decode(each or "") for each in (change.before, change.after))
        added, removed = count_lines(before, after)
        names = (
            "/dev/null" if change.status == "created" else f"a/{path.lstrip('/')}",
            "/dev/null" if change.status == "deleted" else f"b/{path.lstrip('/')}",
        )
        diff = unified(before, after, *names)
    status: Any = change.status
    return RehearsalFile(path=path, status=status, added=added, removed=removed, diff=diff)


def _text(printed: bytearray) -> str:
    if len(printed) > MOST_PRINTED:
        half = MOST_PRINTED // 2
        left_out = f"\n… ({len(printed) - MOST_PRINTED:,} bytes left out) …\n".encode()
        printed = printed[:half] + left_out + printed[-half:]
    return printed.decode("utf-8", "replace")


def begin(
    start: Callable[[dict[str, Any], int, int], int],
    cwd: str | os.PathLike[str],
    environ: Mapping[str, str],
    *,
    seconds: float,
    ways: Sequence[str] | None = None,
) -> Running:
    folder, box = os.path.realpath(cwd), TemporaryFolder()  # if this process is killed, the next one removes it
    box.make()
    temporary = box.path / "temporary"
    temporary.mkdir(mode=0o700)
    scene = {
        "cwd": folder,
        "seconds": seconds,
        "touched": touched_folders(folder, environ),
        "hidden": hidden_paths(environ),
        "temporary": str(temporary),
        **({} if ways is None else {"ways": list(ways)}),
    }
    printed, printing = os.pipe()
    report, reporting = os.pipe()
    try:
        pid = start(scene, printing, reporting)
    except (OSError, ValueError):
        for each in (printed, report):
            os.close(each)
        box.remove()
        raise
    finally:
        os.close(printing)
        os.close(reporting)
    return Running(pid, printed, report, cwd=folder, temporary=box, seconds=seconds)
