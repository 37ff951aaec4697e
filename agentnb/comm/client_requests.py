"""The requests with which a page introduces itself and follows channels: the same for every host that it talks to."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from agentnb.clock import now_ms
from agentnb.comm import file_messages as fm
from agentnb.comm import messages as m
from agentnb.comm import window
from agentnb.comm.content_refs import Contents, with_references
from agentnb.errors import AgentnbError, UsageError
from agentnb.host.channels import ROOT
from agentnb.state.versions import WINDOW, negotiate

if TYPE_CHECKING:
    from agentnb.comm.channel_owner import ChannelOwner
    from agentnb.comm.delivery import Delivery
    from agentnb.state.versions import Window

MODULES = {
    name: Path(__file__).parent.parent / "static" / f"{name}.js"
    for name in (
        "agents",
        "attention",
        "cell-changes",
        "highlighting",
        "history",
        "math",
        "pairing",
        "preview",
        "settings",
        "walkthrough",
    )
}
"""The parts of the front end that a page fetches when it needs them."""


class Bytes(NamedTuple):
    """An answer with binary buffers.

    Attributes:
        result: The answer.
        buffers: What travels beside it.
    """

    result: dict[str, Any]
    buffers: tuple[bytes, ...]


class UnknownClient(AgentnbError):
    """A page that has not introduced itself, or that was forgotten."""


class ClientRequests:
    """Answers them, each with the method's result or a coroutine of it. On the host's thread.

    Args:
        host: What pages talk to.
        delivery: The clients.
        drafts: What was typed and not sent, by chat.
        versions: The versions of the protocol that are spoken.
    """

    def __init__(
        self, host: ChannelOwner, delivery: Delivery, drafts: dict[str, str], versions: Window = WINDOW
    ) -> None:
        self._host = host
        self._delivery = delivery
        self._drafts = drafts
        self._versions = versions
        self._contents = Contents()

    def initialize(self, client_id: str, raw: bytes) -> dict[str, Any]:
        """The page is a client from now on; it is given what it follows."""
        params = msgspec.json.decode(raw, type=m.InitializeParams)
        version = negotiate(params.protocol_versions, self._versions)
        client = self._delivery.attach(
            client_id, visible=params.visible, version=version, accepts_text="text" in params.accepts
        )
        same = params.host_id == self._host.host_id
        wanted = [ROOT, *(uri for uri in params.last_seen if uri != ROOT)] if same else [ROOT]
        channels = {
            uri: client.subscribe(channel, params.last_seen.get(uri, 0) if same else 0)
            for uri in wanted
            if (channel := self._host.channel_or_none(uri)) is not None
        }
        return {
            "protocolVersion": version,
            "hostId": self._host.host_id,
            "capabilities": {},
            "channels": channels,
            "drafts": {uri: text for uri, text in self._drafts.items() if self._host.channel_or_none(uri)},
            "time": now_ms(),
            "kernel": "off",
        }

    def subscribe(self, client_id: str, raw: bytes) -> dict[str, Any]:
        """It follows these channels, too.

        Raises:
            UnknownClient: If it has not introduced itself.
        """
        params = msgspec.json.decode(raw, type=m.SubscribeParams)
        client = self._delivery.heard(client_id)
        if client is None:
            message = "This client has not initialized."
            raise UnknownClient(message, hint="Send initialize first.")
        found = {uri: self._host.channel_or_none(uri) for uri in params.channels}
        return {
            "channels": {uri: client.subscribe(channel) for uri, channel in found.items() if channel is not None},
            "missing": [uri for uri, channel in found.items() if channel is None],
        }

    def unsubscribe(self, client_id: str, raw: bytes) -> dict[str, Any]:
        """It follows these channels no more."""
        params = msgspec.json.decode(raw, type=m.UnsubscribeParams)
        client = self._delivery.heard(client_id)
        if client is not None:
            for uri in params.channels:
                client.unsubscribe(uri)
        return {}

    def fetch_turns(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002 - same for every client
        """Older turns of a chat."""
        params = msgspec.json.decode(raw, type=m.FetchTurnsParams)
        chat = self._host.find(params.channel).chat
        turns, earlier = window.before(chat.state, params.before, params.limit)
        return {
            "turns": [with_references(turn) for turn in turns],
            "hasMore": earlier > 0,
            "earlier": earlier,
            "index": chat.index,
        }

    def fetch_content(self, client_id: str, raw: bytes) -> Bytes:  # noqa: ARG002
        """A range of content that a state refers to."""
        params = msgspec.json.decode(raw, type=fm.FetchContentParams)
        chat = self._host.find(params.channel).chat.state
        part, size = self._contents.part(chat, params.uri, params.offset, params.length)
        return Bytes({"uri": params.uri, "offset": params.offset, "size": size}, (part,))

    async def fetch_module(self, client_id: str, raw: bytes) -> Bytes:  # noqa: ARG002
        """A part of the front end.

        Raises:
            UsageError: If there is no such part.
        """
        name = msgspec.json.decode(raw, type=fm.FetchModuleParams).name
        if name not in MODULES:
            message = f"The front end has no module {name!r}."
            raise UsageError(message, hint=f"There is {', '.join(sorted(MODULES))}.")
        text = await asyncio.to_thread(MODULES[name].read_bytes)
        return Bytes({"size": len(text)}, (text,))
