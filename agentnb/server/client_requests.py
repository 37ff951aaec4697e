"""Requests and notifications of a client about itself."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from agentnb.clock import now_ms
from agentnb.errors import AgentnbError, ProtocolError, UnknownSession, UsageError
from agentnb.host.channels import ROOT
from agentnb.rpc_message import notification
from agentnb.server import window
from agentnb.server.answers import ChannelSnapshot, DraftParams
from agentnb.server.messages import OURS, UNKNOWN_CLIENT, UNKNOWN_SESSION
from agentnb.server.request_table import Asker, Bytes, page_notification, request
from agentnb.server.window import with_references
from agentnb.state import ActionOrigin, Envelope, Turn, UnknownAction, action_type, decode_action
from agentnb.state.versions import is_known_in, negotiate
from agentnb.state.wire import Count, Time, Wire

if TYPE_CHECKING:
    from agentnb.host.host import Host
    from agentnb.server.client import DeliveryClient
    from agentnb.server.window import ChannelOwner
    from agentnb.state import Action


LONGEST_DRAFT = 100_000  # characters; a longer draft stays in its own window
UNREADABLE = UnknownAction({"type": "x-agentnb/unreadable"})
"""Represents an unreadable action in a rejection: a page ignores messages that don't follow the protocol."""
_UNREAD = "The kernel cannot read what the page sent. Reload the page; if that does not help, update agentnb."


def _client(asker: Asker[ChannelOwner]) -> DeliveryClient:
    return asker.service.delivery.clients[asker.client_id]


@page_notification("dispatchAction")
def dispatch_action(asker: Asker[ChannelOwner], *, client_seq: int, channel: str, action: dict[str, Any]) -> None:
    """Carry out a client's action, which the client has already applied (AHP ``dispatchAction``).

    Args:
        client_seq: The client's own number for it; the envelope's origin returns it.
        channel: The channel's URI.
        action: The AHP action.
    """
    origin = ActionOrigin(client_id=asker.client_id, client_seq=client_seq)
    delivery, version = asker.service.delivery, _client(asker).version
    wanted: Action = UNREADABLE
    try:
        wanted = decode_action(action)
        if not is_known_in(wanted, version):
            raise AgentnbError(f"{action_type(wanted)} is not in version {version}, which this page speaks.")
        if origin in delivery.accepted:
            raise AgentnbError("It was accepted before.")
        asker.service.carry_out(channel, wanted, origin)
    except ProtocolError as error:
        asker.service.complain(f"dispatchAction: {error}")
        delivery.refuse(channel, wanted, origin, _UNREAD)
    except UnknownSession:
        delivery.refuse(channel, wanted, origin, "The conversation was closed.")
    except AgentnbError as error:
        delivery.refuse(channel, wanted, origin, str(error))


@page_notification("ack")
def acknowledge(asker: Asker[ChannelOwner], *, flush: int, seen: dict[str, int] | None = None) -> None:
    """Note that a client has applied a flush.

    Args:
        flush: The flush's number.
        seen: The index now applied, by channel.
    """
    asker.service.delivery.acknowledged(_client(asker), flush, seen or {})


@page_notification("resync")
def resync(asker: Asker[ChannelOwner], *, seen: dict[str, int]) -> None:
    """Send again what the page has missed.

    Args:
        seen: The index that the page has applied, by channel.
    """
    asker.service.delivery.lacks(_client(asker), seen)


@page_notification("visibility")
def set_visibility(asker: Asker[ChannelOwner], *, visible: bool) -> None:
    """Note whether any view of this client is visible; a hidden client gets only the root channel.

    Args:
        visible: True if a view is visible.
    """
    asker.service.delivery.seen(_client(asker), visible=visible)


@page_notification("ping")
def ping(asker: Asker[ChannelOwner]) -> None:
    """Answer `pong`: the page is there, and so is the kernel."""
    indexes = asker.service.delivery.indexes(_client(asker))
    asker.service.send(asker.client_id, notification(f"{OURS}pong", {"hostId": asker.host.host_id, "indexes": indexes}))


@page_notification("draft", DraftParams)
def draft(asker: Asker[ChannelOwner], params: DraftParams) -> None:
    """Keep a draft for other windows."""
    is_new, service = params.channel == ROOT, asker.service  # a draft for a new conversation
    uri = ROOT if is_new else asker.host.find(params.channel).chat.uri
    if len(params.text) > LONGEST_DRAFT:
        return
    if params.text:
        service.drafts[uri] = params.text
    else:
        service.drafts.pop(uri, None)
    for other in service.delivery.clients:
        if other != asker.client_id:
            service.send(other, notification(f"{OURS}draft", {"channel": uri, "text": params.text}))


@page_notification("leave")
def leave(asker: Asker[ChannelOwner]) -> None:
    """Note that the page goes away, or loads anew; unless one comes back within a minute, nobody is there."""
    asker.service.delivery.leave(_client(asker))


MODULES = {
    name: Path(__file__).parent.parent / "static" / f"{name}.js"
    for name in (
        "agents",
        "attention",
        "branches",
        "cell-changes",
        "data-checks",
        "freedom",
        "highlighting",
        "history",
        "math",
        "pairing",
        "phone",
        "preview",
        "questions",
        "review",
        "rewind",
        "settings",
        "translated",
        "uses",
        "walkthrough",
    )
}
"""The parts of the front end that a page fetches when it needs them."""


class UnknownClient(AgentnbError):
    """A page that has not introduced itself, or that was forgotten."""


class InitializeParams(Wire, frozen=True, kw_only=True):
    """``initialize``: introduce a page, which then follows these channels (AHP ``initialize``).

    Attributes:
        protocol_versions: The versions that the page speaks.
        initial_subscriptions: The channels to follow, in addition to the root.
        visible: True if one of the page's views is visible.
        accepts: The formats that it reads beyond those of its version: `text`, flushes in their short form.
    """

    protocol_versions: tuple[int, ...]
    initial_subscriptions: tuple[str, ...] = ()
    visible: bool = False
    accepts: tuple[str, ...] = ()


class InitializeResult(Wire, frozen=True, kw_only=True):
    """The host, the version, and everything that the page lacks.

    Attributes:
        protocol_version: The version that both use from now on: the highest that both speak.
        host_id: The host, one per kernel process; another one than before means a new kernel.
        snapshots: The states of the channels that the page follows from now on.
        missing: The channels that do not exist.
        drafts: The texts that are typed, but not sent, in other windows, by chat.
        time: The kernel's clock, in milliseconds since 1970; the page's own may differ.
        kernel: The kernel access of a new conversation whose page does not choose one: ``"off"`` or ``"run"``.
        actions: The actions that the page lacks in channels whose state it has, in order; after `reconnect` only.
    """

    protocol_version: int
    host_id: str
    snapshots: tuple[ChannelSnapshot, ...]
    missing: tuple[str, ...]
    drafts: dict[str, str] | None = None
    time: Time | None = None
    kernel: Literal["off", "run"] | None = None
    actions: tuple[Envelope, ...] | None = None


class ReconnectParams(InitializeParams, frozen=True, kw_only=True):
    """``reconnect``: introduce a page that has seen channels of this kernel or an earlier one (AHP ``reconnect``).

    Attributes:
        protocol_versions: As in `initialize`.
        initial_subscriptions: As in `initialize`.
        visible: As in `initialize`.
        accepts: As in `initialize`.
        host_id: The host that the page knows. If another host answers, it ignores what the page has seen.
        last_seen: The index that the page has applied, by channel.
    """

    host_id: str
    last_seen: dict[str, int] = msgspec.field(default_factory=dict)


def introduce(asker: Asker[ChannelOwner], params: InitializeParams, kernel: Literal["off", "run"]) -> dict[str, Any]:
    """The page is a client from now on; it is given what it follows."""
    service, host = asker.service, asker.host
    version = negotiate(params.protocol_versions, service.versions)
    client = service.delivery.attach(
        asker.client_id, visible=params.visible, version=version, accepts_text="text" in params.accepts
    )
    seen = params.last_seen if isinstance(params, ReconnectParams) and params.host_id == host.host_id else {}
    wanted = {uri: host.channel_or_none(uri) for uri in (ROOT, *params.initial_subscriptions)}
    there = [client.subscribe(channel, seen.get(uri, 0)) for uri, channel in wanted.items() if channel is not None]
    actions = [envelope for each in there if isinstance(each, list) for envelope in each]
    return {
        "protocolVersion": version,
        "hostId": host.host_id,
        "snapshots": [each for each in there if isinstance(each, dict)],
        "missing": [uri for uri, channel in wanted.items() if channel is None],
        "drafts": {uri: text for uri, text in service.drafts.items() if host.channel_or_none(uri)},
        "time": now_ms(),
        "kernel": kernel,
        **({"actions": actions} if isinstance(params, ReconnectParams) else {}),
    }


@request("reconnect", ReconnectParams, InitializeResult)
@request("initialize", InitializeParams, InitializeResult)
def initialize(asker: Asker[Host], params: InitializeParams) -> dict[str, Any]:
    """Introduce a page of this kernel, whose settings may have changed."""
    asker.host.take_settings()
    return introduce(asker, params, "run" if asker.host.environment.default_kernel_access() else "off")


class SubscribeResult(Wire, frozen=True, kw_only=True):
    """The current state of the channel.

    Attributes:
        snapshot: The state.
    """

    snapshot: ChannelSnapshot


@request("subscribe", result=SubscribeResult, errors=(UNKNOWN_CLIENT, UNKNOWN_SESSION))
def subscribe(asker: Asker[ChannelOwner], *, channel: str) -> dict[str, Any]:
    """Follow a channel from its current state on (AHP ``subscribe``).

    Args:
        channel: The channel's URI.

    Raises:
        UnknownClient: If the page has not introduced itself.
        UnknownSession: If the channel does not exist.
    """
    client = asker.service.delivery.heard(asker.client_id)
    if client is None:
        raise UnknownClient("This client has not initialized.", hint="Send initialize first.")
    known_channel = asker.host.channel_or_none(channel)
    if known_channel is None:
        raise UnknownSession(f"There is no channel {channel[:200]!r}.", hint="The conversation was closed.")
    return {"snapshot": client.subscribe(known_channel)}


@request("unsubscribe")
def unsubscribe(asker: Asker[ChannelOwner], *, channel: str) -> None:
    """Stop following a channel (AHP ``unsubscribe``).

    Args:
        channel: The channel's URI.
    """
    client = asker.service.delivery.heard(asker.client_id)
    if client is not None:
        client.unsubscribe(channel)


class FetchTurnsResult(Wire, frozen=True, kw_only=True):
    """The turns, oldest first.

    Attributes:
        turns: The turns.
        has_more: True if the chat has earlier turns.
        earlier: The number of earlier turns.
        index: The chat's index at which the turns have this state; the page applies later actions to them.
    """

    turns: tuple[Turn, ...]
    has_more: bool
    earlier: Count
    index: Count


@request("fetchTurns", result=FetchTurnsResult)
def fetch_turns(
    asker: Asker[ChannelOwner], *, channel: str, before: str | None = None, limit: int = 50
) -> dict[str, Any]:
    """Fetch older turns of a chat (AHP ``fetchTurns``).

    Args:
        channel: The chat's channel.
        before: The turn right after the fetched ones; the end of the chat if absent.
        limit: The maximum number of turns; at most 100 are returned at once.
    """
    chat = asker.host.find(channel).chat
    turns, earlier = window.before(chat.state, before, limit)
    return {
        "turns": [with_references(turn) for turn in turns],
        "hasMore": earlier > 0,
        "earlier": earlier,
        "index": chat.index,
    }


class FetchContentResult(Wire, frozen=True, kw_only=True):
    """The bytes are in `_buffers`, as base64.

    Attributes:
        uri: The reference's URI.
        offset: The first returned byte, from 0.
        size: The size of the whole content, in bytes.
    """

    uri: str
    offset: Count
    size: Count


@request("fetchContent", result=FetchContentResult)
def fetch_content(
    asker: Asker[ChannelOwner],
    *,
    channel: str,
    uri: str,
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0,
    length: Annotated[int, msgspec.Meta(ge=1)] = 262144,
) -> Bytes:
    """Fetch a range of large content, as the answer's bytes.

    Args:
        channel: The chat's channel.
        uri: The reference's URI.
        offset: The first byte, from 0.
        length: The maximum number of bytes; at most 262,144 are returned at once.
    """
    chat = asker.host.find(channel).chat.state
    part, size = asker.service.contents.part(chat, uri, offset, length)
    return Bytes(FetchContentResult(uri=uri, offset=offset, size=size), (part,))


class FetchModuleResult(Wire, frozen=True, kw_only=True):
    """The module; its text is the only buffer of the message.

    Attributes:
        size: The size of the module, in bytes.
    """

    size: Count


@request("fetchModule", result=FetchModuleResult)
async def fetch_module(_: Asker[ChannelOwner], *, name: str) -> Bytes:
    """Fetch a part of the front end that is not loaded at once, as the answer's bytes.

    Args:
        name: The module's name, for example `attention` (calls the user), `cell-changes` (follows changes of cells),
            `highlighting` (colours code), `history` (lists the log's conversations) or `math` (draws formulas).

    Raises:
        UsageError: If the front end has no such module.
    """
    if name not in MODULES:
        raise UsageError(f"The front end has no module {name!r}.", hint=f"There is {', '.join(sorted(MODULES))}.")
    text = await asyncio.to_thread(MODULES[name].read_bytes)
    return Bytes(FetchModuleResult(size=len(text)), (text,))
