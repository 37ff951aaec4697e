"""Tool calls: the states one goes through, and what is known about it in each.

::

    streaming ─ready→ pending-confirmation ─confirmed→ running ─complete→ completed
        └──ready(confirmed)──────────────────────────────↑ │
                              denied, result denied or turn over → cancelled
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from agentnb.state.chat_message_state import Message
from agentnb.state.chat_tool_content import ToolCallRehearsal, ToolContent, ToolResultContent
from agentnb.state.wire import JsonObject, StringOrMarkdown, Time, Wire

ToolCallStatus: TypeAlias = Literal[
    "streaming", "pending-confirmation", "running", "pending-result-confirmation", "completed", "cancelled"
]


class ConfirmationOption(Wire, frozen=True, kw_only=True):
    """One answer that the agent offers for a permission request (AHP ``ConfirmationOption``).

    Args:
        id: What is sent back.
        label: What people read.
        kind: ``"approve"`` or ``"deny"``.
        group: Options of one group stand together.
        option_kind: Ours: ACP ``PermissionOptionKind`` as the agent sent it (``"allow_once"`` …).
    """

    id: str
    label: str
    kind: str
    group: int | None = None
    option_kind: str | None = None


class Answerer(Wire, frozen=True, kw_only=True):
    """Ours: who answered the question whether a tool may run. The host says so, whatever a client claims.

    Args:
        kind: ``"client"`` (the user, in a view), ``"python"`` (code in the kernel), ``"answer"`` (an earlier answer for
            the turn or the session), ``"rule"`` (of the user or the project), ``"mode"`` (the session's permissions),
            ``"freedom"`` (Edit or Auto), ``"preview"`` (Auto, as the preview was harmless), ``"reading"``
            (inside the workspace it needs no permission), ``"bypass"``, ``"review"`` (``cell_review``) and
            ``"headless"`` (settings of the user), ``"nobody"`` (no front end was there to ask) or ``"cancelled"`` (the
            turn ended before an answer).
        client_id: Which client, when ``kind`` is ``"client"``.
        name: Its name, when it is connected from elsewhere.
    """

    kind: str
    client_id: str | None = None
    name: str | None = None


class ToolCallContributor(Wire, frozen=True, kw_only=True):
    """Where a tool comes from (AHP ``ToolCallContributor``).

    Args:
        kind: ``"client"`` or ``"mcp"``.
        client_id: The client that offers it, when ``kind`` is ``"client"``.
        customization_id: The MCP server's id, when ``kind`` is ``"mcp"``.
    """

    kind: str
    client_id: str | None = None
    customization_id: str | None = None


class ToolCallLocation(Wire, frozen=True, kw_only=True):
    """A file that a tool call works on (ACP ``ToolCallLocation``).

    Args:
        path: The file's path, as sent.
        line: The line, counted from one.
    """

    path: str
    line: int | None = None


class ToolCallCell(Wire, frozen=True, kw_only=True):
    """Ours: what a tool call would do to a cell of an open notebook, which its page shows in the cell.

    Args:
        notebook: The notebook's path on the Jupyter server.
        action: ``"insert"`` a cell, ``"replace"`` a cell's text, ``"delete"`` or ``"move"`` a cell, ``"split"`` it in
            two, ``"merge"`` it with those below, set its ``"type"`` or ``"tags"``, or ``"change"``: anything else.
        cell_id: The cell; for ``insert`` the one above, None at the end.
        kind: ``"code"``, ``"markdown"`` or ``"raw"``.
        old_text: The cell's text as the agent knows it; None where that is not all of it, and for ``insert``.
        new_text: The text that it would have; None where that is as before, or the cell would be gone.
        more_text: For ``split``: the text of the new cell below.
        others: For ``merge``: the cells below it that would be gone.
        below: For ``move``: the cell that would be above it; None at the top.
        new_kind: For ``type``: the type that it would have.
        new_tags: For ``tags``: the tags that it would have.
    """

    notebook: str
    action: str
    cell_id: str | None = None
    kind: str = "code"
    old_text: str | None = None
    new_text: str | None = None
    more_text: str | None = None
    others: tuple[str, ...] | None = None
    below: str | None = None
    new_kind: str | None = None
    new_tags: tuple[str, ...] | None = None


class ToolCallRun(Wire, frozen=True, kw_only=True):
    """Ours: code that a tool call runs in the user's kernel, or has run there.

    Args:
        started_at: When it began, in milliseconds since 1970.
        ended_at: When it ended; None while it runs.
        content: What it has printed so far; once it has ended, all that came of it: text and pictures.
    """

    started_at: Time
    ended_at: Time | None = None
    content: tuple[ToolContent, ...] = ()


class ToolCallCitation(Wire, frozen=True, kw_only=True):
    """Ours: one thing that a research found, and the place that shows it.

    Args:
        text: What was found, in Markdown.
        place: The file within the package and the line, ``frame.py:12``; None for a statement about the whole.
        path: The file, absolute.
        line: The line, from 1.
        excerpt: The text of that line.
        lines: The text of the lines around it, and of it.
        first_line: The first of these lines, from 1.
    """

    text: str
    place: str | None = None
    path: str | None = None
    line: int | None = None
    excerpt: str | None = None
    lines: str | None = None
    first_line: int | None = None


class ToolCallResearch(Wire, frozen=True, kw_only=True):
    """Ours: the answer to a question about a package, which a kernel tool gave.

    Args:
        package: The package.
        version: Its version.
        citations: What was found.
        session: The conversation that found it, while it is open.
    """

    package: str
    version: str
    citations: tuple[ToolCallCitation, ...]
    session: str | None = None


class ToolCallDetails(Wire, frozen=True, kw_only=True):
    """Ours: what ACP says about a tool call and AHP has no field for.

    Args:
        kind: ACP ``ToolKind`` as sent: ``"read"``, ``"edit"``, ``"execute"`` …
        locations: The files it works on.
        raw_input: Its input, as sent.
        raw_output: Its output, as sent.
        content: What it shows, in order. An update's content *replaces* what was there.
        ran_without_asking: True if the agent ran it without asking although the conversation's permissions are Ask or
            Deny. The host sets it; an agent cannot.
        cell: What it would do to a cell of an open notebook. The host sets it; an agent cannot.
        run: The code that it runs in the kernel. The host sets it; an agent cannot.
        research: What it found in a package's source. The host sets it; an agent cannot.
        rehearsal: What it would do, where that was looked at before it was allowed. The host sets it; an agent cannot.
        differences: What came out otherwise than the rehearsal showed, a sentence each; empty: all as it showed. None
            where that was not compared. The host sets it; an agent cannot.
    """

    kind: str | None = None
    locations: tuple[ToolCallLocation, ...] | None = None
    raw_input: Any = None
    raw_output: Any = None
    content: tuple[ToolContent, ...] | None = None
    ran_without_asking: bool | None = None
    cell: ToolCallCell | None = None
    run: ToolCallRun | None = None
    research: ToolCallResearch | None = None
    rehearsal: ToolCallRehearsal | None = None
    differences: tuple[str, ...] | None = None


class ToolCallRisk(Wire, frozen=True, kw_only=True):
    """Ours: what the policy says about a tool call that must be allowed.

    Args:
        severity: ``"none"``, ``"low"``, ``"medium"``, ``"high"`` or ``"critical"``.
        reason: The reason, a sentence.
        like: What it is like, such as "edits": questions of one turn with the same words may be allowed together.
            None: each one is asked about on its own.
    """

    severity: str
    reason: str
    like: str | None = None


class ToolCallError(Wire, frozen=True, kw_only=True):
    """Why a tool failed (AHP ``ToolCallResult.error``)."""

    message: str
    code: str | None = None


class ToolCallResult(Wire, frozen=True, kw_only=True):
    """How a tool call ended (AHP ``ToolCallResult``).

    Args:
        success: Whether it did its job.
        past_tense_message: What it did, such as "Ran the tests".
        content: What it gave back.
        structured_content: The same for machines.
        error: Why not, when it failed.
    """

    success: bool
    past_tense_message: StringOrMarkdown
    content: tuple[ToolResultContent, ...] | None = None
    structured_content: JsonObject | None = None
    error: ToolCallError | None = None


class ToolCallBase(Wire, frozen=True, kw_only=True, tag_field="status"):
    """What is known of a tool call in every state (AHP ``ToolCallBase``).

    Args:
        tool_call_id: Its id, unique within the turn.
        tool_name: The tool's own name.
        display_name: The name people read.
        contributor: Where the tool comes from.
        meta: Anything more.
        details: Ours: what ACP says beyond AHP.
    """

    tool_call_id: str
    tool_name: str
    display_name: str
    contributor: ToolCallContributor | None = None
    meta: JsonObject | None = msgspec.field(default=None, name="_meta")
    details: ToolCallDetails | None = None


class ToolCallStreamingState(ToolCallBase, frozen=True, kw_only=True, tag="streaming"):
    """The model is still writing the input (AHP ``ToolCallStreamingState``)."""

    partial_input: str | None = None
    invocation_message: StringOrMarkdown | None = None


class ToolCallPendingConfirmationState(ToolCallBase, frozen=True, kw_only=True, tag="pending-confirmation"):
    """Someone must allow it (AHP ``ToolCallPendingConfirmationState``).

    Args:
        confirmation_title: A short title for the question.
        edits: The edits it will make (``{"items": […]}``).
        editable: Whether the input may be changed before it is allowed.
        options: The answers on offer.
        risk: Ours: how bad it can be, and what it is like.
    """

    invocation_message: StringOrMarkdown
    tool_input: str | None = None
    confirmation_title: StringOrMarkdown | None = None
    edits: JsonObject | None = None
    editable: bool | None = None
    options: tuple[ConfirmationOption, ...] | None = None
    risk: ToolCallRisk | None = None


class ToolCallRunningState(ToolCallBase, frozen=True, kw_only=True, tag="running"):
    """It works (AHP ``ToolCallRunningState``).

    Args:
        confirmed: Why it may: ``"not-needed"``, ``"user-action"`` or ``"setting"``.
        selected_option: The answer that allowed it.
        answered_by: Ours: who gave it.
        content: What it has shown so far.
    """

    invocation_message: StringOrMarkdown
    tool_input: str | None = None
    confirmed: str
    selected_option: ConfirmationOption | None = None
    answered_by: Answerer | None = None
    content: tuple[ToolResultContent, ...] | None = None


class ToolCallFinishedBase(ToolCallBase, frozen=True, kw_only=True, tag_field="status"):
    """What is known once a tool has given its result."""

    invocation_message: StringOrMarkdown
    tool_input: str | None = None
    confirmed: str
    selected_option: ConfirmationOption | None = None
    answered_by: Answerer | None = None
    success: bool
    past_tense_message: StringOrMarkdown
    content: tuple[ToolResultContent, ...] | None = None
    structured_content: JsonObject | None = None
    error: ToolCallError | None = None


class ToolCallPendingResultConfirmationState(
    ToolCallFinishedBase, frozen=True, kw_only=True, tag="pending-result-confirmation"
):
    """Someone must allow its result to be used (AHP ``ToolCallPendingResultConfirmationState``)."""


class ToolCallCompletedState(ToolCallFinishedBase, frozen=True, kw_only=True, tag="completed"):
    """It ended, well or not (AHP ``ToolCallCompletedState``)."""


class ToolCallCancelledState(ToolCallBase, frozen=True, kw_only=True, tag="cancelled"):
    """It was not run, or its result not used (AHP ``ToolCallCancelledState``).

    Args:
        reason: ``"denied"``, ``"skipped"`` or ``"result-denied"``.
        reason_message: Why, for people.
        user_suggestion: What to do instead.
        selected_option: The answer that denied it.
        answered_by: Ours: who gave it.
    """

    invocation_message: StringOrMarkdown
    tool_input: str | None = None
    reason: str
    reason_message: StringOrMarkdown | None = None
    user_suggestion: Message | None = None
    selected_option: ConfirmationOption | None = None
    answered_by: Answerer | None = None


ToolCallState: TypeAlias = (
    ToolCallStreamingState
    | ToolCallPendingConfirmationState
    | ToolCallRunningState
    | ToolCallPendingResultConfirmationState
    | ToolCallCompletedState
    | ToolCallCancelledState
)
"""A tool call, whatever its state (AHP ``ToolCallState``)."""
