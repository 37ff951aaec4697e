"""An in-memory page: a line-by-line copy of the front end's client (``js/src/comm``), and its wire both ways.

It records all that happens to it, so that a test can replay it on the real client
(``js/test/comm/schedules.test.ts``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from agentnb.host.host import ROOT
from agentnb.server.client import ACTIONS, TEXT
from agentnb.server.messages import OURS
from agentnb.server.request_table import wire_name
from agentnb.state import (
    ChatState,
    Envelope,
    RootState,
    SessionState,
    decode,
    decode_action,
    reduce_chat,
    reduce_root,
    reduce_session,
    to_json,
)
from agentnb.state.versions import WINDOW
from tests.unit.server.manual_loop import ManualLoop

Message = dict[str, Any]

PING_SECONDS = 10
RETRY_SECONDS = 3
SILENT = 2
SELDOM = 8
TEXT_ACK_SECONDS = 1.0


class Pulse:
    """Tracks if the kernel answers (``Pulse``)."""

    def __init__(self) -> None:
        self.beats: int | None = None

    @property
    def waits(self) -> bool:
        return self.beats is not None

    def asked(self) -> None:
        self.beats = self.beats or 0

    def answered(self) -> bool:
        before, self.beats = self.beats, None
        return before is not None and before >= SILENT

    def beat(self) -> bool:
        self.beats = beats = (self.beats or 0) + 1
        return beats & (beats - 1) == 0 if beats < SELDOM else beats % SELDOM == 0


class PageChannel:
    """One channel on the page (``ChannelStore``)."""

    def __init__(self, uri: str) -> None:
        self.index = 0
        self.earlier = 0
        self.confirmed: Any = None
        self.pending: list[tuple[int, dict[str, Any]]] = []
        self._kind, self._reduce = _kind_of(uri)

    @property
    def shown(self) -> Any:
        state = self.confirmed
        for _, action in self.pending:
            state = None if state is None else self._reduce(state, decode_action(action))
        return state

    def restore(self, update: dict[str, Any]) -> None:
        for seq in update.get("answered", ()):
            self.settle(seq)
        if self.confirmed is None or update["fromSeq"] >= self.index:
            self.confirmed, self.index = decode(self._kind, update["state"]), update["fromSeq"]
            self.earlier = update.get("earlier", 0)

    def apply(self, envelope: Envelope, client_id: str) -> bool:
        """Applies an envelope; returns False if an earlier one is missing."""
        if envelope.origin is not None and envelope.origin.client_id == client_id:
            self.settle(envelope.origin.client_seq)
        if envelope.rejection_reason is not None or envelope.index <= self.index:
            return True
        first = envelope.index if envelope.first is None else envelope.first
        if self.confirmed is None or first != self.index + 1:
            return False
        self.confirmed, self.index = self._reduce(self.confirmed, envelope.action), envelope.index
        return True

    def settle(self, seq: int) -> None:
        self.pending = [pending for pending in self.pending if pending[0] != seq]


class ContinuedText:
    """Expands `text` flushes to actions (``ContinuedText``)."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self._flush = 0
        self._names: Message = {}

    def remember(self, flush: Message) -> None:
        last = flush["envelopes"][-1] if flush["envelopes"] else None
        if last and last["action"]["type"] in {"chat/delta", "chat/reasoning"} and flush["flush"] > self._flush:
            self._flush, self._names = flush["flush"], last

    def envelope(self, text: list[Any]) -> Message | None:
        _, like, first, index, content, *time = text
        if like != self._flush:
            return None
        named = {name: self._names["action"][name] for name in ("type", "turnId", "partId")}
        action = {**named, "content": content, **({"time": time[0]} if time else {})}
        return {"channel": self._names["channel"], "first": first, "index": index, "action": action}


class Acknowledgements:
    """Times the page's acknowledgements (``Acknowledgements``)."""

    def __init__(self, loop: ManualLoop, say: Callable[[int], None]) -> None:
        self._loop, self._say = loop, say
        self.forget()

    def forget(self) -> None:
        self._flush, self._due = 0, 0

    def taken(self, flush: int) -> None:
        flush = max(flush, self._flush)
        self.forget()
        self._say(flush)

    def text_taken(self, flush: int) -> None:
        self._flush = max(flush, self._flush)
        if self._due == 0:
            self._due = due = self._loop.now + round(TEXT_ACK_SECONDS * 1000)
            self._loop.later(TEXT_ACK_SECONDS, lambda: self._ring(due))

    def _ring(self, due: int) -> None:
        if due == self._due:
            self.taken(self._flush)


class Page:
    """One page's client, its timers, and the messages in transit in both directions."""

    def __init__(self, client_id: str, loop: ManualLoop) -> None:
        self.client_id = client_id
        self.channels: dict[str, PageChannel] = {}
        self.host_id: str | None = None
        self.visible = False
        self.incoming: deque[Message] = deque()
        self.outgoing: deque[Message] = deque()
        self.events: list[dict[str, Any]] = []
        self.said: list[dict[str, Any]] = []
        self._loop = loop
        self._born = loop.now
        self._subscribed = [ROOT]
        self._unanswered: dict[str, None] = {}
        self._answers: dict[int, Callable[[Any], None]] = {}
        self._initializing: int | None = None
        self._said_visible = False
        self._pulse = Pulse()
        self._text = ContinuedText()
        self._acks = Acknowledgements(loop, self._acknowledge)
        self._closed = False
        self._ended: int | None = None
        self._id = self._seq = 0
        self._initialize()
        self._every(PING_SECONDS, self._beat)
        self._every(RETRY_SECONDS, self._retry)

    # --- what its views and its reader do ---

    def follow(self, uri: str) -> None:
        self._happened(follow=uri)
        self._subscribed.append(uri)
        self._channel(uri)
        if self.host_id is not None:
            self._subscribe([uri])

    def show(self, *, visible: bool) -> None:
        self._happened(show=visible)
        if visible != self.visible:
            self.visible = visible
            self._notify("visibility", {"visible": visible})
            if visible:
                self._ping()

    def dispatch(self, uri: str, action: dict[str, Any]) -> None:
        self._happened(dispatch=action, channel=uri)
        self._seq += 1
        self._channel(uri).pending.append((self._seq, action))
        self._notify("dispatchAction", {"clientSeq": self._seq, "channel": uri, "action": action})

    def close(self) -> None:
        self._closed = True
        self._acks.forget()
        self._ended = self._loop.now - self._born

    # --- what it hears ---

    def hear(self, message: Message) -> None:
        self._happened(hear={**message, "to": self.client_id})
        if "id" in message:
            answer = self._answers.pop(message["id"], None)
            if answer is not None and "result" in message:
                answer(message["result"])
        elif message["method"] == ACTIONS:
            self._flush(message["params"])
        elif message["method"] == TEXT:
            self._continue(message["params"])
        elif message["method"] == f"{OURS}unknownClient":
            self._pulse.answered()
            self._initialize()
        else:
            self._pong(message["params"])

    def _pong(self, params: dict[str, Any]) -> None:
        is_forgotten = self.visible and self._is_forgotten(params["indexes"])
        if self._pulse.answered() or is_forgotten or params["hostId"] != self.host_id:
            self._initialize()

    def _is_forgotten(self, sent: dict[str, int]) -> bool:
        """True if the kernel sends less than what this page follows (``isForgotten``)."""
        root = self._channel(ROOT).confirmed
        sessions = [] if root is None or not root.sessions else [summary.resource for summary in root.sessions]
        followed = [uri for uri in self._subscribed if uri.removesuffix("/chat") in sessions]
        return ROOT in sent and any(uri not in sent and uri not in self._unanswered for uri in followed)

    def _flush(self, flush: dict[str, Any]) -> None:
        if self._initializing is not None:
            return
        self._take(flush.get("snapshots", []))
        self._apply(flush["envelopes"])
        self._text.remember(flush)
        self._acks.taken(flush["flush"])

    def _continue(self, text: list[Any]) -> None:
        if self._initializing is not None:
            return
        envelope = self._text.envelope(text)
        if envelope is None:
            self._notify("resync", {"seen": self._seen()})
        else:
            self._apply([envelope])
            self._acks.text_taken(text[0])

    def _acknowledge(self, flush: int) -> None:
        self._notify("ack", {"flush": flush, "seen": self._seen()})

    def _take(self, snapshots: list[dict[str, Any]]) -> None:
        for snapshot in snapshots:
            self._channel(snapshot["resource"]).restore(snapshot)

    def _apply(self, envelopes: list[dict[str, Any]]) -> None:
        holes: dict[str, int] = {}
        for raw in envelopes:
            channel = self._channel(raw["channel"])
            if not channel.apply(decode(Envelope, raw), self.client_id):
                holes[raw["channel"]] = channel.index
        if holes:
            self._notify("resync", {"seen": holes})

    # --- what it says ---

    def _initialize(self) -> None:
        if self._initializing is not None:
            return
        self._initializing = self._id + 1
        self._said_visible = self.visible
        followed = [*self._subscribed]
        params = {
            "protocolVersions": [*range(WINDOW.current, WINDOW.oldest - 1, -1)],
            "initialSubscriptions": followed,
            "visible": self.visible,
            "accepts": ["text"],
        }
        if self.host_id is not None:
            params |= {"hostId": self.host_id, "lastSeen": self._seen()}
        method = "initialize" if self.host_id is None else "reconnect"
        self._request(method, params, lambda result: self._initialized(result, followed))

    def _initialized(self, result: Any, followed: list[str]) -> None:
        self._initializing = None
        self._pulse.answered()
        self._text.forget()
        self._acks.forget()
        before, self.host_id = self.host_id, result["hostId"]
        if before not in {None, self.host_id}:
            self.channels = {uri: PageChannel(uri) for uri in self.channels}
        self._take(result["snapshots"])
        self._apply(result.get("actions", []))
        for uri in followed:
            self._unanswered.pop(uri, None)
        if self.visible != self._said_visible:
            self._notify("visibility", {"visible": self.visible})
        self._subscribe([uri for uri in self._subscribed if uri not in followed])
        if before in {None, self.host_id}:
            self._send_pending_again()

    def _subscribe(self, uris: list[str]) -> None:
        def answered(uri: str, result: Any) -> None:
            self._unanswered.pop(uri, None)
            self._take([result["snapshot"]])

        for uri in uris:
            self._unanswered[uri] = None
            self._request("subscribe", {"channel": uri}, partial(answered, uri))

    def _send_pending_again(self) -> None:
        for uri, channel in self.channels.items():
            for seq, action in channel.pending:
                self._notify("dispatchAction", {"clientSeq": seq, "channel": uri, "action": action})

    def _ping(self) -> None:
        self._pulse.asked()
        self._notify("ping", {})

    def _beat(self) -> None:
        if not self._pulse.waits:
            self._ping()

    def _retry(self) -> None:
        if self._pulse.waits:
            if self._pulse.beat():
                self._ping()
        elif self._initializing is not None:
            self._answers.pop(self._initializing, None)
            self._initializing = None
            self._initialize()
            self._ping()
        elif self._unanswered:
            self._subscribe(list(self._unanswered))
            self._ping()
        elif self.visible and any(channel.pending for channel in self.channels.values()):
            self._ping()

    def _request(self, method: str, params: object, answer: Callable[[Any], None]) -> None:
        self._id += 1
        self._answers[self._id] = answer
        self._notify(method, params, id=self._id)

    def _notify(self, method: str, params: object, **more: object) -> None:
        message = {
            "jsonrpc": "2.0",
            "v": WINDOW.current,
            "clientId": self.client_id,
            **more,
            "method": wire_name(method),
            "params": params,
        }
        self.said.append(message)
        self.outgoing.append(message)

    # --- inside ---

    def record(self) -> dict[str, Any]:
        """Returns the page's events, messages and states, to replay them on the real client."""
        states = {uri: to_json(channel.shown) for uri, channel in self.channels.items()}
        until = self._loop.now - self._born if self._ended is None else self._ended
        return {
            "clientId": self.client_id,
            "until": until,
            "events": self.events,
            "said": self.said,
            "shown": states,
        }

    def _happened(self, **event: object) -> None:
        self.events.append({"at": self._loop.now - self._born, **event})

    def _channel(self, uri: str) -> PageChannel:
        if uri not in self.channels:
            self.channels[uri] = PageChannel(uri)
        return self.channels[uri]

    def _seen(self) -> dict[str, int]:
        return {uri: channel.index for uri, channel in self.channels.items() if channel.index > 0}

    def _every(self, seconds: int, do: Callable[[], None]) -> None:
        def again() -> None:
            if not self._closed:
                do()
                self._every(seconds, do)

        self._loop.later(seconds, again)


def _kind_of(uri: str) -> tuple[Any, Callable[[Any, Any], Any]]:
    if uri == ROOT:
        return RootState, reduce_root
    return (ChatState, reduce_chat) if uri.endswith("/chat") else (SessionState, reduce_session)
