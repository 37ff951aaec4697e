"""Changes of files that a client from elsewhere asks for: each is a tool call of a turn, decided like an agent's."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from agentnb.errors import SessionError
from agentnb.host.conversation import Conversation, SessionOwner
from agentnb.host.outside_programs import (
    ANSWER_SECONDS,
    IDLE_SECONDS,
    UnpromptedTurns,
    answered_within,
    client_spec,
    open_for,
    show_running,
)
from agentnb.host.session_options import SessionOptions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from agentnb.agent.catalog import AgentSpec
    from agentnb.policy.request import PolicyRequest

PREFIX = "remote-"
"""How the names of these agents begin: a client that calls itself ``claude`` is not the agent of that name."""


class ClientFiles:
    """The changes that clients make. On the host's thread."""

    def __init__(self, host: SessionOwner) -> None:
        self.idle_seconds = IDLE_SECONDS
        self.answer_seconds = ANSWER_SECONDS
        self._host = host
        self._open: dict[tuple[str, Path], tuple[Conversation, UnpromptedTurns]] = {}

    @contextlib.asynccontextmanager
    async def change(self, client: str, workspace: Path) -> AsyncIterator[Authorize]:
        """Returns what is changed within the block belongs to a turn of *client* in *workspace*."""
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
        options = SessionOptions(spec=spec, cwd=workspace)
        conversation = open_for(Conversation, self._host, options, read_only(spec.title), title=spec.title)
        show_running(conversation)
        return conversation


class Authorize:
    """Asks whether changes may be made."""

    def __init__(self, conversation: Conversation, seconds: float) -> None:
        self._conversation = conversation
        self._seconds = seconds

    async def __call__(self, request: PolicyRequest) -> None:
        """Ask about *request*."""
        answer = self._conversation.permissions.authorize(request)
        await answered_within(self._seconds, answer, request.title, "try")


def spec_of(client: str) -> AgentSpec:
    return client_spec(
        PREFIX,
        client,
        title=f"{client} (remote client)",
        about="A client of another program.",
        command=("agentnb", "serve"),
    )


def read_only(title: str) -> SessionError:
    """Returns why the conversation of the client *title* takes no prompts."""
    return SessionError(f"{title} only changes files here.", hint="Write to an agent in another tab.")
