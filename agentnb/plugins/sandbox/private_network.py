"""A process's own network (a network namespace of Linux) with nothing in it but a loopback and listening sockets.

Another process, outside, gets the sockets and accepts connections to them: the only way out. The sockets belong to the
network in which they were made, whoever holds them. See network_namespaces(7).
"""

from __future__ import annotations

import fcntl
import os
import struct

# Not from `socket`: importing it costs start-up time.
from _socket import AF_INET, AF_INET6, AF_UNIX, SCM_RIGHTS, SOCK_DGRAM, SOCK_STREAM, SOL_SOCKET, socket
from contextlib import ExitStack, closing

from agentnb.plugins.sandbox.namespaces import NEW_NETWORK, unshare_as_user, works_in_fork
from agentnb.system_calls import unshare

TYPE_CHECKING = False  # not from typing: importing it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Sequence

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
"""The environment variables in which programs look for a proxy, also in lower case."""
_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41


def enter(meeting: str, servers: Sequence[tuple[str, int]] = ()) -> int | None:
    """Enter a private network, and hand its listening sockets over; None if the system does not allow it.

    Only a process with one thread can do this.
    """
    if not _leave():
        return None
    start_loopback()
    link = socket(AF_UNIX, SOCK_STREAM)
    link.connect(meeting)
    return _hand_over(link, servers)


def met(proxy: str) -> socket | None:
    """Returns a connection to the proxy at the address *proxy*, for :func:`join`; None if there is no proxy."""
    if not proxy:
        return None
    link = socket(AF_UNIX, SOCK_STREAM)
    link.connect(address_parts(proxy)[-1])
    return link


def join(link: socket | None, proxy: str) -> None:
    """Hand this network's listening sockets over on *link*, and make programs use the proxy there."""
    if link is None:
        return
    _, _, within, servers, _ = address_parts(proxy)
    port = _hand_over(link, servers)
    if port is not None:
        lead_programs_to(port, within)


def address_parts(address: str) -> tuple[int, str, str, list[tuple[str, int]], str]:
    """Returns the parts of a proxy's address (:attr:`agentnb.plugins.sandbox.network_proxy.NetworkProxy.address`).

    Its port; the hosts that bypass it, outside and inside a private network; the servers that are handed on; the path
    where sockets are handed over.
    """
    _, port, around, within, named, meeting = address.split(";", 5)
    servers = [(host, int(number)) for host, number in map(str.split, named.split(",") if named else ())]
    return int(port), around, within, servers, meeting


def lead_programs_to(port: int, direct: str) -> None:
    """Set the variables that make programs use the proxy at *port*; *direct* is reached without it."""
    for name in PROXY_VARIABLES:
        os.environ.pop(name, None)
        os.environ.pop(name.lower(), None)
    for name, value in (("HTTP_PROXY", f"http://127.0.0.1:{port}"), ("NO_PROXY", direct)):
        os.environ[name] = os.environ[name.lower()] = value
    os.environ["HTTPS_PROXY"] = os.environ["https_proxy"] = os.environ["HTTP_PROXY"]
    os.environ["NODE_USE_ENV_PROXY"] = "1"  # otherwise Node's fetch() uses no proxy


def _hand_over(link: socket, servers: Sequence[tuple[str, int]]) -> int | None:
    with ExitStack() as stack:
        stack.enter_context(closing(link))
        made = [_listening(*each, stack) for each in (*servers, ("127.0.0.1", 0))]  # 0: the system chooses a free port
        numbers = [each.fileno() for each in made if each is not None]
        link.sendmsg([b"l"], [(SOL_SOCKET, SCM_RIGHTS, struct.pack(f"{len(numbers)}i", *numbers))])
        if not link.recv(1):
            raise OSError("the proxy is gone")
        proxy = made[-1]
        return None if proxy is None else int(proxy.getsockname()[1])


def start_loopback() -> None:
    """Bring up 127.0.0.1 in this network, so that programs can reach each other; it is down in a new network."""
    with closing(socket(AF_INET, SOCK_DGRAM)) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP_AND_RUNNING))


def _listening(address: str, port: int, stack: ExitStack) -> socket | None:
    """Returns a socket that listens at *address*; None if this system has no IPv6."""
    try:
        made = stack.enter_context(closing(socket(AF_INET6 if ":" in address else AF_INET, SOCK_STREAM)))
        made.bind((address, port))
    except OSError:
        if ":" in address:
            return None
        raise
    made.listen(128)
    return made


def _leave() -> bool:
    try:
        unshare(NEW_NETWORK)
    except OSError:  # lacks the privilege
        if not works_in_fork(lambda: unshare_as_user(NEW_NETWORK)):
            return False
        unshare_as_user(NEW_NETWORK)
    return True
