"""Agents on other machines, and the hosts that a confined agent may reach."""

from __future__ import annotations

import ipaddress
import re
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentnb.credentials import Credentials
from agentnb.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SCHEMES = ("wss", "https", "ws", "http")
"""The schemes of agents' addresses, those with TLS first."""
UNCONFINED = (
    "It runs on another machine and cannot be confined from here. Its requests to this machine go through your policy."
)
"""The note on every agent that runs on another machine."""
CONFINED_COMMANDS = " The commands that it runs here are confined."
_EXAMPLE = "For example: wss://agents.example.org/acp."


def is_address(words: str) -> bool:
    """True if *words* are meant as the address of an agent rather than as a command."""
    return words.partition("://")[0].lower() in SCHEMES


def check_address(url: str, *, unencrypted: bool = False) -> None:
    """Check that *url* is an agent's address without a secret, and that nobody in between can read the connection.

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


def with_connecting_command(data: dict[str, Any], own: Mapping[str, object]) -> dict[str, Any]:
    """Returns an agent's description *data*, with its command if it has a ``url``; *own* are the keys in its file.

    Raises:
        UsageError: If the address is invalid, or if *own* has both a command and a ``url``.
    """
    if "command" in own:
        if "url" in own:
            raise UsageError("an agent has a command or a url, not both")
        return {**data, "url": None}
    url, variable, unencrypted = data.get("url"), data.get("token_variable"), data.get("unencrypted") is True
    if not isinstance(url, str):
        return data
    check_address(url, unencrypted=unencrypted)
    token = ("--token-variable", variable) if isinstance(variable, str) else ()
    plain = ("--unencrypted",) if unencrypted else ()
    command = (sys.executable, "-m", "agentnb", "remote", *token, *plain, url)  # it speaks ACP on stdio
    # a login in a terminal would run the connecting program
    return {**data, "command": command, "capabilities": {**data.get("capabilities", {}), "terminal_login": False}}


if TYPE_CHECKING:
    Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*")
_HIGHEST_PORT = 65535


def checked_hosts(hosts: object) -> tuple[str, ...]:
    """Returns *hosts* normalized for comparison: in lower case, each once; raises if they are not valid."""
    if not isinstance(hosts, (list, tuple)) or not hosts or not all(isinstance(each, str) for each in hosts):
        message = f'network must be "all", "none" or a list of hosts, not {hosts!r}.'
        raise UsageError(message, hint='For example: network=["pypi.org", "*.example.org"].')
    return tuple(dict.fromkeys(map(_checked, hosts)))


def host_and_port(text: str, default: int | None = None) -> tuple[str, int | None]:
    """The host (lower case, no final dot) and the port of ``host``, ``host:port`` or ``[::1]:port``."""
    bracketed = re.fullmatch(r"\[([0-9a-fA-F:.]+)\](?::(\d{1,5}))?", text)
    plain = bracketed or re.fullmatch(r"([^\s:/@\[\]]+)(?::(\d{1,5}))?", text)
    if plain is None:
        raise ValueError(text)
    host, port = plain[1].lower().removesuffix("."), default if plain[2] is None else int(plain[2])
    if port is not None and not 0 < port <= _HIGHEST_PORT:
        raise ValueError(text)
    if bracketed:
        return str(ipaddress.IPv6Address(host)), port
    return (host if host.isascii() else host.encode("idna").decode()), port  # its UnicodeError is a ValueError


def is_allowed(hosts: Iterable[str], host: str, port: int) -> bool:
    for each in hosts:
        name, only = host_and_port(each.removeprefix("*."))
        fits = host.endswith(f".{name}") if each.startswith("*.") else host == name
        if fits and only in (None, port):
            return True
    return False


def address_of(host: str) -> Address | None:
    """*host* as an IP address; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_here(host: str) -> bool:
    """True if *host* denotes this machine: ``localhost`` or a loopback address."""
    address = address_of(host)
    return host == "localhost" or host.endswith(".localhost") or (address is not None and address.is_loopback)


def servers_here(hosts: Iterable[str]) -> dict[tuple[str, int], str]:
    """This machine's servers that *hosts* name with a port: the host by address and port."""
    servers: dict[tuple[str, int], str] = {}
    for host, port in (host_and_port(each) for each in hosts if not each.startswith("*")):
        if port is not None and is_here(host):
            addresses = ("127.0.0.1", "::1") if address_of(host) is None else (host,)
            for address in addresses:
                servers.setdefault((address, port), host)
    return servers


def leads_astray(host: str, address: Address) -> bool:
    """True if *host* is a name not meant for this machine, but *address* is on this machine or its local link."""
    if address_of(host) is not None:
        return False
    real = getattr(address, "ipv4_mapped", None) or address
    if real.is_loopback:
        return not is_here(host)
    return bool(real.is_link_local or real.is_multicast or real.is_unspecified)


def _checked(host_text: str) -> str:
    text = host_text.strip()
    rest = text.removeprefix("*.")
    try:
        host, port = host_and_port(rest)
    except ValueError:
        host, port = "", None
    address = address_of(host)
    is_name = address is None and _NAME.fullmatch(host) is not None and not host.rpartition(".")[2].isdecimal()
    if not (is_name or (address is not None and rest == text)):
        message = f"{host_text!r} in network is not a host."
        raise UsageError(message, hint="Give a name (pypi.org), names below one (*.example.org) or an address.")
    literal = f"[{host}]" if ":" in host else host
    return f"{'*.' if rest != text else ''}{literal}{'' if port is None else f':{port}'}"
