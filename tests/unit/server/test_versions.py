"""Pages and kernels of different versions: what they negotiate, and what an older page does not get."""

from __future__ import annotations

from queue import Queue
from typing import Any

import pytest

from agentnb.host import Host
from agentnb.host.channels import ROOT
from agentnb.host.conversation import Conversation
from agentnb.server.request_table import wire_name
from agentnb.server.service import Service
from agentnb.state import SessionActiveClientSet, SessionTitleChanged
from agentnb.state.versions import WINDOW, Window
from tests.unit.api.conftest import PATIENCE

OLDER = Window(0, WINDOW.current)


class Talk:
    """A page's messages to a kernel of some version, and the kernel's answers."""

    def __init__(self, host: Host, window: Window) -> None:
        self.host = host
        self.heard: Queue[dict[str, Any]] = Queue()
        self.service = Service(host, lambda _client, message: self.heard.put(message), versions=window)

    def say(self, method: str, params: object, *, v: int, **more: object) -> None:
        message = {"jsonrpc": "2.0", "v": v, "clientId": "page", "method": wire_name(method), "params": params, **more}
        self.host.loop.call(self.service.receive, message)

    def hear(self) -> dict[str, Any]:
        return self.heard.get(timeout=PATIENCE)

    def introduce(self, *versions: int, v: int) -> dict[str, Any]:
        params = {"protocolVersions": versions, "visible": True}
        self.say("initialize", params, v=v, id=1)
        return self.hear()


@pytest.mark.parametrize(
    ("versions", "advice"), [((1,), "Reload the page"), ((7, 8), "Upgrade agentnb in the kernel's environment")]
)
def test_page_of_unsupported_version_learns_which_side_to_update(
    host: Host, versions: tuple[int, ...], advice: str
) -> None:
    """The page is older or newer; the answer to its first message says so, in any version."""
    answer = Talk(host, Window(2, 3)).introduce(*versions, v=versions[-1])
    assert (answer["error"]["code"], advice in answer["error"]["message"]) == (-32010, True)


def test_page_and_kernel_use_the_highest_common_version(host: Host) -> None:
    """The answer and each later message have it."""
    talk = Talk(host, Window(1, 3))
    answer = talk.introduce(1, 2, v=2)
    talk.say("ping", {}, v=2)
    assert (answer["result"]["protocolVersion"], answer["v"], talk.hear()["v"]) == (2, 2, 2)


def test_request_in_an_unnegotiated_version_is_refused(host: Host) -> None:
    """The error has a code for it; the next request is answered."""
    talk = Talk(host, WINDOW)
    talk.introduce(WINDOW.current, v=WINDOW.current)
    talk.say("subscribe", {"channel": ROOT}, v=9, id=2)
    assert talk.hear()["error"]["code"] == -32010
    talk.say("subscribe", {"channel": ROOT}, v=WINDOW.current, id=3)
    assert talk.hear()["result"]["snapshot"]["resource"] == ROOT


def test_older_page_gets_a_snapshot_for_an_unknown_action(host: Host, conversation: Conversation) -> None:
    """The snapshot has the effect of the action, so nothing is lost."""
    talk = Talk(host, OLDER)
    talk.introduce(OLDER.oldest, v=OLDER.oldest)
    uri = conversation.session.uri
    talk.say("subscribe", {"channel": uri}, v=OLDER.oldest, id=2)
    talk.hear()
    host.loop.call(lambda: conversation.dispatch(SessionTitleChanged(title="Newer", time=1)))
    flush = talk.hear()["params"]
    (snapshot,) = (each for each in flush["snapshots"] if each["resource"] == uri)
    assert (flush["envelopes"], snapshot["resource"], snapshot["state"]["title"]) == ([], uri, "Newer")
    assert snapshot["fromSeq"] == conversation.session.index


def test_action_of_a_newer_version_is_rejected_with_the_reason(host: Host, conversation: Conversation) -> None:
    talk = Talk(host, OLDER)
    talk.introduce(OLDER.oldest, v=OLDER.oldest)
    action = {"type": "session/titleChanged", "title": "Mine"}
    params = {"clientSeq": 1, "channel": conversation.session.uri, "action": action}
    talk.say("dispatchAction", params, v=OLDER.oldest)
    envelope = talk.hear()["params"]["envelopes"][0]
    assert f"not in version {OLDER.oldest}" in envelope["rejectionReason"]


def test_page_gets_a_snapshot_for_actions_without_a_reducer(host: Host, conversation: Conversation) -> None:
    """Clients, customizations and MCP servers: no view shows them, and the page's bundle stays small."""
    talk = Talk(host, WINDOW)
    talk.introduce(WINDOW.current, v=WINDOW.current)
    uri = conversation.session.uri
    talk.say("subscribe", {"channel": uri}, v=WINDOW.current, id=2)
    talk.hear()
    action = SessionActiveClientSet(active_client={"clientId": "c", "tools": []})
    host.loop.call(lambda: conversation.dispatch(action))
    flush = talk.hear()["params"]
    assert flush["envelopes"] == []
    assert flush["snapshots"][0]["state"]["activeClients"] == [{"clientId": "c", "tools": []}]
