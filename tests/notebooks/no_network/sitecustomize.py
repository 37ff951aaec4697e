"""On the PYTHONPATH it limits every Python process to loopback, if the system cannot remove the network."""

from __future__ import annotations

import sys
from typing import Any

_NETWORK_EVENTS = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname")
_HERE = ("127.", "localhost", "::1", "0.0.0.0")  # noqa: S104 - nothing is bound


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    if event in _NETWORK_EVENTS:
        where = args[0] if event.startswith("socket.get") else args[1]
        host = where[0] if isinstance(where, tuple) and where else where
        if isinstance(host, str) and host and not host.startswith(("/", *_HERE)):
            raise PermissionError(f"There is no network here: {event} {host}.")


sys.addaudithook(_refuse)
