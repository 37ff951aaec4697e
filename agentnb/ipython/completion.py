"""Completion of ``%agent -a <Tab>``, ``@<Tab>`` and ``%agents use <Tab>`` (IPython's matcher interface, version 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.completer import context_matcher

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext

    from agentnb.ipython.extension import Extension

NOTHING: dict[str, Any] = {"completions": [], "matched_fragment": "", "suppress": False, "ordered": True}


def completers(extension: Extension) -> list[Any]:
    @context_matcher(identifier="agentnb.agent", priority=100)
    def agent_matcher(context: CompletionContext) -> Any:
        if "%agent" not in context.full_text:
            return NOTHING
        from agentnb.ipython.completion_candidates import matches

        return matches(context, extension)

    return [agent_matcher]
