"""Keeping: what agents keep of sessions, used from outside of any: listed, opened, copied, deleted; and logging out.

Everything here runs on the host's thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.errors import AgentnbError, NotOffered, SessionError, UsageError
from agentnb.host.conversation import Conversation
from agentnb.host.intents import FROM_PYTHON, choose_model, use_kernel
from agentnb.ids import new_id
from agentnb.state import ChatOrigin
from agentnb.state.session_state import model_id

if TYPE_CHECKING:
    from agentnb.acp.listing import Page
    from agentnb.agent.catalog import AgentSpec
    from agentnb.host.host import Host
    from agentnb.host.session_options import Configuration
    from agentnb.policy.freedom import Mode


async def listed(host: Host, configuration: Configuration, cwd: str | None, cursor: str | None) -> Page:
    """One page of the sessions that the agent keeps (ACP ``session/list``)."""
    agent = await host.agents.borrow(configuration)
    return await agent.list_sessions(cwd, cursor)


async def opened(
    host: Host, configuration: Configuration, session_id: str, *, mode: Mode = "ask", title: str | None = None
) -> Conversation:
    """Open one of the sessions that the agent keeps, in a tab of its own: loaded and shown, or resumed.

    Where a tab has it already it is that tab's, and of *configuration* the model counts alone.
    """
    there = holder(host, configuration.spec, session_id)
    if there is not None:
        if configuration.model:
            await choose_model(there, configuration.model, FROM_PYTHON)
        return there
    conversation = Conversation(host, configuration, tab_id=new_id(), mode=mode, title=title)
    host.add(conversation)
    try:
        await conversation.reopen(session_id, insist=True)
    except BaseException:
        await conversation.close()
        raise
    return conversation


async def forked(conversation: Conversation, title: str | None = None) -> Conversation:
    """A copy of *conversation* in a tab of its own: transcript and the agent's memory (ACP ``session/fork``)."""
    named = conversation.session.state.title
    if conversation.chat.state.active_turn is not None:
        raise SessionError(f"A turn runs in {named!r}.", hint="Wait until it ends, or cancel it, then copy.")
    agent = await conversation.ready()
    agent.capabilities.demand("fork")
    configuration = conversation.configuration
    if conversation.lifecycle.choices.model:
        configuration = replace(configuration, model=model_id(conversation.session.state))
    copy = Conversation(
        conversation.host,
        configuration,
        tab_id=new_id(),
        mode=conversation.mode,
        title=title or f"{named} (copy)",
    )
    copy.permissions.callback = conversation.permissions.callback
    if copy.kernel is not None:
        use_kernel(copy, conversation.channels.kernel_access, None, "copy")
    chat = conversation.chat.state
    origin = ChatOrigin(kind="fork", chat=chat.resource, turn_id=chat.turns[-1].id if chat.turns else None)
    transcript = replace(copy.chat.state, turns=chat.turns, terminals=chat.terminals, status=chat.status, origin=origin)
    copy.chat.restore(transcript, max(1, conversation.chat.index))
    try:
        await copy.lifecycle.copy(conversation.lifecycle)
    except BaseException:
        await copy.lifecycle.leave()
        raise
    conversation.host.add(copy)
    await copy.changes.adopt(conversation.changes)
    return copy


async def deleted(host: Host, configuration: Configuration, session_id: str) -> None:
    """Make the agent forget one of its sessions for good (ACP ``session/delete``)."""
    there = holder(host, configuration.spec, session_id)
    if there is not None:
        message = f"The session {session_id!r} is open in the tab {there.session.state.title!r}."
        raise SessionError(message, hint="Close it first.")
    agent = await host.agents.borrow(configuration)
    await agent.delete_session(session_id)


async def logged_out(host: Host, configuration: Configuration) -> int:
    """Log out of an agent (ACP ``logout``): every process of it that runs is told, one is started where none does."""
    talks = [each for each in host.conversations.values() if each.spec == configuration.spec]
    busy = [each.session.state.title for each in talks if each.chat.state.active_turn is not None]
    if busy:
        raise UsageError(f"A turn runs in {busy[0]!r}.", hint="Wait until it ends, or cancel it, then log out.")
    agents = host.agents.running(configuration.spec) or [await host.agents.borrow(configuration)]
    failure: AgentnbError | None = None
    for agent in agents:
        try:
            await agent.logout()
        except NotOffered:
            raise
        except AgentnbError as error:  # the others are told all the same
            failure = error
    if failure is not None:
        raise failure
    return len(agents)


def holder(host: Host, spec: AgentSpec, session_id: str) -> Conversation | None:
    """The open tab that has the session *session_id* of the agent *spec*."""
    tabs = (each for each in host.conversations.values() if each.spec == spec)
    return next((each for each in tabs if session_id in (each.session_id, each.previous_session)), None)
