"""The page's requests about one cell that an agent is to edit: begin, hear how it goes, stop."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from agentnb.ports import Request

if TYPE_CHECKING:
    from agentnb.host.conversation import Conversation
    from agentnb.host.host import Host

LONGEST_WAIT = 25.0
"""Seconds that the page waits for one answer."""
LONGEST_PROMPT = 10_000
LONGEST_CELL = 1_000_000
LONGEST_SAVED = 500
"""Characters of a prompt that a cell's metadata keeps."""

State = Literal["waiting", "working", "complete", "cancelled", "error"]
_Id = Annotated[str, msgspec.Meta(max_length=256)]


class CellEditParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Asks an agent to edit one cell, in the notebook's conversation, or in a new one with the default agent.

    Attributes:
        cell_id: The cell.
        prompt: What the user wants.
        source: The cell's text, as the page has it.
        path: The notebook's path on the Jupyter server.
        kind: ``"code"``, ``"markdown"`` or ``"raw"``.
        count: The number of its last run.
    """

    cell_id: _Id
    prompt: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_PROMPT)]
    source: Annotated[str, msgspec.Meta(max_length=LONGEST_CELL)] = ""
    path: Annotated[str, msgspec.Meta(max_length=4_096)] = ""
    kind: str = "code"
    count: int | None = None


class EditStarted(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The turn that edits the cell.

    Attributes:
        channel: The conversation's URI.
        turn_id: The turn.
        agent: The agent's name for people.
    """

    channel: str
    turn_id: str
    agent: str


class CellEditedParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Waits until a turn that edits a cell has another state than the page knows; 25 s at most.

    Attributes:
        channel: The conversation's URI.
        turn_id: The turn.
        cell_id: The cell.
        known: The state that the page knows; empty: the answer comes at once.
    """

    channel: str
    turn_id: _Id
    cell_id: _Id
    known: str = ""


class EditedResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How the edit of a cell goes.

    Attributes:
        state: ``"waiting"`` behind another turn, ``"working"``, or how the turn ended.
        error: Why it failed.
        is_decided: Whether the agent changed the cell, or proposed a change on which the user has decided.
        code: The one code block of the answer, where the agent did not change the cell itself.
        saved: The prompt as the cell's metadata is to keep it; None where the notebook is to say nothing.
    """

    state: State
    error: str = ""
    is_decided: bool = False
    code: str | None = None
    saved: str | None = None


class StopCellEditParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Stops a turn that edits a cell.

    Attributes:
        channel: The conversation's URI.
        turn_id: The turn.
    """

    channel: str
    turn_id: _Id


class StopResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether it was stopped.

    Attributes:
        is_stopped: False where it had ended before.
    """

    is_stopped: bool


async def edit(params: CellEditParams) -> EditStarted:
    """Begin a turn that edits the cell."""
    from agentnb.host import current_host
    from agentnb.ids import new_id
    from agentnb.plugins.inline.edit_prompt import edit_message

    host = current_host()
    conversation = last_used(host) or await _begin(host)
    if conversation.kernel is not None and params.path and host.environment.code_runner() is not None:
        # So that an agent which never reads the cell does not overwrite what the user types meanwhile.
        conversation.kernel.tool_runner().note_text(params.path, params.cell_id, params.source)
    turn_id = new_id()
    conversation.prompt(turn_id, edit_message(params), look=True)
    return EditStarted(channel=conversation.session.uri, turn_id=turn_id, agent=conversation.spec.title)


def last_used(host: Host) -> Conversation | None:
    """The open conversation of this kernel in which something happened last; None where none can go on."""
    able = [
        each
        for each in host.conversations.values()
        if not (each.closed or each.is_hidden or each.closing is not None or each.barred is not None)
        and each.session.state.lifecycle != "failed"
    ]
    return max(able, key=lambda each: each.summary.modified_at, default=None)


async def _begin(host: Host) -> Conversation:
    """A new conversation with the default agent."""
    from agentnb.agent.catalog import TOUR, find
    from agentnb.agent.process import startable
    from agentnb.errors import UsageError

    name = await host.default_agent.find()
    if not name or name == TOUR:
        message = "No installed agent can edit the cell."
        raise UsageError(message, hint="Open the agent chat to install one.")
    spec, environment = find(name), host.environment
    cwd = environment.default_workspace()
    startable(spec, cwd, os.environ.get("PATH"))
    options = environment.default_options(spec, cwd)
    return host.open_session(msgspec.structs.replace(options, mode=environment.default_mode()))


async def edited(params: CellEditedParams) -> EditedResult:
    """Wait until the turn goes on or has ended."""
    from agentnb.host import current_host

    conversation = current_host().find(params.channel)
    changed = asyncio.Event()
    end = conversation.channels.watch(changed.set)
    try:
        return await asyncio.wait_for(_another(conversation, params, changed), LONGEST_WAIT)
    except asyncio.TimeoutError:
        return _outcome(conversation, params)
    finally:
        end()


async def _another(conversation: Conversation, params: CellEditedParams, changed: asyncio.Event) -> EditedResult:
    while (outcome := _outcome(conversation, params)).state == params.known:
        changed.clear()
        await changed.wait()
    return outcome


def _outcome(conversation: Conversation, params: CellEditedParams) -> EditedResult:
    from agentnb.plugins.inline.edit_outcome import code_of, error_of, is_decided, saved_prompt

    chat = conversation.chat.state
    if conversation.channels.queued(params.turn_id) is not None:
        return EditedResult(state="waiting")
    if chat.active_turn is not None and chat.active_turn.id == params.turn_id:
        return EditedResult(state="working")
    turn = next((each for each in reversed(chat.turns) if each.id == params.turn_id), None)
    if turn is None:
        return EditedResult(state="cancelled")
    decided = is_decided(turn, params.cell_id)
    return EditedResult(
        state=turn.state,
        error=error_of(turn),
        is_decided=decided,
        code=None if decided or turn.state != "complete" else code_of(turn),
        saved=saved_prompt(turn),
    )


def stop(params: StopCellEditParams) -> StopResult:
    """Stop the turn."""
    from agentnb.host import current_host

    conversation = current_host().find(params.channel)
    return StopResult(is_stopped=conversation.turns.cancel(params.turn_id, keep=True))


REQUESTS = (
    Request("inline/edit", CellEditParams, EditStarted, edit),
    Request("inline/edited", CellEditedParams, EditedResult, edited),
    Request("inline/stop", StopCellEditParams, StopResult, stop),
)
