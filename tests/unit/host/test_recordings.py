"""Recordings of real agents, replayed by a process over stdio through the whole host, compared with what users see.

The inside: each update against the actions that the mapper makes of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from agentnb.acp.mapper import map_update, merge
from agentnb.acp.opening import Page
from agentnb.agent.catalog import custom
from agentnb.errors import AgentRefused
from agentnb.host import Host
from agentnb.host.agents.agent_events import AgentEvents
from agentnb.host.conversation import Conversation
from agentnb.host.intents import carry_out
from agentnb.state import (
    Action,
    ActionOrigin,
    ChatDelta,
    ChatReasoning,
    ChatResponsePart,
    ChatState,
    ChatToolCallConfirmed,
    ChatTurnStarted,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    RawResponsePart,
    ReasoningResponsePart,
    ToolCallPendingConfirmationState,
    UserMessageResponsePart,
    XLate,
    XModeChanged,
    XUserMessageDelta,
    decode,
    encode,
)
from tests.unit.acp.recording_listener import text_of, turns_of
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.host.conftest import configuration

CLIENT = ActionOrigin(client_id="replay", client_seq=1)
Entry = dict[str, Any]
TEXT_PARTS = (MarkdownResponsePart, ReasoningResponsePart, UserMessageResponsePart)
TEXT_DELTAS = (ChatDelta, ChatReasoning, XUserMessageDelta)


class Listening(AgentEvents):
    """Remembers each update's actions, and the chat and the turn that they were made for."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.heard: list[tuple[Sequence[Action], ChatState, str | None]] = []

    def actions(self, actions: Sequence[Action]) -> None:
        self.heard.append((actions, self.chat, self.speaking))
        super().actions(actions)


class Tapped(Conversation):
    """A conversation that remembers its events."""

    Events = Listening


@pytest.fixture
def host() -> Iterator[Host]:
    """A host with an attached user, closed afterwards."""
    host = Host()
    host.environment.connect(attached=lambda: True)
    yield host
    host.close()


def processes(recording: Path) -> list[list[Entry]]:
    """Returns the entries of each process."""
    parts: list[list[Entry]] = []
    for line in recording.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["dir"] == "meta" and "spawn" in entry["msg"]:
            parts.append([])
        if isinstance(entry["msg"], dict):
            parts[-1].append(entry)
    return parts


class Driver:
    """The client's side of one recorded process, through a conversation."""

    def __init__(self, host: Host, entries: list[Entry], recording: Path, number: int, cwd: Path) -> None:
        self.host = host
        self.entries = entries
        spec = custom([sys.executable, str(AGENTS / "replays.py"), str(recording), str(number)], name="replay")
        self.conversation = host.loop.call(lambda: Tapped(host, configuration(spec, cwd), tab_id=f"r{number}"))
        self.refused = False
        host.loop.call(host.conversations.__setitem__, self.conversation.session.uri, self.conversation)

    def play(self) -> None:
        tool_call_ids = {
            json.dumps(entry["msg"]["id"]): entry["msg"]["params"]["toolCall"]["toolCallId"]
            for entry in self.entries
            if entry["msg"].get("method") == "session/request_permission"
        }
        for number, entry in enumerate(self.entries):
            if entry["dir"] == "client->agent":
                self._step(number, entry["msg"], tool_call_ids)

    def _step(self, number: int, message: Entry, tool_call_ids: dict[str, str]) -> None:
        loop, params = self.host.loop, message.get("params", {})
        match message.get("method"):
            case "session/new":
                loop.submit(self.conversation.ready()).result(PATIENCE)
            case "session/load":
                self._load(params["sessionId"], refused=self._is_refused(message["id"]))
            case "session/prompt":
                text = "".join(block.get("text", "") for block in params["prompt"])
                self._until(lambda: self.conversation.chat.state.active_turn is None)
                prompt = Message(text=text, origin=MessageOrigin(kind="user"))
                loop.call(self.conversation.prompt, f"turn-{number}", prompt)
            case "session/cancel":
                self._until(lambda: self._has_message("_replay/waits"))
                active = self.conversation.chat.state.active_turn
                assert active is not None
                loop.call(self.conversation.turns.cancel, active.id)
            case "session/set_mode":
                chosen = XModeChanged(mode_id=params["modeId"])
                loop.call(carry_out, self.host, self.conversation.session.uri, chosen, CLIENT)
            case "session/list":
                agent = self.conversation.agent
                assert agent is not None
                self._until(lambda: self.conversation.turns.settled)
                listed: Future[Page] = loop.submit(agent.list_sessions())
                assert listed.result(PATIENCE).sessions
            case None if json.dumps(message["id"]) in tool_call_ids and "result" in message:
                self._answer(tool_call_ids[json.dumps(message["id"])], message["result"]["outcome"])

    def _load(self, session_id: str, *, refused: bool) -> None:
        reopened = self.host.loop.submit(self.conversation.lifecycle.reopen(session_id))
        if not refused:
            assert reopened.result(PATIENCE) == "loaded"
            return
        self.refused = True
        with pytest.raises(AgentRefused, match="the recording is over"):  # agentnb requests a new session
            reopened.result(PATIENCE)

    def _is_refused(self, request: Any) -> bool:
        messages = (entry["msg"] for entry in self.entries if entry["dir"] == "agent->client")
        return any(message.get("id") == request and "error" in message for message in messages)

    def _answer(self, call_id: str, outcome: Entry) -> None:
        self._until(lambda: self._pending(call_id) is not None)
        pending = self._pending(call_id)
        assert pending is not None
        active = self.conversation.chat.state.active_turn
        assert active is not None
        answer = ChatToolCallConfirmed(
            turn_id=active.id,
            tool_call_id=pending.tool_call_id,
            approved=True,
            selected_option_id=outcome["optionId"],
        )
        self.host.loop.call(carry_out, self.host, self.conversation.chat.uri, answer, CLIENT)

    def finish(self) -> None:
        if not self.refused:
            self._until(lambda: self._has_message("_replay/over"))
        self.host.loop.submit(self.conversation.close()).result(PATIENCE)

    def _pending(self, call_id: str) -> ToolCallPendingConfirmationState | None:
        call = self.conversation.tool_call(call_id)
        return call if isinstance(call, ToolCallPendingConfirmationState) else None

    def _has_message(self, method: str) -> bool:
        turns = turns_of(self.conversation.chat.state)
        parts = [part for turn in turns for part in turn.response_parts]
        return any(isinstance(part, RawResponsePart) and part.name == method for part in parts)

    def _until(self, condition: Any) -> None:
        """Waits, event by event, until *condition* holds."""
        done = Event()

        def look() -> None:
            if condition():
                done.set()

        unwatch = self.host.loop.call(self.conversation.watch, look)
        self.host.loop.call(look)
        try:
            assert done.wait(PATIENCE), "the recording does not go on"
        finally:
            self.host.loop.call(unwatch)


def sent(entries: list[Entry], session: str | None) -> list[Entry]:
    """Returns the agent's updates for *session*."""
    messages = [entry["msg"] for entry in entries if entry["dir"] == "agent->client"]
    return [
        message["params"]["update"]
        for message in messages
        if message.get("method") == "session/update" and message["params"]["sessionId"] == session
    ]


def session_of(entries: list[Entry]) -> str | None:
    """Returns the session of a recorded process, or None."""
    for entry in entries:
        message = entry["msg"]
        if message.get("method") == "session/load":
            return str(message["params"]["sessionId"])
        session = (message.get("result") or {}).get("sessionId") if "method" not in message else None
        if isinstance(session, str):
            return session
    return None


TEXT = {"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"}


def is_text(actions: Sequence[Action]) -> bool:
    """True if *actions* are empty, part of a text (compared as a whole), or the recording's own."""
    inner = [action.action if isinstance(action, XLate) else action for action in actions]
    parts = [action.part for action in inner if isinstance(action, ChatResponsePart)]
    own = any(isinstance(part, RawResponsePart) and part.name.startswith("_replay/") for part in parts)
    opened = any(isinstance(part, TEXT_PARTS) for part in parts)
    opened = opened or any(isinstance(action, ChatTurnStarted) and action.message.text for action in inner)
    return not actions or own or opened or any(isinstance(action, TEXT_DELTAS) for action in inner)


def mapped(updates: list[Entry], heard: list[tuple[Sequence[Action], ChatState, str | None]]) -> list[Sequence[Action]]:
    """Returns the actions of each update that is not text and changes something, mapped as *heard*."""
    made: list[Sequence[Action]] = []
    for update in (update for update in updates if update["sessionUpdate"] not in TEXT):
        actions, chat, speaking = heard[min(len(made), len(heard) - 1)]
        new_actions = map_update(update, chat, speaking, actions[0].time or 0)
        if new_actions:
            made.append(new_actions)
    return made


def said_in(updates: list[Entry]) -> str:
    """Returns the agent's text."""
    chunks = [update for update in updates if update["sessionUpdate"] == "agent_message_chunk"]
    return "".join(chunk["content"].get("text", "") for chunk in chunks)


def test_every_recording_replays_without_loss(
    host: Host, shared: Path, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """Every update arrives, in order; the text on screen is the text sent; the state can be stored."""
    recordings = sorted((shared / "transcripts").glob("*.jsonl"))
    assert recordings
    for recording in recordings:
        for number, entries in enumerate(processes(recording)):
            session = session_of(entries)
            if session is None:
                continue  # never opened a session; see the test of logins
            with subtests.test(f"{recording.name} {number}"):
                driver = Driver(host, entries, recording, number, tmp_path)
                driver.play()
                driver.finish()
                expected = sent(entries, session)
                assert isinstance(driver.conversation.events, Listening)
                heard = [each for each in driver.conversation.events.heard if not is_text(each[0])]
                assert [actions for actions, _, _ in heard] == mapped(merge(expected), heard)
                chat = driver.conversation.chat.state
                assert text_of(chat) == said_in(expected)
                raw = [
                    part for turn in turns_of(chat) for part in turn.response_parts if isinstance(part, RawResponsePart)
                ]
                assert {part.name for part in raw} <= {"_replay/waits", "_replay/over"}
                assert decode(ChatState, encode(chat)) == chat
