"""Two kernels: the chat of one shows the conversations of the other (`agentnb.connect` to `agentnb.serve`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from agentnb.host.channels import ROOT
from agentnb.host.loop import HostLoop
from agentnb.plugins.connect.remote.mirrored_host import REMOTE_HOST
from tests.kernel.running_kernel import WAIT_S, RunningKernel
from tests.unit.server.bytes_apart import bytes_apart
from tests.unit.server.websocket.attached_page import MirroringPage
from tests.unit.server.websocket.relay import Relay
from tests.unit.server.websocket.remote_page import is_over, prompt, waiting_call

ONE_KIND = pytest.mark.parametrize("kernel_name", ["ipykernel7"], indirect=True)  # page messages are tested on both
SERVE = """
import agentnb
server = agentnb.serve(hosts={hosts!r}, token={token!r})
session = agentnb.start("eliza")
print(server.address, server.token, session.tab_id)
"""


class KernelsPage(MirroringPage):
    """A page that talks to a kernel over its widget's comm, as a browser does."""

    def __init__(self, kernel: RunningKernel, model: str) -> None:
        self._kernel, self._model, self._heard = kernel, model, 0
        super().__init__()

    def send(self, message: dict[str, Any]) -> None:
        """See :meth:`MirroringPage.send`."""
        self._kernel.say(self._model, message)

    def receive(self) -> dict[str, Any]:
        """See :meth:`MirroringPage.receive`."""
        while True:
            self._kernel.until(lambda: len(self._kernel.comm_messages) > self._heard)
            message = self._kernel.comm_messages[self._heard]
            self._heard += 1
            content = message["content"]["data"].get("content", {})
            if message["content"]["comm_id"] == self._model and content.get("to") == self.client_id:
                return {"buffers": (), **bytes_apart(content)}


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A runtime folder for this test's kernels only."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))


@pytest.fixture
def network() -> Iterator[Relay]:
    """The relay between the two kernels."""
    loop = HostLoop()
    relay = Relay(loop)
    yield relay
    relay.close()
    loop.stop()


@pytest.fixture
def there(kernel_name: str, tmp_path: Path) -> Iterator[RunningKernel]:
    """The kernel that has the conversations."""
    (tmp_path / "there").mkdir()
    with RunningKernel.started(kernel_name, tmp_path / "there") as running:
        yield running


@pytest.fixture
def here(kernel_name: str, tmp_path: Path) -> Iterator[RunningKernel]:
    """The kernel whose chat shows them."""
    (tmp_path / "here").mkdir()
    with RunningKernel.started(kernel_name, tmp_path / "here") as running:
        yield running


def serve(there: RunningKernel, *hosts: str, token: str | None = None) -> tuple[str, str, str]:
    """Serves the kernel; returns its address, token, and a conversation's channel."""
    served = there.run(SERVE.format(hosts=hosts, token=token))
    address, token, tab_id = served.stdout.split()
    return address, token, f"eliza:/{tab_id}"


def connect(here: RunningKernel, address: str, token: str) -> KernelsPage:
    """Connects the other kernel and opens a page on its chat."""
    host = here.run(f"import agentnb\nremote = agentnb.connect({address!r}, {token!r})\nremote.chat().host")
    return KernelsPage(here, host.values[0].strip("'").removeprefix("IPY_MODEL_"))


def stands(state: str) -> Any:
    """True if the page shows the connection in *state*."""
    return lambda root: root.config.values[REMOTE_HOST]["state"] == state


@ONE_KIND
def test_page_works_in_another_kernel_despite_a_network_cut(
    there: RunningKernel, here: RunningKernel, network: Relay
) -> None:
    """The page prompts, approves and cancels there, shows the connection's state, and loses nothing."""
    address, token, session = serve(there, network.place)
    chat = f"{session}/chat"
    network.lead_to(address)
    page = connect(here, f"ws://{network.place}/", token)
    page.until(ROOT, stands("connected"))
    page.follow(session, chat)

    turn_id = prompt(page, chat, "/ask execute")
    call = waiting_call(page.until(chat, lambda state: waiting_call(state) is not None))
    assert call is not None
    option = next(each.id for each in call.options or () if each.kind == "approve")
    answer = {"toolCallId": call.tool_call_id, "approved": True, "selectedOptionId": option}
    page.dispatch(chat, {"type": "chat/toolCallConfirmed", "turnId": turn_id, **answer})
    page.until(chat, is_over(turn_id))
    hanging = prompt(page, chat, "/hang")
    page.until(chat, lambda state: state.active_turn is not None and state.active_turn.id == hanging)
    page.dispatch(chat, {"type": "chat/turnCancelled", "turnId": hanging})
    page.until(chat, is_over(hanging))

    network.cut()
    page.until(ROOT, stands("cut"))
    assert there.run("await session.prompt('/say meanwhile')").status == "ok"
    afterwards = prompt(page, chat, "/say afterwards")
    network.mend()
    page.until(ROOT, stands("connected"))
    chat_state = page.until(chat, is_over(afterwards))
    page.until_settled(chat)
    had = [(turn.message.text, str(turn.state)) for turn in chat_state.turns]
    assert had == [
        ("/ask execute", "complete"),
        ("/hang", "cancelled"),
        ("/say meanwhile", "complete"),
        ("/say afterwards", "complete"),
    ]
    assert there.run("[turn.snapshot.message.text for turn in session.turns]").values == [
        repr([text for text, _ in had])
    ]
    assert page.refusals == []

    there.manager.restart_kernel()
    ended = page.until(ROOT, stands("ended")).config.values[REMOTE_HOST]
    assert "is no longer served" in ended["message"]
    prompt(page, chat, "/say too late")
    page.until_settled(chat)
    assert [each.rejection_reason for each in page.refusals] == [
        f"There is no connection to {network.place}: {ended['message']}"
    ]
    assert here.run("remote.state").values == ["'ended'"]


@ONE_KIND
def test_connection_to_a_killed_kernel_is_retried_or_ended(
    there: RunningKernel, here: RunningKernel, network: Relay
) -> None:
    address, token, session = serve(there, network.place)
    network.lead_to(address)
    page = connect(here, f"ws://{network.place}/", token)
    page.follow(session, f"{session}/chat")
    there.manager.restart_kernel(now=True)
    page.until(ROOT, stands("cut"))
    there.client.wait_for_ready(timeout=WAIT_S)
    address, token, another = serve(there, network.place, token=token)
    network.lead_to(address)
    page.until(ROOT, stands("connected"))
    page.until(ROOT, lambda root: [each.resource for each in root.sessions] == [another])

    second = there.run("server.add_client('second', rights=['drive'])").values[0].strip("'")
    page = connect(here, address, second)
    page.until(ROOT, stands("connected"))
    there.manager.restart_kernel(now=True)
    ended = page.until(ROOT, stands("ended")).config.values[REMOTE_HOST]
    assert (urlsplit(address).netloc == ended["name"], "is no longer served" in ended["message"]) == (True, True)
