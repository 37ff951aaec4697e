"""Reads what a user gives as components: names of shipped ones, commands, classes and instances."""

from __future__ import annotations

import inspect
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.agent.catalog import AgentSpec, custom
from agentnb.agent.programs import find_on_path
from agentnb.errors import UsageError
from agentnb.plugins.chain.components.component import Component
from agentnb.plugins.chain.components.shipped_components import shipped_components

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.ports import ToolSession

_RUNNERS = re.compile(r"(python|pypy)[\d.]*(\.exe)?|node|deno|bun|npx|uvx|uv|run|tsx")
HINT = 'For example: components=["rules", "my-proxy --flag", MyComponent()].'


def components(value: Any, session: ToolSession | None = None) -> tuple[Component | AgentSpec, ...]:
    """The components that *given* names, in its order."""
    if not isinstance(value, (list, tuple)):
        raise UsageError("The components must be a list.", hint=HINT)
    return tuple(component(each, session) for each in value)


def component(value: Any, session: ToolSession | None = None) -> Component | AgentSpec:
    """The component that *given* names."""
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
        is_relative = "/" in program and not Path(program).is_absolute()  # to the workspace, which is not known here
        if program and not is_relative and find_on_path(program) is None:
            message = f"There is no component and no program called {program!r}."
            hint = f"Shipped components: {', '.join(shipped_components())}. Any other is a command."
            raise UsageError(message, hint=hint)


def program(command: str | Sequence[str]) -> AgentSpec:
    """Returns how the program *given* is started."""
    try:
        words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    except (TypeError, ValueError) as error:
        raise UsageError(f"{command!r} is not a component: {error}.", hint=HINT) from None
    if not words or not all(words):
        raise UsageError(f"{command!r} is not a component.", hint=HINT)
    return custom(words, name=_called(words))


def _called(words: Sequence[str]) -> str:
    """The name of a command: its program, or what an interpreter or a package runner is given."""
    for word in words:
        name = word.replace("\\", "/").rstrip("/").rpartition("/")[2]
        if name and not name.startswith("-") and not _RUNNERS.fullmatch(name):
            return name
    return words[0]
