"""Reads what a user gives as components: names of shipped ones, commands, classes and instances."""

from __future__ import annotations

import inspect
import re
import shlex
from typing import TYPE_CHECKING, Any

from agentnb.agent.catalog import AgentSpec, custom
from agentnb.errors import UsageError
from agentnb.plugins.chain.components.component import Component
from agentnb.plugins.chain.components.shipped_components import SHIPPED, Surroundings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_RUNNERS = re.compile(r"(python|pypy)[\d.]*(\.exe)?|node|deno|bun|npx|uvx|uv|run|tsx")
HINT = 'For example: components=["rules", "my-proxy --flag", MyComponent()].'


_NOWHERE = Surroundings()


def components(given: Any, around: Surroundings = _NOWHERE) -> tuple[Component | AgentSpec, ...]:
    """The components that *given* names, in its order."""
    if not isinstance(given, (list, tuple)):
        raise UsageError("The components are a list.", hint=HINT)
    return tuple(component(each, around) for each in given)


def component(given: Any, around: Surroundings = _NOWHERE) -> Component | AgentSpec:
    """The component that *given* names."""
    if isinstance(given, (Component, AgentSpec)):
        return given
    if inspect.isclass(given) and issubclass(given, Component):
        return given()
    if isinstance(given, str) and given in SHIPPED:
        return SHIPPED[given](around)
    return program(given)


def described(given: Iterable[Any]) -> list[str]:
    """What tells one list of components from another: texts, and which objects they are."""
    return [_told(each) for each in given]


def _told(given: Any) -> str:
    if isinstance(given, (list, tuple)):
        return shlex.join(map(str, given))
    return given if isinstance(given, str) else f"{type(given).__name__} {id(given)}"


def program(given: str | Sequence[str]) -> AgentSpec:
    """How the program *given* is started."""
    try:
        words = shlex.split(given) if isinstance(given, str) else [str(word) for word in given]
    except (TypeError, ValueError) as error:
        raise UsageError(f"{given!r} is no component: {error}.", hint=HINT) from None
    if not words or not all(words):
        raise UsageError(f"{given!r} is no component.", hint=HINT)
    return custom(words, name=_called(words))


def _called(words: Sequence[str]) -> str:
    """What a command is called: its program, or what an interpreter or a package runner is given."""
    for word in words:
        name = word.replace("\\", "/").rstrip("/").rpartition("/")[2]
        if name and not name.startswith("-") and not _RUNNERS.fullmatch(name):
            return name
    return words[0]
