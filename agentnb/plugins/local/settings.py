"""The settings for server and model, from the command line, the environment, or a file.

They never contain a key: they name the variable that holds it.
"""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentnb.folders import config_folder
from agentnb.toml_file import parsed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


FILE = "local.toml"
VARIABLES = {
    "url": "AGENTNB_LOCAL_URL",
    "model": "AGENTNB_LOCAL_MODEL",
    "key_variable": "AGENTNB_LOCAL_KEY_VARIABLE",
    "ports": "AGENTNB_LOCAL_PORTS",
}
"""The environment variable for each setting."""
PORTS = (11434, 1234, 8000, 8080)
"""The default ports of Ollama, LM Studio, vLLM and llama.cpp's server."""

_LOOPBACK = re.compile(r"localhost|127\.\d+\.\d+\.\d+|::1", re.IGNORECASE)
_HIGHEST_PORT = 65535


class BadSettings(ValueError):
    """A setting makes no sense; the message says which, where it is, and what it has to be."""


@dataclass(frozen=True)
class LocalSettings:
    """The server and the model that are used."""

    url: str | None = None
    model: str | None = None
    key_variable: str | None = None
    ports: tuple[int, ...] = PORTS
    key: str | None = field(default=None, repr=False)


def read_settings(
    options: Mapping[str, str | None] | None = None, environ: Mapping[str, str] = os.environ
) -> LocalSettings:
    """Returns the settings from *options*, else from the environment, else from the user's file."""
    path = config_folder(environ) / FILE
    values: dict[str, tuple[Any, str]] = {name: (value, str(path)) for name, value in _from_file(path).items()}
    for name, its_variable in VARIABLES.items():
        if value := environ.get(its_variable):
            values[name] = (value, its_variable)
        if typed := (options or {}).get(name):
            values[name] = (typed, f"--{name.replace('_', '-')}")
    texts = {name: _text(name, *values[name]) for name in ("url", "model", "key_variable") if name in values}
    variable = texts.get("key_variable")
    return LocalSettings(
        url=_url(texts["url"], values["url"][1]) if "url" in texts else None,
        model=texts.get("model"),
        key_variable=variable,
        ports=_ports(*values["ports"]) if "ports" in values else _usual_ports(environ),
        key=(environ.get(variable) or "").strip() or None if variable else None,
    )


def is_loopback(url: str) -> bool:
    return _LOOPBACK.fullmatch(urlsplit(url).hostname or "") is not None


def _from_file(path: Path) -> dict[str, Any]:
    try:
        data = parsed(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise BadSettings(f"{path} cannot be read: {error}") from None
    if unknown := sorted(set(data) - set(VARIABLES)):
        raise BadSettings(f"{path} has a setting {unknown[0]!r}; it can have {', '.join(VARIABLES)}.")
    return data


def _text(name: str, value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise BadSettings(f"{name} in {where} must be text on one line.")
    return value.strip()


def _url(value: str, where: str) -> str:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable, parts = False, urlsplit("")
    if not usable:
        raise BadSettings(f"The URL in {where} is not a server's URL, which looks like http://127.0.0.1:11434/v1.")
    if parts.username is not None or parts.password is not None:
        raise BadSettings(
            f"The URL in {where} contains a password. Put the key in a variable, and give the variable's name."
        )
    return value.rstrip("/")


def _ports(value: object, where: str) -> tuple[int, ...]:
    numbers = value.replace(",", " ").split() if isinstance(value, str) else value
    try:
        ports = tuple(int(each) for each in numbers) if isinstance(numbers, list) else ()
    except (TypeError, ValueError):
        ports = ()
    if not ports or not all(0 < port <= _HIGHEST_PORT for port in ports):
        raise BadSettings(f"The ports in {where} must be numbers from 1 to {_HIGHEST_PORT}, such as 11434, 8080.")
    return ports


def _usual_ports(environ: Mapping[str, str]) -> tuple[int, ...]:
    """Returns the usual ports, preceded by the one that ``OLLAMA_HOST`` sets."""
    match = re.search(r":(\d{1,5})/?$", environ.get("OLLAMA_HOST", ""))
    port = int(match[1]) if match else 0
    return (port, *PORTS) if 0 < port <= _HIGHEST_PORT and port not in PORTS else PORTS


_CONNECT_SECONDS = 1.0
_NOBODY = "No model server answers."


async def why_not_ready(environ: Mapping[str, str]) -> str:
    """Returns why no server could answer now; '' if one is running, though it may have no model."""
    try:
        settings = read_settings(environ=environ)
    except BadSettings as error:
        return str(error)
    if settings.url is not None:
        return await _look(settings)
    listening = await asyncio.gather(*map(_listens, settings.ports))  # checked before the HTTP client is loaded
    return await _look(settings) if any(listening) else _NOBODY


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), _CONNECT_SECONDS)
    except (OSError, asyncio.TimeoutError):
        return False
    writer.close()
    return True


async def _look(settings: LocalSettings) -> str:
    await asyncio.to_thread(import_module, "agentnb.plugins.local.discovery")  # in a thread: it loads the HTTP client
    from agentnb.plugins.local.discovery import found_models

    async with found_models(settings) as found:
        is_there = found.servers or any(each.status is not None for each in found.troubles)
        return "" if is_there else _NOBODY
