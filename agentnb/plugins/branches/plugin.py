"""The plug-in: ``%agent try 3 …`` and :func:`agentnb.branches`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentnb.plugins.branches.requests import REQUESTS
from agentnb.ports import Plugin, PromptWord

if TYPE_CHECKING:
    from agentnb.ipython.arguments import Arguments
    from agentnb.ipython.config import Agentnb
    from agentnb.plugins.branches.branches import Branches

_COMMAND = re.compile(
    r"""try [ \t]+ (?P<n>\d+)
    (?: [ \t]+ --measure [ \t]+ (?P<measure> "[^"\n]+" | \S+) )?
    (?P<lower> [ \t]+ --lower )?
    \s+ (?P<prompt> .*\S)""",
    re.DOTALL | re.VERBOSE,
)


def branches_of(arguments: Arguments, _shell: Any, settings: Agentnb) -> Branches | None:
    """The tries that *arguments* ask for, begun; None where they ask for a turn."""
    match = _COMMAND.match(arguments.prompt)
    if match is None:
        return None
    arguments.refuse(("tab", "new", "kernel", "context", "timeout"), "try", "Each try has a conversation of its own.")
    arguments.refuse(("freedom", "permissions"), "try", "Agents work freely in their copies; you decide what to keep.")
    from agentnb.plugins.branches.branches import branches

    with settings.named_agent(arguments.agent) as agent:
        return branches(
            match["prompt"],
            int(match["n"]),
            agents=[agent],
            measure=(match["measure"] or "").strip('"') or None,
            higher_is_better=match["lower"] is None,
            verify=arguments.verify,
            model=arguments.model,
            budget=arguments.budget,
        )


PLUGIN = Plugin(
    name="branches",
    summary="Tries a task several times in parallel, each in a copy of the kernel, and keeps one try.",
    prompt_words=(PromptWord("try", branches_of),),
    requests=REQUESTS,
)
