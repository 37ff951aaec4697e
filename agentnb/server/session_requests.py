"""The requests about conversations that are open: their tabs, their tool calls, and what can be written in them."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import msgspec

from agentnb.agent.catalog import TOUR, find
from agentnb.agent.process import startable
from agentnb.errors import AgentnbError, UsageError
from agentnb.host import intents
from agentnb.host.channels import ROOT
from agentnb.host.environment import LOOK_SECONDS, Suggestion
from agentnb.host.history.restore import forked
from agentnb.host.turns.message_queue import MentionPreview, previews
from agentnb.server.request_table import Asker, request
from agentnb.state.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.host.conversation import Conversation
    from agentnb.host.environment import Shell
    from agentnb.host.host import Host
    from agentnb.host.session_options import SessionOptions
    from agentnb.state import MessageAttachment

T = TypeVar("T")


class TabChannels(Wire, frozen=True, kw_only=True):
    """The tab's channels.

    Attributes:
        channel: The session's URI.
        chat: Its chat's URI.
    """

    channel: str
    chat: str


def channels_of(conversation: Conversation) -> TabChannels:
    return TabChannels(channel=conversation.session.uri, chat=conversation.chat.uri)


@request("createSession")
def create_session(
    asker: Asker[Host],
    *,
    agent: str | None = None,
    tab_id: str | None = None,
    kernel: Literal["off", "look", "run"] | None = None,
    folder: Annotated[str, msgspec.Meta(max_length=4096)] = "",
    freedom: Literal["ask", "edit", "auto"] | None = None,
    reuse: bool = False,
) -> TabChannels:
    """Open a new tab.

    Args:
        agent: The agent's name in the catalogue; the default agent if absent.
        tab_id: The tab's id (UUID v4), which the page makes; the kernel makes one if absent.
        kernel: The agent's access to the kernel: ``off``, ``look`` (read) or ``run``; from the settings if absent.
        folder: The agent's folder, absolute or relative to the kernel's current one; from the settings if empty.
        freedom: The agent's freedom: ``ask``, ``edit`` or ``auto``; from the settings if absent.
        reuse: True if an open tab that was never used serves, too, if it has the same options.
    """
    host, environment = asker.host, asker.host.environment
    for known in host.conversations.values():  # after a restart, another window of the notebook may have been first
        if known.tab_id == tab_id:
            return channels_of(known)
    spec = find(agent or host.default_agent.name or TOUR)
    cwd = _folder(folder) if folder else environment.default_workspace()
    startable(spec, cwd, os.environ.get("PATH"))
    options = environment.default_options(spec, cwd)
    options = msgspec.structs.replace(options, mode=freedom or environment.default_mode())
    if kernel is not None:
        options = msgspec.structs.replace(options, kernel_tools=kernel != "off")
    if (reuse or tab_id is None) and (empty := _empty(asker, options, kernel)) is not None:
        return channels_of(empty)
    conversation = host.open_session(options, tab_id=tab_id)
    if kernel == "look":
        intents.use_kernel(conversation, "look", None, "user")
    host.loop.spawn(_started(conversation))
    return channels_of(conversation)


def _folder(named: str) -> Path:
    folder = Path(named).expanduser().absolute()
    if not folder.is_dir():
        raise UsageError(f"{named!r} is not a folder.", hint="Create it, or choose another one.")
    return folder.resolve()


def _empty(asker: Asker[Host], options: SessionOptions, kernel: str | None) -> Conversation | None:
    """An open conversation with the same options in which nothing was said or typed, and which has no trouble."""
    wanted = kernel or ("run" if options.kernel_tools else "off")
    same = options.configuration(asker.host.environment)
    for conversation in asker.host.conversations.values():
        chat, state = conversation.chat.state, conversation.session.state
        is_new = not (chat.turns or chat.active_turn or chat.queued_messages or chat.steering_message)
        is_quiet = conversation.closing is None and not asker.service.drafts.get(conversation.chat.uri)
        is_same = conversation.configuration.without_kernel == same.without_kernel
        has_same = conversation.mode == options.mode and conversation.channels.kernel_access == wanted
        if is_new and is_quiet and is_same and has_same and state.lifecycle in {"creating", "ready"}:
            return conversation
    return None


async def _started(conversation: Conversation) -> None:
    """Start the agent of a tab that someone will write in: its commands, modes and options are wanted by then."""
    with contextlib.suppress(AgentnbError):  # the session's state shows the error
        await conversation.ready()


@request("openSession", right="drive")
def open_session(asker: Asker[Host], *, channel: str) -> None:
    """Start the agent of a tab and open its session, before the first prompt.

    For a user who is about to write there and needs the agent's commands, modes and options. The answer comes at once;
    the session's state shows the progress. A session that is open, or is being opened, is left as it is.

    Args:
        channel: The session's or the chat's channel.
    """
    asker.host.loop.spawn(_started(asker.host.find(channel)))


@request("disposeSession")
def dispose_session(asker: Asker[Host], *, channel: str) -> None:
    """Close a tab and free the agent's session.

    Args:
        channel: The session's URI.
    """
    asker.host.loop.spawn(asker.host.find(channel).close())


@request("restartAgent", right="drive")
async def restart_agent(asker: Asker[Host], *, channel: str) -> None:
    """Restart the agent of a session; the transcript stays.

    Args:
        channel: The session's or the chat's channel.
    """
    await intents.restart(asker.host.find(channel))


@request("stopToolCall", right="drive")
def stop_tool_call(asker: Asker[Host], *, channel: str, tool_call_id: str) -> None:
    """Stop the code that a tool call runs in the kernel, and only that; the turn continues.

    Args:
        channel: The session's or the chat's channel.
        tool_call_id: The tool call, in the running turn.
    """
    asker.host.find(channel).stop_tool_call(tool_call_id)


@request("rehearseToolCall")
def rehearse_tool_call(
    asker: Asker[Host],
    *,
    channel: str,
    tool_call_id: str,
    input: Annotated[str, msgspec.Meta(max_length=100000)] | None = None,
) -> None:
    """Preview the command or code of a permission request; the tool call's details show the result.

    Args:
        channel: The session's or the chat's channel.
        tool_call_id: The tool call that needs permission, in the running turn.
        input: The command as the user has changed it, at most 100,000 characters; unchanged if absent.
    """
    asker.host.find(channel).permissions.rehearse(tool_call_id, input)


@request("forkSession")
async def fork_session(asker: Asker[Host], *, channel: str) -> TabChannels:
    """Copy a session into its own tab, if its agent can (`agentProcess.fork`).

    The transcript and the agent's memory are copied; the two sessions then continue separately.

    Args:
        channel: The session's or the chat's channel.
    """
    return channels_of(await forked(asker.host.find(channel)))


def _workspace(asker: Asker[Host], channel: str) -> Path:
    """The folder of a conversation, or of the next one."""
    return asker.host.environment.default_workspace() if channel == ROOT else asker.host.find(channel).cwd


async def _looked(asker: Asker[Host], look: Callable[[Shell], T], otherwise: T) -> T:
    """The result of a look at the user's objects on a thread; *otherwise* without a shell, or if it takes too long."""
    shell = asker.host.environment.shell
    if shell is None:
        return otherwise
    try:
        return await asyncio.wait_for(asyncio.to_thread(look, shell), LOOK_SECONDS)
    except asyncio.TimeoutError:
        return otherwise


class CompleteResult(Wire, frozen=True, kw_only=True):
    """The possible mentions, the best first; empty if they are not found in time.

    Attributes:
        items: The suggestions.
    """

    items: tuple[Suggestion, ...]


@request("complete", right="drive")
async def complete(asker: Asker[Host], *, channel: str, start: str) -> CompleteResult:
    """List the possible continuations of the ``@`` that the user is typing.

    Args:
        channel: The session or chat of the prompt; the root channel before it exists.
        start: The text after the ``@`` so far.
    """
    cwd = _workspace(asker, channel)
    return CompleteResult(items=await _looked(asker, lambda shell: tuple(shell.mentions.suggest(start, cwd)), ()))


class PreviewMentionsResult(Wire, frozen=True, kw_only=True):
    """The attachments; empty if the user's objects could not be inspected in time.

    Attributes:
        items: The attachments, in the order in which the agent gets them.
    """

    items: tuple[MentionPreview, ...]


@request("previewMentions", right="drive")
async def preview_mentions(
    asker: Asker[Host], *, channel: str, text: Annotated[str, msgspec.Meta(max_length=100000)], label: str | None = None
) -> PreviewMentionsResult:
    """List the attachments that the mentions of a draft would add if it were sent now.

    Args:
        channel: The session or chat of the prompt; the root channel before it exists.
        text: The draft, at most 100,000 characters.
        label: The attachment to return with its content; none if absent.
    """
    cwd = _workspace(asker, channel)
    agent = None if channel == ROOT else asker.host.find(channel).agent
    nothing: tuple[MessageAttachment, ...] = ()
    attached = await _looked(asker, lambda shell: shell.mentions.attach(text, cwd), nothing)
    return PreviewMentionsResult(items=previews(attached, agent, label))


class SuggestPromptsResult(Wire, frozen=True, kw_only=True):
    """The examples; empty outside of IPython, and if they are not found in time.

    Attributes:
        prompts: The example prompts.
    """

    prompts: tuple[str, ...]


@request("suggestPrompts", right="drive")
async def suggest_prompts(asker: Asker[Host], *, channel: str) -> SuggestPromptsResult:
    """Suggest prompts for an empty conversation, made from the existing cells, tables and errors.

    Args:
        channel: The session's or the chat's channel; the root channel before it exists.
    """
    _workspace(asker, channel)
    # The lambda loads what the examples need on its own thread.
    return SuggestPromptsResult(prompts=await _looked(asker, lambda shell: tuple(shell.mentions.examples()), ()))
