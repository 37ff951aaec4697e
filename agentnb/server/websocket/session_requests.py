"""The commands about conversations, which the service for pages carries out."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.errors import PermissionDenied
from agentnb.host.channels import session_config
from agentnb.rpc_message import INTERNAL_ERROR, INVALID_PARAMS
from agentnb.server import window
from agentnb.server.methods import REQUESTS
from agentnb.server.request_table import Asker, Bytes, with_bytes
from agentnb.server.websocket import commands as c
from agentnb.server.websocket.client import MOST_TURNS, older_turns, page_of, turns_loaded
from agentnb.server.websocket.commands import RequestFailed
from agentnb.server.websocket.projection import from_ahp, place_of, summary_to_ahp
from agentnb.state import ActionOrigin, ToolCallPendingConfirmationState, UnknownAction

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from agentnb.host.host import Host
    from agentnb.server.service import Service
    from agentnb.server.websocket.client import ClientChannels, RemoteClient
    from agentnb.server.websocket.feed import Feed
    from agentnb.server.websocket.question_requests import QuestionFeed

MOST_SESSIONS = 32
"""Open conversations beyond which no client may open another one."""
HOSTS_WORD = frozenset({"startedAt", "duration"})
"""Times of turns that clients of later versions send by their own clock; the host's clock counts instead."""


@dataclass(frozen=True)
class RemoteAsker(Asker[Any]):
    """A client on a WebSocket that makes a request."""

    host: Host
    service: Service
    client: RemoteClient
    channels: ClientChannels
    feed: Feed
    notify: Callable[[str, Any], None]
    asking: set[asyncio.Future[None]] = field(default_factory=set)
    """Its changes that wait for permission."""
    questions: list[QuestionFeed] = field(default_factory=list)
    """The feed of open questions, if it wants one."""


@c.command("subscribe", c.SubscribeCommand, "watch")
def subscribe(asker: RemoteAsker, params: c.SubscribeCommand) -> dict[str, Any]:
    """Root, session, chat, terminal and changeset channels. `view.turns`: at most 100."""
    own = asker.channels.find(params.channel)
    if own is None:
        raise RequestFailed(c.SESSION_NOT_FOUND, f"There is no channel {params.channel[:200]!r}.")
    wanted = params.view.turns
    turns = window.TURNS if wanted is None else min(max(wanted, 1), MOST_TURNS)
    return {"snapshot": asker.channels.snapshot(params.channel, own, turns)}


@c.command("unsubscribe", c.Params, "watch", is_notification=True)
def unsubscribe(asker: RemoteAsker, params: c.Params) -> None:
    """The channel is followed no more."""
    own = from_ahp(asker.host, params.channel)
    if own is not None:
        asker.client.unsubscribe(own)


@c.command("dispatchAction", c.DispatchCommand, "watch", is_notification=True)
def dispatch(asker: RemoteAsker, params: c.DispatchCommand) -> None:
    """Which actions: see below."""
    client, own = asker.client, asker.channels.find(params.channel)
    if own is None:
        return  # AHP: an action on an unknown channel is ignored
    kind = str(params.action.get("type"))
    right = "approve" if kind in c.APPROVALS else "drive"
    reason = None if right in client.grant.rights else f"{client.grant.name} may not {right}."
    if kind == "chat/turnStarted" and not _is_from_user(params.action.get("message")):
        reason = reason or "A client sends messages of its user only."
    if reason is not None:
        origin = ActionOrigin(client_id=client.client_id, client_seq=params.client_seq)
        asker.service.delivery.refuse(own, UnknownAction(params.action), origin, reason)
        return
    action = {name: value for name, value in params.action.items() if name not in HOSTS_WORD}
    action = _with_option(asker, own, action) if kind == "chat/toolCallConfirmed" else action
    message = {"channel": own, "clientSeq": params.client_seq, "action": action}
    asker.service.tell(client.client_id, "dispatchAction", message)
    asker.service.delivery.kick()


def _with_option(asker: RemoteAsker, own: str, action: dict[str, Any]) -> dict[str, Any]:
    """Returns *action* with an option; one that names none gets the narrowest option with the same meaning."""
    if action.get("selectedOptionId") is not None:
        return action
    call = asker.host.find(own).tool_call(str(action.get("toolCallId")))
    wanted = "approve" if action.get("approved") is True else "deny"
    if not isinstance(call, ToolCallPendingConfirmationState):
        return action
    options = [option for option in call.options or () if option.kind == wanted]
    once = [option for option in options if option.option_kind in {"allow_once", "reject_once"}]
    return action if not options else {**action, "selectedOptionId": (once or options)[0].id}


@c.command("listSessions", c.ListSessionsCommand, "watch")
def list_sessions(asker: RemoteAsker, params: c.ListSessionsCommand) -> dict[str, Any]:
    """The open conversations, as far as the client may see them; in pages, if asked to."""
    summaries = [each.channels.summary for each in asker.host.conversations.values()]
    seen = [summary_to_ahp(each) for each in summaries if asker.client.sees(each.resource)]
    return page_of(seen, params.limit, params.cursor)


@c.command("createSession", c.CreateSessionCommand, "drive")
def create_session(asker: RemoteAsker, params: c.CreateSessionCommand) -> None:
    """In the kernel's folder. `fork`: refused. `config`: what is given is ignored."""
    place = place_of(params.channel)
    if place is None or place.kind != "session" or asker.client.grant.tabs is not None:
        raise RequestFailed(INVALID_PARAMS, "A new conversation needs a channel ahp-session:/<uuid> that you may see.")
    if from_ahp(asker.host, params.channel) is not None:
        raise RequestFailed(c.SESSION_ALREADY_EXISTS, f"{params.channel} is open already.")
    if params.fork is not None:
        raise RequestFailed(INVALID_PARAMS, "A conversation cannot be forked at a turn here.")
    if len(asker.host.conversations) >= MOST_SESSIONS:
        raise RequestFailed(INTERNAL_ERROR, f"{MOST_SESSIONS} conversations are open. Close one first.")
    folders = {params.working_directory, *params.working_directories} - {None}
    if any(folder.rstrip("/") != Path.cwd().as_uri() for folder in folders if folder is not None):
        raise PermissionDenied("Conversations can only begin in the kernel's folder.")
    asker.service.ask(asker.client_id, "createSession", {"agent": params.provider, "tabId": place.tab_id})


@c.command("disposeSession", c.Params, "drive")
def dispose_session(asker: RemoteAsker, params: c.Params) -> None:
    """Closes the conversation."""
    asker.service.ask(asker.client_id, "disposeSession", {"channel": asker.channels.named(params.channel)})


@c.command("fetchTurns", c.FetchTurnsCommand, "watch")
def fetch_turns(asker: RemoteAsker, params: c.FetchTurnsCommand) -> dict[str, Any]:
    """At most 100 turns at once, as `chat/turnsLoaded` to who asked."""
    client = asker.client
    chat = asker.host.find(asker.channels.named(params.channel, "chat")).chat.state
    if client.is_ours:
        return older_turns(chat, params.before, params.limit)
    action = turns_loaded(chat, params.cursor, params.limit)
    client.sent = asker.feed.count()
    asker.notify("action", {"channel": params.channel, "action": action, "serverSeq": client.sent})
    return {}


@c.command("resolveSessionConfig", c.SessionConfigCommand, "drive")
def resolve_config(_asker: RemoteAsker, _params: c.SessionConfigCommand) -> dict[str, Any]:
    """The settings that conversations have."""
    config = session_config("ask")
    return {"schema": config.schema, "values": config.values}


@c.command("invokeChangesetOperation", c.InvokeChangesetOperationCommand, "approve")
async def invoke_changeset_operation(asker: RemoteAsker, params: c.InvokeChangesetOperationCommand) -> dict[str, Any]:
    """`undo`, `redo`, `keep` and `apply`; targets of kind `resource`."""
    params_of_page: dict[str, Any] = {
        "channel": asker.channels.named(params.channel, "changeset"),
        "operationId": params.operation_id,
        "choices": params.choices,
        "onwards": params.onwards,
    }
    if isinstance(params.target, c.RangeTarget):
        raise RequestFailed(INVALID_PARAMS, "Operations on a range are not supported here.")
    if params.target is not None:
        params_of_page["target"] = {"kind": "resource", "resource": params.target.resource}
    result = await asker.service.ask(asker.client_id, "invokeChangesetOperation", params_of_page)
    return dict(result) if asker.client.is_ours else {"message": result["message"]}


async def _answer_own(name: str, asker: RemoteAsker, params: dict[str, Any]) -> dict[str, Any]:
    """Answer one of our own requests about a channel, as for a page, but with any bytes inside the answer."""
    channel = params.get("channel")
    own = asker.channels.find(channel) if isinstance(channel, str) else None
    if own is None:
        raise RequestFailed(c.SESSION_NOT_FOUND, f"There is no channel {str(channel)[:200]!r}.")
    answer = asker.service.ask(asker.client_id, name, {**params, "channel": own})
    answer = await answer if inspect.isawaitable(answer) else answer
    return with_bytes(answer) if isinstance(answer, Bytes) else dict(answer)


for _name, _row in REQUESTS.items():
    if _row.right is not None and _name not in c.COMMANDS:
        c.COMMANDS[_name] = c.AhpCommand(dict, _row.right, partial(_answer_own, _name), _row.about)


def _is_from_user(message: Any) -> bool:
    origin = message.get("origin") if isinstance(message, dict) else None
    return isinstance(origin, dict) and origin.get("kind") == "user"
