"""A network of a process's own (a network namespace of Linux) with nothing in it but a loopback and a listening socket.

The socket is handed to another process, outside, which accepts what connects to it: the only way out. It belongs to the
network in which it was made, whoever holds it. See network_namespaces(7).
"""

from __future__ import annotations

import fcntl
import os
import struct
from _socket import AF_INET, AF_UNIX, SCM_RIGHTS, SOCK_DGRAM, SOCK_STREAM, SOL_SOCKET, socket  # `socket` costs time
from contextlib import closing

from agentnb.sandbox.namespaces import NEW_NETWORK, NEW_USER
from agentnb.sandbox.system_calls import unshare

_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41


def enter(meeting: str) -> int | None:
    """Go into a network of one's own, and hand its listening socket over; None where the system does not allow it.

    Only a process with one thread can.

    Args:
        meeting: The path of the Unix socket of who accepts.

    Returns:
        The port that it listens on, at 127.0.0.1.

    Raises:
        OSError: If nobody takes the socket.
    """
    if not _leave():
        return None
    with closing(socket(AF_INET, SOCK_DGRAM)) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP_AND_RUNNING))
    with closing(socket(AF_INET, SOCK_STREAM)) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        with closing(socket(AF_UNIX, SOCK_STREAM)) as link:
            link.connect(meeting)
            link.sendmsg([b"l"], [(SOL_SOCKET, SCM_RIGHTS, struct.pack("i", listening.fileno()))])
            if not link.recv(1):
                raise OSError("the proxy is gone")
        return int(listening.getsockname()[1])


def _leave() -> bool:
    """Leave the network. Without the rights for that a user namespace is needed, too; ids stay the same in it."""
    try:
        unshare(NEW_NETWORK)
    except OSError:
        if not _can_be_user():
            return False
        _be_user()
    return True


def _can_be_user() -> bool:
    """Whether :func:`_be_user` works here; tried in a fork, as who is half in cannot come back."""
    child = os.fork()
    if child == 0:
        try:
            _be_user()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def _be_user() -> None:
    user, group = os.geteuid(), os.getegid()
    unshare(NEW_USER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    unshare(NEW_NETWORK)
