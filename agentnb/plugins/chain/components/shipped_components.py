"""The components that agentnb ships, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentnb.plugins.chain.components.code import Code
from agentnb.plugins.chain.components.context import Context
from agentnb.plugins.chain.components.research import Research
from agentnb.plugins.chain.components.rules import Rules
from agentnb.plugins.chain.components.skills import Skills
from agentnb.plugins.chain.components.walkthrough import Walkthrough
from agentnb.plugins.chain.components.wire_log import WireLog
from agentnb.plugins.knowledge.code.language_server import OFF

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agentnb.kernel.code_runner import CodeRunner
    from agentnb.plugins.chain.components.component import Component
    from agentnb.plugins.knowledge.research.findings import Research as Found

    Maker = Callable[["Surroundings"], Component]


def _none() -> CodeRunner | None:
    return None


class Surroundings(NamedTuple):
    """What shipped components get of the place where they run."""

    code_runner: Callable[[], CodeRunner | None] = _none
    research: Callable[[str, str, str | None], Awaitable[Found]] | None = None
    language_server: Callable[[], str] = lambda: OFF


SHIPPED: dict[str, Maker] = {
    Rules.name: lambda _: Rules(),
    Context.name: lambda around: Context(around.code_runner),
    Skills.name: lambda _: Skills(),
    Research.name: lambda around: Research(around.research),
    Code.name: lambda around: Code(around.code_runner, around.language_server),
    Walkthrough.name: lambda around: Walkthrough(around.code_runner),
    WireLog.name: lambda _: WireLog(),
}
"""Makes each component, given its surroundings; in the order in which they are best placed."""


def shipped() -> list[Component]:
    """One of each, to be looked at."""
    return [make(Surroundings()) for make in SHIPPED.values()]
