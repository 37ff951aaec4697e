"""Agents that die or hang at each step, and agents that break the protocol."""

from __future__ import annotations

import re
import shutil
from queue import SimpleQueue
from typing import Any

import psutil
import pytest

from agentnb import InputQuestion, Session
from agentnb.errors import AgentError
from agentnb.host import Host
from agentnb.host.intents import carry_out, restart
from agentnb.state import (
    ChatToolCallConfirmed,
    ToolCallPendingConfirmationState,
    ToolCallResponsePart,
    XConfigOptionChosen,
    XModeChanged,
)
from agentnb.testing import Events
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import CLIENT, SOON, Open, agent_idle, hosted, inputs, until, uri_of


@pytest.fixture(autouse=True)
def soon_stopped(host: Host) -> None:
    """Agents that hang get little time to stop."""
    host.agents.stop_patience = SOON


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


def test_agent_that_opens_no_session_shows_its_last_output(open_session: Open) -> None:
    """Claude's adapter reports only exit code 1 of its subprocess; the reason is on stderr."""
    error = ready(open_session("opens_nothing", spec={"origin": "user"}))
    assert "Claude Code process exited with code 1" in error
    assert "`agentnb doctor opens_nothing` tries it alone." in error
    assert error.endswith("Last output:\nnode: cannot find module 'zod'")


@pytest.mark.parametrize(
    ("requires", "advice"),
    [("Node 999.1 or newer", "It needs Node 999.1 or newer; this is Node "), ("Node 4 or newer", "")],
)
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_agent_on_an_old_node_names_the_required_version(open_session: Open, requires: str, advice: str) -> None:
    """Kimi Code on Node 20; a newer Node is not blamed."""
    failed = ready(open_session("fails", "dies", "start", spec={"requires": requires}))
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
def test_agent_that_dies_fails_the_turn_with_its_last_output(
    attended: Host, open_session: Open, step: str, pattern: str
) -> None:
    """The turn ends, and no request stays open."""
    session = open_session("fails", "dies", step)
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
    host: Host, impatient: dict[str, Any], open_session: Open, step: str, message: str
) -> None:
    """The turn fails and names the request."""
    if step != "session/new":  # the first answer itself hangs
        host.agents.start_timeout = None
    turn = open_session("fails", "hangs", step, spec=impatient).prompt("go").wait(PATIENCE, check=False)
    assert turn.error is not None
    assert message in turn.error.message.replace("\n", " ")


@pytest.mark.parametrize("step", ["session/prompt", "turn", "question"])
def test_agent_that_hangs_in_a_turn_is_cancelled_and_replaced(
    attended: Host, open_session: Open, agentnb_events: Events, step: str
) -> None:
    """The turn ends at once; the agent's process is ended before the next prompt."""
    session = open_session("fails", "hangs", step)
    hosted(attended, session).turns.cancel_grace = 0.2
    turn = session.prompt("go")
    agentnb_events.wait_for("turn.prompted", turn=turn.id, timeout=PATIENCE)
    turn.cancel()
    assert turn.wait(PATIENCE, check=False).state == "cancelled"
    again = session.prompt("again")
    agentnb_events.wait_for("turn.prompted", turn=again.id, timeout=PATIENCE)
    first, second = agentnb_events.of("agent.spawned")
    assert agentnb_events.of("agent.stopped")[0].data == first.data != second.data


@pytest.mark.parametrize("how", ["dies", "hangs"])
def test_agent_that_fails_at_a_cancel_blocks_nothing(attended: Host, open_session: Open, how: str) -> None:
    """The turn and its open request are cancelled."""
    session = open_session("fails", how, "cancel")
    hosted(attended, session).turns.cancel_grace = 0.2
    turn = session.prompt("go")
    until(attended, session, lambda: pending(session))
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
    *, host: Host, impatient: dict[str, Any], open_session: Open, step: str, how: str, reason: str
) -> None:
    """The state does not change; the client gets the reason."""
    session = open_session("fails", how, step, spec=impatient)
    assert ready(session) == ""
    refused: SimpleQueue[str] = SimpleQueue()
    host.loop.call(
        host.listen, lambda _, envelope: refused.put(envelope.rejection_reason) if envelope.rejection_reason else None
    )
    host.loop.call(carry_out, host, uri_of(session), CHOICES[step], CLIENT)
    assert reason.format(step) in refused.get(timeout=PATIENCE)
    assert session.state.modes is not None
    assert session.state.modes.current_mode_id == "a"
    assert [option["currentValue"] for option in session.state.config_options or ()] == ["a"]


def test_agent_that_dies_at_login_fails_the_turn(attended: Host, open_session: Open) -> None:
    """The login request is closed; Python gets the error."""
    session = open_session("fails", "dies", "authenticate")
    turn = session.prompt("go")
    until(attended, session, lambda: session.questions)
    session.answer(session.questions[0].id, {"way": "browser"})
    assert turn.wait(PATIENCE, check=False).error is not None
    assert re.search(
        r"stopped unexpectedly \(exit code 9\).*could not go on at authenticate", str(turn.error), re.DOTALL
    )
    assert session.questions == ()
    with pytest.raises(AgentError, match="could not go on at authenticate"):
        session.login("browser", timeout=PATIENCE)


def test_agent_that_hangs_at_login_can_be_restarted(attended: Host, open_session: Open, agentnb_events: Events) -> None:
    """A browser login takes time, so only the user's cancel and restart end it."""
    session = open_session("fails", "hangs", "authenticate")
    turn = session.prompt("go")
    until(attended, session, lambda: session.questions)
    (spawned,) = agentnb_events.of("agent.spawned")
    session.answer(session.questions[0].id, {"way": "browser"})
    turn.cancel()
    assert turn.wait(PATIENCE, check=False).state == "cancelled"
    with pytest.raises(AgentError, match=r"did not answer within 0\.2 s\. Restart the agent, or give it longer"):
        session.login("browser", timeout=0.2)
    restarted = attended.loop.submit(restart(hosted(attended, session)))
    until(attended, session, lambda: session.questions)
    assert not psutil.pid_exists(int(spawned.data["pid"]))
    session.answer(session.questions[0].id, response="decline")
    with pytest.raises(AgentError, match="Sign in to"):
        restarted.result(PATIENCE)


def waiting_for_a_login(host: Host, session: Session) -> InputQuestion:
    """Returns the card of a pending login after "Browser" was chosen."""
    until(host, session, lambda: session.questions)
    session.answer(session.questions[0].id, {"way": "browser"})
    until(host, session, lambda: session.questions)
    (card,) = inputs(session)
    assert (card.questions, "is waiting for you to sign in (Browser)" in str(card.message)) == (None, True)
    return card


@pytest.mark.parametrize("way", ["cancel", "stop", "close"])
def test_slow_login_shows_a_card_and_can_be_cancelled(attended: Host, open_session: Open, way: str) -> None:
    """By its card, the turn's Stop, or closing the tab; the agent hears of it, and nothing waits."""
    session = open_session("wants_login", "session", "unnoticed")
    turn = session.prompt("go")
    card = waiting_for_a_login(attended, session)
    if way == "cancel":
        session.answer(card.id, response="cancel")
        assert "Sign in to" in str(turn.wait(PATIENCE, check=False).error)
    elif way == "stop":
        turn.cancel()
        assert turn.wait(PATIENCE, check=False).state == "cancelled"
    else:
        session.close(PATIENCE)
    assert session.questions == ()


def test_turn_continues_after_a_login_the_agent_did_not_notice(attended: Host, open_session: Open) -> None:
    """The host requests the session again."""
    session = open_session("wants_login", "session", "unnoticed")
    turn = session.prompt("go")
    session.answer(waiting_for_a_login(attended, session).id)
    assert turn.wait(PATIENCE, check=False).text == "welcome"


def test_closing_a_session_stops_an_agent_that_hangs(open_session: Open) -> None:
    session = open_session("fails", "hangs", "session/close")
    assert ready(session) == ""
    process = psutil.Process(session.health().pid)
    session.close(timeout=PATIENCE)
    assert not process.is_running()


def test_permission_requests_with_odd_ids_get_their_own_answers(attended: Host, open_session: Open) -> None:
    """Ids are text and number, one is used twice; some lines are invalid; a prompt is answered twice."""
    session = open_session("odd_ids")
    turn = session.prompt("go")

    until(attended, session, lambda: len(pending(session)) == 3)
    for call_id in ("c3", "c1", "c2"):
        option = "no" if call_id == "c2" else "yes"
        answer = ChatToolCallConfirmed(
            turn_id=turn.id, tool_call_id=call_id, approved=option == "yes", selected_option_id=option
        )
        attended.loop.call(carry_out, attended, session.chat.resource, answer, CLIENT)
    assert turn.wait(PATIENCE, check=False).text == "2=no one=yes one=yes"
    assert turn.stop_reason == "end_turn"
    assert session.health().stray >= 3


def test_late_output_after_a_cancel_stays_in_its_turn(host: Host, open_session: Open) -> None:
    """The turn stays cancelled and has the text; the next prompt works as usual."""
    session = open_session("answers_late")
    turn = session.prompt("go")
    next(iter(turn))
    turn.cancel()
    until(host, session, lambda: agent_idle(session))
    assert (turn.state, turn.text, [call.id for call in turn.tool_calls]) == (
        "cancelled",
        "before after more",
        ["late"],
    )


@pytest.mark.parametrize(("script", "prompt", "length"), [("flood", "20000", 100_000), ("long_line", "64", 64 << 20)])
def test_flood_and_64_mib_line_reach_the_state_complete(
    open_session: Open, script: str, prompt: str, length: int
) -> None:
    """Through the whole host, not only the connection."""
    assert len(open_session(script).prompt(prompt).wait(2 * PATIENCE).text) == length


def test_updates_before_the_session_is_known_reach_its_state(open_session: Open) -> None:
    """The commands and the mode arrived before the answer to ``session/new``."""
    session = open_session("update_before_session")
    assert session.prompt("go").wait(PATIENCE, check=False).stop_reason == "end_turn"
    assert session.state.commands
    assert session.state.lifecycle == "ready"


def test_updates_after_the_prompts_answer_reach_its_turn(host: Host, open_session: Open) -> None:
    session = open_session("update_after_answer")
    turn = session.prompt("go")
    assert turn.wait(PATIENCE, check=False).stop_reason == "end_turn"
    until(host, session, lambda: turn.text == "before after")
