"""Changes of files that a client from elsewhere asks for: each is a tool call of a turn, decided like an agent's.

A client gets a conversation of its own for each workspace that it changes files in, named after it. Its first change
begins a turn, which ends when no other came for a while: so the changes are listed, can be undone, and stand in the
log of decisions under the client's name, and none of them is taken for an agent's.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from agentnb.clock import now_ms
from agentnb.errors import PermissionDenied, SessionError
from agentnb.host.agents.client_spec import client_spec
from agentnb.host.conversation import Conversation
from agentnb.host.session_options import SessionOptions
from agentnb.host.turns.unprompted import UnpromptedTurns
from agentnb.ids import new_id
from agentnb.state import AgentProcess, SessionReady, XAgentChanged

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from agentnb.agent.catalog import AgentSpec
    from agentnb.host.host import Host
    from agentnb.policy.request import PolicyRequest

PREFIX = "remote-"
"""How the names of these agents begin: a client that calls itself ``claude`` is not the agent of that name."""
IDLE_SECONDS = 20.0
"""After how long without a change a turn ends."""
ANSWER_SECONDS = 300.0
"""How long a card waits for an answer."""


class ClientFiles:
    """The changes that clients make. On the host's thread."""

    def __init__(self, host: Host) -> None:
        self.idle_seconds = IDLE_SECONDS
        self.answer_seconds = ANSWER_SECONDS
        self._host = host
        self._open: dict[tuple[str, Path], tuple[Conversation, UnpromptedTurns]] = {}

    @contextlib.asynccontextmanager
    async def change(self, client: str, workspace: Path) -> AsyncIterator[Authorize]:
        """What is changed within the block belongs to a turn of *client* in *workspace*."""
        conversation, turns = self._turns(client, workspace)
        try:
            await turns.enter()
            yield Authorize(conversation, self.answer_seconds)
        finally:
            turns.leave(None if conversation.closed else self.idle_seconds)

    def _turns(self, client: str, workspace: Path) -> tuple[Conversation, UnpromptedTurns]:
        known = self._open.get((client, workspace))
        if known is None or known[0].closed:
            conversation = self._conversation(client, workspace)
            known = conversation, UnpromptedTurns(conversation, f"{conversation.spec.title} changes files.")
            self._open[client, workspace] = known
        return known

    def _conversation(self, client: str, workspace: Path) -> Conversation:
        spec = spec_of(client)
        configured = SessionOptions(spec=spec, cwd=workspace).configuration(self._host.environment.cassette.apart())
        conversation = Conversation(self._host, configured, tab_id=new_id(), title=spec.title)
        self._host.adopt(conversation)
        conversation.restored(None, read_only(spec.title))
        conversation.dispatch(SessionReady(time=now_ms()))
        running = AgentProcess(name=spec.title, state="running")
        conversation.dispatch(XAgentChanged(agent_process=running, time=now_ms()))
        return conversation


class Authorize:
    """Asks whether changes may be made."""

    def __init__(self, conversation: Conversation, seconds: float) -> None:
        self._conversation = conversation
        self._seconds = seconds

    async def __call__(self, request: PolicyRequest) -> None:
        """Ask about *request*."""
        try:
            await asyncio.wait_for(self._conversation.permissions.authorize(request), self._seconds)
        except asyncio.TimeoutError:
            message = f"{request.title}: nobody answered the card in the notebook's chat for {self._seconds:g} s."
            raise PermissionDenied(
                message, hint="Nothing was done. Ask the user to answer it, then try again."
            ) from None


def spec_of(client: str) -> AgentSpec:
    """A client as an agent."""
    return client_spec(
        PREFIX,
        client,
        title=f"{client} (remote client)",
        about="A client of another program.",
        command=("agentnb", "serve"),
    )


def read_only(title: str) -> SessionError:
    """Why the conversation of the client *title* takes no prompts."""
    return SessionError(f"{title} only changes files here.", hint="Write to an agent in another tab.")
