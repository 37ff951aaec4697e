"""Connects to another host and begins to mirror it."""

from __future__ import annotations

import contextlib
import uuid
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentnb.errors import AgentnbError, NotOffered
from agentnb.plugins.connect.remote.host_client import HostClient
from agentnb.plugins.connect.remote.mirrored_host import MirroredHost
from agentnb.server import agent_requests, client_requests, session_requests
from agentnb.server.messages import OURS
from agentnb.server.request_table import Asker
from agentnb.server.service import PageService
from agentnb.server.websocket.access import served_kernels
from agentnb.state import to_json

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from agentnb.host.loop import HostLoop
    from agentnb.server.request_table import Method
    from agentnb.server.service import Send
    from agentnb.state import Action, ActionOrigin


class RemotePageService(PageService):
    """Answers pages' actions and requests about another host's conversations."""

    def __init__(self, host: MirroredHost, send: Send) -> None:
        super().__init__(host, send)
        self._mirror = host
        host.refuse = self.delivery.refuse
        host.snapshots_changed = self.delivery.kick

    def carry_out(self, channel: str, action: Action, origin: ActionOrigin) -> None:
        self._mirror.carry_out(channel, action, origin)

    def carry_out_request(self, client_id: str, method: Method, params: Any) -> Any:
        if (own := OWN.get(method.name)) is not None:
            return own(Asker(client_id, self._mirror, self), params)
        if method.name in LOCAL and method.function is not None:
            return method.function(Asker(client_id, self._mirror, self), params)
        if method.right is not None:
            return _forward(self._mirror, method.name, to_json(params))
        message = "This is not available for the conversations of another host."
        raise NotOffered(message, hint=f"Use that host's own notebook ({method.name}).")


async def _initialize(asker: Asker[MirroredHost], params: client_requests.InitializeParams) -> dict[str, Any]:
    for uri in params.initial_subscriptions:
        if asker.host.channel_or_none(uri) is None:
            with contextlib.suppress(AgentnbError):  # the answer lists it as missing
                await asker.host.follow(uri)
    return client_requests.introduce(asker, params, "off")


async def _subscribe(asker: Asker[MirroredHost], params: Any) -> Any:
    if asker.host.channel_or_none(params.channel) is None:
        await asker.host.follow(params.channel)
    return client_requests.subscribe(asker, channel=params.channel)


async def _create_session(asker: Asker[MirroredHost], params: Any) -> session_requests.TabChannels:
    mirror, theirs = asker.host, f"ahp-session:/{params.tab_id or uuid.uuid4()}"
    wanted = {"channel": theirs} | ({} if params.agent is None else {"provider": params.agent})
    # The announcement can come before or after the answer; adding the session covers both.
    await mirror.client.request("createSession", wanted)
    await mirror.sessions.add_new(theirs)
    channel = mirror.names.ours(theirs)
    return session_requests.TabChannels(channel=channel, chat=f"{channel}/chat")


async def _dispose_session(asker: Asker[MirroredHost], params: Any) -> None:
    await asker.host.client.request("disposeSession", {"channel": asker.host.names.theirs(params.channel)})


async def _refresh_agents(asker: Asker[MirroredHost], _: Any) -> agent_requests.RefreshAgentsResult:
    agents = asker.host.root.state.agents
    return agent_requests.RefreshAgentsResult(installed=tuple(info.provider for info in agents if not info.missing))


OWN: dict[str, Callable[[Asker[Any], Any], Any]] = {
    "initialize": _initialize,
    "reconnect": _initialize,
    "subscribe": _subscribe,
    "createSession": _create_session,
    "disposeSession": _dispose_session,
    f"{OURS}refreshAgents": _refresh_agents,
}
"""Requests that this module handles itself."""
LOCAL = frozenset({"unsubscribe", "fetchTurns", f"{OURS}fetchContent", f"{OURS}fetchModule"})
"""Requests answered here as for this kernel; others, if permitted, are forwarded to the other host."""


async def _forward(mirror: MirroredHost, method: str, params: dict[str, Any]) -> Any:
    if not mirror.form.is_ours:
        message = "The other host does not offer this: it is not a notebook's kernel with this version of agentnb."
        raise NotOffered(message, hint=f"Use a client of that host ({method}).")
    return await mirror.client.request(method, {**params, "channel": mirror.names.theirs(str(params["channel"]))})


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
    """Connect to a host; its sessions are listed when this returns."""
    mirror = MirroredHost(loop, name, look or {})
    # Only if its file existed: the address may belong to a tunnel, or to a kernel with another runtime folder.
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
    mirror.client = client
    try:
        await client.open()
        await mirror.sessions.fetch()
    except BaseException:
        await client.close()
        raise
    return mirror, client


def _is_served(address: str) -> bool:
    """True if a kernel of this user is served at that port of this machine, according to the runtime folder."""
    return urlsplit(address).port in {urlsplit(kernel.url).port for kernel in served_kernels()}
