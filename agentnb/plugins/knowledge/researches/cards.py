"""What the card of a tool call shows of a research."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.state import ToolCallCitation, ToolCallResearch

if TYPE_CHECKING:
    from agentnb.plugins.knowledge.research.findings import Research


def shown_research(found: Research, session: str | None) -> ToolCallResearch:
    """What the card of the tool call shows."""
    citations = tuple(
        ToolCallCitation(
            text=each.text,
            place=each.place or None,
            path=each.path or None,
            line=each.line or None,
            excerpt=each.excerpt or None,
            lines=each.lines or None,
            first_line=each.first_line or None,
        )
        for each in found.findings
    )
    return ToolCallResearch(package=found.package, version=found.version, citations=citations, session=session)
