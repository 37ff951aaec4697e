"""A confined agent reaches its allowed hosts through our proxy, and nothing else.

The inside: hostile requests and programs, and both ways of closing the network, of which a machine chooses one.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from agentnb.agent.confinement import Confine, Needs
from agentnb.agent.elsewhere import checked_hosts, is_allowed, leads_astray
from agentnb.plugins.rehearsal.command import rehearse_command
from agentnb.plugins.sandbox import landlock
from agentnb.plugins.sandbox.confinement import confinement_of
from agentnb.plugins.sandbox.network_proxy import NetworkProxy
from tests.confinement_here import needs_landlock

Heads = list[str]


@asynccontextmanager
async def server(
    answer: bytes = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nserved",
) -> AsyncIterator[tuple[int, Heads]]:
    """Runs a server on the loopback; yields its port, and the heads of its requests."""
    heads: Heads = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(answer)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1], heads
    finally:
        listening.close()


async def proxy_answer(port: int, request: str) -> str:
    """Returns the proxy's whole answer to *request* at *port*."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request.encode())
    received = await reader.read()
    writer.close()
    await writer.wait_closed()
    return received.decode()


@asynccontextmanager
async def proxy(*hosts: str, apart: bool = True, **env: str) -> AsyncIterator[NetworkProxy]:
    """Runs a proxy for *hosts* in the environment *env*."""
    opened = NetworkProxy(checked_hosts(list(hosts)), env)
    await opened.open(apart=apart)
    try:
        yield opened
    finally:
        opened.close()
        await opened.wait_closed()


@pytest.mark.parametrize(
    ("hosts", "host", "port", "expected"),
    [
        (["example.org"], "example.org", 443, True),
        (["Example.ORG."], "example.org", 80, True),
        (["example.org"], "a.example.org", 443, False),
        (["*.example.org"], "a.b.example.org", 443, True),
        (["*.example.org"], "example.org", 443, False),
        (["*.example.org"], "evilexample.org", 443, False),
        (["example.org:8443"], "example.org", 8443, True),
        (["example.org:8443"], "example.org", 443, False),
        (["192.0.2.1"], "192.0.2.1", 443, True),
        (["[2001:db8::1]:443"], "2001:db8::1", 443, True),
        (["bücher.example"], "xn--bcher-kva.example", 443, True),
        (["127.0.0.1"], "2130706433", 443, False),
    ],
)
def test_host_patterns_match_names_subdomains_and_ports(hosts: list[str], host: str, port: int, expected: bool) -> None:
    """``*.`` stands for one or more names before it."""
    assert is_allowed(checked_hosts(hosts), host, port) is expected


def test_names_that_resolve_to_local_addresses_are_detected() -> None:
    """A name's owner decides where it leads; an address allowed as such, and ``localhost``, are meant."""
    astray = ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "fe80::1", "0.0.0.0", "224.0.0.1"]  # noqa: S104
    assert [each for each in astray if not leads_astray("a.example.org", ip_address(each))] == []
    assert not leads_astray("a.example.org", ip_address("192.0.2.1"))
    assert not leads_astray("127.0.0.1", ip_address("127.0.0.1"))
    assert not leads_astray("localhost", ip_address("::1"))
    assert leads_astray("localhost", ip_address("169.254.169.254"))


async def test_proxy_refuses_allowed_names_that_resolve_to_loopback() -> None:
    """The hosts file may give the machine's own name a loopback address; the proxy makes no connection."""
    name = socket.gethostname().lower()
    try:
        address = ip_address(socket.gethostbyname(name))
    except OSError:
        pytest.skip("this machine's own name has no address")
    if not address.is_loopback:
        pytest.skip(f"this machine's own name leads to {address}")
    async with server() as (port, heads), proxy(name) as opened:
        answer = await proxy_answer(opened.port, f"CONNECT {name}:{port} HTTP/1.1\r\n\r\n")
        assert answer.startswith("HTTP/1.1 403 Forbidden")
        assert "which has to be allowed as an address" in answer
        assert heads == []


async def test_proxy_connects_to_allowed_hosts() -> None:
    """By CONNECT and by plain HTTP: the server gets a path and none of the proxy's headers."""
    async with server() as (port, heads), proxy(f"localhost:{port}") as opened:
        target = f"localhost:{port}"
        tunnel = await proxy_answer(opened.port, f"CONNECT {target} HTTP/1.1\r\n\r\nGET /in HTTP/1.1\r\n\r\n")
        assert tunnel.startswith("HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK")
        plain = f"GET http://{target}/a?b HTTP/1.1\r\nHost: other\r\nProxy-Authorization: x\r\nX: y\r\n\r\n"
        assert (await proxy_answer(opened.port, plain)).endswith("served")
        assert heads[1] == f"GET /a?b HTTP/1.1\r\nX: y\r\nHost: {target}\r\nConnection: close\r\n\r\n"
        assert opened.refused == {}


async def test_proxy_refuses_and_records_other_hosts() -> None:
    """Another name, port or form of the address; each is recorded once."""
    async with server() as (port, heads), proxy(f"localhost:{port}") as opened:
        for target in (f"127.0.0.1:{port}", "localhost:1", f"127.0.0.1:{port}", "example.org:443", f"[::1]:{port}"):
            answer = await proxy_answer(opened.port, f"CONNECT {target} HTTP/1.1\r\n\r\n")
            assert answer.startswith("HTTP/1.1 403 Forbidden")
            assert f"the agent is confined and may connect only to localhost:{port}." in answer
        assert (await proxy_answer(opened.port, "GET http://example.org/ HTTP/1.1\r\n\r\n")).startswith("HTTP/1.1 403")
        expected = [f"127.0.0.1:{port}", "localhost:1", "example.org:443", f"::1:{port}", "example.org:80"]
        assert [*opened.refused] == expected
        assert heads == []


async def test_proxy_answers_invalid_requests_with_an_error() -> None:
    """The error is 400 and names the accepted requests; a host that cannot be reached is 502 with the reason."""
    async with proxy("example.org") as opened:
        for line in ("GET / HTTP/1.1", "GET https://a.b/ HTTP/1.1", "CONNECT a.b HTTP/1.1", "nonsense"):
            assert (await proxy_answer(opened.port, f"{line}\r\n\r\n")).startswith("HTTP/1.1 400 Bad Request"), line
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and does not listen
        port = bound.getsockname()[1]
        async with proxy("localhost") as opened:
            answer = await proxy_answer(opened.port, f"CONNECT localhost:{port} HTTP/1.1\r\n\r\n")
    assert answer.startswith("HTTP/1.1 502 Bad Gateway")
    assert f"localhost:{port} could not be reached" in answer


async def test_proxy_connects_through_the_proxy_of_the_environment() -> None:
    """It gets its login and looks up names. Refused requests never reach it."""
    async with server(b"HTTP/1.1 200 OK\r\n\r\nouter") as (port, heads):
        outer = f"http://ada:s%40x@127.0.0.1:{port}"
        async with proxy("*.example.org", HTTPS_PROXY=outer, http_proxy=outer) as opened:
            assert (await proxy_answer(opened.port, "CONNECT a.example.org:443 HTTP/1.1\r\n\r\n")).endswith("outer")
            assert (await proxy_answer(opened.port, "GET http://b.example.org HTTP/1.1\r\n\r\n")).endswith("outer")
            assert "403" in await proxy_answer(opened.port, "CONNECT example.org:443 HTTP/1.1\r\n\r\n")
        login = "Proxy-Authorization: Basic YWRhOnNAeA=="
        assert heads == [
            f"CONNECT a.example.org:443 HTTP/1.1\r\nHost: a.example.org:443\r\n{login}\r\n\r\n",
            f"GET http://b.example.org/ HTTP/1.1\r\nHost: b.example.org\r\n{login}\r\nConnection: close\r\n\r\n",
        ]


WITHOUT_RIGHTS = [
    *(sys.executable, "-c"),
    (
        "import os, sys; from agentnb.system_calls import drop_capabilities; "
        "drop_capabilities(1 << 31); os.execv(sys.argv[1], sys.argv[1:])"
    ),
]
"""Runs a command with no capability but CAP_SETFCAP: a network needs a user namespace in which it is root."""


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ("Content-Length: 4\r\n", "HTTP/1.1 200"),
        ("Content-Length: 4\r\nContent-Length: 90\r\n", "HTTP/1.1 411"),
        ("Transfer-Encoding: chunked\r\n", "HTTP/1.1 411"),
        ("Content-Length : 90\r\n", "HTTP/1.1 400"),
        ("X: y\nContent-Length: 90\r\n", "HTTP/1.1 400"),
        (" folded\r\n", "HTTP/1.1 400"),
    ],
)
async def test_proxy_of_the_environment_gets_at_most_one_request(headers: str, expected: str) -> None:
    """A second request behind it, for a refused host, is not passed on."""
    got = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        got.set_result(await reader.readexactly(4))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        more = asyncio.ensure_future(reader.read(1))
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        assert await more == b""

    outer = await asyncio.start_server(serve, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{outer.sockets[0].getsockname()[1]}"
    async with proxy("a.example.org", http_proxy=address) as opened:
        behind = "bodyGET http://evil.example.org/ HTTP/1.1\r\n\r\n"
        answer = await proxy_answer(opened.port, f"POST http://a.example.org/ HTTP/1.1\r\n{headers}\r\n{behind}")
    outer.close()
    assert answer.startswith(expected)
    assert not got.done() or got.result() == b"body"


_TRIES = """
import os, socket, sys, urllib.request
allowed, other, abstract = sys.argv[1:]
def told(name, attempt):
    try: print(name, attempt(), sep=": ")
    except OSError: print(name, "refused", sep=": ")
def connects(family, address, protocol=0):
    with socket.socket(family, socket.SOCK_STREAM, protocol) as one:
        one.connect(address)
    return "connected"
def sends(kind, flags, port):
    with socket.socket(socket.AF_INET, kind) as one: one.sendto(b"x", flags, ("127.0.0.1", int(port)))
    return "sent"
def reaches_own():
    with socket.create_server(("127.0.0.1", 0)) as own: return connects(socket.AF_INET, own.getsockname())
def fetched(port): return urllib.request.urlopen(f"http://localhost:{port}/").read().decode()
told("allowed", lambda: fetched(allowed))
told("other", lambda: fetched(other))
told("direct", lambda: connects(socket.AF_INET, ("127.0.0.1", int(allowed))))
told("direct 6", lambda: connects(socket.AF_INET6, ("::ffff:127.0.0.1", int(allowed))))
told("mptcp", lambda: connects(socket.AF_INET, ("127.0.0.1", int(allowed)), 262))
told("fast open", lambda: sends(socket.SOCK_STREAM, 0x20000000, other))
told("abstract", lambda: connects(socket.AF_UNIX, "\\0" + abstract))
told("datagram", lambda: sends(socket.SOCK_DGRAM, 0, allowed))
told("name", lambda: socket.getaddrinfo("a.example.org", 443) and "found")
told("other direct", lambda: connects(socket.AF_INET, ("127.0.0.1", int(other))))
told("own", reaches_own)
told("variables", lambda: (os.environ["HTTPS_PROXY"] == os.environ["http_proxy"], os.environ["NO_PROXY"]))
"""


async def printed_by(opened: NetworkProxy, folder: Path, hosts: tuple[str, ...], *words: str, prefix: Any = ()) -> str:
    """Returns what a confined Python with these words prints."""
    confine = Confine(network=hosts)
    made = confinement_of(Needs(), sys.executable, folder, confine, os.environ, proxy=opened)
    command = [*prefix, *made.command([sys.executable, "-I", "-c", *words])]
    started = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, cwd=folder)
    printed, _ = await started.communicate()
    return printed.decode()


@needs_landlock
@pytest.mark.parametrize("without_rights", [False, True], ids=["", "without rights"])
@pytest.mark.parametrize("apart", [True, False], ids=["a network of its own", "Landlock alone"])
async def test_confined_agent_reaches_only_allowed_hosts(tmp_path: Path, apart: bool, without_rights: bool) -> None:
    """UDP, so also DNS, and what Landlock does not check are closed, too; as root or not."""
    if not apart and landlock.abi() < landlock.SINCE["TCP"]:
        pytest.skip(f"Landlock has version {landlock.abi()} here")
    name = f"agentnb-network-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as unix, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        unix.bind(f"\0{name}")
        unix.listen()
        async with (
            server() as (allowed, heads),
            server() as (other, reached),
            proxy(f"localhost:{allowed}", apart=apart) as opened,
        ):
            datagrams.bind(("127.0.0.1", allowed))
            words = (_TRIES, str(allowed), str(other), name)
            prefix = WITHOUT_RIGHTS if without_rights else ()
            printed = await printed_by(opened, tmp_path, (f"localhost:{allowed}",), *words, prefix=prefix)
            for each in (unix, datagrams):
                each.setblocking(False)
            with pytest.raises(BlockingIOError):
                unix.accept()
            with pytest.raises(BlockingIOError):
                datagrams.recv(1)
            is_apart = opened.has_joined
            assert (len(heads), reached) == (1, [])
            assert is_apart is (apart and rehearse_command("true", tmp_path).way == "namespaces")
            assert [*opened.refused] == ([] if is_apart else [f"localhost:{other}"])
    results = dict(line.split(": ", 1) for line in printed.splitlines())
    assert results.pop("allowed") == "served"
    assert results.pop("variables") == ("(True, 'localhost,127.0.0.1,::1')" if is_apart else "(True, '')")
    assert results.pop("datagram") in ("refused", "sent")  # into an empty network
    inside = ("direct", "direct 6", "mptcp", "own")
    assert results == {
        **dict.fromkeys(("other", "other direct", "fast open", "abstract", "name"), "refused"),
        **dict.fromkeys(inside, "connected" if is_apart else "refused"),
    }


@needs_landlock
@pytest.mark.parametrize(
    ("hosts", "direct"),
    [
        (["127.0.0.1:{}", "example.org"], "localhost,127.0.0.1,::1"),
        (["[::1]:{}", "127.0.0.2:{}"], "localhost,127.0.0.1,::1"),
        (["localhost:{}", "127.0.0.1"], ""),
        (["*.localhost"], "localhost,127.0.0.1,::1"),
    ],
)
async def test_local_servers_with_named_ports_bypass_the_proxy(tmp_path: Path, hosts: list[str], direct: str) -> None:
    """A local host without a port goes through the proxy, and so do the agent's own servers then."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with proxy(*(each.format(port) for each in hosts)) as opened:
        script = "import os; print(os.environ['NO_PROXY'])"
        printed = await printed_by(opened, tmp_path, ("example.org",), script)
        if opened.has_joined:
            assert printed == f"{direct}\n"


@needs_landlock
async def test_proxy_closes_its_sockets_when_the_agent_ends(tmp_path: Path) -> None:
    script = (
        "import socket, threading; s = socket.create_server(('127.0.0.1', 0)); "
        "c = socket.create_connection(s.getsockname()); print('reached its own')"
    )
    async with proxy("example.org") as opened:
        before = descriptors()
        printed = await printed_by(opened, tmp_path, ("example.org",), script)
        assert (printed == "reached its own\n") is opened.has_joined
        while descriptors() != before:  # noqa: ASYNC110 - nobody tells when a descriptor is closed
            await asyncio.sleep(0)


def descriptors() -> list[str]:
    """Returns this process's sockets and process handles."""
    links = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            links.append(str(each.readlink()))
    return sorted(each for each in links if each.startswith(("socket:", "anon_inode:[pidfd]")))


def test_single_hosts_are_refused_when_landlock_is_too_old() -> None:
    """They are never half enforced; the error names the required version."""
    with pytest.raises(OSError, match=r"version 4 of Landlock \(Linux 6.7\); the kernel has version 3"):
        landlock.restrict(read=(), write=(), ports=(80,), version=3)
