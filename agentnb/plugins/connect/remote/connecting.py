"""Connects to another host and begins to mirror it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentnb.plugins.connect.remote.host_client import HostClient
from agentnb.plugins.connect.remote.mirrored_host import MirroredHost
from agentnb.server.websocket.runtime_file import served_kernels

if TYPE_CHECKING:
    import ssl

    from agentnb.host.loop import HostLoop


async def connect_host(
    loop: HostLoop,
    address: str,
    token: str,
    *,
    name: str,
    tls: ssl.SSLContext | None = None,
    is_local: bool = True,
    look: dict[str, Any] | None = None,
) -> tuple[MirroredHost, HostClient]:
    """Connect; its sessions are listed when this returns."""
    mirror = MirroredHost(loop, name, look or {})
    # Only where its file was there: the address may be a tunnel's, or a kernel's with another runtime folder.
    is_known = is_local and _is_served(address)
    client = HostClient(
        loop,
        address,
        token,
        tls=tls,
        is_local=is_local,
        mirror=mirror,
        is_gone=lambda: is_known and not _is_served(address),
    )
    mirror.use(client)
    try:
        await client.open()
        await mirror.sessions.fetch()
    except BaseException:
        await client.close()
        raise
    return mirror, client


def _is_served(address: str) -> bool:
    """True if a kernel of this user is served at that port of this machine, as the runtime folder says."""
    return urlsplit(address).port in {urlsplit(kernel.url).port for kernel in served_kernels()}
