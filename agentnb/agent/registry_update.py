"""Brings a newer registry from a file or an address that the user names; it is checked before it counts."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from agentnb.agent.registry import LARGEST, read_registry, registry_file, snapshot
from agentnb.atomic_write import write_atomically
from agentnb.errors import UsageError

if TYPE_CHECKING:
    from agentnb.agent.registry import Registry

SECONDS = 30.0
"""How long the whole download may take."""
_PIECE = 64 * 1024
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Updated(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an update of the registry."""

    path: str
    agents: int
    versions: tuple[str, ...]


def update_registry(source: str) -> Updated:
    """Read a registry from *source* and keep it for this user."""
    data = _download(source) if "://" in source else _read(Path(source).expanduser())
    registry = read_registry(data)
    file = registry_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, data, mode=0o644, sync=True)
    except OSError as error:
        raise _failed(str(file), error.strerror or str(error), "be written") from error
    return Updated(path=str(file), agents=len(registry.agents), versions=_changed(registry))


def _changed(registry: Registry) -> tuple[str, ...]:
    known = {agent.id: agent.version for agent in snapshot().agents}
    return tuple(
        f"{agent.id} {known[agent.id]} → {agent.version}" if agent.id in known else f"{agent.id} {agent.version}"
        for agent in registry.agents
        if known.get(agent.id) != agent.version
    )


def _read(file: Path) -> bytes:
    try:
        if not file.is_file():
            raise _failed(str(file), "there is no such file")
        with file.open("rb") as opened:
            return opened.read(LARGEST + 1)
    except OSError as error:
        raise _failed(str(file), error.strerror or str(error)) from error


def _download(address: str) -> bytes:
    _check_address(address)
    request = urllib.request.Request(address, headers={"Accept": "application/json", "User-Agent": "agentnb"})  # noqa: S310 - checked above
    opener = urllib.request.build_opener(_Redirects())
    try:
        with opener.open(request, timeout=SECONDS) as answer:
            return _read_within(answer, time.monotonic() + SECONDS)
    except urllib.error.HTTPError as error:
        with error:
            raise _failed(address, f"the server answered {error.code}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise _failed(address, str(reason)[:200]) from error


def _read_within(answer: IO[bytes], deadline: float) -> bytes:
    """At most one byte more than a registry may have, in time; a server that sends byte by byte is given up."""
    read1 = getattr(answer, "read1", answer.read)
    data = bytearray()
    while len(data) <= LARGEST:
        if time.monotonic() > deadline:
            raise TimeoutError(f"it took more than {SECONDS:.0f} seconds")
        piece = read1(_PIECE)
        if not piece:
            break
        data += piece
    return bytes(data)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a server only to another address that the user could have named."""

    def redirect_request(  # noqa: PLR0917 - urllib's signature
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        _check_address(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_address(address: str) -> None:
    try:
        parts = urllib.parse.urlsplit(address)
        is_allowed = bool(parts.hostname) and (
            parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
        )
    except ValueError:
        is_allowed = False
    if not is_allowed:
        raise _failed(address, "an address must start with https:// (http:// only on this machine)")


def _failed(source: str, why: str, what: str = "be read") -> UsageError:
    return UsageError(f"{source[:300]} could not {what}: {why}.", hint="The previous registry stays.")
