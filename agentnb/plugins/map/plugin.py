"""The plug-in: ``%%agent map NAME`` asks about each row of a variable."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentnb.errors import UsageError
from agentnb.ports import Plugin, PromptWord

if TYPE_CHECKING:
    from agentnb.ipython.arguments import Arguments
    from agentnb.ipython.config import Agentnb
    from agentnb.plugins.map.batch import Batch

_COMMAND = re.compile(r"map[ \t]+@?(?P<name>[^\W\d]\w*)[ \t]*\n(?P<prompt>.*\S.*)", re.DOTALL)


def batch_of(arguments: Arguments, shell: Any, settings: Agentnb) -> Batch | None:
    """The batch that *arguments* ask for, begun; the cell is the template. None where they ask for a turn."""
    match = _COMMAND.match(arguments.prompt)
    if match is None:
        return None
    name = match["name"]
    if name not in shell.user_ns:
        raise UsageError(
            f"There is no variable {name!r} to ask about.",
            hint="`%%agent map df` takes a list, a dict, a Series or a data frame; a prompt goes after ` -- `.",
        )
    arguments.refuse(("tab", "new", "context", "kernel"), "map", "Each input has a conversation of its own.")
    from agentnb.plugins.map.start import map as ask

    with settings.named_agent(arguments.agent) as agent:
        return ask(
            match["prompt"],
            shell.user_ns[name],
            agent=agent,
            model=arguments.model,
            cwd=settings.cwd or None,
            permissions=arguments.permissions or "deny",
            timeout=arguments.timeout,
            budget=arguments.budget,
        )


PLUGIN = Plugin(
    name="map", summary="Asks agents about each row of a variable.", prompt_words=(PromptWord("map", batch_of),)
)
