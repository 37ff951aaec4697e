"""Limits a research: it may read the source of its packages, call its two tools, and nothing else."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.plugins.knowledge.research.tools import SERVER, TOOLS
from agentnb.policy.workspace import real_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.plugins.knowledge.research.source import PackageSource
    from agentnb.policy.request import PolicyRequest
    from agentnb.policy.situation import Verdict

_OWN_TOOL = re.compile(
    rf"(?:(?:mcp__?)?{SERVER}(?:__|_|/|\.|: ?| - ))?[`'\"]?(?:{'|'.join(TOOLS)})[`'\"]?(?: \({SERVER} mcp server\))?"
)
"""How agents call them in a question: with the server's name before or behind."""
_READING = frozenset({"read", "search"})
_FLOORS = frozenset({None, "outside"})


class ResearchLimit:
    """Decides in the place of questions: nobody looks at the conversation of a research.

    A rule of the user or the project that denies still denies, and files that may hold secrets stay closed.
    """

    def __init__(self, sources: Sequence[PackageSource]) -> None:
        self._sources = sources

    def opens(self, path: str, tool: str) -> bool:
        """True if *path*, outside the workspace, may be opened for *tool*."""
        return tool == "read" and self._holds(path)

    def verdict(self, request: PolicyRequest, verdict: Verdict) -> Verdict:
        """The final verdict about *request*: allowed or denied, never asked."""
        if verdict.outcome == "deny" and verdict.rule is not None:
            return verdict
        if self._is_reading(request) and verdict.floor in _FLOORS:
            reason = "a research reads the source of its package"
            return replace(verdict, outcome="allow", reason=reason, decided_by="mode", rule=None, floor=None)
        if _is_own_tool(request):
            return replace(verdict, outcome="allow", reason="it is a tool of the research", decided_by="mode")
        reason = "a research reads the source of its package, and nothing else"
        return replace(verdict, outcome="deny", reason=reason, decided_by="mode", rule=None)

    def _is_reading(self, request: PolicyRequest) -> bool:
        if request.command is not None or request.call is not None:
            return False
        is_read = request.kind == "read" or (request.kind == "permission" and request.asked in _READING)
        return is_read and bool(request.files) and all(map(self._holds, request.files))

    def _holds(self, path: str) -> bool:
        return any(source.holds(Path(real_path(os.sep, path))) for source in self._sources)


def _is_own_tool(request: PolicyRequest) -> bool:
    """True if the agent asks for leave to call one of the two tools."""
    if request.kind != "permission" or request.command is not None or request.files or request.preview:
        return False
    return request.asked in {None, "other", "read", "search", "fetch", "think"} and bool(
        _OWN_TOOL.fullmatch(request.title.strip().lower())
    )
