"""VS Code's own agent host in a chat of this kernel, if a build of it is available (``AGENTNB_VSCODE``)."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import HostUnavailable
from tests.unit.server.websocket.remote_page import ROOT, RemotePage, say
from tests.unit.server.websocket.typescript_client import HERE, vscode_folder

SAYS = "Agent host server listening on "


@pytest.fixture(scope="module")
def vscode(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Its address and token; it has its own home folder and no account."""
    folder, node = vscode_folder(shared), shutil.which("node")
    if not list(folder.glob("node_modules/@vscode/sqlite3/build/Release/*.node")):
        pytest.skip(f"the dependencies of the built VS Code are not installed at {folder}")
    if node is None:
        pytest.skip("node is not installed")
    home, token = tmp_path_factory.mktemp("vscode"), secrets.token_hex(16)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "VSCODE_AGENT_HOST_CONNECTION_TOKEN": token}
    command = [node, str(HERE / "vscode_host.mjs"), str(folder), str(home / "data")]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=home
    )
    assert process.stdout is not None
    lines = iter(process.stdout)
    place = next((line.removeprefix(SAYS).strip() for line in lines if line.startswith(SAYS)), None)
    drain = threading.Thread(target=lambda: [None for _ in lines])  # it keeps writing
    drain.start()
    assert place is not None, "it ended before it listened"
    yield f"ws://{place}/", token
    process.terminate()
    process.wait()
    drain.join()
    process.stdout.close()


@pytest.fixture
def page(vscode: tuple[str, str]) -> Iterator[RemotePage]:
    address, token = vscode
    page = RemotePage(f"{address}?tkn={token}", token)
    assert not page.is_ours
    page.follow(ROOT)
    yield page
    page.close()


def titles(root: Any) -> list[str]:
    return [each.title for each in root.sessions or ()]


def test_page_opens_renames_and_closes_a_vscode_conversation(page: RemotePage) -> None:
    """Nobody is signed in there, so the turn ends with an error, which the page shows."""
    made = page.ask("createSession", agent=page.until(ROOT, lambda root: root.agents).agents[0].provider)
    page.follow(made["channel"], made["chat"])
    (ended_turn,) = say(page, made["chat"], "hello").turns
    assert (ended_turn.state, ended_turn.message.text, ended_turn.error is None) == ("error", "hello", False)
    assert ended_turn.started_at is not None
    page.dispatch(made["channel"], {"type": "session/titleChanged", "title": "Renamed here"})
    page.until(ROOT, lambda root: "Renamed here" in titles(root))
    page.ask("disposeSession", channel=made["channel"])
    page.until(ROOT, lambda root: "Renamed here" not in titles(root))
    assert page.refusals == []


def test_connect_reads_the_token_from_a_vscode_address(vscode: tuple[str, str]) -> None:
    """The token is shown nowhere; a wrong one is refused."""
    address, token = vscode
    with agentnb.connect(f"{address}?tkn={token}") as remote:
        assert (remote.state, remote.address, token in repr(remote)) == ("connected", address, False)
    with pytest.raises(HostUnavailable, match="403"):
        agentnb.connect(f"{address}?tkn=wrong")
