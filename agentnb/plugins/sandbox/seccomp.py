"""Seccomp: a filter that refuses system calls not covered by Landlock, for this process and its children."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from contextlib import suppress

from agentnb.system_calls import PR_SET_NO_NEW_PRIVS, machine, prctl, set_filter

TYPE_CHECKING = False  # not from typing: importing it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

_X86: dict[str, int] = {
    "open": 2, "socket": 41, "kill": 62, "ptrace": 101, "tkill": 200, "rt_sigqueueinfo": 129, "tgkill": 234,
    "add_key": 248, "request_key": 249, "keyctl": 250, "openat": 257, "rt_tgsigqueueinfo": 297,
    "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_send_signal": 424, "io_uring_setup": 425,
    "pidfd_getfd": 438, "truncate": 76,
    "sendto": 44, "sendmsg": 46, "sendmmsg": 307,
    "socketpair": 53, "seccomp": 317, "clone": 56, "fork": 57, "vfork": 58, "clone3": 435,
    "prlimit64": 302, "setpriority": 141, "ioprio_set": 251, "sched_setparam": 142, "sched_setscheduler": 144,
    "sched_setaffinity": 203, "sched_setattr": 314, "fcntl": 72, "ioctl": 16,
    "shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66, "semtimedop": 220, "msgget": 68,
    "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "mq_open": 240, "mq_unlink": 241,
    "chmod": 90, "fchmod": 91, "chown": 92, "fchown": 93, "lchown": 94, "utime": 132, "setxattr": 188, "lsetxattr": 189,
    "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199, "utimes": 235, "fchownat": 260,
    "futimesat": 261, "fchmodat": 268, "utimensat": 280,
    "creat": 85, "unlink": 87, "rmdir": 84, "mkdir": 83, "mknod": 133, "rename": 82, "link": 86, "symlink": 88,
    "unlinkat": 263, "mkdirat": 258, "mknodat": 259, "renameat": 264, "renameat2": 316, "linkat": 265, "symlinkat": 266,
    "connect": 42, "bind": 49,
}  # fmt: skip
_ARM: dict[str, int] = {
    "socket": 198, "kill": 129, "ptrace": 117, "tkill": 130, "rt_sigqueueinfo": 138, "tgkill": 131, "add_key": 217,
    "request_key": 218, "keyctl": 219, "openat": 56, "rt_tgsigqueueinfo": 240, "process_vm_readv": 270,
    "process_vm_writev": 271, "pidfd_send_signal": 424, "io_uring_setup": 425, "pidfd_getfd": 438, "truncate": 45,
    "sendto": 206, "sendmsg": 211, "sendmmsg": 269,
    "socketpair": 199, "seccomp": 277, "clone": 220, "clone3": 435,
    "prlimit64": 261, "setpriority": 140, "ioprio_set": 30, "sched_setparam": 118, "sched_setscheduler": 119,
    "sched_setaffinity": 122, "sched_setattr": 274, "fcntl": 25, "ioctl": 29,
    "mq_open": 180, "mq_unlink": 181, "msgget": 186, "msgctl": 187, "msgrcv": 188, "msgsnd": 189, "semget": 190,
    "semctl": 191, "semtimedop": 192, "semop": 193, "shmget": 194, "shmctl": 195, "shmat": 196,
    "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
    "fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55, "utimensat": 88,
    "mknodat": 33, "mkdirat": 34, "unlinkat": 35, "symlinkat": 36, "linkat": 37, "renameat": 38, "renameat2": 276,
    "connect": 203, "bind": 200,
}  # fmt: skip
_BOTH = {"openat2": 437, "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466, "file_setattr": 469}
for _each in (_X86, _ARM):
    _each.update(_BOTH)
_MACHINES = {"x86_64": (0xC000003E, _X86), "aarch64": (0xC00000B7, _ARM)}
_NUMBERED = {number: name for name, number in _MACHINES.get(machine(), (0, {}))[1].items()}
_ALWAYS = ("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "add_key", "request_key", "keyctl")
_KEYED = (
    *("shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl"),
    *("msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink"),
)
"""Calls on shared memory, semaphores and queues that other processes find by a key, a number (System V) or a name."""
ATTRIBUTES = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat"),
    *("utime", "utimes", "futimesat", "utimensat", "file_setattr"),
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
)
"""Calls that change a file's permissions, owner, times and extended attributes."""
NAMES = (
    *("creat", "openat2", "truncate", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "mknod", "mknodat"),
    *("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat"),
)
"""Calls that create, remove, rename or truncate files."""
REACHES = ("connect", "sendmsg", "sendmmsg", "kill")
"""Calls that connect, send or signal; of ``sendto``, a supervisor sees only those with an address."""
_SET_FLAGS, _SET_FLAGS_MORE = 0x40086602, 0x401C5820  # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR
_SET_OWNER, _SET_OWNER_MORE = 8, 15  # F_SETOWN, F_SETOWN_EX: who gets a descriptor's signal
_SET_OWNER_OF_SOCKET, _SET_GROUP_OF_SOCKET = 0x8901, 0x8902  # FIOSETOWN, SIOCSPGRP
_FIRST, _SECOND, _THIRD, _FIFTH = 16, 24, 32, 48
"""Offsets of a call's arguments in the data that the filter gets."""
_SIGNALS = ("kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal")

UNIX, NETLINK = 1, 16  # as in `socket`, whose import costs small programs start-up time
INTERNET = (2, 10)
"""The families of sockets for TCP and UDP."""

_LOAD, _EQUAL, _AT_LEAST, _SET, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _REFUSE, _ASK = 0x7FFF0000, 0x00050000, 0x7FC00000
_CLONE_THREAD = 0x00010000
_O_TRUNC, _O_ACCMODE = os.O_TRUNC, 3
_O_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_STREAM, _PACKETS, _TCP, _KIND_OF_SOCKET, _FAST_OPEN = 1, 5, 6, 0xF, 0x20000000


def is_available() -> bool:
    """True if filters are available for this machine's instruction set."""
    return machine() in _MACHINES and struct.calcsize("P") == 8  # noqa: PLR2004 - 64 bits


def refuse(
    *,
    sockets_but: Iterable[int] | None,
    signals: bool = False,
    truncation: bool = False,
    forks: bool = False,
    supervised: Collection[str] = (),
    only_tcp: bool = False,
    only_own_processes: bool = False,
    changes_only_itself: bool = False,
) -> int:
    """Refuse system calls from now on, in this process and its children."""
    if not is_available():
        raise OSError(f"No filter is available for {machine()}.")
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    architecture, numbers = _MACHINES[machine()]
    refused = [*_ALWAYS, *(_SIGNALS if signals else ()), *(("truncate",) if truncation else ())]
    no_socket = _at(_RETURN, _ASK) if supervised else _give(errno.EACCES)
    code = [_at(_LOAD, 4), _jump(_EQUAL, architecture, 1, 0), _give(errno.EPERM), _at(_LOAD, 0)]
    if architecture == _MACHINES["x86_64"][0]:
        code += [_jump(_AT_LEAST, 0x40000000, 0, 1), _give(errno.EPERM)]  # x32
    for name in supervised:
        code += [_jump(_EQUAL, numbers[name], 0, 1), _at(_RETURN, _ASK)] if name in numbers else []
    code += _asked_by_argument(numbers) if supervised else []
    for name in refused:
        code += [_jump(_EQUAL, numbers[name], 0, 1), _give(errno.EPERM)]
    code += [_jump(_EQUAL, numbers["io_uring_setup"], 0, 1), _give(errno.ENOSYS)]
    code += _unless_zero(numbers["prlimit64"], _FIRST)
    code += _only_own_processes(numbers) if only_own_processes or changes_only_itself else []
    code += _no_attributes(numbers) if changes_only_itself else []
    code += _only_tcp(numbers) if only_tcp else []
    if sockets_but is not None:
        code += _sockets(numbers, [*sockets_but], no_socket)
    code += _no_signals(numbers) if signals else []
    code += _no_emptying(numbers) if truncation else []
    code += _asked_forks(numbers) if forks else []
    return set_filter(b"".join([*code, _at(_RETURN, _ALLOW)]), numbers["seccomp"], listens=forks or bool(supervised))


class AskedCall:
    """A call that waits for its answer."""

    def __init__(self, data: bytes) -> None:
        self.id: int
        self.pid: int
        self.arguments: list[int]
        self.id, self.pid, _, number, _, _, *self.arguments = struct.unpack("QIIiIQ6Q", data)
        self.name: str = _NUMBERED.get(number, str(number))


def receive(listener: int) -> AskedCall | None:
    """Returns the call that waits for an answer; None if it has been abandoned."""
    data = bytearray(80)
    try:
        fcntl.ioctl(listener, 0xC0502100, data)  # SECCOMP_IOCTL_NOTIF_RECV
    except OSError:
        return None
    return AskedCall(bytes(data))


def answer(listener: int, call: AskedCall, error: int = 0, *, goes_on: bool = True) -> None:
    with suppress(OSError):  # the process has ended meanwhile
        text = struct.pack("QqiI", call.id, 0, -error, int(goes_on and not error))
        fcntl.ioctl(listener, 0xC0182101, text)  # SECCOMP_IOCTL_NOTIF_SEND


def answer_with(listener: int, call: AskedCall, descriptor: int) -> None:
    """Answer a call that makes a socket with a copy of *descriptor*."""
    flags = call.arguments[1] & os.O_CLOEXEC
    with suppress(OSError):  # the process has ended meanwhile
        text = struct.pack("QIIII", call.id, 2, descriptor, 0, flags)
        fcntl.ioctl(listener, 0x40182103, text)  # SECCOMP_IOCTL_NOTIF_ADDFD; 2: and answer


def _sockets(numbers: Mapping[str, int], families: Sequence[int], otherwise: bytes) -> list[bytes]:
    """Apply *otherwise* to sockets that are not of one of *families*."""
    pairs = [] if UNIX in families else _no_datagram_pairs(numbers["socketpair"])
    checks = [_jump(_EQUAL, family, len(families) - at + 3, 0) for at, family in enumerate(families)]
    netlink = [_jump(_EQUAL, NETLINK, 0, 2), _at(_LOAD, _THIRD), _jump(_EQUAL, 0, 1, 0)]  # NETLINK_ROUTE
    block = [_at(_LOAD, _FIRST), *checks, *netlink, otherwise, _at(_RETURN, _ALLOW)]
    return [*pairs, _jump(_EQUAL, numbers["socket"], 0, len(block)), *block]


def _no_datagram_pairs(number: int) -> list[bytes]:
    """Refuse pairs of datagram sockets, including raw ones: each of the two can send to any other socket's path."""
    kinds = [_jump(_EQUAL, _STREAM, 2, 0), _jump(_EQUAL, _PACKETS, 1, 0)]
    block = [_at(_LOAD, _SECOND), _at(_AND, _KIND_OF_SOCKET), *kinds, _give(errno.EACCES), _at(_LOAD, 0)]
    return [_jump(_EQUAL, number, 0, len(block)), *block]


def _no_signals(numbers: Mapping[str, int]) -> list[bytes]:
    """Refuse signals to other processes, both by ``tgkill`` and by setting the owner of a descriptor."""
    code = _without(numbers["fcntl"], _SECOND, (_SET_OWNER, _SET_OWNER_MORE))
    code += _without(numbers["ioctl"], _SECOND, (_SET_OWNER_OF_SOCKET, _SET_GROUP_OF_SOCKET))
    # A process may signal itself, as abort() does: the compared id is that of the process, tgkill's first argument.
    block = [_at(_LOAD, _FIRST), _jump(_EQUAL, os.getpid(), 1, 0), _give(errno.EPERM), _at(_RETURN, _ALLOW)]
    return [*code, _jump(_EQUAL, numbers["tgkill"], 0, len(block)), *block]


def _no_attributes(numbers: Mapping[str, int]) -> list[bytes]:
    """Make calls that set permissions, owners, times and attributes of files do nothing."""
    code: list[bytes] = []
    for name in ATTRIBUTES:
        code += [_jump(_EQUAL, numbers[name], 0, 1), _give(0)] if name in numbers else []
    return code + _without(numbers["ioctl"], _SECOND, (_SET_FLAGS, _SET_FLAGS_MORE))


def _only_own_processes(numbers: Mapping[str, int]) -> list[bytes]:
    """Refuse calls that reach other processes."""
    code: list[bytes] = []
    for name in _KEYED:
        code += [_jump(_EQUAL, numbers[name], 0, 1), _give(errno.EPERM)]
    code += _unless_zero(numbers["setpriority"], _FIRST)  # PRIO_PROCESS; the others are groups and a user's processes
    for name in ("setpriority", "ioprio_set"):
        code += _unless_zero(numbers[name], _SECOND)
    for name in ("sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr"):
        code += _unless_zero(numbers[name], _FIRST)
    return code


def _unless_zero(number: int, argument: int) -> list[bytes]:
    """Refuse a call whose *argument* is not 0."""
    block = [_at(_LOAD, argument), _jump(_EQUAL, 0, 1, 0), _give(errno.EPERM), _at(_LOAD, 0)]
    return [_jump(_EQUAL, number, 0, len(block)), *block]


def _without(number: int, argument: int, values: tuple[int, int]) -> list[bytes]:
    """Refuse a call whose *argument* is one of *values*."""
    first, second = values
    block = [_at(_LOAD, argument), _jump(_EQUAL, first, 1, 0), _jump(_EQUAL, second, 0, 1), _give(errno.EPERM)]
    block.append(_at(_LOAD, 0))
    return [_jump(_EQUAL, number, 0, len(block)), *block]


def _only_tcp(numbers: Mapping[str, int]) -> list[bytes]:
    """Refuse internet sockets that are not for TCP, and connecting while sending."""
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


def _asked_by_argument(numbers: Mapping[str, int]) -> list[bytes]:
    """Hand on the opening of files for writing, and datagrams with an address."""
    code: list[bytes] = []
    for name, argument in (("open", _SECOND), ("openat", _THIRD)):
        block = [_at(_LOAD, argument), _jump(_SET, _O_WRITES, 0, 1), _at(_RETURN, _ASK), _at(_LOAD, 0)]
        code += [_jump(_EQUAL, numbers[name], 0, len(block)), *block] if name in numbers else []
    block = [_at(_LOAD, _FIFTH), _jump(_EQUAL, 0, 0, 2), _at(_LOAD, _FIFTH + 4), _jump(_EQUAL, 0, 1, 0)]
    block += [_at(_RETURN, _ASK), _at(_LOAD, 0)]
    return [*code, _jump(_EQUAL, numbers["sendto"], 0, len(block)), *block]


def _asked_forks(numbers: Mapping[str, int]) -> list[bytes]:
    """Hand on calls that make processes; ``clone3``'s flags cannot be seen, without it the C library uses ``clone``."""
    code = [_jump(_EQUAL, numbers["clone3"], 0, 1), _give(errno.ENOSYS)]
    for name in ("fork", "vfork"):
        if name in numbers:
            code += [_jump(_EQUAL, numbers[name], 0, 1), _at(_RETURN, _ASK)]
    thread = [_at(_LOAD, 16), _jump(_SET, _CLONE_THREAD, 1, 0), _at(_RETURN, _ASK), _at(_RETURN, _ALLOW)]
    return [*code, _jump(_EQUAL, numbers["clone"], 0, len(thread)), *thread]


def _no_emptying(numbers: Mapping[str, int]) -> list[bytes]:
    """Refuse to truncate files by opening them for reading: ``O_TRUNC`` without a write mode."""
    code: list[bytes] = []
    for name, argument in (("open", _SECOND), ("openat", _THIRD)):
        block = [_at(_LOAD, argument), _jump(_SET, _O_TRUNC, 0, 3), _at(_AND, _O_ACCMODE), _jump(_EQUAL, 0, 0, 1)]
        block += [_give(errno.EACCES), _at(_RETURN, _ALLOW)]
        code += [_jump(_EQUAL, numbers[name], 0, len(block)), *block] if name in numbers else []
    return code


def _at(code: int, value: int) -> bytes:
    return struct.pack("HBBI", code, 0, 0, value)


def _jump(code: int, value: int, if_true: int, if_false: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _give(number: int) -> bytes:
    return _at(_RETURN, _REFUSE | number)
