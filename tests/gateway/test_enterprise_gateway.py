"""A real Jupyter Enterprise Gateway between a Jupyter server and a kernel with agentnb (`make test-gateway`)."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import server as jupyter
from tests.browser.server import TOKEN, Server, free_port
from tests.conftest import ROOT
from tests.kernel.test_gateway import GatewayPage, said_in, started

PROGRAM = ROOT / ".venv-gateway/bin/jupyter-enterprisegateway"
WORDS = 40


@pytest.fixture
def gateway(kernelspecs: Path, tmp_path: Path) -> Iterator[str]:
    """The address of an Enterprise Gateway."""
    if not PROGRAM.exists():
        pytest.skip("no Enterprise Gateway: `make test-gateway` installs it")
    port, folder = free_port(), tmp_path / "gateway"
    folder.mkdir()
    own = "--EnterpriseGatewayApp"
    options = [f"{own}.ip=127.0.0.1", f"{own}.port={port}", f"{own}.port_retries=0", f"{own}.auth_token={TOKEN}"]
    with subprocess.Popen([PROGRAM, *options], cwd=folder, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, b"")
        assert any(b"is available at" in line for line in lines)
        yield f"http://127.0.0.1:{port}"
        process.terminate()
        process.communicate()


@pytest.fixture
def server(home: Path, tmp_path: Path, gateway: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A Jupyter server whose kernels the gateway starts."""
    monkeypatch.setenv("KERNEL_USERNAME", "tester")  # the gateway starts no kernels for root
    folder = tmp_path / "server"
    folder.mkdir()
    options = {"url": gateway, "auth_token": TOKEN, "auth_scheme": "token"}
    server = jupyter.start(home, folder, *(f"--GatewayClient.{name}={value}" for name, value in options.items()))
    yield server
    server.stop()


def test_enterprise_gateway_kernel_serves_a_page_and_its_files(server: Server) -> None:
    """A turn, a file of the kernel's folder and a page module go through the kernel's channels."""
    page = GatewayPage(server, started(server))
    try:
        assert page.ask("readFile", channel=page.chat, path="here.txt")["buffers"] == (b"of the kernel's machine",)
        assert not (server.folder / "here.txt").exists()
        module = page.ask("fetchModule", name="review")
        assert len(module["buffers"][0]) == module["size"] > 1_000
        turn = str(uuid.uuid4())
        message = {"text": f"/slow {WORDS} 20", "origin": {"kind": "user"}}
        page.dispatch(page.chat, {"type": "chat/turnStarted", "turnId": turn, "message": message})
        ended = page.until(page.chat, lambda state: any(each.id == turn for each in state.turns))
        assert said_in(ended.turns[-1]).split() == [str(number) for number in range(1, WORDS + 1)]
    finally:
        page.close()
