"""Where a phone could reach this kernel: the machine's own addresses, and what a page may name."""

from __future__ import annotations

import contextlib
import re
import socket
from ipaddress import ip_address
from typing import NamedTuple

from agentnb.errors import UsageError

LOOPBACK = "127.0.0.1"
_TOWARDS = ("192.0.2.1", 9)
"""A reserved address (RFC 5737): a datagram socket that is connected to it sends nothing."""
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]{1,255}")


class Way(NamedTuple):
    """How phones reach the kernel.

    Attributes:
        address: The address of this machine to listen at.
        origin: The origin of the Jupyter server that forwards their requests; empty if none does.
    """

    address: str
    origin: str


def network_addresses() -> list[str]:
    """Returns the IPv4 address of this machine in its network; none if it is in no network."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as looking:
        looking.connect(_TOWARDS)
        address = str(looking.getsockname()[0])
        if not ip_address(address).is_loopback:
            return [address]
    return []


def wanted_way(address: str, origin: str) -> Way:
    """Returns the way that a page names.

    Raises:
        UsageError: If the origin is invalid, or the address is not one of this machine.
    """
    if origin:
        if address or not _ORIGIN.fullmatch(origin):
            raise UsageError(f"{origin[:100]!r} is not the origin of a Jupyter server.", hint="Reload the page.")
        return Way(LOOPBACK, origin.lower())
    if address not in {LOOPBACK, *network_addresses()}:
        raise UsageError(
            f"{address[:100]!r} is not an address of this machine.", hint="Open Phone again for its addresses."
        )
    return Way(address, "")
