"""A kernel with some sessions and one page, in one process and without waiting: time is simulated."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from agentnb.acp.sessions import deliver
from agentnb.agent.catalog import find
from agentnb.host import Host
from agentnb.host.conversation import Conversation
from agentnb.server.service import Service
from agentnb.state import ChatTurnComplete, ChatTurnStarted, Message, MessageOrigin
from tests.unit.server.manual_loop import ManualLoop
from tests.unit.server.page import Page

CLIENT = "f2c7b8a4-1d3e-4f60-8a9b-7c6d5e4f3a2b"
TEXT = "word "
CHUNK = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": TEXT}}


class Workload:
    """The real host, service, delivery, log, mapper and reducers, and a page that acknowledges messages.

    Args:
        sessions: The number of sessions; the page follows all of them.
        page: The page's state: seen, hidden, or none.
    """

    def __init__(self, sessions: int, page: str = "seen") -> None:
        self.loop = ManualLoop()
        self.host = Host(self.loop)
        self.spent = 0.0
        self._incoming: list[dict[str, Any]] = []
        self._turns = 0
        self._service = Service(self.host, lambda _client, message: self._incoming.append(message))
        self.conversations = [self.host.open(find("eliza"), cwd=Path.cwd()) for _ in range(sessions)]
        self.page = None if page == "none" else Page(CLIENT, self.loop)
        if self.page is not None:
            for conversation in self.conversations:
                self.page.follow(conversation.session.uri)
                self.page.follow(conversation.chat.uri)
            self.page.show(visible=page == "seen")
        self.pass_time(1_000)

    def begin_turns(self) -> None:
        """Ends the turns and begins a new one in every session."""
        self._turns += 1
        for conversation in self.conversations:
            if (active := conversation.chat.state.active_turn) is not None:
                conversation.dispatch(ChatTurnComplete(turn_id=active.id))
            message = Message(text="hi", origin=MessageOrigin(kind="user"))
            conversation.dispatch(ChatTurnStarted(turn_id=f"turn-{self._turns}", message=message))

    def say(self, conversation: Conversation) -> None:
        """The agent sends one chunk."""
        deliver([CHUNK], conversation.events)

    def pass_time(self, milliseconds: int) -> None:
        """Lets time pass, then lets the page answer all messages."""
        self.loop.advance(milliseconds)
        while self.page is not None and (self._incoming or self.page.outgoing):
            self._hear(self.page)

    def kernel(self, do: Any, *arguments: Any) -> None:
        """Calls a kernel function and adds its processor time to ``spent``."""
        began = time.process_time()
        do(*arguments)
        self.spent += time.process_time() - began

    def _hear(self, page: Page) -> None:
        incoming, self._incoming = self._incoming, []
        for message in incoming:
            page.hear(message)
        page.events.clear()
        page.said.clear()
        while page.outgoing:
            self.kernel(self._service.receive, page.outgoing.popleft())
