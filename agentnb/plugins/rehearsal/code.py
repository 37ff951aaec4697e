"""Rehearses code: it runs in an isolated fork of the kernel, on a copy of the user's variables."""

from __future__ import annotations

import base64
import ctypes
import gc
import mmap
import os
import random
import signal
import sys
import tempfile
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
from msgspec.structs import replace

from agentnb.kernel.rehearsal_result import SECONDS, Rehearsal, unavailable
from agentnb.plugins.rehearsal.descriptors import gpu_in_use, replace_descriptors, unshare_memory
from agentnb.plugins.rehearsal.running import Running, begin
from agentnb.plugins.rehearsal.supervisor import Scene, supervise
from agentnb.plugins.rehearsal.thread_pools import calculate_in_one_thread, libraries_that_hang
from agentnb.safe_json import read_record
from agentnb.state import DataCheck, RehearsalVariable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

NOTES_BYTES = 16 * 1024 * 1024
"""Bytes of notes about the code: variables, pictures and the rest."""
MOST_NOTES = 200
"""Notes of each kind, such as programs and addresses, that are kept."""
_HEAD = 8


class CodeNotes(msgspec.Struct, frozen=True, kw_only=True):
    """The report of the code at its end."""

    result: str | None = None
    error: str | None = None
    traceback: str = ""
    variables: tuple[RehearsalVariable, ...] = ()
    data_checks: tuple[DataCheck, ...] = ()
    pictures: tuple[str, ...] = ()
    ended: bool = True
    memory: int | None = None


class Act(msgspec.Struct, frozen=True):
    """Something that the code tried."""

    kind: str
    text: str


class Notes:
    """Memory that the fork writes into and the kernel reads: JSON, a line each."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, NOTES_BYTES)
        self._used = _HEAD
        self._counts: dict[str, int] = {}

    @property
    def address(self) -> int:
        return ctypes.addressof(ctypes.c_char.from_buffer(self._memory))

    def add(self, note: object) -> None:
        """Write a line; it is dropped if there is no room."""
        line = msgspec.json.encode(note) + b"\n"
        if self._used + len(line) <= NOTES_BYTES:
            self._memory[self._used : self._used + len(line)] = line
            self._used += len(line)
            self._memory[:_HEAD] = self._used.to_bytes(_HEAD, "little")

    def act(self, kind: str, text: str) -> None:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        if self._counts[kind] <= MOST_NOTES:
            self.add(Act(kind, text[:500]))

    def read(self) -> tuple[list[Act], CodeNotes | None]:
        """Returns what the code attempted, and the notes that it wrote at its end."""
        used = min(int.from_bytes(self._memory[:_HEAD], "little"), NOTES_BYTES)
        acts: list[Act] = []
        code_notes: CodeNotes | None = None
        for line in self._memory[_HEAD:used].split(b"\n"):
            with suppress(ValueError):
                if line.startswith(b'{"kind"'):
                    acts.append(read_record(line, Act))
                elif line:
                    code_notes = read_record(line, CodeNotes)
        return acts, code_notes


def _wait(running: Running, notes: Notes) -> Rehearsal:
    report, rehearsal = running.wait()
    if not rehearsal.available:
        return rehearsal
    acts, code_notes = notes.read()
    error = rehearsal.error
    if report.late and (stuck := libraries_that_hang()):
        error = f"{error}. {stuck} cannot calculate in a copy of a process: this is probably why"
    elif code_notes is not None and error is None:
        error = code_notes.error
    elif code_notes is None and error is None:
        error = f"It ended the process (exit code {report.status})"
    code_notes = code_notes or CodeNotes()
    return replace(
        rehearsal,
        error=error,
        result=code_notes.result,
        traceback=code_notes.traceback,
        variables=code_notes.variables,
        data_checks=code_notes.data_checks,
        pictures=tuple(_decoded(code_notes.pictures)),
        processes=_texts(acts, "process"),
        connections=tuple(dict.fromkeys((*_texts(acts, "connection"), *rehearsal.connections))),
        memory=code_notes.memory,
        reason="" if rehearsal.way == "namespaces" else _REFUSED,
    )


_REFUSED = (
    "This system does not let users create namespaces, so the code's writes were refused and are not "
    "shown, except in files that this kernel has open."
)


def begin_code(
    play: Callable[[Notes], int],
    cwd: str | os.PathLike[str],
    *,
    seconds: float = SECONDS,
    descriptors: Collection[int] = (),
    shared: Sequence[tuple[str, str]] = (),
) -> Callable[[], Rehearsal]:
    """Begin to rehearse code: fork this process.

    Call it on the thread of that code. *descriptors* stay open in the fork; *shared* are the folders that really change
    (:func:`agentnb.plugins.sandbox.namespaces.enter`).
    """
    if sys.platform != "linux":
        return lambda: unavailable("Code can be rehearsed on Linux only.")
    device = gpu_in_use()
    if device:
        return lambda: unavailable(f"This kernel uses a graphics card ({device}), which a copy of it cannot use.")
    notes, state = Notes(), random.getstate()

    def start(scene: dict[str, Any], printing: int, reporting: int) -> int:
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # this fork does not depend on the other threads
                pid = os.fork()
            if pid == 0:
                _fork({**scene, "shared": shared}, notes, state, (printing, reporting), play, descriptors=descriptors)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        return pid

    try:
        running = begin(start, cwd, os.environ, seconds=seconds)
    except OSError as error:
        reason = f"This kernel could not be copied: {error.strerror}."
        return lambda: unavailable(reason)
    return lambda: _wait(running, notes)


def _fork(
    options: dict[str, Any],
    notes: Notes,
    state: Any,
    pipes: tuple[int, int],
    play: Callable[[Notes], int],
    *,
    descriptors: Collection[int],
) -> NoReturn:
    """Run the fork of the kernel, from its first step to its end."""
    try:
        scene, (printing, reporting) = Scene(**options), pipes
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.setsid()

        def prepare(keep: Collection[int], sink: int) -> None:
            """In the process that is closed in, while it still has everything that it inherited."""
            for standard in (1, 2):
                os.dup2(printing, standard)
            replace_descriptors({1, 2, *keep, *descriptors}, sink)
            unshare_memory(notes.address)
            calculate_in_one_thread()
            gc.freeze()  # unreachable objects of the kernel, such as an open database, must not be closed here
            signal.signal(signal.SIGINT, signal.default_int_handler)
            tempfile.tempdir = None
            random.setstate(state)
            sys.dont_write_bytecode = True  # Python's bytecode files are not changes of the code
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
            sys.addaudithook(_Hook(notes, scene))

        supervise(scene, reporting, prepare, lambda: play(notes))
    finally:
        os._exit(0)


class _Hook:
    """Notes what the code tries (:func:`sys.addaudithook`)."""

    def __init__(self, notes: Notes, scene: Scene) -> None:
        self._notes = notes
        self._within = scene.temporary

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        read = _EVENTS.get(event)
        if read is not None:
            with suppress(Exception):
                kind, text = read(arguments)
                if text and not text.startswith((self._within, "/dev/")):
                    self._notes.act(kind, text)


def _words(command: object) -> str:
    if isinstance(command, (list, tuple)):
        return " ".join(os.fsdecode(each) if isinstance(each, (str, bytes)) else str(each) for each in command)
    return os.fsdecode(command) if isinstance(command, (str, bytes)) else str(command)


def _address(address: object) -> str:
    if isinstance(address, tuple) and len(address) > 1:
        return f"{address[0]}:{address[1]}"
    return _words(address)


_EVENTS: dict[str, Callable[[tuple[Any, ...]], tuple[str, str]]] = {
    "subprocess.Popen": lambda arguments: ("process", _words(arguments[1])),
    "os.system": lambda arguments: ("process", _words(arguments[0])),
    "os.posix_spawn": lambda arguments: ("process", _words(arguments[1])),
    "os.exec": lambda arguments: ("process", _words(arguments[1])),
    "os.fork": lambda _: ("process", "a copy of this process"),
    "os.forkpty": lambda _: ("process", "a copy of this process"),
    "socket.connect": lambda arguments: ("connection", _address(arguments[1])),
    "socket.sendto": lambda arguments: ("connection", _address(arguments[1])),
    "socket.getaddrinfo": lambda arguments: ("connection", _address((arguments[0], arguments[1] or ""))),
}


def _texts(acts: Sequence[Act], kind: str) -> tuple[str, ...]:
    texts = (act.text for act in acts if act.kind == kind)
    return tuple(dict.fromkeys(texts))[:MOST_NOTES]


def _decoded(pictures: Sequence[str]) -> list[bytes]:
    images = []
    for picture in pictures:
        with suppress(ValueError):
            images.append(base64.b64decode(picture, validate=True))
    return images
