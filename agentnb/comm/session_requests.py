"""The requests about conversations that are open: their tabs, their tool calls, and what can be written in them."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import msgspec

from agentnb.agent.catalog import find
from agentnb.agent.process import startable
from agentnb.comm.request_table import Asker, request
from agentnb.errors import AgentnbError
from agentnb.host import intents
from agentnb.host.environment import LOOK_SECONDS, Suggestion
from agentnb.host.kept_sessions import forked
from agentnb.host.turns.mention_resolution import MentionPreview, previews
from agentnb.state.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.host.conversation import Conversation
    from agentnb.host.host import Host
    from agentnb.host.session_options import SessionOptions
    from agentnb.state import MessageAttachment

DEFAULT_AGENT = "eliza"
T = TypeVar("T")


class SessionChannels(Wire, frozen=True, kw_only=True):
    """The tab's channels.

    Attributes:
        channel: The session's URI.
        chat: Its chat's URI.
    """

    channel: str
    chat: str


def channels_of(conversation: Conversation) -> SessionChannels:
    """The channels of a conversation's tab."""
    return SessionChannels(channel=conversation.session.uri, chat=conversation.chat.uri)


class CreateSessionParams(Wire, frozen=True, kw_only=True):
    """``createSession``: a new tab.

    Attributes:
        agent: The agent's name in the catalogue; the default one where absent.
        tab_id: The tab's id (UUID v4), made by the view.
        kernel: What the agent may do with the kernel: ``off``, ``look`` (read) or ``run``; as the settings say where
            absent.
    """

    agent: str | None = None
    tab_id: str | None = None
    kernel: Literal["off", "look", "run"] | None = None


@request("createSession", CreateSessionParams, SessionChannels)
def create_session(asker: Asker[Host], params: CreateSessionParams) -> SessionChannels:
    """Open a new tab, or give an open one that was never used; its agent starts in the background."""
    host, environment = asker.host, asker.host.environment
    for known in host.conversations.values():  # another window of the notebook was first, after a restart
        if known.tab_id == params.tab_id:
            return channels_of(known)
    spec, cwd = find(params.agent or DEFAULT_AGENT), environment.default_workspace()
    startable(spec, cwd, os.environ.get("PATH"))
    options = environment.default_options(spec, cwd)
    options = msgspec.structs.replace(options, mode=environment.default_mode())
    if params.kernel is not None:
        options = msgspec.structs.replace(options, kernel_tools=params.kernel != "off")
    if params.tab_id is None and (empty := _empty(asker, options, params.kernel)) is not None:
        return channels_of(empty)
    conversation = host.open_session(options, tab_id=params.tab_id)
    if params.kernel == "look":
        intents.use_kernel(conversation, "look", None, "user")
    host.loop.spawn(_started(conversation))
    return channels_of(conversation)


def _empty(asker: Asker[Host], options: SessionOptions, kernel: str | None) -> Conversation | None:
    """An open conversation with the same options in which nothing was said or typed, and which has no trouble."""
    wanted = kernel or ("run" if options.kernel_tools else "off")
    same = options.configuration(asker.host.environment.cassette.apart())
    for conversation in asker.host.conversations.values():
        chat, state = conversation.chat.state, conversation.session.state
        is_new = not (chat.turns or chat.active_turn or chat.queued_messages or chat.steering_message)
        is_quiet = conversation.closing is None and not asker.service.drafts.get(conversation.chat.uri)
        is_same = msgspec.structs.replace(conversation.configuration, kernel="") == msgspec.structs.replace(
            same, kernel=""
        )
        has_same = conversation.mode == options.mode and conversation.channels.kernel_access == wanted
        if is_new and is_quiet and is_same and has_same and state.lifecycle in {"creating", "ready"}:
            return conversation
    return None


async def _started(conversation: Conversation) -> None:
    """Start the agent of a tab that someone will write in: its commands, modes and options are wanted by then."""
    with contextlib.suppress(AgentnbError):  # the session's state says what went wrong
        await conversation.ready()


class OpenSessionParams(Wire, frozen=True, kw_only=True):
    """``openSession``: start the agent of a tab and open its session, before the first prompt.

    Someone is about to write there: the agent's commands, modes and options are wanted. The answer comes at once;
    how it goes is in the session's state. A session that is open, or is being opened, is left as it is.

    Attributes:
        channel: The session's or the chat's channel.
    """

    channel: str


@request("openSession", OpenSessionParams, right="drive")
def open_session(asker: Asker[Host], params: OpenSessionParams) -> None:
    """Start the agent of a tab that is open."""
    asker.host.loop.spawn(_started(asker.host.find(params.channel)))


class DisposeSessionParams(Wire, frozen=True, kw_only=True):
    """``disposeSession``: close a tab and free the agent's session.

    Attributes:
        channel: The session's URI.
    """

    channel: str


@request("disposeSession", DisposeSessionParams)
def dispose_session(asker: Asker[Host], params: DisposeSessionParams) -> None:
    """Close a tab."""
    asker.host.loop.spawn(intents.close(asker.host.find(params.channel)))


class RestartAgentParams(Wire, frozen=True, kw_only=True):
    """``restartAgent``: start the agent of a session anew; the transcript stays.

    Attributes:
        channel: The session's or the chat's channel.
    """

    channel: str


@request("restartAgent", RestartAgentParams, right="drive")
async def restart_agent(asker: Asker[Host], params: RestartAgentParams) -> None:
    """Start the agent of a session anew."""
    await intents.restart(asker.host.find(params.channel))


class StopToolCallParams(Wire, frozen=True, kw_only=True):
    """``stopToolCall``: stop the code that a tool call runs in the kernel, and only that; the turn goes on.

    Attributes:
        channel: The session's or the chat's channel.
        tool_call_id: The tool call, of the running turn.
    """

    channel: str
    tool_call_id: str


@request("stopToolCall", StopToolCallParams, right="drive")
def stop_tool_call(asker: Asker[Host], params: StopToolCallParams) -> None:
    """Stop the code that a tool call runs in the kernel."""
    asker.host.find(params.channel).stop_tool_call(params.tool_call_id)


class RehearseToolCallParams(Wire, frozen=True, kw_only=True):
    """``rehearseToolCall``: preview what a permission request is about; the tool call's details show it.

    Attributes:
        channel: The session's or the chat's channel.
        tool_call_id: The tool call that must be allowed, of the running turn.
        input: The command as the user has changed it, at most 100,000 characters; absent: as it is.
    """

    channel: str
    tool_call_id: str
    input: Annotated[str, msgspec.Meta(max_length=100_000)] | None = None


@request("rehearseToolCall", RehearseToolCallParams)
def rehearse_tool_call(asker: Asker[Host], params: RehearseToolCallParams) -> None:
    """Preview what a permission request is about."""
    asker.host.find(params.channel).permissions.rehearse(params.tool_call_id, params.input)


class ForkSessionParams(Wire, frozen=True, kw_only=True):
    """``forkSession``: copy a session into a tab of its own, where its agent can (`agentProcess.fork`).

    What was said and what the agent knows are copied; both go their own ways from there.

    Attributes:
        channel: The session's or the chat's channel.
    """

    channel: str


@request("forkSession", ForkSessionParams, SessionChannels)
async def fork_session(asker: Asker[Host], params: ForkSessionParams) -> SessionChannels:
    """Copy a session into a tab of its own."""
    return channels_of(await forked(asker.host.find(params.channel)))


async def _looked(look: Callable[[], T], otherwise: T) -> T:
    """The result of a look at the user's objects on a thread of its own; *otherwise* where it takes too long."""
    try:
        return await asyncio.wait_for(asyncio.to_thread(look), LOOK_SECONDS)
    except asyncio.TimeoutError:
        return otherwise


class CompleteParams(Wire, frozen=True, kw_only=True):
    """``complete``: what can stand after the ``@`` that is being typed.

    Attributes:
        channel: The session or chat whose prompt it is.
        start: What stands after the ``@`` so far.
    """

    channel: str
    start: str


class CompleteResult(Wire, frozen=True, kw_only=True):
    """The things that can be mentioned, the best first; empty if they are not found in time.

    Attributes:
        items: The suggestions.
    """

    items: tuple[Suggestion, ...]


@request("complete", CompleteParams, CompleteResult, right="drive")
async def complete(asker: Asker[Host], params: CompleteParams) -> CompleteResult:
    """Suggest what can be mentioned."""
    cwd, shell = asker.host.find(params.channel).cwd, asker.host.environment.shell
    if shell is None:
        return CompleteResult(items=())
    return CompleteResult(items=await _looked(lambda: tuple(shell.mentions.suggest(params.start, cwd)), ()))


class PreviewMentionsParams(Wire, frozen=True, kw_only=True):
    """``previewMentions``: what the mentions of a draft would attach, if it were sent now.

    Attributes:
        channel: The session or chat whose prompt it is.
        text: The draft, at most 100,000 characters.
        label: The attachment that is told with its content; absent: none.
    """

    channel: str
    text: Annotated[str, msgspec.Meta(max_length=100_000)]
    label: str | None = None


class PreviewMentionsResult(Wire, frozen=True, kw_only=True):
    """The attachments; none where the user's objects could not be looked at in time.

    Attributes:
        items: The attachments, in the order in which the agent gets them.
    """

    items: tuple[MentionPreview, ...]


@request("previewMentions", PreviewMentionsParams, PreviewMentionsResult, right="drive")
async def preview_mentions(asker: Asker[Host], params: PreviewMentionsParams) -> PreviewMentionsResult:
    """List what the mentions of a draft would attach."""
    conversation, shell = asker.host.find(params.channel), asker.host.environment.shell
    if shell is None:
        return PreviewMentionsResult(items=())
    nothing: tuple[MessageAttachment, ...] = ()
    attached = await _looked(lambda: shell.mentions.attach(params.text, conversation.cwd), nothing)
    return PreviewMentionsResult(items=previews(attached, conversation.agent, params.label))


class SuggestPromptsParams(Wire, frozen=True, kw_only=True):
    """``suggestPrompts``: examples for an empty conversation, made of the cells, tables and errors that there are.

    Attributes:
        channel: The session's or the chat's channel.
    """

    channel: str


class SuggestPromptsResult(Wire, frozen=True, kw_only=True):
    """The examples; empty outside of IPython, and if they are not found in time.

    Attributes:
        prompts: What could be sent.
    """

    prompts: tuple[str, ...]


@request("suggestPrompts", SuggestPromptsParams, SuggestPromptsResult, right="drive")
async def suggest_prompts(asker: Asker[Host], params: SuggestPromptsParams) -> SuggestPromptsResult:
    """Give examples for an empty conversation."""
    asker.host.find(params.channel)
    shell = asker.host.environment.shell
    if shell is None:
        return SuggestPromptsResult(prompts=())
    # The lambda loads what the examples need on its own thread.
    return SuggestPromptsResult(prompts=await _looked(lambda: tuple(shell.mentions.examples()), ()))
