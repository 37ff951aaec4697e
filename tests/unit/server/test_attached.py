"""Detects if a page is attached, may come back, or is gone, and if the kernel is blocked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentnb.server.client import ACTIONS
from agentnb.server.comm.frontend import ASK_SECONDS, BlockedTime
from agentnb.server.delivery import GONE_SECONDS, RETURN_SECONDS
from agentnb.server.request_table import wire_name
from agentnb.state import SessionTitleChanged
from agentnb.testing import Events
from tests.unit.running import run
from tests.unit.server.manual_loop import ManualLoop
from tests.unit.server.message_cases import CLIENT, Kernel

OTHER = "another-page"


def say(kernel: Kernel, method: str, params: object = None, client: str = CLIENT) -> None:
    kernel.service.receive(
        {"jsonrpc": "2.0", "v": 3, "clientId": client, "method": wire_name(method), "params": params or {}, "id": None}
    )


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


@pytest.mark.parametrize("back", [CLIENT, OTHER])
def test_page_stays_attached_when_it_reloads(back: str) -> None:
    """It comes back as the same client (the browser keeps the id) or another."""
    kernel = Kernel(known=True)
    say(kernel, "leave")
    wait(kernel, RETURN_SECONDS - 1)
    assert is_attached(kernel)
    if back == CLIENT:
        say(kernel, "ping")
    else:
        initialize(kernel, back)
    wait(kernel, RETURN_SECONDS + 1)
    assert is_attached(kernel)


def test_page_that_left_is_gone_when_it_does_not_return() -> None:
    """Meanwhile it gets only the root's news."""
    kernel = Kernel(known=True)
    say(kernel, "leave")
    assert not kernel.service.delivery.clients[CLIENT].visible
    wait(kernel, RETURN_SECONDS + 1)
    assert not is_attached(kernel)


def test_page_stays_attached_while_the_kernel_is_blocked() -> None:
    """A cell blocks the kernel for an hour: changes are still sent and permission requests still asked."""
    kernel = Kernel(known=True)
    begin = kernel.loop.time()
    kernel.service.delivery.blocked_seconds = lambda: kernel.loop.time() - begin
    wait(kernel, 3_600)
    uri = next(iter(kernel.host.conversations))
    kernel.host.conversations[uri].dispatch(SessionTitleChanged(title="still there"))
    kernel.loop.advance(500)
    assert (is_attached(kernel), kernel.heard[-1]["method"]) == (True, ACTIONS)


class Kept(ManualLoop):
    """Runs posted functions at once."""

    def post(self, function: Callable[..., object], *args: object) -> None:
        function(*args)


def test_blocked_time_counts_while_the_loop_does_not_run() -> None:
    """The blocked time runs from the probe to its answer; a prompt answer means no blocked time."""

    async def blocked() -> list[float]:
        clock, seen = Kept(), []
        blocked = BlockedTime(clock)
        blocked.record_message()
        await asyncio.sleep(0)
        seen.append(blocked.blocked_seconds())
        clock.advance(round(ASK_SECONDS * 1000))  # sends the probe while this test blocks the loop
        clock.advance(300_000)
        seen.append(blocked.blocked_seconds())
        await asyncio.sleep(0)
        clock.advance(5_000)
        seen.append(blocked.blocked_seconds())
        return seen

    assert run(blocked()) == [0.0, 300.0, 300.0]


def test_blocked_time_ignores_a_closed_loop_and_uses_the_next() -> None:
    """A subshell's loop closes when the subshell ends."""
    clock = Kept()
    blocked = BlockedTime(clock)

    async def speak() -> None:
        blocked.record_message()

    run(speak())
    clock.advance(100_000)
    closed = blocked.blocked_seconds()

    async def speak_and_block() -> float:
        blocked.record_message()
        await asyncio.sleep(0)
        clock.advance(round(ASK_SECONDS * 1000))
        clock.advance(7_000)
        return blocked.blocked_seconds()

    assert (closed, run(speak_and_block())) == (0.0, 7.0)


def test_kernel_without_a_loop_counts_as_responsive() -> None:
    clock = Kept()
    blocked = BlockedTime(clock)
    blocked.record_message()
    clock.advance(100_000)
    assert blocked.blocked_seconds() == 0.0


def dispatched(kernel: Kernel, seq: int, action: dict[str, Any]) -> list[dict[str, Any]]:
    """Dispatches *action* and returns the envelopes that answer it."""
    kernel.heard.clear()
    uri = next(iter(kernel.host.conversations))
    say(kernel, "dispatchAction", {"clientSeq": seq, "channel": uri, "action": action})
    kernel.loop.advance(500)
    heard = [envelope for one in kernel.heard for envelope in one.get("params", {}).get("envelopes", ())]
    return [envelope for envelope in heard if envelope.get("origin", {}).get("clientSeq") == seq]


def test_resent_action_is_applied_once_and_marked_as_repeated() -> None:
    """A page that is not sure sends it again, also after it introduced itself again."""
    kernel = Kernel(known=True)
    rename = {"type": "session/titleChanged", "title": "mine"}
    first = dispatched(kernel, 1, rename)
    conversation = next(iter(kernel.host.conversations.values()))
    conversation.dispatch(SessionTitleChanged(title="another's"))
    initialize(kernel, CLIENT)
    again = dispatched(kernel, 1, rename)
    assert [("rejectionReason" in one, one.get("repeated")) for one in (*first, *again)] == [
        (False, None),
        (True, True),
    ]
    assert conversation.session.state.title == "another's"


def test_rejected_action_is_rejected_again_when_resent() -> None:
    kernel = Kernel(known=True)
    forged = {"type": "session/ready"}
    answers = [*dispatched(kernel, 1, forged), *dispatched(kernel, 1, forged)]
    assert [(one["rejectionReason"], one.get("repeated")) for one in answers] == [
        ("A client may not dispatch this action.", None)
    ] * 2


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
