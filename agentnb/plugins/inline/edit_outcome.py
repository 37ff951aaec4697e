"""What came of a turn that was to edit one cell."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from agentnb.credentials import Credentials
from agentnb.plugins.inline.edit_requests import LONGEST_SAVED
from agentnb.state import (
    ErrorResponsePart,
    MarkdownResponsePart,
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallResponsePart,
)

if TYPE_CHECKING:
    from agentnb.state import Turn

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
    said = "\n\n".join(part.content for part in turn.response_parts if isinstance(part, MarkdownResponsePart))
    blocks = _blocks(said)
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
