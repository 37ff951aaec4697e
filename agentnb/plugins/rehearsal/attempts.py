"""The attempts that a rehearsal is refused: writes elsewhere, addresses, Unix sockets, other processes.

Seccomp asks the supervisor about each such call. Another thread can change the arguments that the supervisor reads, so
only the report depends on them: namespaces or Landlock refuse the call. Sockets that lead outside are not made: the
process gets one that leads nowhere, so that it continues and names the address that it wants to reach.
"""

from __future__ import annotations

import ctypes
import errno
import ipaddress
import os
import socket
import struct
from contextlib import suppress

from agentnb.plugins.rehearsal.descriptors import COPY_OF
from agentnb.plugins.sandbox import seccomp
from agentnb.processes import descendants

TYPE_CHECKING = False  # not from typing: importing it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_RECORDED = 200
MOST_CHANGES = 10_000
"""Calls changing files that are examined; examining a call takes longer than the call itself."""
_LONGEST_PATH, _LONGEST_ADDRESS = 4096, 128
_AT_HERE, _KIND_OF_SOCKET = 0xFFFFFF9C, 0xF  # AT_FDCWD
_WRITABLE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_HARMLESS = (
    *("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/fd"),
    *("/dev/stdin", "/dev/stdout", "/dev/stderr"),
)
_LOOKUPS = ("/var/run/nscd/", "/run/nscd/", "/run/systemd/userdb/", "/run/systemd/resolve/", "/var/lib/sss/pipes/")
"""Unix sockets at which the C library looks up names of users and hosts: it continues without them."""
_PATHS: dict[str, tuple[tuple[int | None, int | None], ...]] = {
    **dict.fromkeys(("open", "creat", "truncate", "unlink", "rmdir", "mkdir", "mknod"), ((None, 0),)),
    **dict.fromkeys(("chmod", "chown", "lchown", "utime", "utimes"), ((None, 0),)),
    **dict.fromkeys(("setxattr", "lsetxattr", "removexattr", "lremovexattr"), ((None, 0),)),
    **dict.fromkeys(("openat", "openat2", "unlinkat", "mkdirat", "mknodat"), ((0, 1),)),
    **dict.fromkeys(("fchmodat", "fchmodat2", "fchownat", "futimesat", "utimensat"), ((0, 1),)),
    **dict.fromkeys(("setxattrat", "removexattrat", "file_setattr"), ((0, 1),)),
    **dict.fromkeys(("fchmod", "fchown", "fsetxattr", "fremovexattr"), ((0, None),)),
    "rename": ((None, 0), (None, 1)),
    **dict.fromkeys(("renameat", "renameat2"), ((0, 1), (2, 3))),
    **dict.fromkeys(("link", "symlink"), ((None, 1),)),
    "linkat": ((2, 3),),
    "symlinkat": ((1, 2),),
}
"""The arguments with the paths that a call changes: the number of the folder's argument, and of the path's."""
_NEW = ("mkdir", "mkdirat", "mknod", "mknodat", "link", "linkat", "symlink", "symlinkat")
_LIBC = ctypes.CDLL(None, use_errno=True)


class Attempts:
    def __init__(self, writable: Sequence[str], hidden: Sequence[str], *, apart: bool, signals: bool) -> None:
        self.connections: dict[str, None] = {}
        self.refused: dict[str, None] = {}
        self._writable = writable
        self._hidden = hidden
        self._apart = apart
        self._signals = signals
        self._own: set[int] = set()
        self._changes = 0

    def answer(self, listener: int, call: seccomp.AskedCall) -> None:
        """Record what *call* attempts, and answer it."""
        if call.name == "socket":
            self._make_socket(listener, call)
            return
        error, goes_on = 0, self._apart or call.name not in seccomp.ATTRIBUTES
        with suppress(Exception):  # the memory read may contain anything, and each call must be answered
            if call.name in _PATHS:
                self._changes += 1
                if self._changes <= MOST_CHANGES:
                    self._look_at_paths(call)
                else:  # more checks would take too long
                    self._note(self.refused, f"perhaps more: only the first {MOST_CHANGES:,} changes were looked at")
            elif call.name == "kill":
                error = self._signal(call)
            else:
                error = self._reach(call)
        seccomp.answer(listener, call, error, goes_on=goes_on)

    @staticmethod
    def _note(record: dict[str, None], text: str) -> None:
        if len(record) < MOST_RECORDED:
            record[text] = None

    # --- sockets ---

    def _make_socket(self, listener: int, call: seccomp.AskedCall) -> None:
        family = call.arguments[0]
        if family not in {seccomp.UNIX, *seccomp.INTERNET}:
            self._note(self.refused, f"a socket of the family {family}")
            seccomp.answer(listener, call, errno.EACCES)
            return
        if family in seccomp.INTERNET and call.arguments[1] & _KIND_OF_SOCKET != socket.SOCK_STREAM:
            self._note(self.connections, "datagrams (UDP), as to look up a name")  # its options may fail at once
        leads, nowhere = socket.socketpair()
        nowhere.close()
        with leads:
            leads.setblocking(not call.arguments[1] & socket.SOCK_NONBLOCK)
            seccomp.answer_with(listener, call, leads.fileno())

    def _reach(self, call: seccomp.AskedCall) -> int:
        """Record the address of a call; returns the error to answer with."""
        where, size = {"sendto": (4, 5)}.get(call.name, (1, 2))
        pointer, length = call.arguments[where], call.arguments[size]
        if call.name in {"sendmsg", "sendmmsg"}:
            pointer, length = struct.unpack("QI", _memory(call.pid, call.arguments[1], 12))
        if not pointer:
            return 0
        address = _memory(call.pid, pointer, min(length & 0xFFFFFFFF, _LONGEST_ADDRESS))
        family = struct.unpack_from("H", address)[0]
        if family == seccomp.UNIX:
            return self._reach_unix(address[2:])
        if family not in seccomp.INTERNET:
            return 0
        host, port = _host_and_port(family, address)
        text = f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"
        if call.name == "bind":
            self._note(self.refused, f"listening at {text}")
            return errno.EADDRNOTAVAIL
        is_here = self._apart and (host.is_loopback or host.is_unspecified)
        if is_here:
            self._forget_own_servers()
        if port and not (is_here and port in self._own):
            self._note(self.connections, f"{text} (to look up a name)" if port == 53 else text)  # noqa: PLR2004 - DNS
        return 0 if self._apart else errno.ENETUNREACH

    def _forget_own_servers(self) -> None:
        """Drop attempts to reach servers inside: programs may try before these are ready, and after they have ended."""
        self._own |= _listening_ports()
        for text in [*self.connections]:
            if text.startswith(("127.", "[::", "0.0.0.0:")) and int(text.split()[0].rpartition(":")[2]) in self._own:
                del self.connections[text]

    def _reach_unix(self, name: bytes) -> int:
        text = os.fsdecode(name.split(b"\0")[0]) if name[:1] != b"\0" else f"@{os.fsdecode(name[1:])}"
        if name and not text.startswith(_LOOKUPS):
            self._note(self.refused, f"the Unix socket {text}")
        return errno.ECONNREFUSED

    # --- processes ---

    def _signal(self, call: seccomp.AskedCall) -> int:
        pid, number = struct.unpack("ii", struct.pack("II", *(each & 0xFFFFFFFF for each in call.arguments[:2])))
        if abs(pid) > 1 and number and not any(abs(pid) in _ids(each) for each, _ in descendants(os.getpid())):
            self._note(self.refused, f"signal {number} to process {abs(pid)}")
        return errno.EPERM if self._signals else 0

    # --- files ---

    def _look_at_paths(self, call: seccomp.AskedCall) -> None:
        if call.name == "openat2":
            flags = struct.unpack("Q", _memory(call.pid, call.arguments[2], 8))[0]
        else:
            flags = call.arguments[{"open": 1, "openat": 2}.get(call.name, 0)]
        if call.name.startswith("open") and not flags & _WRITABLE:
            return
        only_new = call.name in _NEW
        creates = only_new or call.name.startswith(("creat", "rename"))
        creates = creates or (call.name.startswith("open") and bool(flags & os.O_CREAT))
        for folder, at in _PATHS[call.name]:
            path = _path(call, folder, at)
            if only_new and os.path.lexists(path):
                continue  # the call fails outside a rehearsal, too
            if not path or self._may_change(path):
                continue
            if self._is_hidden(path) or _could_change(path, creates=creates):
                self._note(self.refused, path)

    def _may_change(self, path: str) -> bool:
        own = path.startswith("/proc/") and path.split("/")[2].isdigit()
        return own or (_is_within(path, (*self._writable, *_HARMLESS)) and not self._is_hidden(path))

    def _is_hidden(self, path: str) -> bool:
        return _is_within(path, self._hidden)


def _is_within(path: str, folders: Sequence[str]) -> bool:
    return any(path == each or path.startswith(f"{each.rstrip('/')}/") for each in folders)


def _could_change(path: str, *, creates: bool) -> bool:
    """True if the change would work outside the rehearsal; a missing path, or another user's, fails there, too."""
    there = os.path.lexists(path)
    if not there and not creates:
        return False
    target = path if there and not os.path.islink(path) else os.path.dirname(path)
    if not os.path.exists(target):
        return False
    is_allowed = _LIBC.access(os.fsencode(target), os.W_OK) == 0
    return is_allowed or ctypes.get_errno() == errno.EROFS or os.geteuid() == 0


def _path(call: seccomp.AskedCall, folder: int | None, at: int | None) -> str:
    """Returns the absolute path that a call names, with the links of its folders followed."""
    name = "" if at is None or not call.arguments[at] else _string(call.pid, call.arguments[at])
    number = _AT_HERE if folder is None else call.arguments[folder] & 0xFFFFFFFF
    if name.startswith("/"):
        base = "/"
    else:
        base = os.readlink(f"/proc/{call.pid}/cwd" if number == _AT_HERE else f"/proc/{call.pid}/fd/{number}")
    if base.startswith(f"/memfd:{COPY_OF}"):  # a copy of a file that was open before the rehearsal
        return base.removeprefix(f"/memfd:{COPY_OF}").removesuffix(" (deleted)")
    if not base.startswith("/"):
        return ""  # a pipe or a file in memory
    path = os.path.normpath(os.path.join(base, name))
    for own in ("/proc/self", "/proc/thread-self"):
        if path == own or path.startswith(f"{own}/"):
            path = f"/proc/{call.pid}{path[len(own) :]}"
    if call.name.startswith(("open", "truncate", "chmod", "chown", "utime", "setxattr", "removexattr", "fchmodat")):
        return os.path.realpath(path)
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _memory(pid: int, address: int, size: int) -> bytes:
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
        return os.pread(file.fileno(), size, address)


def _string(pid: int, address: int) -> str:
    return os.fsdecode(_memory(pid, address, _LONGEST_PATH).split(b"\0", 1)[0])


def _host_and_port(family: int, address: bytes) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]:
    port = struct.unpack_from("!H", address, 2)[0]
    if family == socket.AF_INET:
        return ipaddress.IPv4Address(address[4:8]), port
    host = ipaddress.IPv6Address(address[8:24])
    return host.ipv4_mapped or host, port


def _listening_ports() -> set[int]:
    """Returns the ports of this network on which a process listens (TCP), or that it has bound (UDP)."""
    ports: set[int] = set()
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        with suppress(OSError), open(f"/proc/self/net/{kind}", encoding="ascii") as file:
            lines = [line.split() for line in file.readlines()[1:]]
            ports |= {int(words[1].rpartition(":")[2], 16) for words in lines if words[3] in {"0A", "07"}}
    return ports


def _ids(pid: int) -> list[int]:
    """Returns the ids of a process and of its group, in each namespace."""
    ids: list[int] = []
    with suppress(OSError), open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(("NSpid:", "NSpgid:")):
                ids += map(int, line.split()[1:])
    return ids
