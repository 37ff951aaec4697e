"""The plug-in: ``%agent try 3 …`` and :func:`agentnb.branches`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.plugins.branches.requests import REQUESTS
from agentnb.ports import Plugin, PromptWord

if TYPE_CHECKING:
    from agentnb.ipython.arguments import Arguments
    from agentnb.ipython.config import Agentnb
    from agentnb.plugins.branches.branches import Branches


def _try(arguments: Arguments, _shell: Any, settings: Agentnb) -> Branches | None:
    from agentnb.plugins.branches.magic import branches_of

    return branches_of(arguments, settings)


PLUGIN = Plugin(
    name="branches",
    summary="Tries a task several times in parallel, each in a copy of the kernel, and keeps one try.",
    prompt_words=(PromptWord("try", _try),),
    requests=REQUESTS,
)
