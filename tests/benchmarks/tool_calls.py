"""The kernel's cost of very many tool calls and permission requests in one turn, and the delay of another tab.

Counted is the processor time of mapper, reducers, log and delivery for three updates a call, and of delivery to a page;
for a permission request also that of the policy, the question on its card and the user's answer.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from agentnb.acp.questions import AcpPermissionRequest
from agentnb.acp.sessions import deliver
from agentnb.host.intents import FROM_PYTHON, carry_out
from agentnb.state import ChatToolCallConfirmed, SessionStatus
from tests.benchmarks.row import Row
from tests.benchmarks.workload import Workload

CALLS = 10_000
READ = 50  # calls in one read of the agent's output
RUNS = 2
REQUESTS = 5_000
STEPS = 5
OPTIONS = [{"optionId": kind, "name": kind, "kind": kind} for kind in ("allow_once", "reject_once")]


def updates(number: int) -> list[dict[str, Any]]:
    """Updates of one tool call: pending, running, done."""
    call = {"toolCallId": f"call-{number}"}
    begun = {"title": f"Read file {number}", "kind": "read", "status": "pending", "rawInput": {"path": f"{number}.py"}}
    content = [{"type": "content", "content": {"type": "text", "text": "12 lines"}}]
    return [
        {"sessionUpdate": "tool_call", **call, **begun},
        {"sessionUpdate": "tool_call_update", **call, "status": "in_progress"},
        {"sessionUpdate": "tool_call_update", **call, "status": "completed", "content": content},
    ]


def run(calls: int, page: str = "seen") -> tuple[float, float]:
    """Returns the processor seconds for *calls* of one turn, and those of the longest read or flush."""
    workload = Workload(1, page)
    workload.begin_turns()
    workload.spent = longest = 0.0
    for first in range(0, calls, READ):
        batch = [update for number in range(first, first + READ) for update in updates(number)]
        for step in (
            lambda batch=batch: deliver(batch, workload.conversations[0].events),
            lambda: workload.loop.advance(20),
        ):
            began = time.process_time()
            workload.kernel(step)
            longest = max(longest, time.process_time() - began)
        workload.pass_time(0)
    workload.pass_time(2_000)
    return workload.spent, longest


async def _permission_seconds(requests: int) -> float:
    """Returns the processor seconds for *requests* permission requests of one turn, answered by the user."""
    workload = Workload(1)
    workload.host.environment.connect(attached=lambda: True)
    workload.begin_turns()
    conversation = workload.conversations[0]
    turn = conversation.chat.state.active_turn
    assert turn is not None
    workload.spent = 0.0
    for number in range(requests):
        call_id = f"call-{number}"
        call = {
            "toolCallId": call_id,
            "title": f"make {number}",
            "kind": "execute",
            "rawInput": {"command": "make"},
        }
        began = time.process_time()
        question = AcpPermissionRequest({"toolCall": call, "options": OPTIONS})
        asking = asyncio.ensure_future(conversation.permissions.request(question))
        for _ in range(STEPS):
            await asyncio.sleep(0)  # until it waits for the answer
        assert conversation.chat.state.status & SessionStatus.INPUT_NEEDED == SessionStatus.INPUT_NEEDED
        answer = ChatToolCallConfirmed(
            turn_id=turn.id, tool_call_id=call_id, approved=True, selected_option_id="allow_once"
        )
        carry_out(workload.host, conversation.chat.uri, answer, FROM_PYTHON)
        assert await asking == "allow_once"
        deliver(
            [{"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": "completed"}],
            conversation.events,
        )
        workload.spent += time.process_time() - began
        if number % READ == 0:
            workload.kernel(lambda: workload.loop.advance(20))
            workload.pass_time(0)
    workload.pass_time(2_000)
    return workload.spent


def permission_seconds(requests: int) -> float:
    return asyncio.run(_permission_seconds(requests))


def measure() -> list[Row]:
    questions = min(permission_seconds(REQUESTS) for _ in range(RUNS))
    fewer = min(permission_seconds(REQUESTS // 2) for _ in range(RUNS))
    whole = min(run(CALLS)[0] for _ in range(RUNS))
    half = min(run(CALLS // 2)[0] for _ in range(RUNS))
    longest = min(run(CALLS)[1] for _ in range(RUNS))
    return [
        Row(what=f"{CALLS:,} tool calls in one turn, kernel time", value=whole, unit="s", at_most=1.5),
        Row(what="the same, beside half as many", value=whole, unit="s", beside=half, beside_name="half", at_most=2.5),
        Row(what="the longest that they hold up another tab", value=longest * 1e3, unit="ms", at_most=100.0),
        Row(what=f"{REQUESTS:,} permission requests in one turn, kernel time", value=questions, unit="s", at_most=8.0),
        Row(
            what="the same, beside half as many",
            value=questions,
            unit="s",
            beside=fewer,
            beside_name="half",
            at_most=2.5,
        ),
    ]
