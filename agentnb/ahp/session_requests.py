"""What a client asks and wants of conversations: the service that pages have carries it out."""

from __future__ import annotations

import base64
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.ahp import commands as c
from agentnb.ahp.failures import RequestFailed
from agentnb.ahp.pages import MOST_TURNS, older_turns, page_of, turns_loaded
from agentnb.ahp.projection import summary_to_ahp
from agentnb.ahp.uris import from_ahp, place_of
from agentnb.comm import window
from agentnb.comm.request_table import REQUESTS, Bytes
from agentnb.errors import PermissionDenied
from agentnb.host.channels import session_config
from agentnb.rpc_message import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from agentnb.state import ActionOrigin, ToolCallPendingConfirmationState, UnknownAction

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.ahp.client import RemoteClient
    from agentnb.ahp.client_channels import ClientChannels
    from agentnb.ahp.feed import Feed
    from agentnb.comm.service import Service
    from agentnb.host.host import Host

MOST_SESSIONS = 32
"""Open conversations beyond which no client may open another one."""
HOSTS_WORD = frozenset({"startedAt", "duration"})
"""Times of turns that clients of later versions say by their own clock: the host's counts."""


class SessionRequests:
    """Answers one client. On the host's thread."""

    def __init__(
        self,
        host: Host,
        service: Service,
        feed: Feed,
        client: RemoteClient,
        channels: ClientChannels,
        *,
        notify: Callable[[str, Any], None],
    ) -> None:
        self._host, self._service, self._feed = host, service, feed
        self._client, self._channels, self._notify = client, channels, notify

    @property
    def methods(self) -> dict[str, Callable[[Any], Any]]:
        """What answers each request."""
        return {
            "subscribe": self.subscribe,
            "unsubscribe": self.unsubscribe,
            "dispatchAction": self.dispatch,
            "listSessions": self.list,
            "createSession": self.create,
            "disposeSession": self.dispose,
            "fetchTurns": self.fetch_turns,
            "resolveSessionConfig": self.resolve_config,
            "invokeChangesetOperation": self.invoke_changeset_operation,
            c.ASK: self.ask,
        }

    def subscribe(self, params: c.SubscribeCommand) -> dict[str, Any]:
        """Answer ``subscribe``."""
        own = self._channels.find(params.channel)
        if own is None:
            raise RequestFailed(c.SESSION_NOT_FOUND, f"There is no channel {params.channel[:200]!r}.")
        wanted = params.view.turns
        turns = window.TURNS if wanted is None else min(max(wanted, 1), MOST_TURNS)
        return {"snapshot": self._channels.snapshot(params.channel, own, turns)}

    def unsubscribe(self, params: c.Params) -> None:
        """Take ``unsubscribe``."""
        own = from_ahp(self._host, params.channel)
        if own is not None:
            self._client.unsubscribe(own)

    def dispatch(self, params: c.DispatchCommand) -> None:
        """Answer ``dispatchAction``: what the client wants to happen."""
        client = self._client
        own = self._channels.find(params.channel)
        if own is None:
            return  # AHP: an action on a channel that is not there is passed over
        kind = str(params.action.get("type"))
        right = "approve" if kind in c.APPROVALS else "drive"
        reason = None if right in self._client.grant.rights else f"{self._client.grant.name} may not {right}."
        if kind == "chat/turnStarted" and not _is_from_user(params.action.get("message")):
            reason = reason or "A client sends messages of its user only."
        if reason is not None:
            origin = ActionOrigin(client_id=client.client_id, client_seq=params.client_seq)
            self._service.delivery.refuse(own, UnknownAction(params.action), origin, reason)
            self._service.delivery.kick()
            return
        action = {name: value for name, value in params.action.items() if name not in HOSTS_WORD}
        action = self._with_option(own, action) if kind == "chat/toolCallConfirmed" else action
        told = {"channel": own, "clientSeq": params.client_seq, "action": action}
        self._service.tell(client.client_id, "dispatchAction", told)
        self._service.delivery.kick()

    def _with_option(self, own: str, action: dict[str, Any]) -> dict[str, Any]:
        """An answer that names none of the options: the narrowest one that means the same."""
        if action.get("selectedOptionId") is not None:
            return action
        call = self._host.find(own).tool_call(str(action.get("toolCallId")))
        wanted = "approve" if action.get("approved") is True else "deny"
        if not isinstance(call, ToolCallPendingConfirmationState):
            return action
        options = [option for option in call.options or () if option.kind == wanted]
        once = [option for option in options if option.option_kind in {"allow_once", "reject_once"}]
        return action if not options else {**action, "selectedOptionId": (once or options)[0].id}

    def list(self, params: c.ListSessionsCommand) -> dict[str, Any]:
        """Answer ``listSessions``."""
        seen = [each for each in self._feed.sessions if self._client.sees(each.resource)]
        items = [summary_to_ahp(summary) for summary in seen]
        page = page_of(items, params.limit, params.cursor)
        if page is None:
            raise RequestFailed(INVALID_PARAMS, "The cursor's session is not listed any more. Begin again.")
        return page

    def create(self, params: c.CreateSessionCommand) -> None:
        """Answer ``createSession``."""
        place = place_of(params.channel)
        if place is None or place.kind != "session" or self._client.grant.tabs is not None:
            raise RequestFailed(
                INVALID_PARAMS, "A new conversation needs a channel ahp-session:/<uuid> that you may see."
            )
        if from_ahp(self._host, params.channel) is not None:
            raise RequestFailed(c.SESSION_ALREADY_EXISTS, f"{params.channel} is open already.")
        if params.fork is not None:
            raise RequestFailed(INVALID_PARAMS, "A conversation cannot be forked at a turn here.")
        if len(self._host.conversations) >= MOST_SESSIONS:
            raise RequestFailed(INTERNAL_ERROR, f"{MOST_SESSIONS} conversations are open. Close one first.")
        folders = {params.working_directory, *params.working_directories} - {None}
        if any(folder.rstrip("/") != _here() for folder in folders if folder is not None):
            raise PermissionDenied("Conversations begin in the kernel's folder only.")
        told = {"agent": params.provider, "tabId": place.tab_id}
        self._service.ask(self._client.client_id, "createSession", told)

    def dispose(self, params: c.Params) -> None:
        """Answer ``disposeSession``."""
        self._service.ask(self._client.client_id, "disposeSession", {"channel": self._channels.named(params.channel)})

    def fetch_turns(self, params: c.FetchTurnsCommand) -> dict[str, Any]:
        """Answer ``fetchTurns``."""
        client = self._client
        chat = self._host.find(self._channels.named(params.channel, "chat")).chat.state
        if client.is_ours:
            return older_turns(chat, params.before, params.limit)
        action = turns_loaded(chat, params.cursor, params.limit)
        client.sent = self._feed.count()
        envelope = {"channel": params.channel, "action": action, "serverSeq": client.sent}
        self._notify("action", envelope)
        return {}

    def resolve_config(self, _params: c.SessionConfigCommand) -> dict[str, Any]:
        """Answer ``resolveSessionConfig``."""
        config = session_config("ask")
        return {"schema": config.schema, "values": config.values}

    async def invoke_changeset_operation(self, params: c.InvokeChangesetOperationCommand) -> dict[str, Any]:
        """Answer ``invokeChangesetOperation``."""
        told: dict[str, Any] = {
            "changeset": self._channels.named(params.channel, "changeset"),
            "operationId": params.operation_id,
        }
        if isinstance(params.target, c.RangeTarget):
            raise RequestFailed(INVALID_PARAMS, "No operation here works on a range.")
        if params.target is not None:
            told["target"] = {"kind": "resource", "resource": params.target.resource}
        result = await self._service.ask(self._client.client_id, "invokeChangesetOperation", told)
        return {"message": result["message"]}

    async def ask(self, params: c.AskCommand) -> dict[str, Any]:
        """Answer what a page of another kernel of ours asks, as for a page of this one."""
        method = REQUESTS.get(params.method)
        right = None if method is None else method.right
        own = self._channels.find(params.channel)
        if right is None:
            raise RequestFailed(METHOD_NOT_FOUND, f"Other kernels cannot ask for {params.method[:100]!r}.")
        if own is None:
            raise RequestFailed(c.SESSION_NOT_FOUND, f"There is no channel {params.channel[:200]!r}.")
        if right not in self._client.grant.rights:
            raise PermissionDenied(f"{self._client.grant.name} may not {right}.", hint="Ask the notebook's user.")
        place = place_of(params.channel)
        name = "changeset" if place is not None and place.kind == "changeset" else "channel"
        answer = self._service.ask(self._client.client_id, params.method, {**params.params, name: own})
        answer = await answer if inspect.isawaitable(answer) else answer
        result, buffers = answer if isinstance(answer, Bytes) else (answer, ())
        return {"result": result, "buffers": [base64.b64encode(each).decode() for each in buffers]}


def _is_from_user(message: Any) -> bool:
    origin = message.get("origin") if isinstance(message, dict) else None
    return isinstance(origin, dict) and origin.get("kind") == "user"


def _here() -> str:
    return Path.cwd().as_uri()
