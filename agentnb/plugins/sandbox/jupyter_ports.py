"""The ports of the user's Jupyter servers: a confined agent does not connect to them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from agentnb.folders import home
from agentnb.safe_json import read_record

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Server(msgspec.Struct):
    port: int = 0
    pid: int = 0


def jupyter_ports(env: Mapping[str, str] = os.environ) -> tuple[int, ...]:
    """Returns the TCP ports of the Jupyter servers that run for this user on this machine."""
    servers = [_server(path) for path in _runtime_folder(env).glob("jpserver-*.json")]
    ports = {server.port for server in servers if Path(f"/proc/{server.pid}").exists()}
    with contextlib.suppress(ValueError):
        ports.add(urlsplit(env.get("JUPYTERHUB_SERVICE_URL", "")).port or 0)
    return tuple(sorted(port for port in ports if 0 < port < 1 << 16))


def _server(path: Path) -> _Server:
    try:
        return read_record(path.read_bytes(), _Server)
    except (OSError, ValueError):
        return _Server()


def _runtime_folder(env: Mapping[str, str]) -> Path:
    if named := env.get("JUPYTER_RUNTIME_DIR"):
        return Path(named)
    data = env.get("JUPYTER_DATA_DIR") or f"{env.get('XDG_DATA_HOME') or home(env) / '.local/share'}/jupyter"
    return Path(data) / "runtime"
