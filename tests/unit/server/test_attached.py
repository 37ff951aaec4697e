"""Detects if a page is attached, may come back, or is gone; a page may send an action again."""

from __future__ import annotations

from typing import Any

import pytest

from agentnb.state import SessionTitleChanged
from agentnb.testing import Events
from tests.unit.server.message_cases import CLIENT, Kernel

OTHER = "another-page"
GONE_SECONDS, RETURN_SECONDS = 600.0, 60.0
"""The silence after which a page counts as gone, and that after it has left."""


def say(kernel: Kernel, method: str, params: object = None, client: str = CLIENT) -> None:
    name = method if method == "dispatchAction" else f"x-agentnb/{method}"
    message = {"jsonrpc": "2.0", "v": 3, "clientId": client, "method": name, "params": params or {}}
    kernel.service.receive(message)


def initialize(kernel: Kernel, client: str) -> None:
    params = {"protocolVersions": [3], "visible": True}
    message = {"jsonrpc": "2.0", "v": 3, "clientId": client, "id": 1, "method": "initialize", "params": params}
    kernel.service.receive(message)


def is_attached(kernel: Kernel) -> bool:
    return kernel.service.delivery.attached


def wait(kernel: Kernel, seconds: float) -> None:
    kernel.loop.advance(round(seconds * 1000))


def test_silent_page_is_gone_until_it_introduces_itself() -> None:
    """Also a hidden page. It must introduce itself again."""
    kernel = Kernel(known=True)
    say(kernel, "visibility", {"visible": False})
    wait(kernel, GONE_SECONDS)
    there = is_attached(kernel)
    wait(kernel, 1)
    assert (there, is_attached(kernel)) == (True, False)
    initialize(kernel, CLIENT)
    assert is_attached(kernel)


@pytest.mark.parametrize("back", [CLIENT, OTHER, None], ids=["the same", "another", "none"])
def test_page_that_leaves_stays_attached_only_if_it_returns(back: str | None) -> None:
    """It comes back as the same client (the browser keeps the id) or another; meanwhile it is not visible."""
    kernel = Kernel(known=True)
    say(kernel, "leave")
    assert not kernel.service.delivery.clients[CLIENT].visible
    wait(kernel, RETURN_SECONDS - 1)
    assert is_attached(kernel)
    if back == CLIENT:
        say(kernel, "ping")
    elif back is not None:
        initialize(kernel, back)
    wait(kernel, RETURN_SECONDS + 1)
    assert is_attached(kernel) == (back is not None)


def test_page_stays_attached_while_the_kernel_is_blocked() -> None:
    """A cell blocks the kernel for an hour: changes are still sent and permission requests still asked."""
    kernel = Kernel(known=True)
    begin = kernel.loop.time()
    kernel.service.delivery.blocked_seconds = lambda: kernel.loop.time() - begin
    wait(kernel, 3_600)
    uri = next(iter(kernel.host.conversations))
    kernel.host.conversations[uri].dispatch(SessionTitleChanged(title="still there"))
    kernel.loop.advance(500)
    assert (is_attached(kernel), kernel.heard[-1]["method"]) == (True, "x-agentnb/actions")


def dispatched(kernel: Kernel, seq: int, action: dict[str, Any]) -> list[dict[str, Any]]:
    """Dispatches *action* and returns the envelopes that answer it."""
    kernel.heard.clear()
    uri = next(iter(kernel.host.conversations))
    say(kernel, "dispatchAction", {"clientSeq": seq, "channel": uri, "action": action})
    kernel.loop.advance(500)
    heard = [envelope for one in kernel.heard for envelope in one.get("params", {}).get("envelopes", ())]
    return [envelope for envelope in heard if envelope.get("origin", {}).get("clientSeq") == seq]


def test_resent_action_is_applied_once_and_marked_as_repeated() -> None:
    """A page that is not sure sends it again, also after it introduced itself again; a rejected one stays rejected."""
    kernel = Kernel(known=True)
    rename, forged = {"type": "session/titleChanged", "title": "mine"}, {"type": "session/ready"}
    answers = dispatched(kernel, 1, rename)
    conversation = next(iter(kernel.host.conversations.values()))
    conversation.dispatch(SessionTitleChanged(title="another's"))
    initialize(kernel, CLIENT)
    answers += dispatched(kernel, 1, rename)
    other = Kernel(known=True)
    answers += [*dispatched(other, 1, forged), *dispatched(other, 1, forged)]
    results = [("rejectionReason" in one, one.get("repeated")) for one in answers]
    assert results == [(False, None), (True, True), (True, None), (True, None)]
    assert conversation.session.state.title == "another's"


def test_events_report_each_change_of_a_page(agentnb_events: Events) -> None:
    """Events report each change of visibility, a resync, that the page left, and that it is gone."""
    kernel = Kernel(known=False)
    initialize(kernel, CLIENT)
    for visible in (False, False, True):
        say(kernel, "visibility", {"visible": visible})
    say(kernel, "resync", {"seen": {"ahp-root://": 0}})
    say(kernel, "leave")
    wait(kernel, RETURN_SECONDS + 1)
    kernel.service.delivery.kick()
    wait(kernel, 1)
    page_events = agentnb_events.of(category="page")
    assert [event.name.partition(".")[2] for event in page_events] == [
        "attached",
        "hidden",
        "visible",
        "resync",
        "left",
        "gone",
    ]
    assert {event.data["client"] for event in page_events} == {CLIENT}
    assert (page_events[0].data["visible"], page_events[3].data["channels"]) == (True, ["ahp-root://"])
