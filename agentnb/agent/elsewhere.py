"""Agents on other machines: their addresses, and the program that connects to them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentnb.agent.network_hosts import is_here
from agentnb.credentials import Credentials
from agentnb.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMES = ("wss", "https", "ws", "http")
"""The schemes of addresses of agents, those with TLS first."""
UNCONFINED = (
    "It runs on another machine and cannot be confined from here. Its requests to this machine go through your policy."
)
"""Said of every agent elsewhere."""
CONFINED_COMMANDS = " The commands that it runs here are confined."
_EXAMPLE = "For example: wss://agents.example.org/acp."


def is_address(words: str) -> bool:
    """True if *words* are meant as the address of an agent rather than as a command."""
    return words.partition("://")[0].lower() in SCHEMES


def check_address(url: str, *, unencrypted: bool = False) -> None:
    """Check that *url* is an agent's address that holds no secret, and that nobody in between reads along.

    Raises:
        UsageError: If not.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
        parts.port  # noqa: B018 - raises where it is none
    except ValueError as error:
        raise UsageError(f"the address cannot be read: {error}", hint=_EXAMPLE) from error
    if parts.scheme not in SCHEMES or not host or not url.isprintable() or " " in url or parts.fragment:
        raise UsageError("it is not an address of an agent: it begins with wss:// or https://", hint=_EXAMPLE)
    if parts.username is not None or parts.password is not None or Credentials({}).hidden_in_command(url) != url:
        message = "the address contains a credential, and addresses are visible"
        raise UsageError(message, hint="Set a variable to it, and name the variable with token_variable.")
    if parts.scheme in {"ws", "http"} and not is_here(host) and not unencrypted:
        message = f"without TLS anyone between here and {host} can read along, including the token"
        raise UsageError(message, hint=f"Use {parts.scheme}s://, or set unencrypted = true.")


def connecting_command(url: str, token_variable: str | None, *, unencrypted: bool) -> tuple[str, ...]:
    """The words of the program that speaks ACP on stdio for the agent at *url* (the plug-in `remote`)."""
    token = () if token_variable is None else ("--token-variable", token_variable)
    plain = ("--unencrypted",) if unencrypted else ()
    return (sys.executable, "-m", "agentnb", "remote", *token, *plain, url)


def with_connecting_command(data: dict[str, Any], own: Mapping[str, object]) -> dict[str, Any]:
    """The description *data* of an agent, of which its file says *own*; where it has a ``url``, with its command.

    Raises:
        UsageError: If the address makes no sense, or there is a command beside it.
    """
    if "command" in own:
        if "url" in own:
            raise UsageError("an agent has a command or a url, not both")
        return {**data, "url": None}
    url, token, unencrypted = data.get("url"), data.get("token_variable"), data.get("unencrypted") is True
    if not isinstance(url, str):
        return data
    check_address(url, unencrypted=unencrypted)
    command = connecting_command(url, token if isinstance(token, str) else None, unencrypted=unencrypted)
    # a login in a terminal would run the program that connects
    return {**data, "command": command, "capabilities": {**data.get("capabilities", {}), "terminal_login": False}}
