"""Which components are shipped, which are on, in which order, and what they cost: for people, and for AHP's clients."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from agentnb.errors import AgentnbError
from agentnb.plugins.chain.components.component import Component
from agentnb.plugins.chain.components.given import components
from agentnb.plugins.chain.components.shipped_components import shipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def listing(chosen: Sequence[str], folder: Path) -> str:
    """The components that are on, in their order, then the shipped ones that are off."""
    rows = [("", "component", "tokens", "")]
    on = components(list(chosen))
    for number, each in enumerate(on, 1):
        if isinstance(each, Component):
            rows.append((str(number), each.name, _cost(each, folder), each.about))
        else:
            rows.append((str(number), each.name, "not known", shlex.join(each.command)))
    names = {each.name for each in on}
    rows += [("off", each.name, _cost(each, folder), each.about) for each in shipped() if each.name not in names]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]).rstrip()
        for row in rows
    )


def customizations(chain: Sequence[Any], folder: Path) -> Iterator[dict[str, Any]]:
    """The components of a session as AHP's ``Customization``."""
    try:
        placed = components(chain)
    except AgentnbError:
        return  # the agent does not start either, and says why
    for number, each in enumerate(placed, 1):
        about: dict[str, Any] = {"place": number}
        if isinstance(each, Component):
            turn, once = each.tokens(folder)
            about |= {"about": each.about, "tokensPerTurn": turn, "tokensOnce": once}
            about["tools"] = [tool.name for tool in each.tools]
        yield {
            "type": "plugin",
            "id": f"component:{number}",
            "uri": f"agentnb-component:/{number}",
            "name": each.name,
            "load": {"kind": "loaded"},
            "children": [],
            "_meta": {"agentnb": about},
        }


def _cost(component: Component, folder: Path) -> str:
    turn, once = component.tokens(folder)
    return f"{turn:,} a turn" + (f", {once:,} once" if once else "")
