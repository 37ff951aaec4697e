"""The plug-in: ``%%agent loop …`` and ``agentnb.loop``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.ports import Plugin, PromptWord

if TYPE_CHECKING:
    from agentnb.ipython.arguments import Arguments
    from agentnb.ipython.config import Agentnb
    from agentnb.plugins.loop.loop import Loop


def _loop(arguments: Arguments, _shell: Any, settings: Agentnb) -> Loop | None:
    from agentnb.plugins.loop.magic import loop_of

    return loop_of(arguments, settings)


PLUGIN = Plugin(
    name="loop",
    summary="Lets an agent improve a metric try by try, and keeps the tries that improve it.",
    prompt_words=(PromptWord("loop", _loop),),
)
