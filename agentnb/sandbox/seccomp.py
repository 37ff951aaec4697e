"""Seccomp: a filter that refuses system calls which Landlock does not look at, for this process and its children.

Refused always: looking into other processes, the kernel's key rings, and ``io_uring``, which goes round the filter. On
request: sockets of some families, signals to other processes, and more than so many new processes. Calls of another
instruction set (32 bits) are refused as well, as their numbers differ.

See https://docs.kernel.org/userspace-api/seccomp_filter.html.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct

from agentnb.sandbox.system_calls import PR_SET_NO_NEW_PRIVS, machine, prctl, set_filter

TYPE_CHECKING = False  # as in typing, which costs start-up time
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_X86: dict[str, int] = {
    "open": 2, "socket": 41, "kill": 62, "ptrace": 101, "tkill": 200, "rt_sigqueueinfo": 129, "tgkill": 234,
    "add_key": 248, "request_key": 249, "keyctl": 250, "openat": 257, "rt_tgsigqueueinfo": 297,
    "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_send_signal": 424, "io_uring_setup": 425,
    "pidfd_getfd": 438, "truncate": 76,
    "sendto": 44, "sendmsg": 46, "sendmmsg": 307,
    "seccomp": 317, "clone": 56, "fork": 57, "vfork": 58, "clone3": 435,
}  # fmt: skip
_ARM: dict[str, int] = {
    "socket": 198, "kill": 129, "ptrace": 117, "tkill": 130, "rt_sigqueueinfo": 138, "tgkill": 131, "add_key": 217,
    "request_key": 218, "keyctl": 219, "openat": 56, "rt_tgsigqueueinfo": 240, "process_vm_readv": 270,
    "process_vm_writev": 271, "pidfd_send_signal": 424, "io_uring_setup": 425, "pidfd_getfd": 438, "truncate": 45,
    "sendto": 206, "sendmsg": 211, "sendmmsg": 269,
    "seccomp": 277, "clone": 220, "clone3": 435,
}  # fmt: skip
_MACHINES = {"x86_64": (0xC000003E, _X86), "aarch64": (0xC00000B7, _ARM)}
_ALWAYS = ("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "add_key", "request_key", "keyctl")
_SIGNALS = ("kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal")

UNIX, NETLINK = 1, 16  # as in `socket`, which costs small programs start-up time
INTERNET = (2, 10)
"""The families of sockets for TCP and UDP."""

_LOAD, _EQUAL, _AT_LEAST, _SET, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _REFUSE, _ASK = 0x7FFF0000, 0x00050000, 0x7FC00000
_CLONE_THREAD = 0x00010000
_O_TRUNC, _O_ACCMODE = os.O_TRUNC, 3
_STREAM, _TCP, _KIND_OF_SOCKET, _FAST_OPEN = 1, 6, 0xF, 0x20000000


def is_available() -> bool:
    """Whether filters are known for this machine's instruction set."""
    return machine() in _MACHINES and struct.calcsize("P") == 8  # noqa: PLR2004 - 64 bits


def refuse(
    *,
    sockets_but: Iterable[int] | None,
    signals: bool = False,
    truncation: bool = False,
    forks: bool = False,
    only_tcp: bool = False,
) -> int:
    """Refuse system calls from now on, in this process and its children.

    Args:
        sockets_but: The only families of sockets that can be made; None: all. Pairs of connected sockets always can.
        signals: Whether signals to other processes are refused; for kernels whose Landlock does not do that.
        truncation: Whether to refuse to empty files that are open for reading; for such kernels as well.
        forks: Whether each new process has to be allowed by who has the descriptor that is returned
            (:func:`answer_fork`). Threads do not.
        only_tcp: Whether sockets of the internet are for TCP alone, and connect by ``connect`` alone: what Landlock
            looks at. So no UDP, no MPTCP, and no data that is sent while connecting (TCP Fast Open).

    Returns:
        That descriptor; 0 where none was asked for.

    Raises:
        OSError: If the kernel refuses, or this machine's instruction set is not known.
    """
    if not is_available():
        raise OSError(f"No filter is known for {machine()}.")
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    code = program(sockets_but=sockets_but, signals=signals, truncation=truncation, forks=forks, only_tcp=only_tcp)
    return set_filter(code, _MACHINES[machine()][1]["seccomp"], listens=forks)


def answer_fork(listener: int, *, allow: bool) -> bool:
    """Answer the process that waits to make another one; says whether there was one.

    Args:
        listener: The descriptor of :func:`refuse`.
        allow: Whether it may.
    """
    asked = bytearray(80)
    try:
        fcntl.ioctl(listener, 0xC0502100, asked)  # SECCOMP_IOCTL_NOTIF_RECV
    except OSError:
        return False
    answer = struct.pack("QqiI", *struct.unpack_from("Q", asked), 0, 0 if allow else -errno.EAGAIN, int(allow))
    try:
        fcntl.ioctl(listener, 0xC0182101, answer)  # SECCOMP_IOCTL_NOTIF_SEND; 1: go on
    except OSError as error:
        return error.errno == errno.ENOENT  # it has ended meanwhile
    return True


def program(
    *,
    sockets_but: Iterable[int] | None,
    signals: bool = False,
    truncation: bool = False,
    forks: bool = False,
    only_tcp: bool = False,
) -> bytes:
    """The filter's instructions (classic BPF)."""
    architecture, numbers = _MACHINES[machine()]
    refused = [*_ALWAYS, *(_SIGNALS if signals else ()), *(("truncate",) if truncation else ())]
    code = [_at(_LOAD, 4), _jump(_EQUAL, architecture, 1, 0), _give(errno.EPERM), _at(_LOAD, 0)]
    if architecture == _MACHINES["x86_64"][0]:
        code += [_jump(_AT_LEAST, 0x40000000, 0, 1), _give(errno.EPERM)]  # x32
    for name in refused:
        code += [_jump(_EQUAL, numbers[name], 0, 1), _give(errno.EPERM)]
    code += [_jump(_EQUAL, numbers["io_uring_setup"], 0, 1), _give(errno.ENOSYS)]
    if only_tcp:
        code += _only_tcp(numbers)
    if sockets_but is not None:
        allowed = [*sockets_but]
        checks = [_jump(_EQUAL, family, len(allowed) - at, 0) for at, family in enumerate(allowed)]
        block = [_at(_LOAD, 16), *checks, _give(errno.EACCES), _at(_RETURN, _ALLOW)]
        code += [_jump(_EQUAL, numbers["socket"], 0, len(block)), *block]
    if signals:  # to itself, as abort() does, it may: the process group id is the one that is compared
        block = [_at(_LOAD, 16), _jump(_EQUAL, os.getpid(), 1, 0), _give(errno.EPERM), _at(_RETURN, _ALLOW)]
        code += [_jump(_EQUAL, numbers["tgkill"], 0, len(block)), *block]
    if truncation:
        for name, argument in (("open", 24), ("openat", 32)):
            if name in numbers:
                code += _reading_truncates(numbers[name], argument)
    if forks:
        code += _asked_forks(numbers)
    return b"".join([*code, _at(_RETURN, _ALLOW)])


def _only_tcp(numbers: Mapping[str, int]) -> list[bytes]:
    """Refuse sockets of the internet that are not for TCP, and connecting while sending."""
    block = [
        *(_at(_LOAD, 16), _jump(_EQUAL, INTERNET[0], 1, 0), _jump(_EQUAL, INTERNET[1], 0, 7)),
        *(_at(_LOAD, 24), _at(_AND, _KIND_OF_SOCKET), _jump(_EQUAL, _STREAM, 0, 3)),
        *(_at(_LOAD, 32), _jump(_EQUAL, 0, 2, 0), _jump(_EQUAL, _TCP, 1, 0), _give(errno.EACCES), _at(_LOAD, 0)),
    ]
    code = [_jump(_EQUAL, numbers["socket"], 0, len(block)), *block]
    for name, flags in (("sendto", 40), ("sendmsg", 32), ("sendmmsg", 40)):
        block = [_at(_LOAD, flags), _jump(_SET, _FAST_OPEN, 0, 1), _give(errno.EOPNOTSUPP), _at(_LOAD, 0)]
        code += [_jump(_EQUAL, numbers[name], 0, len(block)), *block]
    return code


def _asked_forks(numbers: Mapping[str, int]) -> list[bytes]:
    """Hand on what makes processes. The flags of ``clone3`` cannot be seen; without it the C library uses ``clone``."""
    code = [_jump(_EQUAL, numbers["clone3"], 0, 1), _give(errno.ENOSYS)]
    for name in ("fork", "vfork"):
        if name in numbers:
            code += [_jump(_EQUAL, numbers[name], 0, 1), _at(_RETURN, _ASK)]
    thread = [_at(_LOAD, 16), _jump(_SET, _CLONE_THREAD, 1, 0), _at(_RETURN, _ASK), _at(_RETURN, _ALLOW)]
    return [*code, _jump(_EQUAL, numbers["clone"], 0, len(thread)), *thread]


def _reading_truncates(number: int, argument: int) -> list[bytes]:
    """Refuse ``O_TRUNC`` without a mode that writes."""
    block = [
        *(_at(_LOAD, argument), _jump(_SET, _O_TRUNC, 0, 3), _at(_AND, _O_ACCMODE), _jump(_EQUAL, 0, 0, 1)),
        *(_give(errno.EACCES), _at(_RETURN, _ALLOW)),
    ]
    return [_jump(_EQUAL, number, 0, len(block)), *block]


def _at(code: int, value: int) -> bytes:
    return struct.pack("HBBI", code, 0, 0, value)


def _jump(code: int, value: int, if_true: int, if_false: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _give(number: int) -> bytes:
    return _at(_RETURN, _REFUSE | number)
