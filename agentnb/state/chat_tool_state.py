"""Tool calls: their states, and the data of each state.

::

    streaming ─ready→ pending-confirmation ─confirmed→ running ─complete→ completed
        └──ready(confirmed)──────────────────────────────↑ │
                              denied, result denied or turn over → cancelled
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from agentnb.state.chat_message_state import Message
from agentnb.state.chat_tool_content import ToolCallRehearsal, ToolContent, ToolResultContent
from agentnb.state.wire import JsonObject, StringOrMarkdown, Time, Wire


class ConfirmationOption(Wire, frozen=True, kw_only=True):
    """One answer that the agent offers for a permission request (AHP ``ConfirmationOption``).

    Args:
        id: The id that the client sends back.
        label: The text for people.
        kind: ``"approve"`` or ``"deny"``.
        group: Options of one group are shown together.
        option_kind: Ours: ACP ``PermissionOptionKind`` as the agent sent it (``"allow_once"`` …).
    """

    id: str
    label: str
    kind: str
    group: int | None = None
    option_kind: str | None = None


class Answerer(Wire, frozen=True, kw_only=True):
    """Ours: who answered a permission request. The host sets it, whatever a client claims.

    Args:
        kind: ``"client"`` (the user, in a view), ``"python"`` (code in the kernel), ``"answer"`` (an earlier answer for
            the turn or the session), ``"rule"`` (of the user or the project), ``"mode"`` (the session's permissions),
            ``"freedom"`` (Edit or Auto), ``"preview"`` (Auto, as the preview was harmless), ``"reading"`` (inside the
            workspace it needs no permission), ``"bypass"``, ``"review"`` (``cell_review``) and ``"headless"`` (settings
            of the user), ``"nobody"`` (no front end could be asked), ``"cancelled"`` (the turn ended before an
            answer) or ``"withdrawn"`` (the agent's request was, before an answer).
        client_id: The client, if ``kind`` is ``"client"``.
        name: The client's name, if it is connected from elsewhere.
    """

    kind: str
    client_id: str | None = None
    name: str | None = None


class ToolCallContributor(Wire, frozen=True, kw_only=True):
    """The source of a tool (AHP ``ToolCallContributor``).

    Args:
        kind: ``"client"`` or ``"mcp"``.
        client_id: The client that offers the tool, if ``kind`` is ``"client"``.
        customization_id: The MCP server's id, if ``kind`` is ``"mcp"``.
    """

    kind: str
    client_id: str | None = None
    customization_id: str | None = None


class ToolCallLocation(Wire, frozen=True, kw_only=True):
    """A file that a tool call works on (ACP ``ToolCallLocation``).

    Args:
        path: The file's path, as sent.
        line: The line, from 1.
    """

    path: str
    line: int | None = None


class ToolCallCell(Wire, frozen=True, kw_only=True):
    """Ours: the change that a tool call would make to a cell of an open notebook; the page shows it in the cell.

    Args:
        notebook: The notebook's path on the Jupyter server.
        action: ``"insert"`` a cell, ``"replace"`` a cell's text, ``"delete"`` or ``"move"`` a cell, ``"split"`` it in
            two, ``"merge"`` it with those below, set its ``"type"`` or ``"tags"``, or ``"change"``: anything else.
        cell_id: The cell; for ``insert`` the cell above, None at the end.
        kind: ``"code"``, ``"markdown"`` or ``"raw"``.
        old_text: The cell's text as the agent knows it; None if the agent knows only a part of it, and for ``insert``.
        new_text: The cell's new text; None if the text would not change, or the cell would be deleted.
        more_text: For ``split``: the text of the new cell below.
        others: For ``merge``: the cells below it that would be removed.
        below: For ``move``: the cell that would be above it; None at the top.
        new_kind: For ``type``: the cell's new type.
        new_tags: For ``tags``: the cell's new tags.
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
        started_at: Its start time, in milliseconds since 1970.
        ended_at: Its end time; None while it runs.
        content: Its printed output so far; after the end, its whole output: text and pictures.
    """

    started_at: Time
    ended_at: Time | None = None
    content: tuple[ToolContent, ...] = ()


class ToolCallCitation(Wire, frozen=True, kw_only=True):
    """Ours: one finding of a research, with its place in the source.

    Args:
        text: The finding, in Markdown.
        place: The file within the package and the line, ``frame.py:12``; None for a statement about the whole package.
        path: The file, absolute.
        line: The line, from 1.
        excerpt: The text of that line.
        lines: The text of that line and the lines around it.
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
    """Ours: the answer of a kernel tool to a question about a package.

    Args:
        package: The package.
        version: Its version.
        citations: The findings.
        session: The conversation that did the research, while it is open.
    """

    package: str
    version: str
    citations: tuple[ToolCallCitation, ...]
    session: str | None = None


class ToolCallDetails(Wire, frozen=True, kw_only=True):
    """Ours: the details of a tool call that ACP has and AHP has no field for.

    Args:
        kind: ACP ``ToolKind`` as sent: ``"read"``, ``"edit"``, ``"execute"`` …
        locations: The files it works on.
        raw_input: Its input, as sent.
        raw_output: Its output, as sent.
        content: Its visible content, in order. The content of an update *replaces* the old one.
        ran_without_asking: True if the agent ran it without asking although the conversation's permissions are Ask or
            Deny. The host sets it; an agent cannot.
        cell: The change that it would make to a cell of an open notebook. The host sets it; an agent cannot.
        run: The code that it runs in the kernel. The host sets it; an agent cannot.
        research: Its findings in a package's source. The host sets it; an agent cannot.
        rehearsal: The preview that was made before someone allowed it, if any. The host sets it; an agent cannot.
        differences: The differences from the preview, a sentence each; empty if there are none. None if they were not
            compared. The host sets it; an agent cannot.
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
    """Ours: the policy's assessment of a tool call that needs permission.

    Args:
        severity: ``"none"``, ``"low"``, ``"medium"``, ``"high"`` or ``"critical"``.
        reason: The reason, one sentence.
        like: The kind of request, such as "edits": requests of one turn with the same kind may be allowed together.
            None: each one is asked separately.
    """

    severity: str
    reason: str
    like: str | None = None


class ToolCallError(Wire, frozen=True, kw_only=True):
    """Why a tool failed (AHP ``ToolCallResult.error``)."""

    message: str
    code: str | None = None


class ToolCallResult(Wire, frozen=True, kw_only=True):
    """The result of a tool call (AHP ``ToolCallResult``).

    Args:
        success: True if it succeeded.
        past_tense_message: What it did, such as "Ran the tests".
        content: Its result.
        structured_content: Its result for machines.
        error: Why it failed, if it did.
    """

    success: bool
    past_tense_message: StringOrMarkdown
    content: tuple[ToolResultContent, ...] | None = None
    structured_content: JsonObject | None = None
    error: ToolCallError | None = None


class ToolCallBase(Wire, frozen=True, kw_only=True, tag_field="status"):
    """The fields of a tool call in every state (AHP ``ToolCallBase``).

    Args:
        tool_call_id: Its id, unique within the turn.
        tool_name: The tool's own name.
        display_name: The name for people.
        contributor: The source of the tool.
        meta: Additional data.
        details: Ours: the details from ACP that AHP has no field for.
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
    """The tool call needs permission (AHP ``ToolCallPendingConfirmationState``).

    Args:
        confirmation_title: A short title for the permission request.
        edits: The edits it will make (``{"items": […]}``).
        editable: True if the user may change the input.
        options: The possible answers.
        risk: Ours: its risk and kind.
    """

    invocation_message: StringOrMarkdown
    tool_input: str | None = None
    confirmation_title: StringOrMarkdown | None = None
    edits: JsonObject | None = None
    editable: bool | None = None
    options: tuple[ConfirmationOption, ...] | None = None
    risk: ToolCallRisk | None = None


class ToolCallRunningState(ToolCallBase, frozen=True, kw_only=True, tag="running"):
    """The tool call runs (AHP ``ToolCallRunningState``).

    Args:
        confirmed: Why it may run: ``"not-needed"``, ``"user-action"`` or ``"setting"``.
        selected_option: The answer that allowed it.
        answered_by: Ours: who gave the answer.
        content: Its visible content so far.
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
    """The tool call was not run, or its result was not used (AHP ``ToolCallCancelledState``).

    Args:
        reason: ``"denied"``, ``"skipped"`` or ``"result-denied"``.
        reason_message: The reason for people.
        user_suggestion: What to do instead.
        selected_option: The answer that denied it.
        answered_by: Ours: who gave that answer.
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
"""A tool call in any state (AHP ``ToolCallState``)."""
