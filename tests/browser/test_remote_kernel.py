"""A real JupyterLab with kernels of another server, the network between them, and separate files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import create_server
from urllib.request import Request, urlopen

import nbformat
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from playwright.sync_api import expect
from websockets.sync.client import connect

from tests.browser.chat import Chat
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.server import TOKEN, Server
from tests.browser.side import NOTEBOOK, Side
from tests.browser.test_cell_review import SETUP, STEPS
from tests.kernel.test_gateway import server, tries
from tests.unit.server.websocket.conftest import relay
from tests.unit.server.websocket.relay import Relay

__all__ = ["relay", "server", "tries"]

BEGIN = """%load_ext agentnb
import agentnb
session = agentnb.start("eliza", title="Far")"""
UNANSWERED = re.compile(r"The kernel (isn't responding|is running a cell)")
"""JupyterLab does not notice the network failure; it may still show the kernel as busy."""


@pytest.mark.usefixtures("kernelspecs")
def test_gateway_turn_asks_in_the_page_and_writes_remote_files(server: Server, lab_on: Callable[[Server], Lab]) -> None:
    """By %agent in a cell; the chat opens afterwards."""
    lab = lab_on(server)
    lab.open("far.ipynb", notebook(BEGIN, "%agent /write notes.txt hello", kernel="ipykernel7"))
    lab.run_cells(1)
    lab.cell(1).run()
    lab.cell(1).button("Allow").click(timeout=PATIENCE_MS)
    lab.cell(1).expect_done(2)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    lab.expect_in_kernel("open('notes.txt').read()", "hello\n")
    assert not (server.folder / "notes.txt").exists()
    lab.picture("gateway")


@pytest.mark.usefixtures("kernelspecs")
def test_page_accepts_a_cell_proposed_behind_a_gateway(server: Server, lab_on: Callable[[Server], Lab]) -> None:
    """The notebook is here, the agent there: its change is accepted and saved here, runs there."""
    lab = lab_on(server)
    lab.open("changed.ipynb", notebook(SETUP, "a = 1\nprint(a)", kernel="ipykernel7"))
    lab.run_cells(2)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    side.say(json.dumps(STEPS))
    bars = lab.panel.locator(".agentnb-cell-bar")
    expect(bars).to_have_count(2, timeout=PATIENCE_MS)
    expect(bars.first).to_have_attribute("data-armed", "true", timeout=PATIENCE_MS)
    lab.cell(1).focus()
    lab.page.keyboard.press("Control+Alt+Enter")
    lab.cell(1).expect_text("11")
    lab.expect_in_kernel("a", 1)
    lab.picture("gateway-cells")


@pytest.mark.usefixtures("kernelspecs")
@pytest.mark.parametrize("tries", [100, 0])
def test_gateway_drop_in_a_turn_is_reported_and_loses_nothing(
    server: Server, lab_on: Callable[[Server], Lab], relay: Relay
) -> None:
    """The server reconnects, or gives up at once (usually after half a minute): then the page makes it connect."""
    lab = lab_on(server)
    chat = chat_of_a_started_kernel(lab, "dropped.ipynb")
    expected = chat.count_slowly(1_000)
    relay.cut()
    chat.expect_banner(UNANSWERED)
    lab.picture("gateway-dropped")
    lab.command("notebook:insert-cell-below")
    chat.say("/say still there")
    relay.mend()
    assert whole_answers(chat, 2) == [expected.split(), ["still", "there"]]
    lab.expect_in_kernel("[turn.message.text for turn in session.chat.turns]", ["/slow 1000 20", "/say still there"])
    lab.expect_in_kernel(f"len({NOTEBOOK}.cells)", 2)


@pytest.mark.usefixtures("kernelspecs")
@pytest.mark.parametrize("tries", [0])
def test_chat_works_after_a_cell_ended_during_a_gateway_drop(
    server: Server, lab_on: Callable[[Server], Lab], relay: Relay
) -> None:
    """JupyterLab never learns that the cell ended, and may show the kernel as busy forever."""
    lab = lab_on(server)
    with create_server(("127.0.0.1", 0)) as listening:
        waiting = f"import socket\nsocket.create_connection({listening.getsockname()!r}).recv(1)"
        chat = chat_of_a_started_kernel(lab, "ended.ipynb", waiting)
        lab.cell(1).run()
        cell, _ = listening.accept()
    relay.cut()
    cell.close()
    chat.say("/say still there")
    chat.expect_banner(UNANSWERED)
    relay.mend()
    assert whole_answers(chat, 1) == [["still", "there"]]
    lab.expect_in_kernel("[turn.message.text for turn in session.chat.turns]", ["/say still there"])


@pytest.mark.usefixtures("kernelspecs")
def test_page_replaces_a_connection_the_kernel_no_longer_reads(
    server: Server, lab_on: Callable[[Server], Lab], home: Path
) -> None:
    """As after a gateway kept two connections of a page: the kernel reads one, the page has the other."""
    lab = lab_on(server)
    chat = chat_of_a_started_kernel(lab, "unread.ipynb")
    with another_in_its_place(lab, home):
        chat.say("/say still there")
        chat.expect_banner(UNANSWERED)
        assert whole_answers(chat, 1) == [["still", "there"]]
        lab.expect_in_kernel("[turn.message.text for turn in session.chat.turns]", ["/say still there"])


def chat_of_a_started_kernel(lab: Lab, name: str, *cells: str) -> Chat:
    """Returns the chat of a notebook whose kernel started before the page.

    jupyter_server leaves two connections to a gateway open if a page opens while its kernel starts.
    """
    document = notebook(BEGIN, *cells, kernel="ipykernel7")
    nbformat.write(document, lab.server.folder / name)
    start(lab.server, name)
    lab.open(name, document)
    lab.run_cells(1)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    lab.close_connection_errors()
    return Chat(side.session)


def start(server: Server, name: str) -> None:
    """Start a notebook's kernel; wait for its answer."""
    body = {"path": name, "name": name, "type": "notebook", "kernel": {"name": "ipykernel7"}}
    headers = {"Authorization": f"token {TOKEN}", "Content-Type": "application/json"}
    request = Request(f"{server.url}/api/sessions", data=json.dumps(body).encode(), headers=headers)  # noqa: S310 - loopback
    with urlopen(request, timeout=120) as answer:  # noqa: S310 - loopback
        kernel = json.loads(answer.read())["kernel"]["id"]
    header = {"msg_id": "hello", "msg_type": "kernel_info_request", "username": "", "session": "s", "version": "5.3"}
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": {}, "buffers": [], "channel": "shell"}
    address = f"{server.url.replace('http', 'ws')}/api/kernels/{kernel}/channels?token={TOKEN}"
    with connect(address, max_size=None, proxy=None) as socket:
        socket.send(json.dumps(message))
        while json.loads(socket.recv(timeout=120))["msg_type"] != "kernel_info_reply":
            pass


def whole_answers(chat: Chat, turns: int) -> list[list[str]]:
    """Returns the words of each answer, after *turns* turns and without a connection message."""
    expect(chat.banner).to_have_count(0, timeout=PATIENCE_MS)
    expect(chat.copy).to_have_count(turns, timeout=PATIENCE_MS)
    answers: list[str] = chat.root.locator(".turn .answer").all_text_contents()
    return [answer.split() for answer in answers]


@contextmanager
def another_in_its_place(lab: Lab, home: Path) -> Iterator[None]:
    """Another client takes the page's identity at the kernel, which then ignores the page's sockets."""
    kernel, identity = lab.page.evaluate("""() => {
        const { id, clientId } = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
        return [id, clientId];
    }""")
    (ports,) = home.rglob(f"kernel-{kernel}.json")
    client = BlockingKernelClient(connection_file=str(ports))
    client.load_connection_file()
    client.session.session = identity
    client.start_channels()
    try:
        client.wait_for_ready(timeout=PATIENCE_MS / 1_000)
        yield
    finally:
        client.stop_channels()
