"""Runs a notebook's cells in a fresh kernel: isolated like a rehearsal if possible, else on a copy of the folder."""

from __future__ import annotations

import importlib.util
import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from agentnb.changes.text_diff import count_lines, unified
from agentnb.errors import UsageError
from agentnb.kernel.rehearsal_result import rehearse_command
from agentnb.memory import available_memory
from agentnb.plugins.verify import notebook_run
from agentnb.plugins.verify.notebook_text import FAILING_TAGS
from agentnb.plugins.verify.result import SECONDS, Stopped
from agentnb.processes import descendants, signal_process
from agentnb.safe_json import read_json
from agentnb.state import RehearsalFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from agentnb.plugins.verify.notebook_text import Cell, Notebook


MOST_FILES = 20_000
MOST_BYTES = 1024 * 1024 * 1024
LARGEST_COMPARED = 256 * 1024
LEFT_OUT = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".ipynb_checkpoints", ".cache"}
)
"""Folders that are not copied."""


def copy(source: Path, target: Path) -> None:
    """Copy the folder *source* to *target*; raises a UsageError if it is too large."""
    size = 0
    for files, path in enumerate(_files(source), 1):
        size += path.lstat().st_size
        if files > MOST_FILES or size > MOST_BYTES:
            raise UsageError(
                f"{source} is too large to be copied: more than {MOST_FILES:,} files or {MOST_BYTES // 1024**2:,} MB.",
                hint="Put the notebook in a folder of its own, or verify it where it can be isolated (Linux).",
            )
    shutil.copytree(source, target, symlinks=True, ignore=lambda _, names: LEFT_OUT.intersection(names))


def changed(source: Path, copied: Path) -> tuple[RehearsalFile, ...]:
    before = {path.relative_to(source) for path in _files(source)}
    after = {path.relative_to(copied) for path in _files(copied)}
    changes = [_change(name, source / name, copied / name) for name in sorted(before | after)]
    return tuple(each for each in changes if each is not None)


def _change(name: Path, before: Path, after: Path) -> RehearsalFile | None:
    old, new = _content(before), _content(after)
    if old == new:
        return None
    status = "created" if not os.path.lexists(before) else "changed" if os.path.lexists(after) else "deleted"
    if status != "changed" or old is None or new is None:
        return RehearsalFile(path=str(name), status=status)
    added, removed = count_lines(old, new)
    return RehearsalFile(
        path=str(name), status=status, added=added, removed=removed, diff=unified(old, new, f"a/{name}", f"b/{name}")
    )


def _content(path: Path) -> bytes | None:
    try:
        if path.is_symlink():
            return os.fsencode(path.readlink())
        status = path.stat()
        if status.st_size > LARGEST_COMPARED:
            return f"{status.st_size} {status.st_mtime_ns}".encode()
        return path.read_bytes()
    except OSError:
        return None


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if each not in LEFT_OUT]
        for name in names:
            yield Path(place, name)


MARGIN_SECONDS = 20.0
"""Seconds that starting and ending the kernel may take, on top of the run's own time."""
LOOK_SECONDS = 0.2
READ_BYTES = 1024 * 1024
DISK_BYTES = 512 * 1024 * 1024
MOST_PROCESSES = 90
SHARE_OF_MEMORY = 0.5
UNKNOWN_MEMORY = 8 * 1024**3
"""Bytes of memory that are assumed to be available if the system does not report it."""
NO_SOCKETS = "this system does not let users create namespaces, and a kernel needs sockets"
_NO_HISTORY = "--HistoryManager.enabled=False"
"""Turns off IPython's history: kernels that start at the same time would compete for its file, and print errors."""


class CellResult(msgspec.Struct, kw_only=True):
    index: int
    status: str
    outputs: list[dict[str, Any]] = []
    is_cut: bool = False
    trace: dict[str, Any] = {}

    @property
    def error(self) -> dict[str, Any] | None:
        return next((each for each in self.outputs if each.get("output_type") == "error"), None)


class VerifiedRun(msgspec.Struct, kw_only=True):
    cells: dict[int, CellResult] = {}
    begun: int | None = None
    why: str = ""
    detail: str = ""
    status: int | None = None
    seconds: float = 0.0
    way: str = ""
    note: str = ""
    files: tuple[RehearsalFile, ...] = ()
    connections: tuple[str, ...] = ()
    error: str = ""


class KernelCommand(msgspec.Struct, kw_only=True):
    """The command that starts the notebook's kernel; if there is none, the reason."""

    command: list[str] = []
    environment: dict[str, str] = {}
    note: str = ""
    language: str = "python"


def kernel_command(notebook: Notebook) -> KernelCommand:
    own = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", _NO_HISTORY]
    has_own = importlib.util.find_spec("ipykernel_launcher") is not None
    if notebook.kernel in {"", "python3"} and notebook.language.startswith(("python", "ipython")) and has_own:
        return KernelCommand(command=own)
    spec = _kernel_spec(notebook.kernel)
    if spec is not None:
        language = str(spec.language or "python").lower()
        quiet = [_NO_HISTORY] if any("ipykernel" in each for each in spec.argv) else []
        return KernelCommand(command=[*spec.argv, *quiet], environment={**spec.env}, language=language)
    if not notebook.language.startswith(("python", "ipython")):
        return KernelCommand(language=notebook.language)
    if not has_own:
        return KernelCommand(note="No Python kernel is installed here: `pip install ipykernel`.")
    note = f"The kernel {notebook.kernel!r} is not installed here: it ran with this Python ({sys.version.split()[0]})."
    return KernelCommand(command=own, note=note)


def _kernel_spec(name: str) -> Any:
    try:
        from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
    except ImportError:
        return None
    try:
        return KernelSpecManager().get_kernel_spec(name)
    except (NoSuchKernel, OSError, ValueError):
        return None


class RunOptions(NamedTuple):
    """The options for each run of a verification.

    Attributes:
        seconds: How long all cells together may take, in seconds.
        progress: Called with how many cells have run, and how many there are.
        stop: Ends the run once it is set.
        ran: Called with the first run, once it has ended.
    """

    seconds: float = SECONDS
    hosts: tuple[str, ...] = ()
    progress: Callable[[int, int], object] = lambda _done, _all: None
    stop: threading.Event | None = None
    ran: Callable[[VerifiedRun], object] = lambda _run: None


DEFAULTS = RunOptions()


class NotebookRunner:
    def __init__(
        self, folder: Path, kernel: KernelCommand, environment: Mapping[str, str], options: RunOptions
    ) -> None:
        self._folder = folder
        self._kernel = kernel
        self._environment = environment
        self._options = options
        self._stop = options.stop or threading.Event()
        self._closed_in = True
        self.runs: int = 0

    def run(self, cells: Sequence[Cell]) -> VerifiedRun:
        """Run *cells* in that order, in a fresh kernel."""
        self.runs += 1
        begun = time.monotonic()
        run = self._within_walls(cells) if self._closed_in else None
        if run is None or self._has_no_sockets(run):
            reason = "" if run is None else NO_SOCKETS if run.way else run.note
            self._closed_in = False
            run = self._on_a_copy(cells)
            run.note = reason
        if self._stop.is_set():
            raise Stopped("The verification was stopped.")
        run.seconds = time.monotonic() - begun
        if self.runs == 1:
            self._options.ran(run)
        return run

    def _progress(self, done: int, count: int) -> None:
        if self.runs == 1:  # later runs only search for causes
            self._options.progress(done, count)

    @staticmethod
    def _has_no_sockets(run: VerifiedRun) -> bool:
        return not run.way or (run.way != "namespaces" and run.why in {"no-kernel", ""})

    def _task(self, cells: Sequence[Cell], folder: str, *, is_copy: bool) -> dict[str, Any]:
        available = available_memory()
        memory = int((UNKNOWN_MEMORY if available is None else available) * SHARE_OF_MEMORY)
        return {
            "cells": [
                {"index": each.index, "source": each.source, "may_fail": bool(each.tags & FAILING_TAGS)}
                for each in cells
            ],
            "command": self._kernel.command,
            "environment": {**self._kernel.environment, **self._environment},
            "folder": folder,
            "seconds": self._options.seconds,
            "memory": memory,
            "processes": MOST_PROCESSES,
            "limits": {"RLIMIT_FSIZE": DISK_BYTES, "RLIMIT_CORE": 0, **({"RLIMIT_DATA": memory} if is_copy else {})},
            "block_network": is_copy,
            "hosts": self._options.hosts,
        }

    def _within_walls(self, cells: Sequence[Cell]) -> VerifiedRun:
        folder = str(self._folder)
        run = VerifiedRun()
        task = _Task(self._task(cells, folder, is_copy=False), run, self._progress, self._stop)
        with task:
            rehearsal = rehearse_command(
                f"exec {shlex.join(task.command)}",
                folder,
                env=_environment(),
                seconds=self._options.seconds + MARGIN_SECONDS,
                descriptors=task.descriptors,
                hosts=self._options.hosts,
            )
        run.way = rehearsal.way if rehearsal.available else ""
        run.note = rehearsal.reason
        run.files, run.connections = rehearsal.files, rehearsal.connections
        run.error = rehearsal.error or ""
        if not run.why:
            run.detail = run.detail or rehearsal.stdout[-1000:]
        return run

    def _on_a_copy(self, cells: Sequence[Cell]) -> VerifiedRun:
        run = VerifiedRun(way="copy")
        with tempfile.TemporaryDirectory(prefix="agentnb-verify-", ignore_cleanup_errors=True) as temporary:
            folder = Path(temporary, self._folder.name or "folder")
            copy(self._folder, folder)
            task = _Task(self._task(cells, str(folder), is_copy=True), run, self._progress, self._stop)
            with task:
                process = start_silent(task.command, folder, _environment(), task.descriptors)
                task.close_theirs()
                try:
                    process.wait(self._options.seconds + MARGIN_SECONDS)
                except subprocess.TimeoutExpired:
                    run.why = run.why or "time"
                finally:
                    end_all(process)
            run.files = changed(self._folder, folder)
        return run


class ProgramExchange:
    """The file descriptors of a program of ours: it reads its task (JSON) from the first, and reports to the second."""

    def __init__(self, program: str, task: Mapping[str, Any]) -> None:
        self._program = program
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end
        self._file.write(json.dumps(task, default=str).encode("utf-8", "surrogatepass"))
        self._file.seek(0)
        self._reading, self._reporting = os.pipe()

    @property
    def command(self) -> list[str]:
        return [sys.executable, self._program, *map(str, self.descriptors)]

    @property
    def descriptors(self) -> tuple[int, int]:
        return self._file.fileno(), self._reporting


class _Task(ProgramExchange):
    """One run, whose reports are read while it runs."""

    def __init__(
        self, task: dict[str, Any], run: VerifiedRun, progress: Callable[[int, int], object], stop: threading.Event
    ) -> None:
        super().__init__(notebook_run.__file__, task)
        self._count = len(task["cells"])
        self._run = run
        self._progress = progress
        self._stop = stop
        self._reader = threading.Thread(target=self._read, name="agentnb verification", daemon=True)

    def close_theirs(self) -> None:
        """Close the program's end of the pipe."""
        if self._reporting >= 0:
            os.close(self._reporting)
            self._reporting = -1

    def __enter__(self) -> None:
        self._reader.start()

    def __exit__(self, *_: object) -> None:
        self.close_theirs()
        self._reader.join()
        self._file.close()

    def _read(self) -> None:
        """Read until the program ends; if the verification is stopped, the closed pipe ends the program."""
        left = b""
        with open(self._reading, "rb", buffering=0) as pipe:  # noqa: PTH123 - a descriptor
            while not self._stop.is_set():
                if not select.select([pipe], [], [], LOOK_SECONDS)[0]:
                    continue
                read = pipe.read(READ_BYTES)
                if not read:
                    return
                *lines, left = (left + read).split(b"\n")
                for line in lines:
                    with suppress(ValueError):
                        self._take(read_json(line))

    def _take(self, event: dict[str, Any]) -> None:
        run = self._run
        kind = event.pop("event")
        if kind == "begin":
            run.begun = event["index"]
        elif kind == "cell":
            run.cells[event["index"]] = msgspec.convert(event, CellResult)
        elif kind == "ended":
            run.why, run.detail = event["why"], event.get("detail", "")
            run.status = event.get("status")
            for index, outputs in event["outputs"].items():
                run.cells[int(index)].outputs = outputs
        self._progress(len(run.cells), self._count)


def _environment() -> dict[str, str]:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return {name: value for name, value in environment.items() if not name.startswith(("JPY_", "COV_CORE"))}


def start_silent(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], descriptors: tuple[int, ...]
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, without input and output; it also gets the open *descriptors*."""
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=descriptors,
        start_new_session=True,
    )


def end_all(process: subprocess.Popen[bytes]) -> None:
    below = descendants(process.pid) if process.poll() is None else []
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    for pid, start in below:
        signal_process(pid, start, signal.SIGKILL)
    process.wait()
