"""The list of components, for users and AHP clients: which are shipped and enabled, their order, and what they cost."""

from __future__ import annotations

import inspect
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.agent.catalog import AgentSpec, custom
from agentnb.agent.programs import find_on_path
from agentnb.errors import AgentnbError, UsageError
from agentnb.plugins.chain.components.component import Component
from agentnb.plugins.chain.components.shipped_components import shipped, shipped_components

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentnb.ports import ToolSession

_RUNNERS = re.compile(r"(python|pypy)[\d.]*(\.exe)?|node|deno|bun|npx|uvx|uv|run|tsx")
HINT = 'For example: components=["rules", "my-proxy --flag", MyComponent()].'


def components(value: Any, session: ToolSession | None = None) -> tuple[Component | AgentSpec, ...]:
    if not isinstance(value, (list, tuple)):
        raise UsageError("The components must be a list.", hint=HINT)
    return tuple(component(each, session) for each in value)


def component(value: Any, session: ToolSession | None = None) -> Component | AgentSpec:
    if isinstance(value, (Component, AgentSpec)):
        return value
    if inspect.isclass(value) and issubclass(value, Component):
        return value()
    if isinstance(value, str) and (make := shipped_components().get(value)) is not None:
        return make(session)
    return program(value)


def check(value: Any, *, are_installed: bool) -> None:
    """See :meth:`agentnb.ports.Launcher.check`."""
    for each in components(value):
        program = each.command[0] if isinstance(each, AgentSpec) and are_installed else ""
        is_relative = "/" in program and not Path(program).is_absolute()  # to the workspace, which is unknown here
        if program and not is_relative and find_on_path(program) is None:
            message = f"There is no component and no program called {program!r}."
            hint = f"Shipped components: {', '.join(shipped_components())}. Any other is a command."
            raise UsageError(message, hint=hint)


def program(command: str | Sequence[str]) -> AgentSpec:
    try:
        words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    except (TypeError, ValueError) as error:
        raise UsageError(f"{command!r} is not a component: {error}.", hint=HINT) from None
    if not words or not all(words):
        raise UsageError(f"{command!r} is not a component.", hint=HINT)
    return custom(words, name=_called(words))


def _called(words: Sequence[str]) -> str:
    """Returns a command's name: its program, or what an interpreter or a package runner is to run."""
    for word in words:
        name = word.replace("\\", "/").rstrip("/").rpartition("/")[2]
        if name and not name.startswith("-") and not _RUNNERS.fullmatch(name):
            return name
    return words[0]


def listing(chosen: Sequence[str], folder: Path) -> str:
    """Lists the components that are on, in their order, then the shipped ones that are off."""
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
    """Yields the components of a session as AHP's ``Customization``."""
    try:
        placed = components(chain)
    except AgentnbError:
        return  # starting the agent reports the error
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
