"""Real traffic: recordings of real agents and the protocol's own examples, through the mapper and the reducers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentnb.acp.mapper import map_permission, map_session, map_update
from agentnb.state import (
    ChatState,
    ChatToolCallConfirmed,
    ChatTurnCancelled,
    ChatTurnComplete,
    ChatTurnStarted,
    Message,
    MessageOrigin,
    RawResponsePart,
    SessionState,
    ToolCallResponsePart,
    decode,
    encode,
    reduce_chat,
    reduce_session,
)
from tests.unit.acp.recording_listener import empty_chat, text_of, turns_of

SILENT = {"session_info_update"}
"""Kinds that need not change anything: only `_meta` in them."""


class Replay:
    """The host's part in a recording: prompts begin turns, answers end them, permissions are answered as they were."""

    def __init__(self) -> None:
        self.chat = empty_chat()
        self.session = SessionState(provider="x", title="", status=1, lifecycle="ready", chats=())
        self.said = ""
        self.user: list[str] = []
        self.dropped: list[Any] = []
        self.calls: set[str] = set()
        self._prompts: dict[Any, str] = {}
        self._asked: dict[Any, str] = {}
        self._opened: set[Any] = set()
        self._turn: str | None = None

    def take(self, direction: str, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params", {})
        if direction == "client->agent" and method == "session/prompt":
            self._begin(message["id"], params)
        elif direction == "client->agent" and method in {"session/new", "session/load"}:
            self._opened.add(message["id"])
        elif direction == "client->agent" and message.get("id") in self._asked:
            self._answer(self._asked.pop(message["id"]), message)
        elif direction == "agent->client" and method == "session/update":
            self._update(params["update"])
        elif direction == "agent->client" and method == "session/request_permission":
            call_id, actions = map_permission(params, self.chat, self._turn, 1)
            self._asked[message["id"]] = call_id
            self._dispatch(actions)
        elif direction == "agent->client" and method is None and message.get("id") in self._prompts:
            self._dispatch((ChatTurnComplete(turn_id=self._prompts.pop(message["id"]), time=2),))
        elif direction == "agent->client" and method is None and message.get("id") in self._opened:
            self._dispatch(map_session(message.get("result") or {}))

    def _begin(self, request: Any, params: dict[str, Any]) -> None:
        if self.chat.active_turn is not None:  # cancelled, and never answered
            self._dispatch((ChatTurnCancelled(turn_id=self.chat.active_turn.id, time=1),))
        self._turn = self._prompts[request] = f"turn-{request}"
        text = "".join(block.get("text", "") for block in params["prompt"])
        message = Message(text=text, origin=MessageOrigin(kind="user"))
        self._dispatch((ChatTurnStarted(turn_id=self._turn, message=message, time=1),))

    def _answer(self, call_id: str, message: dict[str, Any]) -> None:
        chosen = message["result"]["outcome"].get("optionId")
        confirmed = ChatToolCallConfirmed(
            turn_id=self._turn or "",
            tool_call_id=call_id,
            approved=chosen is not None,
            selected_option_id=chosen,
            time=1,
        )
        self._dispatch((confirmed,))

    def _update(self, update: dict[str, Any]) -> None:
        before = self.chat, self.session
        self._dispatch(map_update(update, self.chat, self._turn, 1))
        kind, content = update["sessionUpdate"], update.get("content")
        if kind == "agent_message_chunk" and isinstance(content, dict):
            self.said += content.get("text", "")
        if "toolCallId" in update:
            self.calls.add(update["toolCallId"])
        unchanged = before == (self.chat, self.session)
        if unchanged and not _repeats(update, before) and kind not in SILENT:
            self.dropped.append(update)

    def _dispatch(self, actions: tuple[Any, ...]) -> None:
        for action in actions:
            if action.channel_kind == "chat":
                after = reduce_chat(self.chat, action)
                assert after is not self.chat, f"{action} changed nothing"
                self.chat = after
            else:
                self.session = reduce_session(self.session, action)


def _repeats(update: dict[str, Any], before: tuple[ChatState, SessionState]) -> bool:
    """True if *update* says nothing new: no words, the prompt again, the state again."""
    content = update.get("content")
    text = content.get("text") if isinstance(content, dict) else None
    prompts = [turn.message.text for turn in turns_of(before[0])]
    echo = update["sessionUpdate"] == "user_message_chunk" and str(text) in "\n".join(prompts)
    return text == "" or echo or bool(map_update(update, empty_chat("Something else"), "t1", 1))


def replayed(path: Path) -> Replay:
    """Returns what comes of the recording at *path*."""
    replay = Replay()
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["dir"] == "meta" and "spawn" in entry["msg"]:
            said = replay.said
            replay = Replay() if not said else replay
        if entry["dir"] in {"client->agent", "agent->client"} and isinstance(entry["msg"], dict):
            replay.take(entry["dir"], entry["msg"])
    return replay


def test_every_recording_replays_with_nothing_lost(shared: Path, subtests: pytest.Subtests) -> None:
    """No update dropped, the text is the text sent, no part is raw, every tool call is there, the state can be kept."""
    recordings = sorted((shared / "transcripts").glob("*.jsonl"))
    assert recordings
    for recording in recordings:
        with subtests.test(recording.name):
            replay = replayed(recording)
            parts = [part for turn in turns_of(replay.chat) for part in turn.response_parts]
            calls = {part.tool_call.tool_call_id for part in parts if isinstance(part, ToolCallResponsePart)}
            assert replay.dropped == []
            assert text_of(replay.chat) == replay.said
            assert [part for part in parts if isinstance(part, RawResponsePart)] == []
            assert replay.calls <= calls
            assert decode(ChatState, encode(replay.chat)) == replay.chat
