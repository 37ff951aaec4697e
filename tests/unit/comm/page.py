"""A page in memory that applies what it is sent just as the front end's client does, over a wire that can be upset."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from agentnb.host.host import ROOT
from agentnb.state import (
    ChatState,
    Envelope,
    RootState,
    SessionState,
    decode,
    encode,
    reduce_chat,
    reduce_root,
    reduce_session,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Message = dict[str, Any]


class ManualLoop:
    """A host's loop without a thread: its clock moves when the test says so, its timers fire in their order."""

    inside = True

    def __init__(self) -> None:
        self.now = 100.0
        self._timers: list[tuple[float, int, Callable[[], object]]] = []
        self._made = 0

    def time(self) -> float:
        return self.now

    def later(self, seconds: float, function: Callable[..., object], *args: object) -> None:
        self._made += 1
        self._timers.append((self.now + seconds, self._made, lambda: function(*args)))

    def call(self, function: Callable[..., Any], *args: object) -> Any:
        return function(*args)

    def advance(self, seconds: float) -> None:
        """Let time pass; what is due is done when it is due."""
        end = self.now + seconds
        while due := [timer for timer in self._timers if timer[0] <= end]:
            first = min(due)
            self._timers.remove(first)
            self.now = max(self.now, first[0])
            first[2]()
        self.now = end


class Page:
    """One page's client: what it has confirmed, by channel, and the wire in both directions.

    Args:
        client_id: Its id.
        receive: The kernel's ear.
    """

    def __init__(self, client_id: str, receive: Callable[[Message], None]) -> None:
        self.client_id = client_id
        self.channels: dict[str, tuple[Any, int]] = {}
        self.subscribed: list[str] = []
        self.visible = True
        self.incoming: deque[Message] = deque()
        self.outgoing: deque[Message] = deque()
        self.flushed_bytes = 0
        self._receive = receive
        self._answers: dict[int, Callable[[Any], None]] = {}
        self._id = 0

    # --- what it says ---

    def initialize(self, *, remember: bool) -> None:
        """Introduce itself, with or without what it has seen."""
        if not remember:
            self.channels.clear()
        self.incoming.clear()
        seen = {uri: index for uri, (_, index) in self.channels.items()}
        params = {"protocolVersions": [1], "lastSeen": seen, "visible": self.visible}
        self._ask("initialize", params, self._initialized)

    def say(self, method: str, params: object, **more: object) -> None:
        message = {"jsonrpc": "2.0", "v": 1, "clientId": self.client_id, "method": method, "params": params, **more}
        self.outgoing.append(message)

    def show(self, *, visible: bool) -> None:
        self.visible = visible
        self.say("visibility", {"visible": visible})

    def _ask(self, method: str, params: object, answer: Callable[[Any], None]) -> None:
        self._id += 1
        self._answers[self._id] = answer
        self.say(method, params, id=self._id)

    def _initialized(self, result: Any) -> None:
        self._take(result["channels"])
        missing = [uri for uri in self.subscribed if uri not in result["channels"]]
        if missing:
            self._ask("subscribe", {"channels": missing}, lambda answer: self._take(answer["channels"]))

    # --- what it hears ---

    def tell(self, message: Message) -> None:
        """The kernel sends something; it is heard when the wire is pumped."""
        self.incoming.append(message)

    def hear(self, message: Message) -> None:
        """Take one message from the kernel."""
        if "id" in message:
            answer = self._answers.pop(message["id"], None)
            if answer is not None and "result" in message:
                answer(message["result"])
        elif message["method"] == "actions":
            self._flush(message["params"])
        elif message["method"] == "unknownClient":
            self.initialize(remember=True)

    def speak(self) -> None:
        """Let the kernel hear the oldest thing said."""
        self._receive(self.outgoing.popleft())

    def _flush(self, flush: dict[str, Any]) -> None:
        self._take(flush.get("snapshots", {}))
        self._apply(flush["envelopes"])
        seen = {uri: index for uri, (_, index) in self.channels.items()}
        self.say("ack", {"flush": flush["flush"], "seen": seen})

    def _take(self, channels: dict[str, Any]) -> None:
        for uri, update in channels.items():
            if "replay" in update:
                self._apply(update["replay"])
            elif uri not in self.channels or update["fromIndex"] >= self.channels[uri][1]:
                self.channels[uri] = (decode(_kind(uri), update["snapshot"]), update["fromIndex"])

    def _apply(self, envelopes: list[dict[str, Any]]) -> None:
        holes: dict[str, int] = {}
        for raw in envelopes:
            envelope = decode(Envelope, raw)
            state, index = self.channels.get(envelope.channel, (None, 0))
            if envelope.rejection_reason is not None or envelope.index <= index:
                continue
            first = envelope.index if envelope.first is None else envelope.first
            if state is None or first != index + 1:
                holes[envelope.channel] = index
            else:
                reduce: Any = _reducer(envelope.channel)
                self.channels[envelope.channel] = (reduce(state, envelope.action), envelope.index)
        if holes:
            self.say("resync", {"seen": holes})

    def picture(self, uri: str) -> bytes:
        """The channel's state as it stands on this page, byte for byte."""
        return encode(self.channels[uri][0])


def _kind(uri: str) -> type[Any]:
    if uri == ROOT:
        return RootState
    return ChatState if uri.endswith("/chat") else SessionState


def _reducer(uri: str) -> Callable[[Any, Any], Any]:
    if uri == ROOT:
        return reduce_root
    return reduce_chat if uri.endswith("/chat") else reduce_session
