"""Serves over the WebSocket, and starts serving in a running kernel."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.clock import now_ms
from agentnb.errors import AgentnbError, UsageError
from agentnb.host.channels import REMOTE_CLIENTS
from agentnb.server.websocket.access import ServedClient, digest, remove, runtime_folder, write
from agentnb.server.websocket.server import WebSocketListener
from agentnb.site_policy import site_policy
from agentnb.state import RootConfigChanged

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable

    from agentnb.host.host import Host
    from agentnb.server.request_table import Right
    from agentnb.server.service import Service
    from agentnb.server.websocket.access import Grant


_serving: dict[str, Serving] = {}
"""The one server of each host, by the host's id."""
_listeners: dict[str, list[WebSocketListener]] = {}
"""All listeners for the clients of a host, by the host's id."""


class Serving:
    """One kernel's server. On the host's thread."""

    def __init__(self, host: Host, listener: WebSocketListener, address: str) -> None:
        self.is_open: bool = True
        self.listener = listener
        self.address = address
        self._host = host
        self._file: Path | None = None
        self._clients: dict[str, ServedClient] = {}

    def add_client(self, name: str, rights: Iterable[Right], **options: Any) -> str:
        """Let a client connect; see :meth:`agentnb.server.websocket.access.ClientGrants.add`."""
        token = self.listener.grants.add(name, rights, **options)
        grant = next(each for each in self.listener.grants if each.digest == digest(token))
        self._clients[grant.name] = ServedClient(doing=grant.line, token=token)
        self._write()
        return token

    def revoke(self, name: str) -> bool:
        """Stop letting that client connect; see :meth:`agentnb.server.websocket.server.WebSocketListener.revoke`."""
        self._clients.pop(name, None)
        self._write()
        return self.listener.revoke(name)

    def _write(self) -> None:
        with contextlib.suppress(OSError):  # clients can connect without the file
            self._file = write(self._host.host_id, self.address, self._clients)

    async def close(self) -> None:
        self.is_open = False
        _serving.pop(self._host.host_id, None)
        if self._file is not None:
            remove(self._file)
        await stop_listening(self._host, self.listener)


def current(host: Host) -> Serving | None:
    """Returns the server of *host*; None if it is not served."""
    return _serving.get(host.host_id)


async def start(
    host: Host,
    service: Service,
    *,
    address: str,
    port: int,
    tls: ssl.SSLContext | None,
    name: str,
    rights: Iterable[Right],
    token: str | None,
    **options: Any,
) -> tuple[Serving, str]:
    """Begin to serve *host*; see :func:`agentnb.serve`."""
    site_policy().demand("serve")
    if host.host_id in _serving:
        raise UsageError("This kernel is served already.", hint="Close that server first: `%agents serve stop`.")
    listener, at = await listen(host, service, address=address, port=port, tls=tls, **options)
    bracketed = f"[{address}]" if ":" in address else address
    serving = Serving(host, listener, f"{'ws' if tls is None else 'wss'}://{bracketed}:{at}/")
    try:
        token = serving.add_client(name, rights, token=token)
    except BaseException:
        await stop_listening(host, listener)
        raise
    _serving[host.host_id] = serving
    return serving, token


async def listen(
    host: Host, service: Service, *, address: str, port: int, tls: ssl.SSLContext | None, **options: Any
) -> tuple[WebSocketListener, int]:
    """Begin to listen for clients of *host*; the chat and the log show who is connected. Also returns the port."""

    def changed(grant: Grant, came: bool) -> None:
        what = "connected" if came else "disconnected"
        host.policy.record(kind="client", tool=what, what=grant.line, outcome="allow", by="user")
        _show(host)

    listener = WebSocketListener(host, service, changed=changed, **options)
    at = await listener.open(address, port, tls)
    _listeners.setdefault(host.host_id, []).append(listener)
    return listener, at


async def stop_listening(host: Host, listener: WebSocketListener) -> None:
    """End every connection of *listener* and stop it listening."""
    _listeners[host.host_id].remove(listener)
    await listener.close()
    _show(host)


def _show(host: Host) -> None:
    lines: list[str] = []
    for listener in _listeners.get(host.host_id, ()):
        by_name = {grant.name: grant.line for grant in listener.grants}
        lines += [by_name.get(client.name, client.name) for client in listener.clients]
    config = host.root.state.config
    if config is not None and lines != config.values.get(REMOTE_CLIENTS, []):
        host.root.accept(RootConfigChanged(config={REMOTE_CLIENTS: lines}, time=now_ms()))


ANSWER_SECONDS = 60.0
CODE = "import agentnb.api.serving as _s; _s.serving() or _s.serve()"


class NotServed(AgentnbError):
    """A kernel that could not be served."""


def start_in(kernel: str) -> None:
    """Have *kernel* served if it is not yet."""
    try:
        from jupyter_client.blocking.client import BlockingKernelClient
    except ModuleNotFoundError as error:
        raise NotServed("jupyter_client is not installed here.", hint="Run `%agents serve` in the notebook.") from error
    client = BlockingKernelClient(connection_file=str(_connection_file(kernel)))
    client.load_connection_file()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=ANSWER_SECONDS)
        reply = client.execute_interactive(
            CODE, silent=True, store_history=False, timeout=ANSWER_SECONDS, output_hook=lambda _message: None
        )
    except (RuntimeError, TimeoutError) as error:
        raise NotServed(
            "The kernel did not answer.", hint="A cell may be running. Wait until it finishes, then try again."
        ) from error
    finally:
        client.stop_channels()
    content = reply["content"]
    if content.get("status") != "ok":
        raise NotServed(f"The kernel could not be served: {content.get('ename')}: {content.get('evalue')}")


def _connection_file(kernel: str) -> Path:
    if kernel.endswith(".json"):
        path = Path(kernel)
        if path.is_file():
            return path
        raise NotServed(f"There is no file {kernel}.")
    names = [path for path in runtime_folder().glob("kernel-*.json") if path.stem.startswith(f"kernel-{kernel}")]
    if len(names) != 1:
        what = f"{len(names)} kernels begin with {kernel!r}" if names else f"No running kernel begins with {kernel!r}"
        hint = "`jupyter server list` and the notebook's kernel menu name them; %connect_info shows the file."
        raise NotServed(f"{what} in {runtime_folder()}.", hint=hint)
    return names[0]
