"""The system calls of Linux that Python has no function for, by ``ctypes``."""

from __future__ import annotations

import ctypes
import os
import sys

TYPE_CHECKING = False  # not from typing: importing it costs start-up time
if TYPE_CHECKING:
    from typing import Any

PR_SET_PDEATHSIG = 1
PR_CAPBSET_DROP = 24
PR_SET_SECUREBITS = 28
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

_WITHOUT_ROOT = 0x2F  # SECBIT_NOROOT, SECBIT_NO_SETUID_FIXUP and no SECBIT_KEEP_CAPS, each of them locked

_LIBC: Any = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def machine() -> str:
    return os.uname().machine


def call(number: int, *arguments: Any) -> int:
    if _LIBC is None:
        raise OSError("This system does not support these calls: it is not Linux.")
    return _checked(_LIBC.syscall(ctypes.c_long(number), *arguments))


def prctl(option: int, value: int, more: int = 0) -> None:
    """Set an attribute of this process (``prctl(2)``)."""
    _checked(_LIBC.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(more), ctypes.c_ulong(0), ctypes.c_ulong(0)))


def set_filter(program: bytes, number: int, *, listens: bool = False) -> int:
    """Install a seccomp filter for this process and its children."""

    class Filter(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))

    held = ctypes.create_string_buffer(program, len(program))
    program_filter = Filter(len(program) // 8, ctypes.cast(held, ctypes.c_char_p))
    set_mode_filter, new_listener = 1, 8
    return call(number, set_mode_filter, new_listener if listens else 0, ctypes.byref(program_filter))


def take_descriptor(pid: int, number: int) -> int:
    """A copy of the descriptor *number* of process *pid* (``pidfd_getfd(2)``)."""
    handle = call(434, pid, 0)
    try:
        return call(438, handle, number, 0)
    finally:
        os.close(handle)


def unshare(flags: int) -> None:
    """Leave namespaces (``unshare(2)``)."""
    _checked(_LIBC.unshare(flags))


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    names = [os.fsencode(each) if each is not None else None for each in (source, target, kind, data)]
    _checked(_LIBC.mount(names[0], names[1], names[2], ctypes.c_ulong(flags), names[3]))


def protect(address: int, size: int, protection: int) -> bool:
    """Set memory protection (``mprotect(2)``: 1 read, 2 write, 4 run); returns True if the system allows it."""
    where = (ctypes.c_void_p(address), ctypes.c_size_t(size), ctypes.c_int(protection))
    return bool(_LIBC.mprotect(*where) == 0)


def remap_privately(address: int, size: int, descriptor: int, offset: int) -> None:
    """Replace mapped memory with a private mapping of a file, or of anonymous memory if *descriptor* is -1."""
    _LIBC.mmap.restype = ctypes.c_void_p
    private, fixed, anonymous = 2, 16, 32
    flags = private | fixed | (anonymous if descriptor < 0 else 0)
    where = (ctypes.c_void_p(address), ctypes.c_size_t(size), 3, flags, descriptor, ctypes.c_long(offset))
    got = _LIBC.mmap(*where)
    if got is None or got != address:
        _fail()


def drop_capabilities(keep: int = 0) -> None:
    """Give up capabilities, including those that a program run by root would get."""
    header, held = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    _checked(_LIBC.capget(header, held))
    if not any(held):
        return
    for capability in range(64):
        if not keep >> capability & 1:
            try:
                prctl(PR_CAPBSET_DROP, capability)
            except OSError:
                break
    if not keep:
        prctl(PR_SET_SECUREBITS, _WITHOUT_ROOT)
    for at in range(6):
        held[at] = 0 if at in {2, 5} else held[at] & (keep >> 32 * (at // 3) & 0xFFFFFFFF)
    _checked(_LIBC.capset(header, held))


def _checked(result: int) -> int:
    if result < 0:
        _fail()
    return result


def _fail() -> None:
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number))
