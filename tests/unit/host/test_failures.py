"""Agents that die or hang at each step, and agents that break the protocol."""

from __future__ import annotations

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import psutil
import pytest

from agentnb import InputQuestion, Session
from agentnb.errors import AgentError
from agentnb.state import (
    ChatToolCallConfirmed,
    ToolCallPendingConfirmationState,
    ToolCallResponsePart,
    XConfigOptionChosen,
    XModeChanged,
)
from agentnb.testing import Events
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import SOON, agent_idle, inputs
from tests.unit.host.kernels import Kernel


@pytest.fixture(autouse=True)
def soon_stopped(kernel: Kernel) -> None:
    """Agents that hang get little time to stop."""
    kernel.wait_less(stop=SOON)


@pytest.fixture
def attended(kernel: Kernel) -> Kernel:
    """The kernel with a user attached."""
    kernel.attend()
    return kernel


def ready(session: Session) -> str:
    """Opens the session and returns the error's text, or ""."""
    try:
        session.open(PATIENCE)
    except AgentError as error:
        return str(error)
    return ""


def pending(session: Session) -> list[str]:
    active = session.chat.active_turn
    parts = active.response_parts if active is not None else ()
    calls = [part.tool_call for part in parts if isinstance(part, ToolCallResponsePart)]
    return [call.tool_call_id for call in calls if isinstance(call, ToolCallPendingConfirmationState)]


def test_agent_that_opens_no_session_shows_its_last_output(kernel: Kernel) -> None:
    """Claude's adapter reports only exit code 1 of its subprocess; the reason is on stderr."""
    error = ready(kernel.start("opens_nothing", spec={"origin": "user"}))
    assert "Claude Code process exited with code 1" in error
    assert "`agentnb doctor opens_nothing` tries it alone." in error
    assert error.endswith("Last output:\nnode: cannot find module 'zod'")


@pytest.mark.parametrize(
    ("requires", "advice"),
    [("Node 999.1 or newer", "It needs Node 999.1 or newer; this is Node "), ("Node 4 or newer", "")],
)
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_agent_on_an_old_node_names_the_required_version(kernel: Kernel, requires: str, advice: str) -> None:
    """Kimi Code on Node 20; a newer Node is not blamed."""
    failed = ready(kernel.start("fails", "dies", "start", spec={"requires": requires}))
    assert advice in failed
    assert ("this is Node" in failed) == bool(advice)


@pytest.mark.parametrize(
    ("step", "pattern"),
    [
        ("start", r"fails stopped while starting \(exit code 9\).*could not go on at start"),
        ("initialize", r"fails stopped while starting \(exit code 9\).*could not go on at initialize"),
        ("session/new", r"fails stopped unexpectedly \(exit code 9\).*could not go on at session/new"),
        ("session/prompt", r"fails stopped unexpectedly \(exit code 9\).*could not go on at session/prompt"),
        ("turn", r"fails stopped unexpectedly \(exit code 9\).*could not go on at turn"),
        ("question", r"fails stopped unexpectedly \(exit code 9\).*could not go on at question"),
    ],
)
def test_agent_that_dies_fails_the_turn_with_its_last_output(attended: Kernel, step: str, pattern: str) -> None:
    """The turn ends, and no request stays open."""
    session = attended.start("fails", "dies", step)
    turn = session.prompt("go").wait(PATIENCE, check=False)
    assert turn.error is not None
    assert re.search(pattern, turn.error.message, re.DOTALL)
    assert pending(session) == []
    assert {call.status for call in turn.tool_calls} <= {"cancelled"}


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("start", r"did not answer within 0.5 s after it was started"),
        ("initialize", r"did not answer within 0.5 s after it was started"),
        ("session/new", r"did not answer session/new within 0.5 s"),
    ],
)
def test_agent_that_hangs_before_the_prompt_times_out(
    kernel: Kernel, impatient: dict[str, Any], step: str, message: str
) -> None:
    """The turn fails and names the request."""
    if step != "session/new":  # the first answer itself hangs
        kernel.wait_less(start=None)
    turn = kernel.start("fails", "hangs", step, spec=impatient).prompt("go").wait(PATIENCE, check=False)
    assert turn.error is not None
    assert message in turn.error.message.replace("\n", " ")


@pytest.mark.parametrize("step", ["session/prompt", "turn", "question"])
def test_agent_that_hangs_in_a_turn_is_cancelled_and_replaced(
    attended: Kernel, agentnb_events: Events, step: str
) -> None:
    """The turn ends at once; the agent's process is ended before the next prompt."""
    session = attended.start("fails", "hangs", step)
    attended.hurry(session, cancel=0.2)
    turn = session.prompt("go")
    agentnb_events.wait_for("turn.prompted", turn=turn.id, timeout=PATIENCE)
    turn.cancel()
    assert turn.wait(PATIENCE, check=False).state == "cancelled"
    again = session.prompt("again")
    agentnb_events.wait_for("turn.prompted", turn=again.id, timeout=PATIENCE)
    first, second = agentnb_events.of("agent.spawned")
    assert agentnb_events.of("agent.stopped")[0].data == first.data != second.data


@pytest.mark.parametrize("how", ["dies", "hangs"])
def test_agent_that_fails_at_a_cancel_blocks_nothing(attended: Kernel, how: str) -> None:
    """The turn and its open request are cancelled."""
    session = attended.start("fails", how, "cancel")
    attended.hurry(session, cancel=0.2)
    turn = session.prompt("go")
    attended.until(session, lambda: pending(session))
    turn.cancel()
    assert turn.wait(PATIENCE, check=False).state == "cancelled"
    assert [call.status for call in turn.tool_calls] == ["cancelled"]


CHOICES = {
    "session/set_mode": XModeChanged(mode_id="b"),
    "session/set_config_option": XConfigOptionChosen(config_id="model", value="b"),
    "session/set_model": XConfigOptionChosen(config_id="model", value="b"),
}


@pytest.mark.parametrize(("how", "reason"), [("dies", "could not go on at {}"), ("hangs", "did not answer {}")])
@pytest.mark.parametrize("step", CHOICES)
def test_choice_that_the_agent_never_accepts_is_rejected(
    kernel: Kernel, impatient: dict[str, Any], step: str, how: str, reason: str
) -> None:
    """The state does not change; the client gets the reason."""
    session = kernel.start("fails", how, step, spec=impatient)
    assert ready(session) == ""
    rejections = kernel.rejections()
    kernel.act(session, CHOICES[step])
    assert reason.format(step) in rejections.get(timeout=PATIENCE)
    assert session.state.modes is not None
    assert session.state.modes.current_mode_id == "a"
    assert [option["currentValue"] for option in session.state.config_options or ()] == ["a"]


def test_agent_that_dies_at_login_fails_the_turn(attended: Kernel) -> None:
    """The login request is closed; Python gets the error."""
    session = attended.start("fails", "dies", "authenticate")
    turn = session.prompt("go")
    attended.until(session, lambda: session.questions)
    session.answer(session.questions[0].id, {"way": "browser"})
    assert turn.wait(PATIENCE, check=False).error is not None
    assert re.search(
        r"stopped unexpectedly \(exit code 9\).*could not go on at authenticate", str(turn.error), re.DOTALL
    )
    assert session.questions == ()
    with pytest.raises(AgentError, match="could not go on at authenticate"):
        session.login("browser", timeout=PATIENCE)


def test_agent_that_hangs_at_login_can_be_restarted(attended: Kernel, agentnb_events: Events) -> None:
    """A browser login takes time, so only the user's cancel and restart end it."""
    session = attended.start("fails", "hangs", "authenticate")
    turn = session.prompt("go")
    attended.until(session, lambda: session.questions)
    (spawned,) = agentnb_events.of("agent.spawned")
    session.answer(session.questions[0].id, {"way": "browser"})
    turn.cancel()
    assert turn.wait(PATIENCE, check=False).state == "cancelled"
    with pytest.raises(AgentError, match=r"did not answer within 0\.2 s\. Restart the agent, or give it longer"):
        session.login("browser", timeout=0.2)
    with ThreadPoolExecutor(1) as thread:
        restarted = thread.submit(session.restart, PATIENCE)
        attended.until(session, lambda: session.questions)
        assert not psutil.pid_exists(int(spawned.data["pid"]))
        session.answer(session.questions[0].id, response="decline")
        with pytest.raises(AgentError, match="Sign in to"):
            restarted.result(PATIENCE)


def waiting_for_a_login(kernel: Kernel, session: Session) -> InputQuestion:
    """Returns the card of a pending login after "Browser" was chosen."""
    kernel.until(session, lambda: session.questions)
    session.answer(session.questions[0].id, {"way": "browser"})
    kernel.until(session, lambda: session.questions)
    (card,) = inputs(session)
    assert (card.questions, "is waiting for you to sign in (Browser)" in str(card.message)) == (None, True)
    return card


@pytest.mark.parametrize("way", ["noticed", "cancel", "stop", "close"])
def test_slow_login_shows_a_card_and_can_be_cancelled(attended: Kernel, way: str) -> None:
    """By its card, the turn's Stop, or closing the tab; its answer goes on after a login the agent did not notice."""
    session = attended.start("wants_login", "session", "unnoticed")
    turn = session.prompt("go")
    card = waiting_for_a_login(attended, session)
    if way == "noticed":
        session.answer(card.id)
        assert turn.wait(PATIENCE, check=False).text == "welcome"
    elif way == "cancel":
        session.answer(card.id, response="cancel")
        assert "Sign in to" in str(turn.wait(PATIENCE, check=False).error)
    elif way == "stop":
        turn.cancel()
        assert turn.wait(PATIENCE, check=False).state == "cancelled"
    else:
        session.close(PATIENCE)
    assert session.questions == ()


def test_closing_a_session_stops_an_agent_that_hangs(kernel: Kernel) -> None:
    session = kernel.start("fails", "hangs", "session/close")
    assert ready(session) == ""
    process = psutil.Process(session.health().pid)
    session.close(timeout=PATIENCE)
    assert not process.is_running()


def test_permission_requests_with_odd_ids_get_their_own_answers(attended: Kernel) -> None:
    """Ids are text and number, one is used twice; some lines are invalid; a prompt is answered twice."""
    session = attended.start("odd_ids")
    turn = session.prompt("go")
    attended.until(session, lambda: len(pending(session)) == 3)
    for call_id in ("c3", "c1", "c2"):
        option = "no" if call_id == "c2" else "yes"
        answer = ChatToolCallConfirmed(
            turn_id=turn.id, tool_call_id=call_id, approved=option == "yes", selected_option_id=option
        )
        attended.act(session, answer)
    assert turn.wait(PATIENCE, check=False).text == "2=no one=yes one=yes"
    assert turn.stop_reason == "end_turn"
    assert session.health().stray >= 3


def test_late_output_after_a_cancel_stays_in_its_turn(kernel: Kernel) -> None:
    """The turn stays cancelled and has the text; the next prompt works as usual."""
    session = kernel.start("answers_late")
    turn = session.prompt("go")
    next(iter(turn))
    turn.cancel()
    kernel.until(session, lambda: agent_idle(session))
    assert (turn.state, turn.text, [call.id for call in turn.tool_calls]) == (
        "cancelled",
        "before after more",
        ["late"],
    )


@pytest.mark.parametrize(("script", "prompt", "length"), [("flood", "20000", 100_000), ("long_line", "64", 64 << 20)])
def test_flood_and_64_mib_line_reach_the_state_complete(kernel: Kernel, script: str, prompt: str, length: int) -> None:
    """Through the whole host, not only the connection."""
    assert len(kernel.start(script).prompt(prompt).wait(2 * PATIENCE).text) == length


def test_updates_outside_of_turns_reach_session_and_turn(kernel: Kernel) -> None:
    """Commands and the mode arrived before the answer to ``session/new``; text after the answer to the prompt."""
    session = kernel.start("update_before_session")
    assert session.prompt("go").wait(PATIENCE, check=False).stop_reason == "end_turn"
    assert session.state.commands
    assert session.state.lifecycle == "ready"
    session = kernel.start("update_after_answer")
    turn = session.prompt("go")
    assert turn.wait(PATIENCE, check=False).stop_reason == "end_turn"
    kernel.until(session, lambda: turn.text == "before after")


def test_slow_extension_function_fails_and_blocks_nothing(kernel: Kernel, tmp_path: Path) -> None:
    """More functions hang than there are threads; the agent gets an error for each and still reads files."""
    (tmp_path / "data.txt").write_text("1 2 3", encoding="utf-8")
    session, go_on = kernel.start("works", mode="allow"), Event()
    kernel.hurry(session, extension=0.1)
    session.on_extension("_zoo/hang", lambda _: go_on.wait(PATIENCE))
    requests: list[tuple[str, dict[str, Any]]] = [("_zoo/hang", {})] * 6
    requests.append(("fs/read_text_file", {"path": str(tmp_path / "data.txt")}))
    try:
        turn = session.prompt(json.dumps(requests)).wait(PATIENCE)
    finally:
        go_on.set()
    *hung, read = [json.loads(line) for line in turn.text.splitlines()]
    assert ["did not return within 0.1 s" in each["message"] for each in hung] == [True] * 6
    assert read == {"content": "1 2 3"}
