"""What a tool shows: AHP's result content, and ACP's own kinds, which are richer."""

from __future__ import annotations

from typing import Any, TypeAlias

from agentnb.state.wire import JsonObject, Wire


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
