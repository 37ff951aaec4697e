"""The components that agentnb ships, by name."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from agentnb.kernel.tools import offered_tools
from agentnb.plugins.chain.components.context import ContextComponent
from agentnb.plugins.chain.components.offered_tool import ToolComponent
from agentnb.plugins.chain.components.rules import RulesComponent
from agentnb.plugins.chain.components.walkthrough import Walkthrough
from agentnb.plugins.chain.components.wire_log import WireLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.kernel.code_runner import CodeRunner
    from agentnb.plugins.chain.components.component import Component
    from agentnb.ports import ToolSession

    Maker = Callable[[ToolSession | None], Component]

_OF_TOOLS = {
    "skills": ("read_skill", "A tool that lists and reads the skills of installed packages that you trust."),
    "research": (
        "research",
        "A tool that answers questions about installed packages from their source, with file and line.",
    ),
    "code": (
        "look_up_code",
        "A tool that answers questions about the notebook's and the workspace's code: definitions, uses, signatures.",
    ),
}
"""Components that give the agent one kernel tool of a plug-in without access to the kernel: the tool and a summary."""


def shipped_components() -> dict[str, Maker]:
    """The makers of components, which take the session of the chain; in the order in which they are best placed."""
    offers = offered_tools()
    of_tools = {
        name: partial(ToolComponent, name, about, *offers[tool])
        for name, (tool, about) in _OF_TOOLS.items()
        if tool in offers
    }
    return {
        RulesComponent.name: lambda _: RulesComponent(),
        ContextComponent.name: lambda session: ContextComponent(_code_runner(session)),
        **of_tools,
        Walkthrough.name: lambda session: Walkthrough(_code_runner(session)),
        WireLog.name: lambda _: WireLog(),
    }


def shipped() -> list[Component]:
    """One of each, to be looked at."""
    return [make(None) for make in shipped_components().values()]


def _code_runner(session: ToolSession | None) -> Callable[[], CodeRunner | None]:
    return (lambda: None) if session is None else session.code_runner
