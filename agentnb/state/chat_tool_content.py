"""What a tool call carries: contents, a rehearsal, checks of data."""

from __future__ import annotations

from typing import Any, TypeAlias

from agentnb.state.wire import JsonObject, Wire


class DataCheck(Wire, frozen=True, kw_only=True):
    """Ours: a possible mistake in a table that a step changed.

    Args:
        table: The table's name.
        cause: ``"fan-out"``, ``"duplicates"``, ``"leakage"``, ``"unit"``, ``"type"``, ``"nulls"``, ``"groups"``,
            ``"dates"``, ``"index"`` or ``"order"``; ``"unread"``: it only says why the table was not compared.
        text: The finding in a few words; names of tables and columns are in backticks.
        count: The number of affected rows, keys or groups; 0 if it concerns the whole table.
        columns: The affected columns.
        others: The other affected tables.
        rows_before: The number of rows before; None if the table did not exist.
        rows_after: The number of rows now.
        is_sampled: True if only some of the rows were read, evenly spaced.
        show: Python code that returns the rows; empty if there are none to show.
        assertion: Python code that fails if the finding is true.
        question: A prompt for an agent: it mentions the tables, without any number or value from them.
    """

    table: str
    cause: str
    text: str
    count: int = 0
    columns: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    rows_before: int | None = None
    rows_after: int | None = None
    is_sampled: bool = False
    show: str = ""
    assertion: str = ""
    question: str = ""


class ToolTextContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Ours: text (ACP ``content`` with a text block)."""

    text: str


class ToolDiffContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="diff"):
    """Ours: a changed file (ACP ``diff``).

    Args:
        path: The file.
        old_text: Its old content; ``None`` for a new file.
        new_text: Its new content.
    """

    path: str
    old_text: str | None = None
    new_text: str


class ToolTerminalContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal"):
    """Ours: a terminal, see ``ChatState.terminals`` (ACP ``terminal``)."""

    terminal_id: str


class ToolBlockContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="block"):
    """Ours: any other ACP content block as sent: image, audio, resource, resource_link."""

    block: JsonObject


class ToolRawContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="raw"):
    """Ours: content of a kind that we do not know, as sent."""

    raw: Any


ToolContent: TypeAlias = ToolTextContent | ToolDiffContent | ToolTerminalContent | ToolBlockContent | ToolRawContent
"""The content of ``ToolCallDetails.content``."""


class ToolResultTextContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Text (AHP ``ToolResultTextContent``)."""

    text: str


class ToolResultEmbeddedResourceContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="embeddedResource"):
    """Bytes in base64 (AHP ``ToolResultEmbeddedResourceContent``)."""

    data: str
    content_type: str


class ToolResultResourceContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="resource"):
    """A resource named by URI (AHP ``ToolResultResourceContent``)."""

    uri: str
    size_hint: int | None = None
    content_type: str | None = None


class ToolResultFileEditContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="fileEdit"):
    """A changed file (AHP ``ToolResultFileEditContent``).

    Args:
        before: ``{uri, content}`` before; absent for a new file.
        after: ``{uri, content}`` after; absent for a deleted file.
        diff: ``{added, removed}`` line counts.
    """

    before: JsonObject | None = None
    after: JsonObject | None = None
    diff: JsonObject | None = None


class ToolResultTerminalContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal"):
    """A terminal (AHP ``ToolResultTerminalContent``)."""

    resource: str
    title: str


class ToolResultSubagentContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="subagent"):
    """A chat that the tool started (AHP ``ToolResultSubagentContent``)."""

    resource: str
    title: str
    agent_name: str | None = None
    description: str | None = None


ToolResultContent: TypeAlias = (
    ToolResultTextContent
    | ToolResultEmbeddedResourceContent
    | ToolResultResourceContent
    | ToolResultFileEditContent
    | ToolResultTerminalContent
    | ToolResultSubagentContent
)
"""The content of a tool's result (AHP ``ToolResultContent``)."""


class RehearsalVariable(Wire, frozen=True, kw_only=True):
    """Ours: a variable of the kernel that would change.

    Args:
        name: Its name.
        status: ``"added"``, ``"changed"`` or ``"deleted"``.
        detail: The expected change: types, shapes, columns before and after.
        value: The beginning of its new value, as text.
        can_restore: True if undo can restore the old value.
    """

    name: str
    status: str
    detail: str
    value: str | None = None
    can_restore: bool = True


class RehearsalFile(Wire, frozen=True, kw_only=True):
    """Ours: a file that would change.

    Args:
        path: Its path, relative to the folder where the code or the command runs; a folder ends with ``/``.
        status: ``"created"``, ``"changed"`` or ``"deleted"``.
        added: The number of lines that would be added; None if they are not counted.
        removed: The number of lines that would be removed; None likewise.
        diff: The change as a unified diff; empty if there is none to show.
    """

    path: str
    status: str
    added: int | None = None
    removed: int | None = None
    diff: str = ""


class ToolCallRehearsal(Wire, frozen=True, kw_only=True):
    """Ours: the preview of code or a command, run in an isolated copy. Nothing was done for real.

    Args:
        status: ``"running"`` or ``"ended"``.
        input: The code or the command that was previewed.
        reason: The reason why there is no preview, or the limits of the preview.
        is_available: True if there is a preview.
        summary: The expected effect, in one line.
        printed: The end of the printed output.
        result: The last expression's value, as text.
        error: The exception, or the reason why it ended early.
        exit_code: A command's exit code.
        variables: The variables that would change.
        data_checks: Possible problems in the tables that it would change.
        files: The files that would change; the list may be incomplete.
        more_files: The number of other files that would change.
        pictures: The pictures that it drew.
        processes: The programs that it started.
        connections: The addresses that it tried to reach, without success.
        refused: Other refused actions.
        seconds: The duration, in seconds.
        memory: The approximate additional memory that it needed, in bytes.
        way: The isolation method: ``"namespaces"`` or ``"Landlock"``.
    """

    status: str
    input: str = ""
    reason: str = ""
    is_available: bool = True
    summary: str = ""
    printed: str = ""
    result: str | None = None
    error: str | None = None
    exit_code: int | None = None
    variables: tuple[RehearsalVariable, ...] = ()
    data_checks: tuple[DataCheck, ...] = ()
    files: tuple[RehearsalFile, ...] = ()
    more_files: int = 0
    pictures: tuple[ToolBlockContent, ...] = ()
    processes: tuple[str, ...] = ()
    connections: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    seconds: float = 0.0
    memory: int | None = None
    way: str = ""
