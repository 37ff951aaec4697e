"""What an agent tells of a session: the updates of ACP `session/update`."""

from __future__ import annotations

from typing import Literal

from agentnb.plugins.acp_agent.config_options import ConfigOption
from agentnb.plugins.acp_agent.content import ContentBlock
from agentnb.plugins.acp_agent.schema import Acp, always

ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]
ToolCallStatus = Literal["pending", "in_progress", "completed", "failed"]
PlanEntryStatus = Literal["pending", "in_progress", "completed"]
ChunkKind = Literal["agent_message_chunk", "agent_thought_chunk"]


class Chunk(Acp, kw_only=True):
    """A piece of what is said or thought; those with one `message_id` belong together."""

    content: ContentBlock
    message_id: str | None = None
    session_update: ChunkKind


class ShownContent(Acp):
    """Content that a tool call shows."""

    content: ContentBlock
    type: Literal["content"] = always("content")


class ShownDiff(Acp, kw_only=True):
    """A change of a file that a tool call shows."""

    path: str
    old_text: str | None = None
    new_text: str
    type: Literal["diff"] = always("diff")


class ShownTerminal(Acp):
    """A terminal that a tool call shows."""

    terminal_id: str
    type: Literal["terminal"] = always("terminal")


ToolContent = ShownContent | ShownDiff | ShownTerminal


class Location(Acp):
    """A place in a file."""

    path: str
    line: int | None = None


class ToolCallStart(Acp):
    """A tool call begins."""

    tool_call_id: str
    title: str
    kind: ToolKind
    status: ToolCallStatus
    locations: list[Location] | None = None
    raw_input: object = None
    session_update: Literal["tool_call"] = always("tool_call")


class ToolCallProgress(Acp):
    """A tool call goes on."""

    tool_call_id: str
    title: str | None = None
    status: ToolCallStatus | None = None
    content: list[ToolContent] | None = None
    raw_output: object = None
    session_update: Literal["tool_call_update"] = always("tool_call_update")


class PlanEntry(Acp):
    """One step of a plan."""

    content: str
    priority: Literal["high", "medium", "low"]
    status: PlanEntryStatus


class Plan(Acp):
    """The plan, whole."""

    entries: list[PlanEntry]
    session_update: Literal["plan"] = always("plan")


class CommandInput(Acp):
    """What is written after a slash command."""

    hint: str


class AvailableCommand(Acp):
    """A slash command."""

    name: str
    description: str
    input: CommandInput | None = None


class AvailableCommands(Acp):
    """Every slash command."""

    available_commands: list[AvailableCommand]
    session_update: Literal["available_commands_update"] = always("available_commands_update")


class CurrentMode(Acp):
    """The mode has changed."""

    current_mode_id: str
    session_update: Literal["current_mode_update"] = always("current_mode_update")


class ChangedOptions(Acp):
    """An option has changed; these are all."""

    config_options: list[ConfigOption]
    session_update: Literal["config_option_update"] = always("config_option_update")


class ChangedInfo(Acp):
    """The title has changed."""

    title: str
    session_update: Literal["session_info_update"] = always("session_info_update")


class Cost(Acp):
    """An amount of money."""

    amount: float
    currency: str


class UsedContext(Acp):
    """How much of the context is in use, in tokens, and what the session costs."""

    used: int
    size: int
    cost: Cost | None = None
    session_update: Literal["usage_update"] = always("usage_update")


Part = Chunk | Plan | ToolCallStart | ToolCallProgress
"""A part of an answer: repeated when the session is loaded."""

News = AvailableCommands | CurrentMode | ChangedOptions | ChangedInfo | UsedContext
"""News about a session: not repeated."""
