"""What a page can ask for: every method of the protocol, decoded, carried out and answered.

Runs on the host's thread. A message that makes no sense is answered or dropped and logged once; it never breaks the
channel.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from agentnb.agent.catalog import find
from agentnb.agent.process import find_program
from agentnb.comm import messages as m
from agentnb.comm import window
from agentnb.comm.delivery import Delivery
from agentnb.comm.outline import RANGE, content_of, outlined
from agentnb.errors import AgentnbError, UnsupportedVersion
from agentnb.host.host import ROOT
from agentnb.host.intents import carry_out
from agentnb.host.mention_source import LOOK_SECONDS
from agentnb.host.restore import LOG_OFF, read_back, recorder_of, restore, spec_of
from agentnb.state import ActionOrigin, action_type, decode_action, to_json
from agentnb.state.versions import WINDOW, is_known_in, negotiate

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from agentnb.host.conversation import Conversation
    from agentnb.host.host import Host
    from agentnb.state.versions import Window

log = logging.getLogger("agentnb.comm")

DEFAULT_AGENT = "eliza"
LONGEST_DRAFT = 100_000  # characters; what is longer stays in its own window
MAX_LISTED = 200


class Bytes(NamedTuple):
    """An answer with binary buffers.

    Attributes:
        result: The answer.
        buffers: What travels beside it.
    """

    result: dict[str, Any]
    buffers: tuple[bytes, ...]


class Send(Protocol):
    """Sends one message, and perhaps buffers beside it, to one client."""

    def __call__(self, client_id: str, message: dict[str, Any], buffers: tuple[bytes, ...] = (), /) -> None:
        """Send it; never waits."""


class UnknownClient(AgentnbError):
    """A page that has not introduced itself, or that was forgotten."""


CODES: dict[type[AgentnbError], int] = {
    UnsupportedVersion: m.UNSUPPORTED_VERSION,
    UnknownClient: m.UNKNOWN_CLIENT,
}
"""The codes of errors that a page can act on; any other is `REFUSED`."""


class Service:
    """Answers what pages say.

    Args:
        host: What they talk about.
        send: Sends one message to one client: ``send(client_id, message, buffers)``.
        turns: How many of a chat's turns a page is given at first; the others it fetches.
        versions: The versions of the protocol that it speaks.
    """

    def __init__(self, host: Host, send: Send, *, turns: int = window.TURNS, versions: Window = WINDOW) -> None:
        self.delivery = Delivery(host, self._send, turns=turns)
        self._host = host
        self._versions = versions
        self._transport = send
        self._logged: set[str] = set()
        self._requests: dict[str, Callable[[str, bytes], Any]] = {
            "initialize": self._initialize,
            "subscribe": self._subscribe,
            "unsubscribe": self._unsubscribe,
            "createSession": self._create_session,
            "disposeSession": self._dispose_session,
            "restartAgent": self._restart_agent,
            "complete": self._complete,
            "fetchContent": self._fetch_content,
            "fetchTurns": self._fetch_turns,
            "listSessions": self._list_sessions,
            "resumeSession": self._resume_session,
        }
        self._notifications: dict[str, Callable[[str, bytes], None]] = {
            "dispatchAction": self._dispatch,
            "ack": self._ack,
            "resync": self._resync,
            "visibility": self._visibility,
            "ping": self._ping,
            "draft": self._draft,
        }
        self._drafts: dict[str, str] = {}

    @property
    def requests(self) -> frozenset[str]:
        """The requests that it answers."""
        return frozenset(self._requests)

    @property
    def notifications(self) -> frozenset[str]:
        """The notifications that it takes."""
        return frozenset(self._notifications)

    def receive(self, content: object) -> None:
        """Take one message from a page."""
        try:
            message = _decode(content)
        except (msgspec.ValidationError, TypeError) as error:
            self._complain(f"A page sent a message that is not of the protocol: {error}")
            return
        if message.v not in self._versions and message.method != "initialize":
            self._fail(message, m.UNSUPPORTED_VERSION, f"This kernel speaks version {self._versions}, not {message.v}.")
        elif message.id is not None:
            self._answer(message)
        else:
            self._take(message)

    def _answer(self, message: m.FromPage) -> None:
        method = self._requests.get(message.method)
        if method is None:
            self._fail(message, m.METHOD_NOT_FOUND, f"There is no method {message.method!r}.")
            return
        with self._answering(message):
            result = method(message.client_id, bytes(message.params))
            if inspect.iscoroutine(result):
                self._host.loop.spawn(self._answer_later(message, result))
            else:
                self._respond(message, result)

    async def _answer_later(self, message: m.FromPage, result: Coroutine[Any, Any, Any]) -> None:
        with self._answering(message):
            self._respond(message, await result)

    def _respond(self, message: m.FromPage, result: Any) -> None:
        buffers: tuple[bytes, ...] = ()
        if isinstance(result, Bytes):
            result, buffers = result.result, result.buffers
        self._send(message.client_id, m.response(message.id or 0, result), buffers)

    @contextlib.contextmanager
    def _answering(self, message: m.FromPage) -> Iterator[None]:
        """What is raised inside is the answer."""
        try:
            yield
        except msgspec.ValidationError as error:
            self._fail(message, m.INVALID_PARAMS, f"{message.method}: {error}")
        except AgentnbError as error:
            self._fail(message, CODES.get(type(error), m.REFUSED), str(error))

    def _take(self, message: m.FromPage) -> None:
        method = self._notifications.get(message.method)
        if method is None:
            self._complain(f"A page sent the unknown notification {message.method!r}.")
        elif self.delivery.heard(message.client_id) is None:
            self._send(message.client_id, m.notification("unknownClient", {}))
        else:
            try:
                method(message.client_id, bytes(message.params))
            except (msgspec.ValidationError, AgentnbError) as error:
                self._complain(f"{message.method}: {error}")

    def _initialize(self, client_id: str, raw: bytes) -> dict[str, Any]:
        params = msgspec.json.decode(raw, type=m.InitializeParams)
        version = negotiate(params.protocol_versions, self._versions)
        client = self.delivery.attach(client_id, visible=params.visible, version=version)
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
        }

    def _subscribe(self, client_id: str, raw: bytes) -> dict[str, Any]:
        params = msgspec.json.decode(raw, type=m.SubscribeParams)
        client = self.delivery.heard(client_id)
        if client is None:
            message = "This client has not initialized."
            raise UnknownClient(message, hint="Send initialize first.")
        found = {uri: self._host.channel_or_none(uri) for uri in params.channels}
        return {
            "channels": {uri: client.subscribe(channel) for uri, channel in found.items() if channel is not None},
            "missing": [uri for uri, channel in found.items() if channel is None],
        }

    def _unsubscribe(self, client_id: str, raw: bytes) -> dict[str, Any]:
        params = msgspec.json.decode(raw, type=m.UnsubscribeParams)
        client = self.delivery.heard(client_id)
        if client is not None:
            for uri in params.channels:
                client.unsubscribe(uri)
        return {}

    def _create_session(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002 - same for every client
        params = msgspec.json.decode(raw, type=m.CreateSessionParams)
        spec = find(params.agent or DEFAULT_AGENT)
        find_program(spec, Path.cwd(), os.environ.get("PATH"))
        conversation = self._host.open(spec, cwd=Path.cwd(), tab_id=params.tab_id)
        self._host.loop.spawn(_started(conversation))
        return {"channel": conversation.session.uri, "chat": conversation.chat.uri}

    def _dispose_session(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.DisposeSessionParams)
        self._host.loop.spawn(self._host.find(params.channel).close())
        return {}

    async def _restart_agent(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.RestartAgentParams)
        await self._host.find(params.channel).restart()
        return {}

    async def _complete(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.CompleteParams)
        cwd, source = self._host.find(params.channel).cwd, self._host.mentions
        if source is None:
            return {"items": []}
        try:
            look = asyncio.to_thread(source.suggest, params.start, cwd)
            found = await asyncio.wait_for(look, LOOK_SECONDS)
        except asyncio.TimeoutError:
            return {"items": []}
        return {"items": [msgspec.to_builtins(one) for one in found]}

    def _draft(self, client_id: str, raw: bytes) -> None:
        params = msgspec.json.decode(raw, type=m.DraftParams)
        uri = self._host.find(params.channel).chat.uri
        if len(params.text) > LONGEST_DRAFT:
            return
        if params.text:
            self._drafts[uri] = params.text
        else:
            self._drafts.pop(uri, None)
        said = m.notification("draft", {"channel": uri, "text": params.text})
        for other in self.delivery.clients:
            if other != client_id:
                self._send(other, said)

    def _fetch_content(self, client_id: str, raw: bytes) -> Bytes:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.FetchContentParams)
        content = content_of(self._host.find(params.channel).chat.state, params.uri)
        part = content[params.offset : params.offset + min(params.length, RANGE)]
        return Bytes({"uri": params.uri, "offset": params.offset, "size": len(content)}, (part,))

    def _fetch_turns(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.FetchTurnsParams)
        chat = self._host.find(params.channel).chat
        turns, earlier = window.before(chat.state, params.before, params.limit)
        return {
            "turns": [outlined(turn) for turn in turns],
            "hasMore": earlier > 0,
            "earlier": earlier,
            "index": chat.index,
        }

    async def _list_sessions(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.ListSessionsParams)
        if self._host.recorder is None:
            return {"sessions": [], "note": LOG_OFF}
        return await asyncio.to_thread(_listed, self._host, params)

    async def _resume_session(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002
        params = msgspec.json.decode(raw, type=m.ResumeSessionParams)
        stored = await asyncio.to_thread(lambda: read_back(recorder_of(self._host), params.channel))
        conversation = restore(self._host, stored, spec_of(stored.record))
        return {"channel": conversation.session.uri, "chat": conversation.chat.uri}

    def _dispatch(self, client_id: str, raw: bytes) -> None:
        params = msgspec.json.decode(raw, type=m.DispatchParams)
        origin = ActionOrigin(client_id=client_id, client_seq=params.client_seq)
        action = decode_action(params.action)
        channel = self._host.channel(params.channel)
        version = self.delivery.clients[client_id].version
        try:
            if not is_known_in(action, version):
                raise AgentnbError(f"{action_type(action)} is not in version {version}, which this page speaks.")
            carry_out(self._host, params.channel, action, origin)
        except AgentnbError as error:
            self._host.reject(channel, action, origin, str(error))

    def _ack(self, client_id: str, raw: bytes) -> None:
        params = msgspec.json.decode(raw, type=m.AckParams)
        self.delivery.acknowledged(self.delivery.clients[client_id], params.flush, params.seen)

    def _resync(self, client_id: str, raw: bytes) -> None:
        params = msgspec.json.decode(raw, type=m.ResyncParams)
        self.delivery.clients[client_id].resync(params.seen)
        self.delivery.kick()

    def _visibility(self, client_id: str, raw: bytes) -> None:
        params = msgspec.json.decode(raw, type=m.VisibilityParams)
        self.delivery.clients[client_id].visible = params.visible
        self.delivery.kick()

    def _ping(self, client_id: str, raw: bytes) -> None:  # noqa: ARG002 - being heard is all
        indexes = self.delivery.indexes(self.delivery.clients[client_id])
        self._send(client_id, m.notification("pong", {"hostId": self._host.host_id, "indexes": indexes}))

    def _send(self, client_id: str, message: dict[str, Any], buffers: tuple[bytes, ...] = ()) -> None:
        """Send it in the version that the client speaks."""
        client = self.delivery.clients.get(client_id)
        version = self._versions.current if client is None else client.version
        self._transport(client_id, {**message, "v": version}, buffers)

    def _fail(self, message: m.FromPage, code: int, text: str) -> None:
        if message.id is None:
            self._complain(text)
        else:
            self._send(message.client_id, m.failure(message.id, code, text))

    def _complain(self, text: str) -> None:
        if text not in self._logged:
            self._logged.add(text)
            log.warning("%s", text)


async def _started(conversation: Conversation) -> None:
    """Start the agent of a tab that someone looks at: its commands, modes and options are wanted before a prompt."""
    with contextlib.suppress(AgentnbError):  # the session's state says what went wrong
        await conversation.ready()


def _listed(host: Host, params: m.ListSessionsParams) -> dict[str, Any]:
    recorder = recorder_of(host)
    records = recorder.store.sessions(
        params.search,
        place=recorder.place if params.here else None,
        limit=min(params.limit, MAX_LISTED),
        offset=params.offset,
    )
    held = recorder.store.held(records)
    elsewhere = [record.uri for record in records if record.uri in held]
    note = {} if recorder.trouble is None else {"note": str(recorder.trouble)}
    return {"sessions": [to_json(record) for record in records], "elsewhere": elsewhere, **note}


def _decode(content: object) -> m.FromPage:
    return msgspec.json.decode(msgspec.json.encode(content), type=m.FromPage)
