"""Connecting to another kernel from Python: its conversations in a chat of this notebook."""

from __future__ import annotations

import atexit
import contextlib
import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from agentnb.api.serving import is_loopback, needs_websockets
from agentnb.errors import AgentnbError, UsageError
from agentnb.host import current_host
from agentnb.server.comm.frontend import current_frontend

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Self

    from agentnb.plugins.connect.remote.host_client import HostClient, LinkState
    from agentnb.plugins.connect.remote.mirrored_host import MirroredHost
    from agentnb.server.comm.model import HostModel
    from agentnb.state import SessionSummary

OPEN_SECONDS = 30.0
CLOSE_SECONDS = 5.0


class Remote:
    """Another host's conversations; :func:`connect` creates it.

    In the last line of a cell it shows its chat. It is a context manager: it is closed at the end of the block.

    Args:
        mirror: The other host's channels, mirrored here.
        client: The client of the connection.
        model: The widget model of its chat.
        address: The other host's address, without the token.
    """

    def __init__(self, mirror: MirroredHost, client: HostClient, model: HostModel, address: str) -> None:
        self._mirror, self._client, self._model = mirror, client, model
        self._address = address

    @property
    def address(self) -> str:
        """The other host's address, without the token."""
        return self._address

    @property
    def state(self) -> LinkState:
        """Returns the state of the connection.

        ``"connected"``; ``"cut"``: it reconnects by itself; ``"ended"``: it was closed, or the other host refuses it.
        """
        return self._client.state

    @property
    def message(self) -> str:
        """Returns why there is no connection, where there is none; else empty."""
        return "" if self.state == "connected" else self._client.why

    @property
    def sessions(self) -> tuple[SessionSummary, ...]:
        """The other host's open conversations, in the order in which they were opened."""
        return tuple(current_host().loop.call(lambda: self._mirror.root.state.sessions or ()))

    def chat(self, session: str | None = None) -> Any:
        """Returns the chat widget with the other host's conversations.

        Args:
            session: The ``resource`` of the conversation to show first; by default the page chooses.
        """
        what: dict[str, Any] = {"kind": "chat"}
        if session is not None:
            what["tab"] = session.rpartition("/")[2]
        return current_frontend().panel(what, self._model)

    def close(self) -> None:
        """Disconnect. The chat keeps its last state, and says so."""
        atexit.unregister(self.close)
        with contextlib.suppress(RuntimeError, AgentnbError):  # the host has stopped, and so has the connection
            current_host().loop.submit(self._client.close()).result(CLOSE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.state != "connected":
            return f"Not connected to {self.address}: {self.message}"
        titles = ", ".join(repr(each.title) for each in self.sessions) or "none"
        return f"Connected to {self.address}; conversations: {titles}."

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self.chat()._repr_mimebundle_(**options)


def connect(
    url: str, token: str | None = None, *, certificate: str | Path | None = None, insecure: bool = False
) -> Remote:
    """Show another host's conversations in a chat of this notebook, over the Agent Host Protocol.

    The other host is a kernel that :func:`agentnb.serve` serves, or any other host that speaks the protocol. Your
    prompts, answers and approvals take effect there, as far as the token allows. Mentions (``@df``) refer to that
    kernel; only kernels with agentnb support them. A lost connection is restored by itself, and the chat shows what it
    missed.

    Args:
        url: The address: ``ws://…`` on this machine, ``wss://…`` elsewhere. It may contain the token (``?token=…``;
            ``?agentnb_token=…`` if ``token`` is that of a Jupyter server in between; ``?tkn=…`` for VS Code's host).
        token: The token, if the address does not contain it.
        certificate: A file with the certificate (PEM) that verifies the other host's certificate; by default those of
            this machine.
        insecure: True to connect to another machine without TLS: everybody in between can read the token.

    Returns:
        The connection; in the last line of a cell it shows the chat.

    Raises:
        NotOffered: If ``websockets`` is not installed.
        UsageError: If the address is not a WebSocket address, there is no token, or TLS is required.
        HostUnavailable: If the other host cannot be reached, or refuses.
        UnsupportedVersion: If it speaks other versions of the protocol.

    Example:
        >>> remote = agentnb.connect("ws://127.0.0.1:40123/", token)  # doctest: +SKIP
        >>> remote.sessions[0].title  # doctest: +SKIP
        'Fit the curve'
    """
    with needs_websockets(message="Connecting needs the package websockets."):
        from agentnb.plugins.connect.remote.connecting import RemotePageService, connect_host
    address, token, is_local = _address_of(url, token, insecure=insecure)
    tls = None if address.startswith("ws:") else ssl.create_default_context(cafile=certificate)
    host, frontend = current_host(), current_frontend()
    look = host.environment.sources().look
    name = urlsplit(address).netloc
    begun = connect_host(host.loop, address, token, name=name, tls=tls, is_local=is_local, look=look)
    mirror, client = host.loop.submit(begun).result(OPEN_SECONDS)
    model, _ = frontend.connect(lambda send: RemotePageService(mirror, send))
    remote = Remote(mirror, client, model, address.partition("?")[0])
    atexit.register(remote.close)
    return remote


def _address_of(url: str, token: str | None, *, insecure: bool) -> tuple[str, str, bool]:
    """Returns the address without our token, the token, and True if the address is on this machine."""
    from agentnb.server.websocket.access import TOKEN, TOKEN_BEHIND_PROXY, TOKEN_OF_VSCODE

    try:
        parts = urlsplit(url)
        name = parts.hostname
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"{url!r} is not an address: {error}.", hint='Use "ws://127.0.0.1:PORT/".') from None
    if parts.scheme not in {"ws", "wss"} or not name:
        raise UsageError(f"{url.partition('?')[0]!r} is not a WebSocket address.", hint='Use "ws://127.0.0.1:PORT/".')
    query = parse_qsl(parts.query, keep_blank_values=True)
    if token is None:
        name_of_token = next((key for key in (TOKEN_BEHIND_PROXY, TOKEN) if key in dict(query)), TOKEN)
        token = dict(query).get(name_of_token)
        query = [(key, value) for key, value in query if key != name_of_token]
        token = token or dict(query).get(TOKEN_OF_VSCODE)  # VS Code's host reads its token from the address only
    if not token or not token.isascii() or not token.isprintable():
        raise UsageError("There is no token.", hint="`agentnb serve --list` shows the address with its token.")
    is_local = is_loopback(name)
    if parts.scheme == "ws" and not is_local and not insecure:
        raise UsageError(
            f"Without TLS, anyone between here and {name} can read the token.",
            hint="Use a wss:// address, an SSH tunnel to 127.0.0.1, or pass insecure=True.",
        )
    path = parts.path or "/"
    return urlunsplit((parts.scheme, parts.netloc, path, urlencode(query), "")), token, is_local
