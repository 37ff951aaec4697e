"""Helpers for these tests: specs of scripted agents, a recording listener, and a session to prompt."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from agentnb.acp.agent import Agent
from agentnb.acp.mapper import map_update
from agentnb.acp.opening import OpenRequest
from agentnb.acp.peer import Unsaved
from agentnb.acp.prompt import PromptResult
from agentnb.acp.questions import AcpPermissionRequest, ElicitationAnswer, ElicitationQuestion
from agentnb.agent import AgentSpec
from agentnb.errors import AgentnbError
from agentnb.policy.request import PolicyRequest
from agentnb.state import (
    Action,
    ActiveTurn,
    ChatState,
    ChatTurnStarted,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    Turn,
    XTerminalData,
    XTerminalExited,
    XTerminalOpened,
    reduce_chat,
)
from tests.unit.api.conftest import PATIENCE

AGENTS = Path(__file__).parents[2] / "agents"


def scripted(name: str, **fields: Any) -> AgentSpec:
    """Returns the spec of `tests/agents/<name>.py`."""
    command = (sys.executable, str(AGENTS / f"{name}.py"))
    return AgentSpec(name=name, title=name, command=command, **fields)


def empty_chat(prompt: str | None = None) -> ChatState:
    """Returns a chat without turns, or with turn `t1` running."""
    chat = ChatState(resource="x:/1/chat", title="", status=1, modified_at="1970-01-01T00:00:00.000Z", turns=())
    if prompt is None:
        return chat
    message = Message(text=prompt, origin=MessageOrigin(kind="user"))
    return reduce_chat(chat, ChatTurnStarted(turn_id="t1", message=message, time=0))


def turns_of(chat: ChatState) -> list[Turn | ActiveTurn]:
    return [*chat.turns, *filter(None, [chat.active_turn])]


def text_of(chat: ChatState) -> str:
    """Returns the agent's text in *chat*."""
    parts = [part for turn in turns_of(chat) for part in turn.response_parts]
    return "".join(part.content for part in parts if isinstance(part, MarkdownResponsePart))


def applied(chat: ChatState, update: dict[str, Any], turn_id: str | None = "t1") -> ChatState:
    """Returns *chat* after *update*."""
    for action in map_update(update, chat, turn_id, 1):
        if action.channel_kind == "chat":
            chat = reduce_chat(chat, action)
    return chat


class RecordingListener:
    """A listener that records everything and allows everything by default."""

    speaking = "t1"

    def __init__(self) -> None:
        self.chat = empty_chat("Something else")
        self.heard: list[Any] = []
        self.calls = 0
        self.questions: list[Any] = []
        self.requests: list[PolicyRequest] = []
        self.refusals: list[tuple[PolicyRequest, AgentnbError]] = []
        self.extensions: list[tuple[str, Any]] = []
        self.terminals: list[Any] = []
        self.error: AgentnbError | None = None
        self.gone = asyncio.Event()
        self.spoken = asyncio.Event()
        self.printed = asyncio.Event()

    def actions(self, actions: Sequence[Action]) -> None:
        self.calls += 1
        self.heard += actions
        for action in actions:
            if isinstance(action, (XTerminalOpened, XTerminalData, XTerminalExited)):
                self.terminals.append(action)
                if isinstance(action, XTerminalData):
                    self.printed.set()
            if action.channel_kind == "chat":
                self.chat = reduce_chat(self.chat, action)
        self.spoken.set()

    async def permission(self, question: AcpPermissionRequest) -> str | None:
        self.questions.append(question)
        return "yes"

    async def elicit(self, question: ElicitationQuestion) -> ElicitationAnswer:
        self.questions.append(question)
        return ElicitationAnswer("decline")

    def elicited(self, elicitation_id: str) -> None:
        self.spoken.set()

    def extension(self, method: str, params: Any) -> None:
        self.extensions.append((method, params))
        self.spoken.set()

    def answers(self, method: str) -> bool:
        return method == "_x/twice"

    async def extended(self, method: str, params: dict[str, Any]) -> Any:
        self.extensions.append((method, params))
        return {"twice": 2 * params["value"]}

    async def authorize(self, request: PolicyRequest) -> PolicyRequest:
        self.requests.append(request)
        return request

    def refused(self, request: PolicyRequest, error: AgentnbError) -> None:
        self.refusals.append((request, error))

    def opens(self, path: str, tool: str) -> bool:
        return False

    def unsaved(self, path: str) -> Unsaved | None:
        return None

    def lost(self, error: AgentnbError) -> None:
        self.error = error
        self.gone.set()

    @property
    def text(self) -> str:
        return text_of(self.chat)


def saying(text: str) -> Message:
    """Returns a user's message."""
    return Message(text=text, origin=MessageOrigin(kind="user"))


class Talk:
    """A session of a launched agent."""

    def __init__(self, agent: Agent, session_id: str, listener: RecordingListener) -> None:
        self.agent = agent
        self.session_id = session_id
        self.listener = listener

    def begin(self, text: str) -> asyncio.Future[PromptResult]:
        """Sends a prompt; the future's result keeps the order of the wire."""
        answer: asyncio.Future[PromptResult] = asyncio.get_running_loop().create_future()

        def done(result: PromptResult) -> None:
            if answer.done():
                return
            if result.error is None:
                answer.set_result(result)
            else:
                answer.set_exception(result.error)

        self.agent.prompt(self.session_id, saying(text), done)
        return answer

    async def prompt(self, text: str = "") -> PromptResult:
        return await asyncio.wait_for(self.begin(text), PATIENCE)


@contextlib.asynccontextmanager
async def talking(
    name: str,
    cwd: Path,
    *,
    env: dict[str, str] | None = None,
    **fields: Any,
) -> AsyncIterator[Talk]:
    """Opens a session with the scripted agent *name*; stops the agent at the end."""
    agent = await Agent.launch(scripted(name, **fields), cwd=cwd, env=env)
    try:
        listener = RecordingListener()
        opened = await agent.open_session(OpenRequest(cwd=str(cwd)), listener)
        yield Talk(agent, opened.session_id, listener)
    finally:
        await agent.stop(patience=0.5)
