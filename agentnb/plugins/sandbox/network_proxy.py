"""The proxy of a confined agent: its only way to the network, which leads to the hosts that it may reach.

It accepts ``CONNECT`` and plain HTTP, and connects to the address that it has looked up and checked, so that a name
cannot lead elsewhere in the meantime.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import shutil
import socket
import struct
import tempfile
import urllib.request
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import unquote, urlsplit

from agentnb.agent.elsewhere import address_of, host_and_port, is_allowed, is_here, leads_astray, servers_here
from agentnb.plugins.sandbox.jupyter_ports import jupyter_ports
from agentnb.plugins.sandbox.proxy_request import ProxyRequest, Refused, authority, body_length, head_of, read_request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import TypeAlias

    Answer: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

LONGEST_HEAD = 64 * 1024
"""The largest head of a request, in bytes."""
MOST_CONNECTIONS = 512
"""Connections that are served at a time; more wait."""
MOST_REFUSED = 50
"""Refused hosts that are remembered."""
MOST_SERVERS = 32
"""Addresses of this machine's servers that are passed into private networks; others are reached by the proxy."""
_PIECE = 64 * 1024
_HERE = ("localhost", "127.0.0.1", "::1")

Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NetworkProxy:
    """A proxy for one confined agent, or for what *who* names. Runs on the loop that it was opened on."""

    def __init__(self, hosts: tuple[str, ...], env: Mapping[str, str], who: str = "the agent is confined and") -> None:
        self._who = who
        self.port: int = 0
        self.meeting: str = ""
        self.has_joined: bool = False
        self.refused: dict[str, None] = {}
        self._hosts = hosts
        self._names = [each for each in hosts if not each.startswith("*")]
        self._outer = _outer_proxies(env)
        refused = jupyter_ports()
        here = [(key, host) for key, host in servers_here(hosts).items() if key[1] not in refused]
        self._here = dict(here[:MOST_SERVERS])
        self._servers: list[asyncio.Server] = []
        self._serving: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(MOST_CONNECTIONS)
        self._folder = ""
        self._link: socket.socket | None = None
        self._watched: set[int] = set()

    @property
    def address(self) -> str:
        """The proxy's address, in the form for :mod:`agentnb.plugins.sandbox.confined_program`."""
        servers = ",".join(f"{address} {port}" for address, port in self._here)
        return f"proxy;{self.port};{self._direct(apart=False)};{self._direct(apart=True)};{servers};{self.meeting}"

    def _direct(self, *, apart: bool) -> str:
        """Returns the hosts that bypass the proxy (``NO_PROXY``): this machine, unless only the proxy leads to it."""
        named = {(host, port) for host, port in map(host_and_port, self._names) if is_here(host)}
        handed_on = {(host, port) for (_, port), host in self._here.items()} if apart else set()
        return "" if named - handed_on else ",".join(_HERE)

    async def open(self, *, apart: bool = True) -> None:
        server = await asyncio.start_server(self._begin, "127.0.0.1", 0, limit=LONGEST_HEAD)
        self._servers.append(server)
        self.port = server.sockets[0].getsockname()[1]
        if apart and hasattr(socket, "send_fds") and hasattr(os, "pidfd_open"):
            self._folder = tempfile.mkdtemp(prefix="agentnb-proxy-")
            self.meeting = f"{self._folder}/s"
            self._link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._link.bind(self.meeting)
            self._link.listen()
            self._link.setblocking(False)
            asyncio.get_running_loop().add_reader(self._link, self._meet)

    def close(self) -> None:
        """Stop, and end all connections; may be called more than once."""
        loop = asyncio.get_running_loop() if self._servers else None
        for server in self._servers:
            server.close()
        for task in self._serving:
            task.cancel()
        if loop is not None:
            for handle in self._watched:
                loop.remove_reader(handle)
                os.close(handle)
            if self._link is not None:
                loop.remove_reader(self._link)
                self._link.close()
        self._servers.clear()
        self._watched.clear()
        self._link = None
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self.meeting = self._folder = ""

    async def wait_closed(self) -> None:
        """Wait until the connections that :meth:`close` ends are gone."""
        if self._serving:
            await asyncio.wait([*self._serving])

    # --- networks of their own ---

    def _meet(self) -> None:
        if self._link is None:
            return
        with contextlib.suppress(OSError):
            joining, _ = self._link.accept()
            joining.setblocking(False)
            asyncio.get_running_loop().add_reader(joining, self._take, joining)

    def _take(self, joining: socket.socket) -> None:
        """Take over a process's listening sockets, and serve them until that process has ended."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(joining)
        with joining, contextlib.suppress(OSError):
            _, descriptors, _, _ = socket.recv_fds(joining, 1, 1 + MOST_SERVERS)
            pid = struct.unpack("3i", joining.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
            for each in descriptors:
                listening = socket.socket(fileno=each)
                handle = os.pidfd_open(pid)  # type: ignore[attr-defined,unused-ignore]
                self._watched.add(handle)
                self._spawn(self._serve_network(listening, handle))
            joining.send(b"y")

    async def _serve_network(self, listening: socket.socket, handle: int) -> None:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(handle, ended.set)
        try:
            listening.setblocking(False)
            here = listening.getsockname()[:2]
            serve = self._begin if here not in self._here else self._handing_on(self._here[here], here[1])
            server = await asyncio.start_server(serve, sock=listening, limit=LONGEST_HEAD)
            self.has_joined = True
            self._servers.append(server)
            try:
                await ended.wait()
            finally:
                server.close()
                with contextlib.suppress(ValueError):  # the proxy was closed
                    self._servers.remove(server)
        except (OSError, ValueError):
            listening.close()  # not a listening socket
        finally:
            if handle in self._watched:  # otherwise the proxy was closed
                self._watched.discard(handle)
                loop.remove_reader(handle)
                os.close(handle)

    # --- requests ---

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._spawn(self._serve(self._answer, reader, writer))

    def _handing_on(self, host: str, port: int) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        """Returns a handler that forwards connections to a server of this machine."""

        async def hand_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            server = await self._connect(ProxyRequest("", host, port, "", []))
            await _relay_both((reader, writer), server)

        return lambda reader, writer: self._spawn(self._serve(hand_on, reader, writer))

    def _spawn(self, work: object) -> None:
        task: asyncio.Task[None] = asyncio.ensure_future(work)  # type: ignore[call-overload]
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with self._room:
                await answer(reader, writer)
        except (Refused, OSError, EOFError, asyncio.LimitOverrunError, UnicodeError):
            pass  # one of the two is gone, or the request is invalid
        finally:
            await _closed(writer)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        try:
            request = read_request(head)
            if not is_allowed(self._hosts, request.host, request.port):
                self._refuse(request, f"may connect only to {', '.join(self._hosts)}")
            if request.method != "CONNECT" and self._outer_proxy(request) is not None:
                request = request._replace(body=body_length(request))
            server = await self._connected(request)
        except Refused as refused:
            body = f"{refused}\n".encode()
            lines = (f"HTTP/1.1 {refused.status}", "Content-Type: text/plain; charset=utf-8", "Connection: close")
            writer.write("\r\n".join((*lines, f"Content-Length: {len(body)}", "", "")).encode() + body)
            await writer.drain()
            return
        if request.method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await _relay_both((reader, writer), server, request.body)

    def _refuse(self, request: ProxyRequest, why: str) -> NoReturn:
        destination = f"{request.host}:{request.port}"
        if len(self.refused) < MOST_REFUSED:
            self.refused[destination] = None
        raise Refused("403 Forbidden", f"agentnb refuses {destination}: {self._who} {why}.")

    async def _connected(self, request: ProxyRequest) -> Pair:
        """Returns a connection to the target of *request*, on which its head was sent."""
        outer = self._outer_proxy(request)
        try:
            if outer is None:
                pair = await self._connect(request)
                if request.method != "CONNECT":
                    pair[1].write(head_of(request.line, request.headers, f"Host: {authority(request, 80)}"))
                return pair
            return await _through(outer, request)
        except OSError as error:
            words = f"{request.host}:{request.port} could not be reached: {error.strerror or error}."
            raise Refused("502 Bad Gateway", words) from None

    async def _connect(self, request: ProxyRequest) -> Pair:
        loop = asyncio.get_running_loop()
        resolved = await loop.getaddrinfo(request.host, request.port, type=socket.SOCK_STREAM)
        addresses = dict.fromkeys(str(each[4][0]) for each in resolved)
        failed: OSError = OSError("it has no address")
        for text in addresses:
            address = address_of(text.partition("%")[0])
            if address is None or leads_astray(request.host, address):
                self._refuse(request, f"the name leads to {text}, which has to be allowed as an address")
            if _is_own(text) and request.port in jupyter_ports():
                self._refuse(request, "may not use your Jupyter server")
            try:
                return await asyncio.open_connection(text, request.port, limit=LONGEST_HEAD)
            except OSError as error:
                failed = error
        raise failed

    def _outer_proxy(self, request: ProxyRequest) -> str | None:
        """Returns the user's own proxy for *request*; None if it needs none."""
        outer = self._outer.get("https" if request.method == "CONNECT" else "http")
        if outer is None or is_here(request.host):
            return None
        destination = f"{request.host}:{request.port}"
        skipped = urllib.request.proxy_bypass_environment(destination, self._outer)  # type: ignore[attr-defined,unused-ignore]
        return None if skipped else outer


def _is_own(address: str) -> bool:
    """True if *address* belongs to this machine: a socket can only be bound to such an address."""
    family, kind, protocol, _, bound = socket.getaddrinfo(address, 0, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as trial, contextlib.suppress(OSError):
        trial.bind(bound)
        return True
    return False


def _outer_proxies(env: Mapping[str, str]) -> dict[str, str]:
    """Returns the proxies that *env* names, by scheme, and under ``no`` the hosts that bypass them."""
    proxies = {}
    for scheme in ("http", "https", "no"):
        value = env.get(f"{scheme}_proxy") or env.get(f"{scheme.upper()}_PROXY")
        if scheme != "no":
            value = value or env.get("all_proxy") or env.get("ALL_PROXY")
        if value:
            proxies[scheme] = value
    return proxies


async def _through(outer: str, request: ProxyRequest) -> Pair:
    parts = urlsplit(outer if "://" in outer else f"http://{outer}")
    if parts.scheme != "http" or parts.hostname is None:
        raise OSError(f"the proxy of your environment ({parts.scheme}://) is none that agentnb can go through")
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80, limit=LONGEST_HEAD)
    login = []
    if parts.username is not None:
        words = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        login = [f"Proxy-Authorization: Basic {base64.b64encode(words.encode()).decode()}"]
    if request.method != "CONNECT":
        method, path, _ = request.line.split(" ", 2)
        line = f"{method} http://{authority(request, 80)}{path} HTTP/1.1"
        writer.write(head_of(line, request.headers, f"Host: {authority(request, 80)}", *login))
        return reader, writer
    destination = authority(request, 0)
    writer.write("\r\n".join((f"CONNECT {destination} HTTP/1.1", f"Host: {destination}", *login, "", "")).encode())
    answer = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n", 1)[0].decode("latin-1")
    if answer.split(" ")[1:2] != ["200"]:
        await _closed(writer)
        raise OSError(f"the proxy of your environment says {answer!r}")
    return reader, writer


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def _relay_both(program: Pair, server: Pair, count: int | None = None) -> None:
    """Forward data both ways, until both have ended; only *count* bytes from the program unless that is None."""
    try:
        sent = _relay(program[0], server[1]) if count is None else _relay_some(program[0], server[1], count)
        await asyncio.gather(sent, _relay(server[0], program[1]))
    finally:
        await _closed(server[1])


async def _relay_some(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: int) -> None:
    while count > 0 and (piece := await reader.read(min(count, _PIECE))):
        count -= len(piece)
        writer.write(piece)
        await writer.drain()


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(_PIECE):
        writer.write(piece)
        await writer.drain()
    with contextlib.suppress(OSError, RuntimeError):
        writer.write_eof()
