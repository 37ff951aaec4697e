"""The process between agentnb and the rehearsal: it isolates the rehearsal, waits, ends everything, and lists changes.

It runs in a fork of the kernel (for code) or as a separate program (for commands, ``python -I -S``), so it needs only
the standard library. It uses namespaces if the system lets users make them, else Landlock; without both there is no
rehearsal.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from contextlib import suppress

from agentnb.memory import address_space
from agentnb.plugins.rehearsal import limits
from agentnb.plugins.rehearsal.attempts import Attempts
from agentnb.plugins.rehearsal.descriptors import changed_files, copy_writable_files, drop, links_but
from agentnb.plugins.rehearsal.overlay_changes import changes, versions
from agentnb.plugins.sandbox import landlock, namespaces, private_network, seccomp
from agentnb.processes import descendants, signal_descendants
from agentnb.system_calls import (
    PR_SET_CHILD_SUBREAPER,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    drop_capabilities,
    prctl,
    take_descriptor,
)

TYPE_CHECKING = False  # not from typing: importing it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any

STEP = 0.01
ROUNDS = 250
COUNTED_EACH = 8
_PREPARED = b"x"
_LONGEST_WORD = 4096
_FORKS = ("clone", "fork", "vfork")
_SUPERVISED = (*seccomp.NAMES, *seccomp.ATTRIBUTES, *seccomp.REACHES)
WITH_NAMESPACES, WITH_LANDLOCK = "namespaces", "Landlock"


class Scene:
    """The rehearsed command or code, and the paths that it may touch."""

    def __init__(
        self,
        *,
        cwd: str,
        seconds: float,
        touched: Sequence[str],
        hidden: Sequence[str],
        temporary: str,
        ways: Sequence[str] = (WITH_NAMESPACES, WITH_LANDLOCK),
        proxy: str = "",
        shared: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.shared = shared
        self.cwd = cwd
        self.seconds = seconds
        self.touched = touched
        self.hidden = hidden
        self.temporary = temporary
        self.ways = ways
        self.proxy = proxy


def supervise(
    scene: Scene, report: int, prepare: Callable[[Collection[int], int], None], play: Callable[[], int]
) -> None:
    """Rehearse, and report on the descriptor *report*; must be called in a process that ends with it."""
    fields: dict[str, Any] = {}
    try:
        fields = _supervise(scene, report, prepare, play)
    except OSError as error:
        fields = {"unavailable": f"{error.strerror or error}"}
    finally:
        text = json.dumps(fields).encode()
        with suppress(OSError), open(report, "wb", closefd=False) as file:
            file.write(text)


def _supervise(
    scene: Scene, report: int, prepare: Callable[[Collection[int], int], None], play: Callable[[], int]
) -> dict[str, Any]:
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # ends this process if the kernel is killed
    _be_ended_first()
    inherited = links_but({0, 1, 2, report})
    room, way = _enter(scene)
    first = _first_process(report) if room is not None else 0
    began = time.monotonic()
    copies = copy_writable_files() if room is None else []
    sink = os.memfd_create("agentnb")

    def cut_off(link: int) -> None:
        prepare({link, *(each.descriptor for each in copies)}, sink)

    mine, theirs = socket.socketpair()
    inside = os.fork()
    if inside == 0:
        mine.close()
        _be_inside(scene, room, theirs, cut_off, play)
    theirs.close()
    drop(inherited)  # the kernel may wait for their end, such as that of a program that it was starting at the fork
    why = _wait_for_word(mine, scene.seconds)
    if why:
        os.waitpid(inside, 0)
        _end_all(first)
        raise OSError(0, why)
    opened = versions(room.overlays) if room is not None else {}
    with suppress(OSError):  # the other process has ended already
        mine.send(b"x")
    writable = _writable(scene, room)
    hidden = () if room is None else scene.hidden
    lacks = room is None and landlock.abi() < landlock.SINCE["signals"]
    attempts = Attempts(writable, hidden, apart=room is not None, signals=lacks)
    counter = _CallAnswerer(mine, inside, attempts)
    status, late = _wait(inside, began + scene.seconds, counter)
    seconds = time.monotonic() - began
    _end_all(first)
    fields: dict[str, Any] = {"way": way, "seconds": seconds, "late": late, "status": status}
    fields["crowded"] = counter.has_refused
    if os.fstat(sink).st_size:
        attempts.refused["what goes into pipes and sockets that were open"] = None
    fields["connections"], fields["refused"] = [*attempts.connections], [*attempts.refused]
    fields["memory"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    if room is not None:
        fields.update(changes(room.overlays, opened))
    else:
        fields["changes"] = changed_files(copies)
    return fields


def _wait_for_word(link: socket.socket, seconds: float) -> str:
    """Wait until the process inside is prepared, or has ended; returns why it cannot be prepared, or ''."""
    link.settimeout(seconds)
    word = b""
    with suppress(OSError):
        word = link.recv(_LONGEST_WORD)
    link.setblocking(True)
    return "" if word in {b"", _PREPARED} else word.decode("utf-8", "replace")


def _enter(scene: Scene) -> tuple[namespaces.Room | None, str]:
    why = "it was switched off"
    if WITH_NAMESPACES in scene.ways:
        link = private_network.met(scene.proxy)
        try:
            room = namespaces.enter(
                scene.touched,
                scene.hidden,
                megabytes=limits.DISK_MEGABYTES,
                files=limits.MOST_FILES,
                shared=scene.shared,
            )
        except (OSError, StopIteration) as error:
            why = getattr(error, "strerror", None) or "there is no room for it"
        else:
            with suppress(OSError):  # without it, only starting a kernel fails
                private_network.start_loopback()
                private_network.join(link, scene.proxy)
            return room, WITH_NAMESPACES
    if WITH_LANDLOCK in scene.ways and landlock.abi() >= landlock.SINCE["truncation"] and seccomp.is_available():
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        return None, WITH_LANDLOCK
    raise OSError(
        0, f"this system does not let users create namespaces ({why}), and has no Landlock of version 3 or newer"
    )


def _first_process(report: int) -> int:
    """Start the process with the id 1 inside: when it ends, the system ends all the others."""
    waits, held = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, waits, 0), (os.POSIX_SPAWN_CLOSE, report)]
    command = ["/bin/sh", "-c", "read forever"] if os.path.exists("/bin/sh") else [sys.executable, "-ISc", "input()"]
    first = os.posix_spawn(command[0], command, {}, file_actions=actions)
    os.close(waits)
    os.set_inheritable(held, False)  # keeps it open until this process ends
    return first


class _CallAnswerer:
    """Answers intercepted system calls: limits the number of new processes, and records attempts."""

    def __init__(self, link: socket.socket, inside: int, attempts: Attempts) -> None:
        self._inside = inside
        self._attempts = attempts
        self.count = 0
        self.has_refused = False
        self._is_full = False
        self._looked_at = 0.0
        self._link = link
        self._listener = 0

    @property
    def descriptor(self) -> int:
        """The descriptor to wait on; negative once nothing more will come."""
        return self._listener or self._link.fileno()

    def go_on(self) -> None:
        if self._listener:
            call = seccomp.receive(self._listener)
            if call is not None:
                self._answer(call)
            elif self._is_over():
                self._listener = -1
            return
        with suppress(OSError):
            number = self._link.recv(_LONGEST_WORD)
            self._listener = take_descriptor(self._inside, int(number)) if number else 0
            self._link.send(b"x")
        self._link.close()

    def _answer(self, call: seccomp.AskedCall) -> None:
        if call.name not in _FORKS:
            self._attempts.answer(self._listener, call)
            return
        allow = self._has_room()
        seccomp.answer(self._listener, call, 0 if allow else errno.EAGAIN)
        self.count += allow
        self.has_refused = self.has_refused or not allow

    def _has_room(self) -> bool:
        """True if one more process may start."""
        is_due = self.count % COUNTED_EACH == 0 or self._is_full
        if self.count >= limits.MOST_AT_ONCE and is_due and time.monotonic() - self._looked_at > STEP:
            self._is_full = len(descendants(os.getpid())) > limits.MOST_AT_ONCE
            self._looked_at = time.monotonic()
        return self.count < limits.MOST_PROCESSES and not self._is_full

    def _is_over(self) -> bool:
        """True if no process is left that could make a call."""
        poll = select.poll()
        poll.register(self._listener)
        return any(event & select.POLLHUP for _, event in poll.poll(0))


def _be_inside(
    scene: Scene,
    room: namespaces.Room | None,
    link: socket.socket,
    prepare: Callable[[int], None],
    play: Callable[[], int],
) -> None:
    """Run the confined process, from its first step to its end."""
    code = 70
    try:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.setsid()
        temporary = scene.temporary
        if room is not None:
            namespaces.close_in(room)
            temporary = namespaces.TEMPORARY
        os.chdir(scene.cwd if room is not None or not scene.shared else scene.shared[0][0])
        for name in ("TMPDIR", "TEMP", "TMP"):
            os.environ[name] = temporary
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _limit(resource.RLIMIT_FSIZE, limits.DISK_MEGABYTES * 1024 * 1024)
        _limit(resource.RLIMIT_AS, address_space() + limits.memory_limit())
        _prepare(link, prepare)
        link.recv(1)  # waits until the supervisor has recorded the files that `prepare` opened
        listener = _shut(scene, room)
        if listener:
            link.send(str(listener).encode())
            link.recv(1)
            os.close(listener)
        link.close()
        code = play()
    except OSError as error:
        sys.stderr.write(f"{error.strerror or error}\n")
    finally:
        os._exit(code)


def _prepare(link: socket.socket, prepare: Callable[[int], None]) -> None:
    try:
        prepare(link.fileno())
    except OSError as error:
        link.send(str(error.strerror or error).encode()[:_LONGEST_WORD])
        os._exit(70)
    link.send(_PREPARED)


def _be_ended_first() -> None:
    """If memory runs out, have the system end this process and its children before any other."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    if hard == resource.RLIM_INFINITY or value < hard:
        resource.setrlimit(kind, (value, value))


def _shut(scene: Scene, room: namespaces.Room | None) -> int:
    """Confine this process; returns the descriptor that reports new processes, or 0 if there is none."""
    devices = ("/dev/null", "/dev/zero", "/dev/full")
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if room is not None:
        if landlock.abi():  # the mounts are enough; Landlock forbids changing them
            landlock.restrict(read=["/"], write=[*_writable(scene, room), *devices])
        if not seccomp.is_available():
            return 0
        # The only network is the loopback.
        return seccomp.refuse(sockets_but=seccomp.INTERNET, forks=True, supervised=_SUPERVISED)
    visible = [*landlock.everything_but([*scene.hidden, "/dev"]), "/dev/random", "/dev/urandom"]
    version = landlock.restrict(read=visible, write=[*_writable(scene, room), *devices], ports=())
    drop_capabilities()
    lacks_signals = version < landlock.SINCE["signals"]
    supervised = (*_SUPERVISED, "bind")
    return seccomp.refuse(
        sockets_but=(), signals=lacks_signals, forks=True, supervised=supervised, changes_only_itself=True
    )


def _writable(scene: Scene, room: namespaces.Room | None) -> list[str]:
    if room is None:
        return [scene.temporary, *(source for source, _ in scene.shared)]
    paths = [*(each.path for each in room.overlays), *(path for both in scene.shared for path in both)]
    return [*paths, "/dev/shm"]  # noqa: S108 - memory of its own


def _wait(inside: int, deadline: float, counter: _CallAnswerer) -> tuple[int, bool]:
    """Wait for the process; returns its exit status (negative: the signal) and True if its time was up."""
    ended, status = 0, 0
    handle = _handle(inside)
    while not ended:
        left = deadline - time.monotonic()
        if left <= 0:
            os.kill(inside, signal.SIGKILL)
            os.waitpid(inside, 0)
            return -signal.SIGKILL, True
        watched = [*handle, *([counter.descriptor] if counter.descriptor >= 0 else ())]
        ready = select.select(watched, [], [], left if handle else min(left, STEP))[0]
        if counter.descriptor in ready:
            counter.go_on()
        ended, status = os.waitpid(inside, os.WNOHANG)
    return os.waitstatus_to_exitcode(status), False


def _handle(pid: int) -> list[int]:
    try:
        return [os.pidfd_open(pid)]  # type: ignore[attr-defined,unused-ignore]
    except (AttributeError, OSError):
        return []


def _end_all(first: int) -> None:
    """End every process that is left inside."""
    if first:
        os.kill(first, signal.SIGKILL)
        os.waitpid(first, 0)  # returns when all processes inside have ended
        return
    for _ in range(ROUNDS):
        signal_descendants(signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not descendants(os.getpid()):
            return
        select.select([], [], [], STEP)
