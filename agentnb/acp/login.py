"""Logins: the ways an agent offers (ACP ``authMethods``), and what the user has to do for each."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agentnb.acp.fields import mapping, objects, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class LoginWay(msgspec.Struct, frozen=True, kw_only=True):
    """One way to log in."""

    id: str
    name: str
    kind: Literal["agent", "terminal", "variables"]
    description: str | None = None
    command: str | None = None
    variables: tuple[str, ...] = ()

    @property
    def what_to_do(self) -> str:
        """Returns what the user has to do, a few words; empty where the agent does it all."""
        if self.command:
            return f"type `{self.command}` in a terminal"
        return f"set {', '.join(self.variables)}" if self.variables else ""


def login_ways(methods: Iterable[Any], program: Sequence[str] = ()) -> tuple[LoginWay, ...]:
    """Read ``authMethods``; what cannot be read is ignored."""
    return tuple(_way(method, program) for method in objects(list(methods)) if text(method.get("id")))


def _way(method: dict[str, Any], program: Sequence[str]) -> LoginWay:
    terminal_auth = mapping(mapping(method.get("_meta")).get("terminal-auth"))
    variables = tuple(name for each in objects(method.get("vars")) if (name := text(each.get("name"))))
    command = None
    if terminal_auth and (named := text(terminal_auth.get("command"))):
        command = shlex.join([named, *_words(terminal_auth.get("args"))])
    elif method.get("type") == "terminal" and program:
        command = shlex.join([program[0], *_words(method.get("args"))])
    kind: Literal["agent", "terminal", "variables"] = "agent"
    if command is not None:
        kind = "terminal"
    elif method.get("type") == "env_var":
        kind = "variables"
    return LoginWay(
        id=str(method["id"]),
        name=text(method.get("name")) or str(method["id"]),
        kind=kind,
        description=text(method.get("description")),
        command=command,
        variables=variables,
    )


def _words(value: Any) -> list[str]:
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []
