"""The inside: the limits of a confined agent, which must not reach the user's Jupyter server and run code there."""

from __future__ import annotations

import asyncio
import os
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from agentnb.agent.confinement import Confine, Needs
from agentnb.plugins.sandbox import landlock
from agentnb.plugins.sandbox.confinement import Confinement, confinement_of, way_here
from agentnb.plugins.sandbox.jupyter_ports import jupyter_ports
from agentnb.plugins.sandbox.network_proxy import NetworkProxy

needs_landlock = pytest.mark.skipif(
    way_here()[0] != "Landlock" or landlock.abi() < landlock.SINCE["TCP"],
    reason=f"Landlock has version {landlock.abi()} here",
)
_FETCHES = """
import sys, urllib.request
for port in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(f"http://localhost:{port}/api").status)
    except Exception as error:
        print(getattr(error, "code", getattr(error, "reason", error)))
"""


@pytest.fixture
def jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a Jupyter server without a token."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    command = [sys.executable, "-m", "jupyter_server", "--no-browser", "--port=0", "--IdentityProvider.token="]
    if os.geteuid() == 0:
        command.append("--allow-root")
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        lines = iter(server.stderr.readline, "")
        port = next(int(match[1]) for line in lines if (match := re.search(r"http://127\.0\.0\.1:(\d+)/", line)))
        while not jupyter_ports():  # the server logs its port before it writes the file with it
            select.select([], [], [], 0.02)
        yield port
        server.terminate()
        server.stderr.read()


@pytest.fixture
def other() -> Iterator[int]:
    """The port of a server other than Jupyter."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def fetch(made: Confinement, folder: Path, *ports: int) -> list[str]:
    command = made.command([sys.executable, "-c", _FETCHES, *map(str, ports)])
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@needs_landlock
def test_confined_agent_reaches_local_servers_except_jupyter(jupyter: int, other: int, tmp_path: Path) -> None:
    """Other agents and model servers on this machine stay reachable."""
    made = confinement_of(Needs(), sys.executable, tmp_path, Confine(), os.environ)
    assert jupyter_ports() == (jupyter,)
    assert fetch(made, tmp_path, jupyter, other) == ["[Errno 13] Permission denied", "204"]


@needs_landlock
@pytest.mark.parametrize("apart", [True, False], ids=["network of its own", "Landlock's port"])
async def test_allowed_hosts_do_not_include_the_jupyter_server(
    jupyter: int, other: int, tmp_path: Path, apart: bool
) -> None:
    """Neither if the user allows its port nor the whole machine."""
    for hosts in (("localhost",), (f"localhost:{jupyter}", f"localhost:{other}")):
        proxy = NetworkProxy(hosts, os.environ)
        await proxy.open(apart=apart)
        try:
            confine = Confine(network=hosts)
            made = confinement_of(Needs(), sys.executable, tmp_path, confine, os.environ, proxy=proxy)
            assert await asyncio.to_thread(fetch, made, tmp_path, jupyter, other) == ["403", "204"]
        finally:
            proxy.close()
            await proxy.wait_closed()


def test_jupyter_ports_ignore_ended_and_broken_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed server leaves its file; a hub gives its own server's port."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "jpserver-1.json").write_text('{"port": 8888, "pid": 4194305}')
    (tmp_path / "jpserver-2.json").write_text("{")
    (tmp_path / "jpserver-3.json").write_text(f'{{"port": 99999, "pid": {os.getpid()}}}')
    assert jupyter_ports() == ()
    assert jupyter_ports({**os.environ, "JUPYTERHUB_SERVICE_URL": "http://127.0.0.1:45678/user/a/"}) == (45678,)
