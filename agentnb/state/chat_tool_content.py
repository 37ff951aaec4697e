"""What a tool call carries: contents, a rehearsal, checks of data."""

from __future__ import annotations

from typing import Any, TypeAlias

from agentnb.state.wire import JsonObject, Wire


class DataCheck(Wire, frozen=True, kw_only=True):
    """Ours: something about a table that a step changed and that may be a mistake.

    Args:
        table: The table's name.
        cause: ``"fan-out"``, ``"duplicates"``, ``"leakage"``, ``"unit"``, ``"type"``, ``"nulls"``, ``"groups"``,
            ``"dates"``, ``"index"`` or ``"order"``; ``"unread"``: it says only why the table was not compared.
        text: It in a few words; names of tables and columns stand between backticks.
        count: How many rows, keys or groups it is about; 0 where it is about the whole.
        columns: The columns that it is about.
        others: The other tables that it is about.
        rows_before: How many rows the table had; None where there was none.
        rows_after: How many it has.
        is_sampled: Whether only a part of the rows was read, evenly spaced.
        show: Python code that gives the rows; empty where there are none to show.
        assertion: Python code that fails where it is so.
        question: A prompt for an agent: it mentions the tables, and has no number or value of theirs.
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
        old_text: What it held; ``None`` for a new file.
        new_text: What it holds now.
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
"""What ``ToolCallDetails.content`` holds."""


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
"""What a tool's result holds (AHP ``ToolResultContent``)."""


class RehearsalVariable(Wire, frozen=True, kw_only=True):
    """Ours: a variable of the kernel that would change.

    Args:
        name: Its name.
        status: ``"added"``, ``"changed"`` or ``"deleted"``.
        detail: What would become of it: types, shapes, columns before and after.
        value: The beginning of its new value, as text.
        can_restore: Whether undo can bring back what it was.
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
        added: How many lines would be added; None where they are not counted.
        removed: How many lines would be removed; None likewise.
        diff: The change as a unified diff; empty where there is none to show.
    """

    path: str
    status: str
    added: int | None = None
    removed: int | None = None
    diff: str = ""


class ToolCallRehearsal(Wire, frozen=True, kw_only=True):
    """Ours: what code or a command did in a closed-in copy. Nothing of it has been done for real.

    Args:
        status: ``"running"`` or ``"ended"``.
        input: The code or the command that was rehearsed.
        reason: Why there is no preview; where there is one, what limits it.
        is_available: Whether there is a preview.
        summary: What it would do, in a line.
        printed: The end of what was printed.
        result: The last expression's value, as text.
        error: The exception, or why it ended early.
        exit_code: A command's exit code.
        variables: The variables that would change.
        data_checks: What may be wrong with the tables that it would change.
        files: The files that would change, as far as they are listed.
        more_files: How many files would change besides.
        pictures: The pictures that were drawn.
        processes: The programs that were started.
        connections: The addresses that were to be reached, and were not.
        refused: What was refused besides.
        seconds: How long it took.
        memory: Bytes of memory that it needed besides what was there, about.
        way: How it was isolated: ``"namespaces"`` or ``"Landlock"``.
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
