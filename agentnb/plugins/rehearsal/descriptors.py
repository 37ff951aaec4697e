"""Cuts a forked process off from what it inherited: open files, sockets, and memory that it shares with others.

It opens each file anew, in the file system that the process sees now, replaces everything else by ``/dev/null``, and
makes shared memory a private copy.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import os
import stat
from contextlib import suppress

from agentnb.plugins.sandbox import landlock
from agentnb.system_calls import protect, remap_privately

TYPE_CHECKING = False  # not from typing: importing it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

COPY_OF = "agentnb:"
"""Prefix of the names of the in-memory copies that :func:`copy_writable_files` makes."""
LARGEST_SHOWN = 256 * 1024
"""Bytes up to which a file's contents are reported, for its diff."""
LARGEST_COPY = 64 * 1024 * 1024
"""Bytes of a deleted file, or of shared memory without a file, that are copied."""
_READ, _WRITE, _RUN = 1, 2, 4
_GPU = ("/dev/nvidia", "/dev/kfd", "/dev/dri/render")
_HARMLESS = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class _TooLarge(OSError):
    """Something that the kernel shares with other processes, and that is too large to be copied."""


def gpu_in_use() -> str:
    """Returns the GPU device that this process has open, which does not survive a fork; '' if there is none."""
    for descriptor in _open_descriptors():
        with suppress(OSError):
            path = os.readlink(f"/proc/self/fd/{descriptor}")
            if path.startswith(_GPU):
                return path
    return ""


class OpenFile:
    """A file that was open for writing, and is a copy in memory now."""

    def __init__(self, descriptor: int, path: str) -> None:
        self.descriptor = descriptor
        self._path = path
        self._before = _text_and_digest(descriptor)

    def change(self) -> dict[str, Any] | None:
        """Returns the file's change in the form of the supervisor's report; None if there is none."""
        (before, was), (after, now) = self._before, _text_and_digest(self.descriptor)
        if was == now:
            return None
        change: dict[str, Any] = {"path": self._path, "status": "changed"}
        if before is not None and after is not None:
            change["before"], change["after"] = (base64.b64encode(each).decode() for each in (before, after))
        return change


def copy_writable_files() -> list[OpenFile]:
    """Replace each file that is open for writing by a copy in memory; a file that is open twice gets one copy."""
    copies: dict[tuple[int, int], int] = {}
    files = []
    for descriptor in _open_descriptors():
        status, flags = os.fstat(descriptor), fcntl.fcntl(descriptor, fcntl.F_GETFL)
        if not stat.S_ISREG(status.st_mode) or not status.st_nlink or flags & os.O_ACCMODE == os.O_RDONLY:
            continue  # a deleted file has no other user; it is copied later
        path, inheritable = os.readlink(f"/proc/self/fd/{descriptor}"), os.get_inheritable(descriptor)
        key = (status.st_dev, status.st_ino)
        if status.st_size > LARGEST_COPY:
            raise _TooLarge(f"this kernel has {status.st_size / 1e6:,.0f} MB open for writing in {path}")
        source = copies.get(key, descriptor)
        name = f"{COPY_OF}{os.fsdecode(os.fsencode(path)[-200:])}"  # the system keeps 249 bytes of it
        memory = _copy(descriptor, status.st_size, path, name) if key not in copies else source
        new = os.open(f"/proc/self/fd/{memory}", flags & (os.O_ACCMODE | os.O_APPEND) | os.O_CLOEXEC)
        os.lseek(new, os.lseek(descriptor, 0, os.SEEK_CUR), os.SEEK_SET)
        os.dup2(new, descriptor, inheritable)
        for each in {new, memory} - {source}:
            os.close(each)
        copies.setdefault(key, descriptor)
        files.append(OpenFile(descriptor, path))
    return files


def changed_files(files: Sequence[OpenFile]) -> list[dict[str, Any]]:
    """Returns the changes of files that were open for writing, each file once."""
    changes = [change for each in files if (change := each.change()) is not None]
    return [*{each["path"]: each for each in changes}.values()]


def _text_and_digest(descriptor: int) -> tuple[bytes | None, bytes]:
    """Returns a file's content (None if it is too large to report) and a digest of it."""
    with open(_for_reading(descriptor), "rb") as file:
        digest = hashlib.file_digest(file, "sha256") if hasattr(hashlib, "file_digest") else hashlib.sha256(file.read())
        is_small = file.tell() <= LARGEST_SHOWN
        file.seek(0)
        return file.read() if is_small else None, digest.digest()


def replace_descriptors(keep: Collection[int], sink: int) -> None:
    """Replace every open descriptor that is not in *keep*.

    ``/proc`` must still be mounted, and show this process.
    """
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for descriptor in _open_descriptors():
        if descriptor in keep or descriptor in {nothing, sink}:
            continue
        inheritable = os.get_inheritable(descriptor)
        try:
            new = _opened_anew(descriptor, nothing, sink)
        except _TooLarge:
            raise
        except OSError:
            new = nothing
        os.dup2(new, descriptor, inheritable)
        if new != nothing:
            os.close(new)
    os.close(nothing)
    os.close(sink)


def links_but(keep: Collection[int]) -> list[int]:
    """Returns the open pipes and sockets, except *keep*."""
    modes = {each: os.fstat(each).st_mode for each in _open_descriptors() if each not in keep}
    return [each for each, mode in modes.items() if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)]


def drop(descriptors: Collection[int]) -> None:
    """Replace each descriptor by ``/dev/null``."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for each in descriptors:
        os.dup2(nothing, each, os.get_inheritable(each))
    os.close(nothing)


def _open_descriptors() -> list[int]:
    return [int(name) for name in os.listdir("/proc/self/fd") if _is_open(int(name))]


def _is_open(descriptor: int) -> bool:
    with suppress(OSError):
        return bool(os.fstat(descriptor))
    return False


def _opened_anew(descriptor: int, nothing: int, sink: int) -> int:
    status = os.fstat(descriptor)
    path = os.readlink(f"/proc/self/fd/{descriptor}")
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL) & (os.O_ACCMODE | os.O_APPEND) | os.O_CLOEXEC
    if stat.S_ISDIR(status.st_mode):
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if not stat.S_ISREG(status.st_mode):
        if path in _HARMLESS:
            return os.open(path, flags)
        leads_out = any(kind(status.st_mode) for kind in (stat.S_ISFIFO, stat.S_ISSOCK, stat.S_ISCHR))
        is_written = stat.S_ISSOCK(status.st_mode) or (leads_out and flags & os.O_ACCMODE == os.O_WRONLY)
        return os.open(f"/proc/self/fd/{sink}", flags | os.O_APPEND) if is_written else nothing
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    if status.st_nlink:
        try:
            new = os.open(path, flags)
        except OSError:  # the path is not writable here
            new = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    else:
        new = _copy(descriptor, status.st_size, path)
    os.lseek(new, position, os.SEEK_SET)
    return new


def _for_reading(descriptor: int) -> int:
    return os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)


def _copy(descriptor: int, size: int, path: str, name: str = "agentnb") -> int:
    """Returns a copy in memory of a deleted file, whose own descriptor could be reopened to change it."""
    if size > LARGEST_COPY:
        if path.startswith("/memfd:") or not landlock.abi():
            raise _TooLarge(f"this kernel has {size / 1e6:,.0f} MB open in a file without a name")
        return _for_reading(descriptor)
    new = os.memfd_create(name)
    reading = _for_reading(descriptor)
    os.sendfile(new, reading, 0, size)
    os.close(reading)
    return new


def unshare_memory(keep: int) -> None:
    """Make a private copy of every piece of memory shared with other processes, except that at the address *keep*."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        shared = [line.split(None, 5) for line in file if line.split(None, 2)[1].endswith("s")]
    for fields in shared:
        start, end = (int(each, 16) for each in fields[0].split("-"))
        if start <= keep < end:
            continue
        bits = zip("rwx", (_READ, _WRITE, _RUN), strict=True)
        protection = sum(bit for letter, bit in bits if letter in fields[1])
        if not protect(start, end - start, _READ | _WRITE):
            continue  # the mapping is read-only
        path = fields[5].strip() if len(fields) > 5 else ""  # noqa: PLR2004 - the name comes sixth
        _make_private(start, end - start, path, int(fields[2], 16))
        if protection != _READ | _WRITE:
            protect(start, end - start, protection)


def _make_private(start: int, size: int, path: str, offset: int) -> None:
    if path.startswith("/") and os.path.isfile(path):
        opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            remap_privately(start, size, opened, offset)
        finally:
            os.close(opened)
        return
    import ctypes

    if _is_plain(path) and size > LARGEST_COPY:
        raise _TooLarge(f"this kernel shares {size / 1e6:,.0f} MB of memory with other processes")
    held = ctypes.string_at(start, size) if _is_plain(path) else b""
    remap_privately(start, size, -1, 0)
    ctypes.memmove(start, held, len(held))


def _is_plain(path: str) -> bool:
    """True if this is memory or a deleted file; False for a device or kernel ring, whose contents cannot be read."""
    if path in {"", "/dev/zero (deleted)"} or path.startswith(("/SYSV", "/dev/shm/", "/memfd:")):  # noqa: S108
        return True
    return path.endswith(" (deleted)") and path.startswith("/") and not path.startswith("/dev/")
