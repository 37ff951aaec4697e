"""``%agent try 3 Improve the model``: several tries, as :func:`agentnb.branches`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentnb.errors import UsageError
from agentnb.plugins.branches.branches import branches

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
_NOT_TAKEN = {"tab": "-t", "new": "-n", "kernel": "-k"}


def branches_of(arguments: Arguments, shell: Any, settings: Agentnb) -> Branches | None:
    """The tries that *arguments* ask for, begun; None where they ask for a turn."""
    match = _COMMAND.match(arguments.prompt)
    if match is None:
        return None
    wrong = [spelling for field, spelling in _NOT_TAKEN.items() if getattr(arguments, field)]
    if wrong:
        raise UsageError(f"%agent try takes no {wrong[0]}.", hint="Each try has a conversation of its own.")
    with settings.named_agent(arguments.agent) as agent:
        begun = branches(
            match["prompt"],
            int(match["n"]),
            agents=[agent],
            measure=(match["measure"] or "").strip('"') or None,
            higher_is_better=match["lower"] is None,
            verify=arguments.verify,
        )
    if arguments.output:
        shell.user_ns[arguments.output] = begun
    return begun
