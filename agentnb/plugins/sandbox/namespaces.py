"""Namespaces: a copy of the file system that takes every change into memory, no network, no other processes."""

from __future__ import annotations

import os
import stat
import struct

from agentnb.system_calls import call, drop_capabilities, mount, unshare

TYPE_CHECKING = False  # not from typing: importing it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

NEW_USER, NEW_MOUNTS, NEW_PIDS = 0x10000000, 0x00020000, 0x20000000
NEW_NETWORK, NEW_IPC, NEW_HOST_NAME = 0x40000000, 0x08000000, 0x04000000
ALL = NEW_USER | NEW_MOUNTS | NEW_PIDS | NEW_NETWORK | NEW_IPC | NEW_HOST_NAME

READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC, BIND, RECURSIVE, PRIVATE = 1, 2, 4, 8, 0x1000, 0x4000, 0x40000
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_DEVICES = ("null", "zero", "full", "random", "urandom")
_PLACES = ("/dev/shm", "/mnt", "/media", "/srv", "/run", "/tmp")  # noqa: S108 - where the scratch memory is mounted
_SOCKETS = ("/run", "/var/run")
TEMPORARY = "/dev/shm/tmp"  # noqa: S108 - memory of its own
"""The folder for temporary files that a process in a :class:`Room` has."""


class Overlay:
    """One folder with an overlay that captures its changes."""

    def __init__(self, path: str, upper: str, below: int) -> None:
        self.path = path
        self.upper = upper
        self.below = below


class Room:
    """The file system of a process that is in namespaces of its own."""

    def __init__(self, overlays: Sequence[Overlay], scratch: str) -> None:
        self.overlays = overlays
        self.scratch = scratch


def unshare_as_user(kinds: int) -> None:
    """Make namespaces without any privileges: in a new user namespace, in which ids stay the same."""
    user, group = os.geteuid(), os.getegid()
    unshare(NEW_USER | kinds)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def set_mount_flags(path: str, on: int, off: int, *, recursive: bool = True) -> None:
    """Set and clear flags of the mount at *path* and, if *recursive*, of all mounts below it."""
    below = _AT_RECURSIVE if recursive else 0
    call(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), below, struct.pack("QQQQ", on, off, 0, 0), 32)


def works_in_fork(enter: Callable[[], object]) -> bool:
    """True if *enter* works here; tried in a fork, because a process that is half in cannot come back."""
    child = os.fork()
    if child == 0:
        try:
            enter()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def enter(
    targets: Iterable[str],
    hidden: Iterable[str],
    *,
    megabytes: int,
    files: int,
    shared: Iterable[tuple[str, str]] = (),
) -> Room:
    """Move this process into its own namespaces; children get their own process ids.

    Only a process with one thread can do this (a forked one has one). *shared* are pairs of folders: the first one is
    found at the second one's path, too, and is changed for real at both.
    """
    outermost = _outermost(targets)
    unshare_as_user(ALL)
    mount("none", "/", None, RECURSIVE | PRIVATE)
    set_mount_flags("/", READ_ONLY | NO_SUID, 0)
    below = [os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) for path in outermost]
    inner = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in _mounted_in(outermost)]
    opened_shared = [(os.open(source, os.O_PATH | os.O_CLOEXEC), (source, target)) for source, target in shared]
    scratch = next(place for place in _PLACES if os.path.isdir(place) and not _holds_any(place, outermost))
    mount("agentnb", scratch, "tmpfs", NO_SUID | NO_DEVICES, f"size={megabytes}m,nr_inodes={files},mode=700")
    _devices(scratch)
    overlays = [
        _overlay(path, opened, scratch, number)
        for number, (path, opened) in enumerate(zip(outermost, below, strict=True))
    ]
    for number, (path, opened) in enumerate(inner, len(overlays)):
        overlays += _inner(path, opened, scratch, number)
    for place in _SOCKETS:
        if os.path.isdir(place) and not os.path.islink(place) and not _holds_any(place, [scratch, *outermost]):
            mount("agentnb", place, "tmpfs", NO_SUID | NO_DEVICES, "size=1m,mode=755")
    _hide(hidden, scratch)
    for opened, paths in opened_shared:
        for path in dict.fromkeys(paths):
            _share(opened, path)
    return Room(overlays, scratch)


def _share(opened: int, path: str) -> None:
    mount(f"/proc/self/fd/{opened}", path, None, BIND)
    set_mount_flags(path, NO_SUID | NO_DEVICES, READ_ONLY, recursive=False)


def _overlay(path: str, opened: int, scratch: str, number: int) -> Overlay:
    upper, work = f"{scratch}/upper{number}", f"{scratch}/work{number}"
    os.mkdir(upper)
    os.mkdir(work)
    status = os.fstat(opened)
    os.chmod(upper, stat.S_IMODE(status.st_mode))
    options = f"lowerdir=/proc/self/fd/{opened},upperdir={upper},workdir={work},userxattr"
    mount("agentnb", path, "overlay", NO_SUID | NO_DEVICES, options)
    return Overlay(path, upper, opened)


def _inner(path: str, opened: int, scratch: str, number: int) -> list[Overlay]:
    """Make a mount inside a writable folder writable, too; returns its overlay, if it has one."""
    try:
        if stat.S_ISDIR(os.fstat(opened).st_mode):
            return [_overlay(path, opened, scratch, number)]
        mount(f"/proc/self/fd/{opened}", path, None, BIND)  # a mounted single file
    except OSError:
        try:
            mount(f"/proc/self/fd/{opened}", path, None, BIND | RECURSIVE)
        except OSError:
            return []
    return []


def _devices(scratch: str) -> None:
    """Provide only harmless devices and private shared memory: root could write to disks through the others."""
    prepared = f"{scratch}/dev"
    os.mkdir(prepared)
    mount("agentnb", prepared, "tmpfs", NO_SUID | NO_EXEC, "size=64k,mode=755")
    for name in _DEVICES:
        if os.path.exists(f"/dev/{name}"):
            os.close(os.open(f"{prepared}/{name}", os.O_CREAT | os.O_WRONLY, 0o666))
            mount(f"/dev/{name}", f"{prepared}/{name}", None, BIND)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(target, f"{prepared}/{name}")
    os.mkdir(f"{prepared}/shm")
    memory = f"{scratch}/shm"
    os.makedirs(f"{memory}/tmp")  # noqa: S108 - inside of it
    mount(memory, f"{prepared}/shm", None, BIND)


def close_in(room: Room) -> None:
    """Hide the outer processes and devices from this process, and what *room* is made of."""
    unshare(NEW_MOUNTS)
    flags = READ_ONLY | NO_SUID | NO_DEVICES | NO_EXEC
    mount(f"{room.scratch}/dev", "/dev", None, BIND | RECURSIVE)
    if not _holds("/dev", room.scratch):
        mount("agentnb", room.scratch, "tmpfs", flags, "size=4k,mode=500")
    try:
        mount("proc", "/proc", "proc", flags)
    except OSError:  # fails in many containers: mount an empty folder instead
        mount("agentnb", "/proc", "tmpfs", flags, "size=64k")
    drop_capabilities()


def _hide(hidden: Iterable[str], scratch: str) -> None:
    empty = f"{scratch}/empty"
    os.close(os.open(empty, os.O_CREAT | os.O_WRONLY, 0o400))
    for path in hidden:
        if os.path.islink(path):
            continue
        if os.path.isdir(path):
            mount("agentnb", path, "tmpfs", READ_ONLY | NO_SUID | NO_DEVICES, "size=4k,mode=500")
        elif os.path.exists(path):
            mount(empty, path, None, BIND)


def _outermost(targets: Iterable[str]) -> list[str]:
    mounts: list[str] = []
    for path in sorted(set(targets)):
        if path != "/" and os.path.isdir(path) and not any(_holds(each, path) for each in mounts):
            mounts.append(path)
    return mounts


def _mounted_in(targets: Sequence[str]) -> list[str]:
    """Returns the mounts inside *targets*, outer before inner."""
    mounts: set[str] = set()
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            path = os.fsdecode(line.split(b" ")[4].decode("unicode_escape").encode("latin-1"))
            if any(path != target and _holds(target, path) for target in targets) and os.path.exists(path):
                mounts.add(path)
    return sorted(mounts)


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _holds_any(folder: str, paths: Iterable[str]) -> bool:
    return any(_holds(folder, path) or _holds(path, folder) for path in paths)
