"""Logging in: the agent's ways are put to the user; after it the agent is asked once more."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

from agentnb.errors import AuthenticationRequired, UsageError
from agentnb.state import ChatInputOption, ChatInputRequest, ChatInputSingleSelectQuestion

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agentnb.acp.agent import Agent
    from agentnb.acp.login import LoginWay
    from agentnb.host.turns.input_requests import InputRequests

QUIET_SECONDS = 1.0
"""How long a login may take before a card says that it is waited for: many need nobody."""

WAY = "way"


class Login:
    """Lets the user of one session log in."""

    def __init__(self, inputs: InputRequests, attended: Callable[[], Awaitable[bool]]) -> None:
        self._inputs = inputs
        self._attended = attended

    async def ask(self, agent: Agent, wanted: AuthenticationRequired) -> None:
        """Let the user choose a way to log in, and take it."""
        ways = agent.login_ways
        if not await self._attended():
            raise wanted
        answer = await self._inputs.ask(self._request(agent, ways))
        if answer.response != "accept":
            raise wanted
        way = next((way for way in ways if way.id == answer.values.get(WAY)), ways[0] if len(ways) == 1 else None)
        if way is not None and way.kind == "variables":
            variables = ", ".join(way.variables)
            message = f"{agent.spec.title} wants {variables} in its environment."
            raise AuthenticationRequired(message, hint="Set it before the kernel starts, or in agentnb.start(env=…).")
        if way is not None and way.kind == "agent":
            await self._wait_for(agent, way, wanted)

    async def _wait_for(self, agent: Agent, way: LoginWay, wanted: AuthenticationRequired) -> None:
        """Have the agent log in: a person with a browser or a terminal takes their time, and can call it off."""
        login = asyncio.ensure_future(agent.authenticate(way.id, math.inf))
        tasks: list[asyncio.Future[Any]] = [login]
        try:
            await asyncio.wait(tasks, timeout=QUIET_SECONDS)
            if login.done():
                return login.result()
            card = asyncio.ensure_future(self._inputs.put(self._waiting(agent, way)))
            tasks.append(card)
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if login.done():
                return login.result()
            if card.result().response != "accept":
                raise wanted
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _waiting(self, agent: Agent, way: LoginWay) -> ChatInputRequest:
        what = f"{agent.spec.title} is waiting for you to sign in ({way.name}); there is no time limit."
        message = f"{what} It continues by itself once it notices that you are done."
        return ChatInputRequest(id=self._inputs.next_id(), message=message)

    def _request(self, agent: Agent, ways: tuple[LoginWay, ...]) -> ChatInputRequest:
        title = agent.spec.title
        typed = f" Type `{agent.spec.login}` in a terminal, then continue." if agent.spec.login and not ways else ""
        options = tuple(ChatInputOption(id=way.id, label=way.name, description=_about(way)) for way in ways)
        question = ChatInputSingleSelectQuestion(
            id=WAY, title="Sign in", message="Choose one of them.", required=len(options) > 1, options=options
        )
        return ChatInputRequest(
            id=self._inputs.next_id(),
            message=f"Sign in to {title} to continue.{typed}",
            questions=(question,) if options else None,
        )


async def log_in_with(agent: Agent, method: str | None) -> None:
    """Take the way called *method* (id or name), or the only one there is, without asking."""
    ways = agent.login_ways
    if not ways:
        raise UsageError(f"{agent.spec.title} offers no login.", hint="Send a prompt: the agent may need no login.")
    names = ", ".join(repr(way.id) for way in ways) or "none"
    chosen = [way for way in ways if method in (way.id, way.name)] if method is not None else list(ways)
    if len(chosen) != 1:
        raise UsageError(f"{agent.spec.title} has these ways to log in: {names}.", hint="Specify one of them.")
    if chosen[0].kind != "agent":
        raise UsageError(f"To log in, {chosen[0].what_to_do}.", hint="Then prompt again.")
    await agent.authenticate(chosen[0].id, math.inf)


def _about(way: LoginWay) -> str | None:
    if way.kind == "agent":
        return way.description
    do = way.what_to_do
    return f"{do[0].upper()}{do[1:]}, then continue." if do else way.description
