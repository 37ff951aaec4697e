"""Serving from Python: other programs join this kernel's conversations, and agents in a terminal use the kernel."""

from __future__ import annotations

import atexit
import contextlib
import ssl
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from agentnb.errors import NotOffered, UsageError
from agentnb.host import current_host
from agentnb.server.comm.frontend import current_frontend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from typing_extensions import Self

    from agentnb.api.session import Session
    from agentnb.server.request_table import Right
    from agentnb.server.websocket.server import ConnectedClient
    from agentnb.server.websocket.serving import Serving


ANSWER_SECONDS = 10.0
"""The most seconds that the host's thread takes to start or stop serving or pairing."""


@contextlib.contextmanager
def needs_websockets(*, message: str) -> Iterator[None]:
    """Turn the error that the package websockets cannot be imported into one that says what to do."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("websockets"):
            raise
        raise NotOffered(message, hint="Install it: pip install 'jupyter-agentnb[serve]'.") from error


class Pairing(NamedTuple):
    """The pairing of this kernel with agents in a terminal.

    Attributes:
        on: True if agents in a terminal may use this kernel.
        connected: The titles of the connected agents' conversations.
    """

    on: bool
    connected: tuple[str, ...] = ()

    def __repr__(self) -> str:
        if not self.on:
            return "This kernel is not paired: no agent in a terminal can use it."
        who = f"Connected: {', '.join(self.connected)}." if self.connected else "No agent is connected yet."
        return (
            "Agents in your terminal can now use this kernel. They ask here before they run anything, as always.\n"
            f"{who} Their MCP server is the command `agentnb mcp`, for example: claude mcp add agentnb -- agentnb mcp\n"
            "End it with agentnb.unpair() or `%agents unpair`."
        )


def pair() -> Pairing:
    """Let agents in a terminal use this kernel, until :func:`unpair` is called or the kernel ends.

    They start ``agentnb mcp`` as an MCP server. Their calls go through the policy and ask you, like every agent's
    calls; each agent gets its own conversation in the chat. No other user and no other machine can connect.

    Returns:
        The pairing, with the connected agents.

    Raises:
        NotOffered: Outside of IPython, or if no socket can be made (Windows).

    Example:
        >>> agentnb.pair()  # doctest: +SKIP
        Agents in your terminal can now use this kernel. They ask here before they run anything, as always.
    """
    host = current_host()
    if host.environment.code_runner() is None:  # created here, on the thread that runs the user's code
        raise NotOffered("There is no IPython kernel here.", hint="Pairing works in IPython and in notebooks.")
    host.loop.submit(host.pairing.start()).result(ANSWER_SECONDS)
    return host.loop.call(_pairing)


def unpair() -> Pairing:
    """End the pairing of this kernel and every connection; everything that runs for a terminal agent is cancelled.

    Example:
        >>> agentnb.unpair()  # doctest: +SKIP
        This kernel is not paired: no agent in a terminal can use it.
    """
    host = current_host()
    host.loop.call(host.pairing.stop)
    return host.loop.call(_pairing)


def _pairing() -> Pairing:
    pairing = current_host().pairing
    return Pairing(pairing.on, tuple(each.channels.title for each in pairing.connected))


class Server:
    """Serves this kernel's conversations to other clients; made by :func:`serve`.

    It is a context manager: the server is closed at the end of the block.

    Args:
        serving: The server on the host's thread.
        name: The first client's name.
        token: The first client's token.
    """

    def __init__(self, serving: Serving, name: str, token: str) -> None:
        self._serving = serving
        self._token = token
        self._name = name

    @property
    def url(self) -> str:
        """The address with the token in it, for a client that can only be given an address. Treat it as a password."""
        return f"{self.address}?token={quote(self._token)}"

    @property
    def address(self) -> str:
        """The address without a token, such as ``ws://127.0.0.1:40123/``; the token goes into a header."""
        return self._serving.address

    @property
    def token(self) -> str:
        """The first client's token (``Authorization: Bearer …``)."""
        return self._token

    @property
    def closed(self) -> bool:
        """True if it has stopped listening."""
        return not self._serving.is_open

    @property
    def clients(self) -> tuple[ConnectedClient, ...]:
        """The clients that are connected now."""
        return current_host().loop.call(lambda: self._serving.listener.clients)

    def add_client(
        self,
        name: str,
        *,
        rights: Iterable[Right] = ("watch",),
        sessions: Iterable[Session] | None = None,
        expires: float | None = None,
    ) -> str:
        """Let one more client connect.

        Args:
            name: The client's name in the chat and the log, such as ``"phone"``.
            rights: ``"watch"`` (always), ``"drive"`` (prompt, cancel, open and close conversations) and ``"approve"``
                (answer permission requests, change permissions, undo changes). ``"answer"`` alone: see only
                permission requests, answer each for this one time only, stop a turn.
            sessions: The sessions that the client may see; all by default.
            expires: Seconds until the token expires; never by default.

        Returns:
            The client's token, of 256 bits. It is shown only here.

        Raises:
            UsageError: If the name is in use or a right is unknown.

        Example:
            >>> server.add_client("phone", rights=["watch", "approve"])  # doctest: +SKIP
        """
        tabs = None if sessions is None else [session.tab_id for session in sessions]
        return current_host().loop.call(lambda: self._serving.add_client(name, rights, tabs=tabs, seconds=expires))

    def revoke(self, name: str) -> bool:
        """Revoke the token of the client *name* and close its connection; returns whether there was one."""
        return current_host().loop.call(lambda: self._serving.revoke(name))

    def close(self) -> None:
        """Close every connection and stop listening."""
        atexit.unregister(self.close)
        with contextlib.suppress(RuntimeError, UsageError):  # the host has stopped, and its server too
            current_host().loop.submit(self._serving.close()).result(ANSWER_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "This kernel is not served."
        who = ", ".join(each.name for each in self.clients) or "nobody"
        return (
            f"Serving at {self.address}; connected: {who}.\n"
            "`agentnb serve --list` in a terminal shows the address with its token. `%agents serve stop` ends it."
        )


def serve(
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    *,
    name: str = "client",
    rights: Iterable[Right] = ("watch", "drive", "approve"),
    certificate: str | Path | None = None,
    key: str | Path | None = None,
    insecure: bool = False,
    hosts: Iterable[str] = (),
    origins: Iterable[str] = (),
) -> Server:
    """Let other programs join this kernel's conversations over the Agent Host Protocol.

    As far as its rights allow, a client sees what the chat shows, prompts, and answers permission requests. The chat
    shows who is connected, and the audit log records who connected and what they approved.

    Args:
        host: The address to listen on. Listening for other machines requires a certificate, or *insecure*.
        port: The port; a free one by default.
        token: The first client's token; a random one of 256 bits by default.
        name: The first client's name.
        rights: What the first client may do: ``"watch"``, ``"drive"``, ``"approve"``.
        certificate: A file with a TLS certificate (PEM).
        key: The file with the certificate's key, if it is not in the same file.
        insecure: True to listen beyond this machine without TLS: everybody in between can read along.
        hosts: Names that clients use for this server besides its address: a proxy's ``name:port``.
        origins: Web origins whose pages may connect, such as ``"https://example.org"``; none by default.

    Returns:
        The server; ``server.url`` is the address with the token.

    Raises:
        NotOffered: If ``websockets`` is not installed.
        UsageError: If this kernel is already served, or *host* is not this machine and neither *certificate* nor
            *insecure* is given.
        OSError: If the address cannot be used.

    Example:
        >>> with agentnb.serve() as server:  # doctest: +SKIP
        ...     server.address
        'ws://127.0.0.1:40123/'
    """
    with needs_websockets(message="Serving needs the package websockets."):
        from agentnb.server.websocket.serving import start
    tls = _tls(certificate, key)
    if tls is None and not insecure and not is_loopback(host):
        raise UsageError(
            f"{host} can be reached from other machines, and without TLS anyone in between can read along.",
            hint="Give a certificate, use an SSH tunnel to 127.0.0.1, or pass insecure=True.",
        )
    frontend = current_frontend()
    begun = start(
        current_host(), frontend.service, address=host, port=port, tls=tls, name=name, rights=tuple(rights),
        token=token, hosts=frozenset(hosts), origins=frozenset(origins),
    )  # fmt: skip
    served, token = current_host().loop.submit(begun).result(ANSWER_SECONDS)
    server = _servers[current_host().host_id] = Server(served, name, token)
    atexit.register(server.close)
    return server


def serving() -> Server | None:
    server = _servers.get(current_host().host_id)
    return None if server is None or server.closed else server


_servers: dict[str, Server] = {}


def _tls(certificate: str | Path | None, key: str | Path | None) -> ssl.SSLContext | None:
    if certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    return context


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
