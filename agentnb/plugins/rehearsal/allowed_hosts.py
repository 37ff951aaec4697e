"""The way of one rehearsal to the hosts that it may reach: a proxy on a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentnb.plugins.sandbox.network_proxy import NetworkProxy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@contextmanager
def proxy_to(hosts: tuple[str, ...], env: Mapping[str, str]) -> Iterator[NetworkProxy | None]:
    """A proxy that leads to *hosts*; None where there are none."""
    if not hosts:
        yield None
        return
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="agentnb rehearsal proxy", daemon=True)
    thread.start()
    try:
        proxy = NetworkProxy(hosts, env, "what is tried in a copy")
        asyncio.run_coroutine_threadsafe(proxy.open(), loop).result()
        try:
            yield proxy
        finally:
            asyncio.run_coroutine_threadsafe(_closed(proxy), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _closed(proxy: NetworkProxy) -> None:
    proxy.close()
    await proxy.wait_closed()
