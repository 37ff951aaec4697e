"""The page's requests about one cell that an agent is to edit: begin, hear how it goes, stop."""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from agentnb.credentials import Credentials
from agentnb.errors import UsageError
from agentnb.kernel.output_text import fenced
from agentnb.ports import Request
from agentnb.state import (
    ErrorResponsePart,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallResponsePart,
    find_finished_turn,
)

if TYPE_CHECKING:
    from agentnb.host.conversation import Conversation
    from agentnb.host.host import Host
    from agentnb.state import Turn


LONGEST_SHOWN = 20_000
"""Characters of a cell's text in the message; the agent reads a longer one with its tool."""


def edit_message(params: CellEditParams) -> Message:
    """The message: the user's words, and behind an empty line what the chat folds away."""
    name = f"[{params.count}]" if params.count else ""
    words = f"{name} {params.prompt.strip()}".strip()
    text = f"{words}\n\n{_instructions(params, name)}"
    return Message(text=text, origin=MessageOrigin(kind="user"), meta={"agentnb": {"words": len(words)}})


def _instructions(params: CellEditParams, name: str) -> str:
    number = f", In {name}" if name else ""
    where = f"This is about one {params.kind} cell of the notebook {params.path}: cell id {params.cell_id}{number}."
    if not params.source.strip():
        task = "The cell is empty: write what it is to have."
    elif len(params.source) > LONGEST_SHOWN:
        task = "Change this cell as asked. It is long: read it with the tool `cells` first."
    else:
        task = f"Change this cell as asked. Its text is now:\n\n{fenced(params.source)}"
    return (
        f"{where} {task}\n\n"
        "Call the tool `replace_cell` once, with this cell's id and the cell's whole new text. Change no other cell, "
        "no file and no variable, and do not run the cell. If you do not have that tool, answer with the cell's whole "
        "new text in one fenced code block."
    )


_FENCE = re.compile(r"`{3,}|~{3,}")
_EDITS = frozenset({"replace", "split", "merge", "delete", "type"})


def is_decided(turn: Turn, cell_id: str) -> bool:
    """True if the agent changed the cell, or the user has refused that it does."""
    for part in turn.response_parts:
        call = part.tool_call if isinstance(part, ToolCallResponsePart) else None
        cell = call.details.cell if call is not None and call.details is not None else None
        if cell is None or cell.cell_id != cell_id or cell.action not in _EDITS:
            continue
        if isinstance(call, ToolCallCancelledState) or (isinstance(call, ToolCallCompletedState) and call.success):
            return True
    return False


def code_of(turn: Turn) -> str | None:
    """The code block of the answer; None where there is none, or more than one."""
    text = "\n\n".join(part.content for part in turn.response_parts if isinstance(part, MarkdownResponsePart))
    blocks = _blocks(text)
    return blocks[0] if len(blocks) == 1 else None


def _blocks(text: str) -> list[str]:
    """The code of each block that is closed."""
    blocks: list[str] = []
    fence, lines = "", [""]
    for line in text.split("\n"):
        opening = _FENCE.match(line)
        if fence and line.rstrip(" \t") == fence:
            blocks.append("\n".join(lines))
            fence = ""
        elif fence:
            lines.append(line)
        elif opening is not None:
            fence, lines = opening.group(), []
    return blocks


def error_of(turn: Turn) -> str:
    """Why the turn failed; empty where it did not."""
    errors = [part.error.message for part in turn.response_parts if isinstance(part, ErrorResponsePart)]
    return errors[-1] if errors else ""


def saved_prompt(turn: Turn) -> str | None:
    """The prompt for the cell's metadata, in one line and without secrets; None where the setting is off."""
    from agentnb.host.environment import current_environment

    if not current_environment().sources()["provenance_in_notebook"].value:
        return None
    words = (turn.message.meta or {}).get("agentnb", {}).get("words", 0)
    typed = re.sub(r"^\[\d+\] ", "", turn.message.text[:words])
    return " ".join(Credentials(dict(os.environ)).hidden(typed).split())[:LONGEST_SAVED]


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
        known: The state that the page knows; if it is empty, the answer comes at once.
    """

    channel: str
    turn_id: _Id
    cell_id: _Id
    known: str = ""


class EditedResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The state of a cell edit.

    Attributes:
        state: ``"waiting"`` behind another turn, ``"working"``, or how the turn ended.
        error: Why it failed.
        is_decided: True if the agent changed the cell, or proposed a change that the user has accepted or refused.
        code: The one code block of the answer, if the agent did not change the cell itself.
        saved: The prompt to save in the cell's metadata; None if the notebook should not save it.
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
    """The result of stopping a turn.

    Attributes:
        is_stopped: False if it had ended before.
    """

    is_stopped: bool


async def edit(params: CellEditParams) -> EditStarted:
    """Begin a turn that edits the cell."""
    from agentnb.host import current_host
    from agentnb.ids import new_id

    host = current_host()
    conversation = last_used(host) or await _begin(host)
    if conversation.kernel is not None and params.path and host.environment.code_runner() is not None:
        # So that an agent that never reads the cell does not overwrite the user's typing meanwhile.
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
    return max(able, key=lambda each: each.channels.summary.modified_at, default=None)


async def _begin(host: Host) -> Conversation:
    """A new conversation with the default agent."""
    from agentnb.agent.catalog import TOUR, find
    from agentnb.agent.process import startable

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
    chat = conversation.chat.state
    if conversation.channels.queued(params.turn_id) is not None:
        return EditedResult(state="waiting")
    if chat.active_turn is not None and chat.active_turn.id == params.turn_id:
        return EditedResult(state="working")
    turn = find_finished_turn(chat, params.turn_id)
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
