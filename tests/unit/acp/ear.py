"""What the tests here share: scripted agents as specs, a listener that remembers, and a session to talk in."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from agentnb.acp import Agent, channel_of, map_session, map_update, permission_outcome
from agentnb.acp.listener import Unsaved
from agentnb.agent import AgentSpec
from agentnb.errors import AgentnbError, PermissionDenied
from agentnb.policy import PolicyRequest
from agentnb.state import (
    ActiveTurn,
    ChatState,
    ChatTurnStarted,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    Turn,
    XTerminalData,
    reduce_chat,
)
from tests.unit.api.conftest import PATIENCE

AGENTS = Path(__file__).parents[2] / "agents"


def scripted(name: str, **fields: Any) -> AgentSpec:
    """The agent of `tests/agents/<name>.py`."""
    command = (sys.executable, str(AGENTS / f"{name}.py"))
    return AgentSpec(name=name, title=name, command=command, **fields)


def empty_chat(prompt: str | None = None) -> ChatState:
    """A chat with nothing in it, or with turn `t1` running."""
    chat = ChatState(resource="x:/1/chat", title="", status=1, modified_at="1970-01-01T00:00:00.000Z", turns=())
    if prompt is None:
        return chat
    message = Message(text=prompt, origin=MessageOrigin(kind="user"))
    return reduce_chat(chat, ChatTurnStarted(turn_id="t1", message=message, time=0))


def turns_of(chat: ChatState) -> list[Turn | ActiveTurn]:
    """All turns of *chat*, the running one last."""
    return [*chat.turns, *filter(None, [chat.active_turn])]


def text_of(chat: ChatState) -> str:
    """Everything the agent has said in *chat*, joined."""
    parts = [part for turn in turns_of(chat) for part in turn.response_parts]
    return "".join(part.content for part in parts if isinstance(part, MarkdownResponsePart))


def applied(chat: ChatState, update: dict[str, Any], turn_id: str | None = "t1") -> ChatState:
    """*chat* after *update*."""
    for action in map_update(update, chat, turn_id, 1):
        if channel_of(action) == "chat":
            chat = reduce_chat(chat, action)
    return chat


class Ear:
    """A listener that remembers what it heard, and lets everything through unless told otherwise."""

    def __init__(self, option: str | None = "yes", deny: str = "") -> None:
        self.heard: list[dict[str, Any]] = []
        self.calls = 0
        self.asked: list[dict[str, Any]] = []
        self.requests: list[PolicyRequest] = []
        self.refusals: list[tuple[PolicyRequest, AgentnbError]] = []
        self.elsewhere: list[str] = []
        self.extensions: list[tuple[str, Any]] = []
        self.terminals: list[Any] = []
        self.error: AgentnbError | None = None
        self.gone = asyncio.Event()
        self.spoken = asyncio.Event()
        self.question = asyncio.Event()
        self.printed = asyncio.Event()
        self.answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._deny = deny
        self.edit: str | None = None
        self.opened: str | None = None
        self.kept: Unsaved | None = None
        if option != "later":
            self.answer.set_result(option)

    def updates(self, updates: list[dict[str, Any]]) -> None:
        self.calls += 1
        self.heard += updates
        self.spoken.set()

    async def permission(self, params: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(params)
        self.question.set()
        return permission_outcome(await self.answer)

    async def elicit(self, params: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(params)
        self.question.set()
        return {"action": "decline"}

    def elicited(self, elicitation_id: str) -> None:
        self.elsewhere.append(elicitation_id)
        self.spoken.set()

    def extension(self, method: str, params: Any) -> None:
        self.extensions.append((method, params))
        self.spoken.set()

    def answers(self, method: str) -> bool:
        return method == "_ear/twice"

    async def extended(self, method: str, params: dict[str, Any]) -> Any:
        self.extensions.append((method, params))
        return {"twice": 2 * params["value"]}

    async def authorize(self, request: PolicyRequest) -> PolicyRequest:
        self.requests.append(request)
        if self._deny:
            raise PermissionDenied(self._deny)
        return request if self.edit is None else replace(request, command=self.edit)

    def refused(self, request: PolicyRequest, error: AgentnbError) -> None:
        self.refusals.append((request, error))

    def opens(self, path: str, tool: str) -> bool:
        return self.opened is not None and path.startswith(self.opened)

    def unsaved(self, path: str) -> Unsaved | None:
        return self.kept

    def terminal(self, action: Any) -> None:
        self.terminals.append(action)
        if isinstance(action, XTerminalData):
            self.printed.set()

    def lost(self, error: AgentnbError) -> None:
        self.error = error
        self.gone.set()

    @property
    def text(self) -> str:
        chunks = [update for update in self.heard if update.get("sessionUpdate") == "agent_message_chunk"]
        return "".join(chunk["content"]["text"] for chunk in chunks)


class Talk:
    """A session of a launched agent."""

    def __init__(self, agent: Agent, session_id: str, ear: Ear) -> None:
        self.agent = agent
        self.session_id = session_id
        self.ear = ear

    def begin(self, text: str) -> asyncio.Future[Any]:
        """Prompt; the future is set inline, in the order of the wire."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def done(result: Any, error: AgentnbError | None) -> None:
            if answer.done():
                return
            if error is None:
                answer.set_result(result)
            else:
                answer.set_exception(error)

        self.agent.prompt(self.session_id, [{"type": "text", "text": text}], done)
        return answer

    async def prompt(self, text: str = "") -> Any:
        return await asyncio.wait_for(self.begin(text), PATIENCE)


@contextlib.asynccontextmanager
async def talking(
    name: str,
    cwd: Path,
    *,
    option: str | None = "yes",
    deny: str = "",
    env: dict[str, str] | None = None,
    **fields: Any,
) -> AsyncIterator[Talk]:
    """A session with the scripted agent *name*; the agent is stopped at the end."""
    agent = await Agent.launch(scripted(name, **fields), cwd=cwd, env=env)
    try:
        ear = Ear(option, deny)
        new = await agent.new_session(str(cwd), (), ear)
        assert map_session(new.raw) is not None
        yield Talk(agent, new.session_id, ear)
    finally:
        await agent.stop(patience=0.5)
