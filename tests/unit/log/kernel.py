"""A kernel that writes a log, without a host; programs of tests import only this."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from agentnb.errors import LogError
from agentnb.log.record import LogBatch, SessionRecord, TurnText
from agentnb.log.store import LogStore
from agentnb.state import (
    Action,
    ChatDelta,
    ChatResponsePart,
    ChatState,
    ChatTurnComplete,
    ChatTurnStarted,
    Envelope,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    SessionState,
    reduce_chat,
)

TAB = "11111111-2222-4333-8444-555555555555"
URI = f"eliza:/{TAB}"
CHAT = f"{URI}/chat"
SESSION = SessionState(
    provider="eliza",
    title="T",
    status=1,
    lifecycle="ready",
    active_clients=(),
    chats=(),
)
EMPTY = ChatState(resource=CHAT, title="T", status=1, modified_at="", turns=())


class Kernel:
    """A store and a chat that writes every action to it."""

    def __init__(self, path: Path, host_id: str = "host", uri: str = URI, place: str = "") -> None:
        self.trouble: list[LogError] = []
        self.store = LogStore(path, host_id, lambda error: self.trouble.append(error) if error is not None else None)
        self.state, self.index = replace(EMPTY, resource=f"{uri}/chat"), 0
        self.batch = LogBatch(snapshots={uri: (0, SESSION), f"{uri}/chat": (0, self.state)})
        self.record = SessionRecord(
            uri=uri, agent="eliza", title="T", cwd="/w", place=place, host_id=host_id, created_at=1, modified_at=1
        )

    def does(self, *actions: Action) -> None:
        for action in actions:
            self.state, self.index = reduce_chat(self.state, action), self.index + 1
            self.batch.entries.append(Envelope(channel=f"{self.record.uri}/chat", index=self.index, action=action))

    def turn(self, prompt: str, answer: str, step: int = 1) -> None:
        """Adds a whole turn with the answer in pieces of *step* characters."""
        number = len(self.state.turns)
        message = Message(text=prompt, origin=MessageOrigin(kind="user"))
        self.does(ChatTurnStarted(turn_id=f"t{number}", message=message))
        self.does(ChatResponsePart(turn_id=f"t{number}", part=MarkdownResponsePart(id=f"p{number}", content="")))
        words = [answer[at : at + step] for at in range(0, len(answer), step)]
        self.does(*(ChatDelta(turn_id=f"t{number}", part_id=f"p{number}", content=word) for word in words))
        self.does(ChatTurnComplete(turn_id=f"t{number}"))
        ended = TurnText(uri=self.record.uri, number=number, turn_id=f"t{number}", prompt=prompt, answer=answer)
        self.batch.turns.append(ended)

    def snapshot(self) -> None:
        self.batch.snapshots[f"{self.record.uri}/chat"] = (self.index, self.state)

    def writes(self) -> None:
        self.batch.sessions[self.record.uri] = self.record
        self.store.write(self.batch)
        assert self.store.flush(120)
        self.batch = LogBatch()
