"""One client's connection: JSON-RPC in, JSON-RPC out; what is behind it is the same service as for pages.

Runs on the host's thread and knows no socket: `agentnb.ahp.server` hands it texts and writes those that it queues.
A message that makes no sense is answered with an error, or dropped; it never breaks anything but its own connection.
"""

from __future__ import annotations

import base64
import inspect
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.ahp import commands as c
from agentnb.ahp.client import ACTIONS, BEHIND, RemoteClient
from agentnb.ahp.feed import claim_of
from agentnb.ahp.pages import MOST_TURNS, older_turns, page_of, turns_loaded
from agentnb.ahp.projection import state_to_ahp, summary_to_ahp
from agentnb.ahp.resources import list_folder, read_resource
from agentnb.ahp.session_names import SessionNames
from agentnb.ahp.uris import TERMINALS, from_ahp, place_of, to_ahp
from agentnb.ahp.versions import OWN_FORM, SPOKEN, is_since, negotiate
from agentnb.comm import window
from agentnb.comm.client_requests import Bytes
from agentnb.credentials import logger
from agentnb.errors import (
    AgentnbError,
    FileUnavailable,
    OutsideWorkspace,
    PermissionDenied,
    UnknownAgent,
    UnknownSession,
    UnsupportedVersion,
    unexpected,
)
from agentnb.host.channels import ROOT, session_config
from agentnb.json_rpc_codes import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from agentnb.safe_json import is_too_deep
from agentnb.state import (
    ActionOrigin,
    RootState,
    SessionState,
    TerminalState,
    TerminalUnclassifiedPart,
    ToolCallPendingConfirmationState,
    UnknownAction,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from agentnb.ahp.access import Grant
    from agentnb.ahp.feed import Feed, Notice
    from agentnb.comm.service import Service
    from agentnb.host.host import Host

log = logger("agentnb.ahp")

MOST_WAITING = 8 * 1024 * 1024
"""Characters that may wait to be written; a client that asks for more without reading is disconnected."""
MOST_REQUESTS = 32
"""Requests that may be carried out at once."""
MOST_SESSIONS = 32
"""Open conversations beyond which no client may open another one."""
CODES: tuple[tuple[type[Exception], int], ...] = (
    (UnsupportedVersion, c.UNSUPPORTED_PROTOCOL_VERSION),
    (UnknownSession, c.SESSION_NOT_FOUND),
    (UnknownAgent, c.PROVIDER_NOT_FOUND),
    (PermissionDenied, c.PERMISSION_DENIED),
    (OutsideWorkspace, c.PERMISSION_DENIED),
    (FileUnavailable, c.NOT_FOUND),
    (msgspec.ValidationError, INVALID_PARAMS),
)
HOSTS_WORD = frozenset({"startedAt", "duration"})
"""Times of turns that clients of later versions say by their own clock: the host's counts."""
POLICY_VIOLATION, TRY_AGAIN_LATER = 1008, 1013
"""WebSocket close codes (RFC 6455 and its registry)."""


class _RequestFailed(Exception):
    def __init__(self, code: int, message: str, data: Any = None, *, ends: str | None = None) -> None:
        super().__init__(message)
        self.code, self.data, self.ends = code, data, ends


class _Message(msgspec.Struct, frozen=True):
    jsonrpc: str
    method: str | None = None
    id: int | float | str | None = None
    params: msgspec.Raw = msgspec.Raw(b"{}")


class Connection:
    """Speaks with one client.

    Args:
        host: What it is about.
        service: What carries requests out, for pages too.
        feed: What happens.
        grant: Who the client is.
        number: Which connection of the server this is.
        wake: Called when something waits to be written.
        close: Ends the connection: ``close(code, reason)``.
        join: Called before the client is taken: other connections with its token end, or it is refused.
        came: Called when the client was taken.
    """

    def __init__(
        self,
        host: Host,
        service: Service,
        feed: Feed,
        grant: Grant,
        number: int,
        *,
        wake: Callable[[], None],
        close: Callable[[int, str], None],
        join: Callable[[Connection, str], bool],
        came: Callable[[], None],
    ) -> None:
        self.grant = grant
        self.client: RemoteClient | None = None
        self._host, self._service, self._feed = host, service, feed
        self._number = number
        self._wake, self._close, self._join, self._came = wake, close, join, came
        self._names = SessionNames()
        self._waiting: deque[str] = deque()
        self._waiting_characters = 0
        self._is_writing = False
        self._running = 0
        self._is_closed = False
        self._methods: dict[str, Callable[[Any], Any]] = {
            "initialize": self._initialize,
            "reconnect": self._reconnect,
            "ping": lambda _: {},
            "subscribe": self._subscribe,
            "unsubscribe": self._unsubscribe,
            "dispatchAction": self._dispatch,
            "listSessions": self._list_sessions,
            "createSession": self._create_session,
            "disposeSession": self._dispose_session,
            "fetchTurns": self._fetch_turns,
            "resolveSessionConfig": self._resolve_session_config,
            "resourceRead": self._resource_read,
            "resourceList": self._resource_list,
            "invokeChangesetOperation": self._invoke_changeset_operation,
            c.ASK: self._ask,
        }

    # --- the wire ---

    def receive(self, text: str) -> None:
        """Take one message of the client."""
        try:
            message = _read(text)
        except _RequestFailed as failure:
            self._fail(None, failure.code, str(failure))
            return
        if message.method is None:
            return  # a response: this host asks clients nothing
        if message.id is None:
            self._take(message)
        else:
            self._answer(message)

    def take_waiting(self) -> list[str]:
        """What waits to be written; from now on that is being written."""
        texts = list(self._waiting)
        self._waiting.clear()
        self._waiting_characters = 0
        self._is_writing = bool(texts)
        return texts

    def written(self) -> None:
        """All that was taken has been written."""
        self._is_writing = False
        if not self._waiting:
            self._service.delivery.kick(urgent=False)

    def closed(self) -> None:
        """The connection has ended."""
        self._is_closed = True
        if self.client is not None:
            self._service.leave(self.client.client_id)

    def notice(self, notice: Notice) -> None:
        """Tell the client of a change in the list of sessions."""
        client = self.client
        if client is None or ROOT not in client.followed or not client.sees(notice.uri):
            return
        params: dict[str, Any] = {"channel": ROOT}
        if notice.summary is None:
            params["session"] = to_ahp(notice.uri)
        elif notice.before is None:
            params["summary"] = summary_to_ahp(notice.summary, client.ahp_version)
        else:
            before, now = (summary_to_ahp(each, client.ahp_version) for each in (notice.before, notice.summary))
            params["session"] = to_ahp(notice.uri)
            params["changes"] = {name: value for name, value in now.items() if before.get(name) != value}
        self._send({"jsonrpc": "2.0", "method": notice.method, "params": params})

    def _deliver(self, _client_id: str, message: dict[str, Any], _buffers: tuple[bytes, ...] = (), /) -> None:
        """Send what delivery has for the client; what only pages know is passed over."""
        if message["method"] == ACTIONS:
            for envelope in message["params"]["envelopes"]:
                self._send({"jsonrpc": "2.0", "method": "action", "params": envelope})
        elif message["method"] == BEHIND:
            self._close(TRY_AGAIN_LATER, "Too far behind: reconnect for snapshots.")

    def _send(self, message: dict[str, Any]) -> None:
        if self._is_closed:
            return
        text = msgspec.json.encode(self._names.tell(message)).decode()
        self._waiting.append(text)
        self._waiting_characters += len(text)
        if self._waiting_characters > MOST_WAITING and self._is_writing:
            self._close(POLICY_VIOLATION, "It does not read what it asks for.")
        self._wake()

    def _is_behind(self) -> bool:
        return self._is_writing or bool(self._waiting)

    # --- requests ---

    def _answer(self, message: _Message) -> None:
        try:
            if self._running >= MOST_REQUESTS:
                raise _RequestFailed(
                    INTERNAL_ERROR, f"{MOST_REQUESTS} requests are being carried out. Send it again later."
                )
            result = self._carry_out(message)
            if inspect.iscoroutine(result):
                self._running += 1
                self._host.loop.spawn(self._answer_later(message, result))
            else:
                self._send({"jsonrpc": "2.0", "id": message.id, "result": result})
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer
            self._fail_with(message, error)

    async def _answer_later(self, message: _Message, result: Coroutine[Any, Any, Any]) -> None:
        try:
            self._send({"jsonrpc": "2.0", "id": message.id, "result": await result})
        except Exception as error:  # noqa: BLE001
            self._fail_with(message, error)
        finally:
            self._running -= 1

    def _take(self, message: _Message) -> None:
        try:
            command = c.COMMANDS.get(message.method or "")
            if command is not None and command.is_notification:
                self._carry_out(message)
        except (_RequestFailed, AgentnbError, msgspec.ValidationError):
            pass  # a notification is not answered
        except Exception:
            log.exception("taking %s failed", message.method)

    def _carry_out(self, message: _Message) -> Any:
        name = message.method or ""
        command = c.COMMANDS.get(name)
        if command is None:
            raise _RequestFailed(METHOD_NOT_FOUND, f"This host does not support {name[:100]!r}.")
        params = self._named(msgspec.json.decode(bytes(message.params), type=command.params))
        if name in {"initialize", "reconnect"}:
            if self.client is not None:
                raise _RequestFailed(INVALID_REQUEST, "This connection is initialized already.")
        elif name != "ping" and self.client is None:
            raise _RequestFailed(INVALID_REQUEST, "Send initialize or reconnect first.")
        if command.right is not None and command.right not in self.grant.rights:
            raise PermissionDenied(f"{self.grant.name} may not {command.right}.", hint="Ask the notebook's user.")
        if self.client is not None:
            self._catch_up()  # an answer comes after all that happened before it
        return self._methods[name](params)

    def _named(self, params: c.Params) -> c.Params:
        """*params* with our names of sessions."""
        changes: dict[str, Any] = {"channel": self._names.read(params.channel)}
        for name in ("initial_subscriptions", "subscriptions"):
            if hasattr(params, name):
                changes[name] = tuple(map(self._names.read, getattr(params, name)))
        return msgspec.structs.replace(params, **changes)

    def _fail_with(self, message: _Message, error: Exception) -> None:
        if isinstance(error, _RequestFailed):
            self._fail(message.id, error.code, str(error), error.data)
            if error.ends is not None:
                self._close(POLICY_VIOLATION, error.ends)
            return
        code = next((code for kind, code in CODES if isinstance(error, kind)), INTERNAL_ERROR)
        text, data = str(error), None
        if isinstance(error, UnsupportedVersion):
            data = {"supportedVersions": list(SPOKEN)}
        elif not isinstance(error, (AgentnbError, msgspec.ValidationError)):
            log.error("answering %s failed", message.method, exc_info=error)
            text = f"The kernel failed: {unexpected(error)}."
        self._fail(message.id, code, text, data)
        if isinstance(error, UnsupportedVersion):
            self._close(1002, "No common version.")

    def _fail(self, request_id: float | str | None, code: int, text: str, data: Any = None) -> None:
        error = {"code": code, "message": text} | ({} if data is None else {"data": data})
        self._send({"jsonrpc": "2.0", "id": request_id, "error": error})

    # --- the connection's own ---

    def _initialize(self, params: c.InitializeParams) -> dict[str, Any]:
        version = negotiate(params.protocol_versions)
        client = self._admit(params, version)
        self._feed.remember_version(self.grant.name, params.client_id, version)
        return {
            "protocolVersion": version,
            "serverSeq": self._feed.seq,
            "snapshots": self._snapshots(params.initial_subscriptions),
            **({"_meta": c.IS_OURS} if client.is_ours else {}),
        }

    def _reconnect(self, params: c.ReconnectParams) -> dict[str, Any]:
        version = self._feed.versions.get((self.grant.name, params.client_id))
        if version is None and not _is_ours(params):
            why = "This kernel has not negotiated a version with this client. Send initialize."
            raise _RequestFailed(INVALID_REQUEST, why)
        client = self._admit(params, version or OWN_FORM)
        found = {uri: own for uri in params.subscriptions if (own := self._find(uri)) is not None}
        seen = params.last_seen_server_seq
        if not seen.is_integer() or not self._feed.reaches(int(seen)):
            return {"type": "snapshot", "snapshots": self._snapshots(tuple(found))}
        client.sent = int(seen)
        for own in found.values():
            client.follow(own, int(seen))
        missing = [uri for uri in params.subscriptions if uri not in found]
        return {"type": "replay", "actions": client.unseen(), "missing": missing}

    def _admit(self, params: c.InitializeParams | c.ReconnectParams, version: str) -> RemoteClient:
        own_id = params.client_id
        if not self._join(self, own_id):
            why = "Another client is connected with this token. Ask for one of its own."
            raise _RequestFailed(c.PERMISSION_DENIED, why, ends="The token is in use.")
        self.client = RemoteClient(
            own_id,
            self._number,
            grant=self.grant,
            feed=self._feed,
            version=version,
            is_writing=self._is_behind,
            is_ours=_is_ours(params),
            seen_at=self._host.loop.time(),
        )
        self._service.join(self.client, self._deliver)
        self._came()
        return self.client

    @property
    def _client(self) -> RemoteClient:
        assert self.client is not None  # noqa: S101 - `_carry_out` has seen to it
        return self.client

    def _find(self, uri: str) -> str | None:
        """The host's name of a channel that the client can follow; None where there is none that it may see."""
        own = from_ahp(self._host, uri)
        if own is None or self.client is None or not self.client.sees(own):
            return None
        return own if self._state(own) is not None else None

    def _state(self, own: str) -> Any:
        if TERMINALS in own:
            return self._terminal(own)
        channel = self._host.channel_or_none(own)
        return None if channel is None else channel.state

    def _terminal(self, own: str) -> TerminalState | None:
        session, _, terminal_id = own.partition(f"{TERMINALS}/")
        views = self._host.conversations[session].chat.state.terminals or ()
        view = next((each for each in views if each.id == terminal_id), None)
        if view is None:
            return None
        content = (TerminalUnclassifiedPart(value=view.output),) if view.output else ()
        title = view.command or view.id
        return TerminalState(title=title, content=content, exit_code=view.exit_code, claim=claim_of(session))

    def _snapshots(self, uris: tuple[str, ...]) -> list[dict[str, Any]]:
        found = dict.fromkeys(uris)
        return [self._snapshot(uri, own) for uri in found if (own := self._find(uri)) is not None]

    def _snapshot(self, uri: str, own: str, turns: int = window.TURNS) -> dict[str, Any]:
        self._client.follow(own)
        state, earlier = window.latest(self._complete(own, self._state(own)), turns=turns)
        context = self._feed.context(uri, state.turns[0].id if earlier else None)
        told = state_to_ahp(state, self._client.ahp_version, context, own=self._client.is_ours)
        return {"resource": uri, "state": told, "fromSeq": self._feed.seq}

    def _complete(self, own: str, state: Any) -> Any:
        """*state* with what AHP has in it and the host elsewhere."""
        if isinstance(state, SessionState):
            chat = self._feed.chat(own)
            return msgspec.structs.replace(
                state,
                chats=() if chat is None else (chat,),
                default_chat=None if chat is None else chat.resource,
                active_clients=state.active_clients or (),
            )
        if isinstance(state, RootState):
            terminals = tuple(each for each in self._feed.terminals if self._client.sees(each.resource))
            return msgspec.structs.replace(state, terminals=terminals)
        return state

    def _catch_up(self) -> None:
        """Send what is still to be sent: a client that counts to a snapshot's number must have all before it."""
        message = self._client.next_message((), self._host.loop.time())
        if message is not None:
            self._deliver(self._client.client_id, message)

    def _subscribe(self, params: c.SubscribeParams) -> dict[str, Any]:
        own = self._find(params.channel)
        if own is None:
            raise _RequestFailed(c.SESSION_NOT_FOUND, f"There is no channel {params.channel[:200]!r}.")
        wanted = params.view.turns
        turns = window.TURNS if wanted is None else min(max(wanted, 1), MOST_TURNS)
        return {"snapshot": self._snapshot(params.channel, own, turns)}

    def _unsubscribe(self, params: c.Params) -> None:
        own = from_ahp(self._host, params.channel)
        if own is not None:
            self._client.unsubscribe(own)

    # --- what the client wants ---

    def _dispatch(self, params: c.DispatchParams) -> None:
        client = self._client
        own = self._find(params.channel)
        if own is None:
            return  # AHP: an action on a channel that is not there is passed over
        kind = str(params.action.get("type"))
        right = "approve" if kind in c.APPROVALS else "drive"
        reason = None if right in self.grant.rights else f"{self.grant.name} may not {right}."
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

    def _list_sessions(self, params: c.ListSessionsParams) -> dict[str, Any]:
        seen = [each for each in self._feed.sessions if self._client.sees(each.resource)]
        items = [summary_to_ahp(summary, self._client.ahp_version) for summary in seen]
        page = page_of(items, params.limit, params.cursor)
        if page is None:
            raise _RequestFailed(INVALID_PARAMS, "The cursor's session is not listed any more. Begin again.")
        return page

    def _create_session(self, params: c.CreateSessionParams) -> None:
        place = place_of(params.channel)
        if place is None or place.kind != "session" or self.grant.tabs is not None:
            raise _RequestFailed(
                INVALID_PARAMS, "A new conversation needs a channel ahp-session:/<uuid> that you may see."
            )
        if from_ahp(self._host, params.channel) is not None:
            raise _RequestFailed(c.SESSION_ALREADY_EXISTS, f"{params.channel} is open already.")
        if params.fork is not None:
            raise _RequestFailed(INVALID_PARAMS, "A conversation cannot be forked at a turn here.")
        if len(self._host.conversations) >= MOST_SESSIONS:
            raise _RequestFailed(INTERNAL_ERROR, f"{MOST_SESSIONS} conversations are open. Close one first.")
        folders = {params.working_directory, *params.working_directories} - {None}
        if any(folder.rstrip("/") != _here() for folder in folders if folder is not None):
            raise PermissionDenied("Conversations begin in the kernel's folder only.")
        told = {"agent": params.provider, "tabId": place.tab_id}
        self._service.ask(self._client.client_id, "createSession", told)

    def _dispose_session(self, params: c.Params) -> None:
        self._service.ask(self._client.client_id, "disposeSession", {"channel": self._session(params.channel)})

    def _fetch_turns(self, params: c.FetchTurnsParams) -> dict[str, Any]:
        client, version = self._client, self._client.ahp_version
        chat = self._host.find(self._session(params.channel, "chat")).chat.state
        if client.is_ours or not is_since(version, "0.5.1"):
            return older_turns(chat, params.before, params.limit, version, own=client.is_ours)
        action = turns_loaded(chat, params.cursor, params.limit, version, self._feed.context())
        client.sent = self._feed.count()
        envelope = {"channel": params.channel, "action": action, "serverSeq": client.sent}
        self._send({"jsonrpc": "2.0", "method": "action", "params": envelope})
        return {}

    def _session(self, uri: str, kind: str = "session") -> str:
        place, own = place_of(uri), self._find(uri)
        if place is None or place.kind != kind or own is None:
            raise _RequestFailed(c.SESSION_NOT_FOUND, f"There is no {kind} {uri[:200]!r}.")
        return own

    def _resolve_session_config(self, _params: c.SessionConfigParams) -> dict[str, Any]:
        config = session_config("ask")
        return {"schema": config.schema, "values": config.values}

    async def _resource_read(self, params: c.ResourceReadParams) -> dict[str, Any]:
        data = await read_resource(self._seen(), self._service, self._client.client_id, params.uri)
        if params.encoding == "base64":
            return {"data": base64.b64encode(data).decode(), "encoding": "base64"}
        try:
            return {"data": data.decode(), "encoding": "utf-8"}
        except UnicodeDecodeError:
            return {"data": base64.b64encode(data).decode(), "encoding": "base64"}

    async def _resource_list(self, params: c.ResourceListParams) -> dict[str, Any]:
        return await list_folder(self._seen(), self._service, self._client.client_id, params.uri)

    def _seen(self) -> list[Any]:
        return [each for each in self._host.conversations.values() if self._client.sees(each.session.uri)]

    async def _invoke_changeset_operation(self, params: c.InvokeChangesetOperationParams) -> dict[str, Any]:
        told: dict[str, Any] = {
            "changeset": self._session(params.channel, "changeset"),
            "operationId": params.operation_id,
        }
        if isinstance(params.target, c.RangeTarget):
            raise _RequestFailed(INVALID_PARAMS, "No operation here works on a range.")
        if params.target is not None:
            told["target"] = {"kind": "resource", "resource": params.target.resource}
        result = await self._service.ask(self._client.client_id, "invokeChangesetOperation", told)
        return {"message": result["message"]}

    async def _ask(self, params: c.AskParams) -> dict[str, Any]:
        """Answer what a page of another kernel of ours asks, as for a page of this one."""
        right = c.PAGE_REQUESTS.get(params.method)
        own = self._find(params.channel)
        if right is None:
            raise _RequestFailed(METHOD_NOT_FOUND, f"Other kernels cannot ask for {params.method[:100]!r}.")
        if own is None:
            raise _RequestFailed(c.SESSION_NOT_FOUND, f"There is no channel {params.channel[:200]!r}.")
        if right not in self.grant.rights:
            raise PermissionDenied(f"{self.grant.name} may not {right}.", hint="Ask the notebook's user.")
        place = place_of(params.channel)
        name = "changeset" if place is not None and place.kind == "changeset" else "channel"
        answer = self._service.ask(self._client.client_id, params.method, {**params.params, name: own})
        answer = await answer if inspect.isawaitable(answer) else answer
        result, buffers = answer if isinstance(answer, Bytes) else (answer, ())
        return {"result": result, "buffers": [base64.b64encode(each).decode() for each in buffers]}


def _read(text: str) -> _Message:
    data = text.encode("utf-8", "replace")
    if is_too_deep(data):
        raise _RequestFailed(INVALID_REQUEST, "The message is nested too deep.")
    try:
        message = msgspec.json.decode(data, type=_Message)
    except msgspec.ValidationError as error:
        raise _RequestFailed(INVALID_REQUEST, f"This is no JSON-RPC 2.0 message: {error}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise _RequestFailed(PARSE_ERROR, f"This is no JSON: {error}") from None
    if message.jsonrpc != "2.0":
        raise _RequestFailed(INVALID_REQUEST, "This is no JSON-RPC 2.0 message.")
    return message


def _is_ours(params: c.InitializeParams | c.ReconnectParams) -> bool:
    return (params.meta or {}).get(c.OURS) == c.IS_OURS[c.OURS]


def _is_from_user(message: Any) -> bool:
    origin = message.get("origin") if isinstance(message, dict) else None
    return isinstance(origin, dict) and origin.get("kind") == "user"


def _here() -> str:
    return Path.cwd().as_uri()
