"""What a model is told beside the cell: the code above it, and the names of variables with their types."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentnb.credentials import Credentials
from agentnb.kernel.bounded_text import masked

if TYPE_CHECKING:
    from agentnb.plugins.inline.completion import CompleteParams

LONGEST_ABOVE = 6_000
"""Characters of the cells above: the nearest ones."""
LONGEST_BEFORE, LONGEST_BEHIND = 4_000, 2_000
MOST_NAMES = 100


class CodeContext:
    """The texts for one completion, without secrets."""

    def __init__(self, params: CompleteParams) -> None:
        hidden = Credentials(dict(os.environ))
        self.before: str = masked(params.prefix[-LONGEST_BEFORE:], hidden)
        self.behind: str = masked(params.suffix[:LONGEST_BEHIND], hidden)
        self.above: str = masked(_nearest(params.above), hidden)
        self.names: str = masked("\n".join(_names(f"{self.above}\n{self.before}")), hidden)

    @property
    def preamble(self) -> str:
        """Names and cells as they stand before the cell's own text."""
        return "".join(f"{each}\n\n" for each in (self.names, self.above) if each)


def _nearest(above: tuple[str, ...]) -> str:
    kept: list[str] = []
    room = LONGEST_ABOVE
    for cell in reversed(above):
        if len(cell) > room:
            break
        kept.insert(0, cell.strip())
        room -= len(cell)
    return "\n\n".join(each for each in kept if each)


def _names(text: str) -> list[str]:
    """Comments such as ``# frame: DataFrame``; none where agents have no access to the kernel.

    Of a value only its type is looked at: that runs nothing of the user's.
    """
    from agentnb.host.environment import current_environment

    environment = current_environment()
    runner = environment.code_runner()
    if runner is None or not environment.sources()["kernel_tools"].value:
        return []
    held = runner.namespace.variables()
    used = sorted(held, key=lambda name: (name not in text, name))[:MOST_NAMES]
    return [f"# {name}: {type(held[name]).__name__}" for name in used]
