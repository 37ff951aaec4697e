"""Answers the pages that follow another host: from its mirror here, else by asking it."""

from __future__ import annotations

import base64
import uuid
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.ahp import commands as c
from agentnb.comm import messages as m
from agentnb.comm.client_requests import Bytes, ClientRequests
from agentnb.comm.methods import METHODS
from agentnb.comm.service import PageService
from agentnb.errors import NotOffered
from agentnb.host.channels import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from agentnb.comm.service import Send
    from agentnb.plugins.connect.remote.mirrored_host import MirroredHost
    from agentnb.state import Action, ActionOrigin


class RemotePageService(PageService):
    """Answers what pages say of another host's conversations."""

    def __init__(self, host: MirroredHost, send: Send) -> None:
        super().__init__(host, send)
        self._mirror = host
        host.refuse = self.delivery.refuse
        host.snapshots_changed = self.delivery.kick
        clients = self._clients = ClientRequests(host, self.delivery, self._drafts)
        own: dict[str, Callable[[str, bytes], Any]] = {
            "initialize": clients.initialize,
            "subscribe": self._subscribe,
            "unsubscribe": clients.unsubscribe,
            "fetchTurns": clients.fetch_turns,
            "fetchContent": clients.fetch_content,
            "fetchModule": clients.fetch_module,
            "createSession": self._create_session,
            "disposeSession": self._dispose_session,
            "refreshAgents": self._refresh_agents,
        }
        elsewhere = {name: self._forward(name) for name in c.PAGE_REQUESTS}
        refused = {name: self._refuse(name) for name, method in METHODS.items() if method.result is not None}
        self._requests = {**refused, **elsewhere, **own}

    def carry_out(self, channel: str, action: Action, origin: ActionOrigin) -> None:
        """See :meth:`agentnb.comm.service.PageService.carry_out`."""
        self._mirror.carry_out(channel, action, origin)

    async def _subscribe(self, client_id: str, raw: bytes) -> dict[str, Any]:
        for uri in msgspec.json.decode(raw, type=m.SubscribeParams).channels:
            if self._mirror.channel_or_none(uri) is None:
                await self._mirror.follow(uri)
        return self._clients.subscribe(client_id, raw)

    async def _create_session(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002 - same for every client
        params = msgspec.json.decode(raw, type=m.CreateSessionParams)
        theirs = f"ahp-session:/{params.tab_id or uuid.uuid4()}"
        told = {"channel": theirs} | ({} if params.agent is None else {"provider": params.agent})
        # The session is announced before the answer, right after it, or later; adding it serves for all.
        await self._mirror.client.request("createSession", told)
        await self._mirror.sessions.add_new(theirs)
        channel = self._mirror.ours(theirs)
        return {"channel": channel, "chat": f"{channel}/chat"}

    async def _dispose_session(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.DisposeSessionParams)
        await self._mirror.client.request("disposeSession", {"channel": self._mirror.theirs(params.channel)})
        return {}

    async def _refresh_agents(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        msgspec.json.decode(raw, type=m.RefreshAgentsParams)
        return {"installed": [info.provider for info in self._mirror.root.state.agents if not info.missing]}

    def _forward(self, method: str) -> Callable[[str, bytes], Coroutine[Any, Any, Any]]:
        async def ask(_client_id: str, raw: bytes) -> Any:
            if not self._mirror.form.is_ours:
                what = "The other host does not offer this: it is not a notebook's kernel with agentnb."
                raise NotOffered(what, hint=f"Use a client of that host ({method}).")
            params = msgspec.json.decode(raw, type=dict[str, Any])
            channel = self._mirror.theirs(str(params.pop("channel", None) or params.pop("changeset", ROOT)))
            told = {"channel": channel, "method": method, "params": params}
            answer = await self._mirror.client.request(c.ASK, told)
            buffers = tuple(base64.b64decode(each) for each in answer["buffers"])
            return Bytes(answer["result"], buffers) if buffers else answer["result"]

        return ask

    def _refuse(self, method: str) -> Callable[[str, bytes], Any]:
        def refuse(_client_id: str, _raw: bytes) -> Any:
            what = "This is not available for the conversations of another host."
            raise NotOffered(what, hint=f"Use that host's own notebook ({method}).")

        return refuse
