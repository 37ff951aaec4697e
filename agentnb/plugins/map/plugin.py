"""The plug-in: ``%%agent map NAME`` asks about each row of a variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.ports import Plugin, PromptWord

if TYPE_CHECKING:
    from agentnb.ipython.arguments import Arguments
    from agentnb.ipython.config import Agentnb
    from agentnb.plugins.map.batch import Batch


def _map(arguments: Arguments, shell: Any, settings: Agentnb) -> Batch | None:
    from agentnb.plugins.map.magic import batch_of

    return batch_of(arguments, shell, settings)


PLUGIN = Plugin(
    name="map", summary="Asks agents about each row of a variable.", prompt_words=(PromptWord("map", _map),)
)
