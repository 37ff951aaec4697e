"""Any schedule of slow writes, cuts and reconnects: every mirror ends as the host, with nothing lost or twice.

The inside: the wires are cut at any moment, and a short feed makes clients fall out of it.
"""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest
from msgspec.structs import replace

from agentnb.server.websocket import commands as c
from agentnb.server.websocket.access import ClientGrants
from agentnb.server.websocket.commands import SPOKEN
from agentnb.server.websocket.connection import AhpConnection
from agentnb.server.websocket.feed import Feed
from agentnb.server.websocket.projection import state_to_ahp, to_ahp
from agentnb.state import (
    ActiveTurn,
    ChatDelta,
    ChatInputCompleted,
    ChatInputRequest,
    ChatInputRequested,
    ChatReasoning,
    ChatResponsePart,
    ChatState,
    ChatTurnComplete,
    ChatTurnStarted,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    ReasoningResponsePart,
    SessionState,
    SessionTitleChanged,
    Turn,
    decode,
    decode_action,
    reduce_chat,
    reduce_session,
    to_json,
    waiting_requests,
)
from tests.thorough import examples
from tests.unit.server.websocket import later_mirror
from tests.unit.server.world import World

SCHEDULES = int(os.environ.get("AGENTNB_AHP_SCHEDULES", examples(100)))
STEPS = 25
ENTRIES = 12
"""The length of the feed; a client that waits long falls out of it."""
BEGAN = "1970-01-01T00:00:00.001Z"
USER = Message(text="hi", origin=MessageOrigin(kind="user"))
REDUCERS: dict[str, tuple[type[Any], Any]] = {
    "ahp-session": (SessionState, reduce_session),
    "ahp-chat": (ChatState, reduce_chat),
}


class Mirror:
    """A client that reduces what it gets, on a wire that is slow and sometimes cut."""

    def __init__(self, world: World, feed: Feed, number: int, *, is_ours: bool) -> None:
        grants = ClientGrants()
        token = grants.add("mirror", ["drive", "approve"])
        self.grant = next(each for each in grants if grants.find(token) is each)
        self.world, self.feed, self.number, self.is_ours = world, feed, number, is_ours
        self.uris = [to_ahp(world.session), to_ahp(world.chat)]
        self.states: dict[str, Any] = {}
        self.seq = 0
        self.snapshots = 0
        self.connection: AhpConnection | None = None

    def connect_again(self) -> None:
        if self.connection is None:
            self.connect()

    def connect(self) -> None:
        self.number += 1
        connection = self.connection = AhpConnection(
            self.world.host,
            self.world.service,
            self.feed,
            self.grant,
            self.number,
            wake=lambda: None,
            close=lambda _code, _reason: self.cut(),
            join=lambda _connection, _own_id: True,
            came=lambda: None,
        )
        if self.states:
            params: dict[str, Any] = {"lastSeenServerSeq": self.seq, "subscriptions": self.uris}
        else:
            params = {"protocolVersions": SPOKEN[:1], "initialSubscriptions": self.uris}
        params |= {"_meta": c.IS_OURS} if self.is_ours else {}
        self.say("reconnect" if self.states else "initialize", {"channel": "ahp-root://", "clientId": "me", **params})
        self.hear(connection)

    def say(self, method: str, params: dict[str, Any]) -> None:
        assert self.connection is not None
        self.connection.receive(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))

    def cut(self) -> None:
        """Cuts the connection and loses all that was in transit."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.closed()

    def hear(self, connection: AhpConnection | None, most: int = 1_000_000) -> None:
        """Delivers the waiting messages; cuts the connection after *most* of them."""
        if connection is None:
            return
        for number, text in enumerate(connection.take_waiting()):
            if number == most:
                self.cut()
                return
            self.take(json.loads(text))
        connection.written()

    def take(self, message: dict[str, Any]) -> None:
        """Applies one message."""
        if message.get("method") == "action":
            self.apply(message["params"])
        result = message.get("result") or {}
        for envelope in result.get("actions", []):
            self.apply(envelope)
        for snapshot in result.get("snapshots", []):
            kind, _ = REDUCERS[snapshot["resource"].partition(":")[0]]
            self.states[snapshot["resource"]] = decode(kind, snapshot["state"]) if self.is_ours else snapshot["state"]
            self.seq = snapshot["fromSeq"]
            self.snapshots += 1

    def apply(self, envelope: dict[str, Any]) -> None:
        """Applies one action; growing numbers show that none comes twice."""
        assert envelope["serverSeq"] > self.seq
        self.seq = envelope["serverSeq"]
        uri, action = envelope["channel"], envelope["action"]
        if self.is_ours:
            _, reduce = REDUCERS[uri.partition(":")[0]]
            self.states[uri] = reduce(self.states[uri], decode_action(action))
        else:
            self.states[uri] = later_mirror.reduce(uri, self.states[uri], action)

    def seen(self) -> dict[str, str]:
        """Returns its states, as text."""
        return {uri: settled(to_json(self.states[uri])) for uri in self.uris}

    def truth(self) -> dict[str, str]:
        """Returns the host's states, limited to the turns that it was given."""
        session, chat = (self.world.host.channel(uri) for uri in (self.world.session, self.world.chat))
        mirrored = self.states[self.uris[1]]
        turn_count = len(mirrored.turns if self.is_ours else mirrored["turns"])
        entry = self.feed.chat(self.world.session)
        assert entry is not None
        whole = replace(session.state, chats=(entry,), default_chat=entry.resource)
        cut = replace(chat.state, turns=tuple(chat.state.turns)[len(chat.state.turns) - turn_count :])
        states = {uri: state_to_ahp(each, own=self.is_ours) for uri, each in zip(self.uris, (whole, cut), strict=True)}
        if not self.is_ours and turn_count < len(chat.state.turns):
            states[self.uris[1]]["turnsNextCursor"] = mirrored["turns"][0]["id"]
        return {uri: settled(each) for uri, each in states.items()}


def settled(value: Any) -> str:
    """Returns JSON without the times, which actions do not carry."""

    def keep(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: keep(item) for name, item in value.items() if name != "modifiedAt"}
        return [keep(item) for item in value] if isinstance(value, list) else value

    return json.dumps(keep(value), sort_keys=True)


def happen(world: World, dice: random.Random) -> None:
    """Makes a random change in the host."""
    conversation, chat = world.conversation, world.conversation.chat.state
    turn: ActiveTurn | Turn | None = chat.active_turn
    if dice.random() < 0.15:
        conversation.dispatch(SessionTitleChanged(title=str(dice.random())))
    elif turn is None:
        conversation.dispatch(ChatTurnStarted(turn_id=str(dice.random()), message=USER, started_at=BEGAN, time=1))
    elif dice.random() < 0.1:
        conversation.dispatch(ChatTurnComplete(turn_id=turn.id, duration=dice.randrange(9), time=1))
    elif waiting := waiting_requests(chat):
        conversation.dispatch(ChatInputCompleted(request_id=waiting[0].id, response="decline", time=1))
    elif dice.random() < 0.1:
        request = ChatInputRequest(id=str(dice.random()), message="Which?")
        conversation.dispatch(ChatInputRequested(request=request, time=1))
    else:
        part = dice.choice(["m", "r"])
        if not any(getattr(each, "id", None) == part for each in turn.response_parts):
            kind = MarkdownResponsePart if part == "m" else ReasoningResponsePart
            conversation.dispatch(ChatResponsePart(turn_id=turn.id, part=kind(id=part, content="")))
        delta = ChatDelta if part == "m" else ChatReasoning
        conversation.dispatch(delta(turn_id=turn.id, part_id=part, content=dice.choice(["a", "b\n", "\u2603"])))


@pytest.mark.parametrize(("is_ours", "schedules"), [(False, SCHEDULES), (True, SCHEDULES // 4)])
def test_mirror_equals_the_host_after_any_schedule(*, is_ours: bool, schedules: int) -> None:
    """The mirror's session and chat equal the host's but for times, after each schedule."""
    dice, snapshots = random.Random(17), 0
    for first in range(0, schedules, 50):
        world = World(pages=0)
        feed = Feed(world.host, lambda _notice: None, max_entries=ENTRIES)
        mirrors = [Mirror(world, feed, (first + at) * 1_000, is_ours=is_ours) for at in range(2)]
        for _ in range(min(50, schedules - first)):
            for mirror in mirrors:
                mirror.connect_again()
            for _ in range(STEPS):
                happen(world, dice)
                mirror = dice.choice(mirrors)
                befall(world, mirror, dice)
            settle(world, mirrors)
            for mirror in mirrors:
                assert mirror.seen() == mirror.truth()
        snapshots += sum(mirror.snapshots for mirror in mirrors)
    assert snapshots > 2 * schedules / 50  # some fell out of the feed


def befall(world: World, mirror: Mirror, dice: random.Random) -> None:
    """Makes a random event of the connection: a wait, delivery, partial delivery, cut or reconnect."""
    match dice.choice(["wait", "wait", "hear", "hear", "break", "cut"]):
        case "wait":
            world.loop.advance(dice.choice([10, 50, 300]))
        case "hear":
            mirror.hear(mirror.connection)
        case "break":
            mirror.hear(mirror.connection, dice.randrange(4))
        case "cut":
            mirror.cut()
    if mirror.connection is None and dice.random() < 0.5:
        mirror.connect()


def settle(world: World, mirrors: list[Mirror]) -> None:
    """Delivers everything, without new changes."""
    for mirror in mirrors:
        while mirror.connection is None:
            mirror.connect()
        for _ in range(3):
            world.loop.advance(500)
            mirror.hear(mirror.connection)
            mirror.connect_again()
