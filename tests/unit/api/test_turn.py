"""Turns in Python: waiting, awaiting, streaming, queueing, cancelling."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agentnb import Session
from agentnb.errors import TurnCancelled, TurnTimeout
from tests.unit.api.conftest import PATIENCE
from tests.unit.forked import run_script
from tests.unit.running import run

Start = Callable[..., Session]


def test_turn_has_thoughts_plan_tool_calls_and_usage(start: Start) -> None:
    session = start(permissions="allow")
    thought = session.prompt("/think why").wait(PATIENCE)
    plan = session.prompt("/plan 3").wait(PATIENCE)
    tool = session.prompt("/tool read").wait(PATIENCE)
    usage = session.prompt("/usage").wait(PATIENCE)
    call = tool.tool_calls[0]
    assert ("why" in thought.thoughts, [entry.status for entry in plan.plan]) == (True, ["completed"] * 3)
    assert (call.kind, call.status) == ("read", "completed")
    assert usage.usage is not None
    assert usage.usage.input_tokens


def test_turn_can_be_awaited_and_streamed(start: Start) -> None:
    """``await turn`` and ``async for`` both work on the caller's loop, and ``for`` without one."""
    session = start()

    async def both() -> tuple[str, str]:
        answer = await session.prompt("/say a")
        pieces = [piece async for piece in session.prompt("/say b c")]
        return answer.text, "".join(pieces)

    assert run(both()) == ("a", "b c")
    turn = session.prompt("/slow 5 1")
    assert ("".join(turn), turn.done) == (turn.text, True)


def test_wait_inside_a_running_loop_does_not_block_it(start: Start) -> None:
    """``turn.wait()`` in a running loop does not stop the user's tasks, and `asyncio.run` stays Python's own."""
    session, before = start(), asyncio.run

    async def cell() -> list[str]:
        seen: list[str] = []
        asyncio.get_running_loop().call_soon(seen.append, "my own task")
        seen.append(session.prompt("/say done").wait(PATIENCE).text)
        return seen

    assert run(cell()) == ["my own task", "done"]
    assert asyncio.run is before  # nest-asyncio's version never closes its loops


def test_second_prompt_waits_for_the_first(start: Start) -> None:
    """It shows in the queue and runs by itself."""
    session = start()
    first, second = session.prompt("/hang"), session.prompt("/say second")
    queued = (second.state, session.queue, second.stop_reason)
    first.cancel()
    assert (queued, second.wait(PATIENCE).text) == (("queued", ("/say second",), None), "second")


def test_queued_prompt_can_be_cancelled(start: Start) -> None:
    """Cancelling it empties the queue; the running turn goes on."""
    session = start()
    first, second = session.prompt("/hang"), session.prompt("/say second")
    second.cancel()
    assert (second.wait(PATIENCE).state, session.queue, first.done) == ("cancelled", (), False)
    first.cancel()


def test_cancel_ends_a_silent_turn_at_once(start: Start) -> None:
    """The agent is notified; the session stays usable."""
    session = start()
    turn = session.prompt("/hang")
    next(iter(turn))
    turn.cancel()
    assert (turn.wait(PATIENCE).stop_reason, session.prompt("/say on").wait(PATIENCE).text) == ("cancelled", "on")
    with pytest.raises(TurnCancelled):
        turn.raise_for_error()


def test_wait_raises_after_its_timeout(start: Start) -> None:
    """The turn continues; the error says how to wait again or stop it."""
    turn = start().prompt("/hang")
    for wait in (lambda: turn.wait(0.1), lambda: run(turn.wait_async(0.1))):
        with pytest.raises(
            TurnTimeout, match=r"did not end in 0\.1 s; it is still running.*turn\.cancel\(\)"
        ) as raised:
            wait()
        assert (raised.value.turn is turn, turn.done) == (True, False)


def test_first_prompt_gives_the_session_its_title(start: Start) -> None:
    """A long title is cut; later prompts do not rename the session."""
    session = start()
    session.prompt("/say " + "long " * 40).wait(PATIENCE)
    title = session.title
    session.prompt("/say short").wait(PATIENCE)
    assert (len(title) <= 48, title.endswith("…"), session.title == title) == (True, True, True)


def test_command_runs_only_with_permission(start: Start, tmp_path: Path) -> None:
    """Denied, it never starts; allowed, the agent gets its output; without a front end, the answer says how."""
    unattended = start().prompt("/write notes.txt hello").wait(PATIENCE)
    assert ('permissions="allow"' in unattended.text, (tmp_path / "notes.txt").exists()) == (True, False)
    denied = start(permissions="deny").prompt("/run echo hi").wait(PATIENCE)
    allowed = start(permissions="allow").prompt("/run echo hi").wait(PATIENCE)
    assert ("refused" in denied.text, "exit code 0" in allowed.text) == (True, True)
    assert [call.status for call in allowed.tool_calls] == ["completed"]
    assert [terminal.output for terminal in allowed.session.chat.terminals or ()] == ["hi\n"]


def test_cancelling_one_session_does_not_affect_others(start: Start) -> None:
    """Even sessions of the same process continue in the background."""
    session, other = start(), start()
    going_on, stopped = other.prompt("/slow 20 20"), session.prompt("/hang")
    session.cancel()
    assert (stopped.wait(PATIENCE).state, going_on.wait(PATIENCE).state) == ("cancelled", "complete")
    assert going_on.text.split() == [str(number) for number in range(1, 21)]


SHOWN = """
import json
import agentnb
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell = InteractiveShell.instance()
shell.run_cell("%load_ext agentnb")
turn = shell.user_ns["turn"] = agentnb.start().prompt("/slow 100000 20")
next(iter(turn))
for _ in range(2):
    with capture_output() as captured:
        shell.run_cell("turn")
    print(json.dumps(captured.outputs[0].data))
    turn.cancel()
    turn.wait(60, check=False)
"""


def test_running_turn_is_displayed_with_its_text_so_far(tmp_path: Path) -> None:
    """A cell's output does not change, so it says that more will come."""
    running, cancelled = map(json.loads, run_script(SHOWN, cwd=tmp_path).stdout.splitlines())
    assert {text[:2] for text in running.values()} == {"1 "}
    assert running["text/markdown"].endswith("\n\n*The turn is still running. Show it again to see more.*")
    assert running["text/plain"].endswith("\n\n(The turn is still running. Show it again to see more.)")
    assert cancelled["text/markdown"].endswith("**The turn was cancelled.**")
