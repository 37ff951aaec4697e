"""The phones that may answer this kernel's questions: a listener of their own, and a code for each."""

from __future__ import annotations

import atexit
import contextlib
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.errors import UsageError
from agentnb.host import current_host
from agentnb.server.comm.frontend import current_frontend
from agentnb.server.websocket.access import ServedPage
from agentnb.server.websocket.serving import listen, stop_listening

if TYPE_CHECKING:
    from agentnb.host.host import Host
    from agentnb.plugins.phone.addresses import Way
    from agentnb.server.websocket.server import WebSocketListener

PAGE = Path(__file__).parents[2] / "static" / "phone-page.html"
CODE_SECONDS = 300.0
"""Seconds that an unused code stays valid."""
MOST_CODES = 20
STOP_SECONDS = 5.0
MEMORY = "phone"


class PhonePairing:
    """The phones of one kernel. Runs on the host's thread."""

    def __init__(self, host: Host, listener: WebSocketListener, way: Way, port: int, code_seconds: float) -> None:
        self.way = way
        self.port = port
        self._host, self._listener = host, listener
        self._numbers, self._code_seconds = count(1), code_seconds

    @property
    def phones(self) -> tuple[str, ...]:
        """The names of the phones that are connected."""
        return tuple(each.name for each in self._listener.clients)

    def new_code(self) -> tuple[str, str]:
        """Returns the name and token for one more phone; only the first phone that uses them ever can."""
        if len(list(self._listener.grants)) >= MOST_CODES:
            raise UsageError(f"{MOST_CODES} phones are paired.", hint="Unpair, then pair the ones that you use.")
        number = next(self._numbers)
        name = "phone" if number == 1 else f"phone {number}"
        token = self._listener.grants.add(name, ["answer"], is_single=True)
        self._host.loop.later(self._code_seconds, self._expire, name, token)
        return name, token

    def _expire(self, name: str, token: str) -> None:
        if not self._listener.is_used(token):
            self._listener.revoke(name)

    async def close(self) -> None:
        """End every connection; no code works any more."""
        self._host.plugin_memory.pop(MEMORY, None)
        await stop_listening(self._host, self._listener)


def current_pairing() -> PhonePairing | None:
    """Returns the phones of this kernel; None if none may connect."""
    pairing = current_host().plugin_memory.get(MEMORY)
    return pairing if isinstance(pairing, PhonePairing) else None


async def pair(way: Way, *, code_seconds: float = CODE_SECONDS) -> PhonePairing:
    """Let phones connect by *way*; those that were paired another way are unpaired."""
    known = current_pairing()
    if known is not None and known.way == way:
        return known
    await unpair()
    host, service = current_host(), current_frontend().service
    hosts = frozenset({way.origin.partition("://")[2]} - {""})
    origins = frozenset({way.origin} - {""})
    page = ServedPage(PAGE)
    listener, port = await listen(
        host, service, address=way.address, port=0, tls=None, hosts=hosts, origins=origins, page=page
    )
    pairing = host.plugin_memory[MEMORY] = PhonePairing(host, listener, way, port, code_seconds)
    atexit.register(_end)
    return pairing


async def unpair() -> None:
    """Let no phone connect, and end existing connections."""
    atexit.unregister(_end)
    pairing = current_pairing()
    if pairing is not None:
        await pairing.close()


def _end() -> None:
    with contextlib.suppress(RuntimeError, UsageError, TimeoutError):  # the host has stopped, and so has the pairing
        current_host().loop.submit(unpair()).result(STOP_SECONDS)
