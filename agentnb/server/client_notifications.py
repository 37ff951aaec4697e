"""What pages say without waiting for an answer: actions, what they have applied, whether they are seen, drafts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.errors import AgentnbError, ProtocolError, UnknownSession
from agentnb.host.channels import ROOT
from agentnb.rpc_message import notification
from agentnb.server.answers import DraftParams
from agentnb.server.messages import OURS
from agentnb.server.request_table import Asker, page_notification
from agentnb.state import ActionOrigin, UnknownAction, action_type, decode_action
from agentnb.state.versions import is_known_in

if TYPE_CHECKING:
    from agentnb.server.channel_owner import ChannelOwner
    from agentnb.server.client import DeliveryClient
    from agentnb.state import Action

LONGEST_DRAFT = 100_000  # characters; what is longer stays in its own window
UNREADABLE = UnknownAction({"type": "x-agentnb/unreadable"})
"""Stands in a refusal for an action that could not be read: a page passes over what doesn't follow the protocol."""
_UNREAD = "The kernel cannot read what the page sent. Reload the page; if that does not help, update agentnb."


def _client(asker: Asker[ChannelOwner]) -> DeliveryClient:
    return asker.service.delivery.clients[asker.client_id]


@page_notification("dispatchAction")
def dispatch_action(asker: Asker[ChannelOwner], *, client_seq: int, channel: str, action: dict[str, Any]) -> None:
    """Do what a client wants; it has applied the action already (AHP ``dispatchAction``).

    Args:
        client_seq: The client's own number for it; comes back in the envelope's origin.
        channel: Where to.
        action: What (AHP action).
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
    """Note that a flush was applied.

    Args:
        flush: The flush's number.
        seen: The index now applied, by channel.
    """
    asker.service.delivery.acknowledged(_client(asker), flush, seen or {})


@page_notification("resync")
def resync(asker: Asker[ChannelOwner], *, seen: dict[str, int]) -> None:
    """Send again what follows: something is missing.

    Args:
        seen: The index that the page has applied, by channel.
    """
    asker.service.delivery.lacks(_client(asker), seen)


@page_notification("visibility")
def set_visibility(asker: Asker[ChannelOwner], *, visible: bool) -> None:
    """Note whether any view of this client can be seen; a hidden one gets the root channel only.

    Args:
        visible: Whether one can.
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
    is_new, service = params.channel == ROOT, asker.service  # of the conversation that is yet to begin
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
