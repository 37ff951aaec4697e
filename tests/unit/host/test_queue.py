"""Waiting prompts: edited, removed, reordered, sent now; messages added to the running turn."""

from __future__ import annotations

import asyncio

import pytest

from agentnb import Session
from agentnb.errors import AgentRefused
from agentnb.state import (
    ChatPendingMessageSet,
    ChatTurnCancelled,
    Message,
    MessageOrigin,
    PendingMessageKind,
    UserMessageResponsePart,
    XConfigOptionChosen,
    XModeChanged,
)
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import agent_idle
from tests.unit.host.kernels import Kernel
from tests.unit.running import run

USER = MessageOrigin(kind="user")


def busy(kernel: Kernel, script: str = "slow") -> Session:
    """Returns a session whose first turn has begun."""
    session = kernel.start(script)
    next(iter(session.prompt("first")))
    return session


def test_steering_messages_join_the_running_turn(kernel: Kernel) -> None:
    """Also from a page; the turn ends when all are answered, and the transcript has them."""
    session = busy(kernel, "steers")
    process = session.state.agent_process
    assert process is not None
    assert process.steering is True
    session.steer("more")
    queued = session.prompt("waits")
    done = ChatPendingMessageSet(kind=PendingMessageKind.STEERING, id="s1", message=Message(text="done", origin=USER))
    kernel.act(session, done)
    turn = session.turns[0].wait(PATIENCE)
    assert (turn.text, turn.stop_reason) == ("[first][more][done]", "end_turn")
    assert turn.snapshot is not None
    messages = [part.content for part in turn.snapshot.response_parts if isinstance(part, UserMessageResponsePart)]
    assert messages == ["more", "done"]
    assert session.chat.steering_message is None
    kernel.until(session, lambda: queued.text == "[waits]")


def test_send_now_adds_a_waiting_prompt_to_the_running_turn(kernel: Kernel) -> None:
    session = busy(kernel, "steers")
    session.send_now(session.prompt("done"))
    assert session.turns[0].wait(PATIENCE).text == "[first][done]"
    assert (session.queue, len(session.turns)) == ((), 1)


def test_steering_from_a_page_uses_the_hosts_text(kernel: Kernel) -> None:
    session = busy(kernel, "steers")
    queued = session.prompt("more")
    cut = ChatPendingMessageSet(kind=PendingMessageKind.STEERING, id=queued.id, message=Message(text="mo", origin=USER))
    kernel.act(session, cut)
    assert session.queue == ()
    session.steer("done")
    assert session.turns[0].wait(PATIENCE).text == "[first][more][done]"


def test_cancelling_a_steered_turn_continues_the_queue(kernel: Kernel) -> None:
    """Every prompt of the turn is answered."""
    session = busy(kernel, "steers")
    session.steer("more")
    session.turns[0].cancel()
    kernel.until(session, lambda: agent_idle(session))
    assert session.prompt("done").wait(PATIENCE).text == "[done]"


def activity(session: Session) -> str | None:
    return session.state.activity


def test_silence_is_reported_unless_a_request_is_open(kernel: Kernel) -> None:
    """As the session's activity, again after each doubling, until the turn ends; not of an agent that asks."""
    kernel.attend()
    session, asks = kernel.start("answers_late"), kernel.start("asks_unknown_call")
    said: dict[str, list[str | None]] = {"silent": [], "asks": []}
    for name, each in (("silent", session), ("asks", asks)):
        kernel.hurry(each, silence=0.05)
        kernel.watch(each, lambda name=name, each=each: said[name].append(activity(each)))  # type: ignore[misc]
    asks.prompt("go")
    kernel.until(asks, lambda: asks.questions)
    said["asks"].clear()
    turn = session.prompt("go")
    kernel.until(session, lambda: "no output for 0.1 s" in said["silent"])
    assert "no output for 0.05 s" in said["silent"][: said["silent"].index("no output for 0.1 s")]
    assert (activity(asks), [words for words in said["asks"] if words]) == (None, [])
    turn.cancel()
    kernel.until(session, lambda: activity(session) is None)


def test_modes_and_options_can_be_set_and_are_in_the_state(kernel: Kernel) -> None:
    """From Python and from a page; a refusal by the agent changes nothing."""
    session = kernel.start("settings")
    session.prompt("go").wait(PATIENCE)
    session.set_mode("code")
    session.set_option("brave", value=True)
    kernel.act(session, XConfigOptionChosen(config_id="effort", value="high"))

    def chosen() -> list[object]:
        return [option["currentValue"] for option in session.state.config_options or ()]

    kernel.until(session, lambda: chosen() == ["high", True])
    kernel.act(session, XModeChanged(mode_id="broken"))
    with pytest.raises(AgentRefused, match="No such mode"):
        session.set_mode("broken")
    state = session.state
    assert state.modes is not None
    assert state.modes.current_mode_id == "code"
    assert ([command.name for command in state.commands or ()], state.title) == (["web"], "A name")
    assert state.context_usage is not None
    assert state.context_usage.cost is not None
    assert (state.context_usage.used, state.context_usage.cost.amount) == (53000, 0.045)
    assert (state.meta or {})["extensions"] == [{"method": "_vendor/limits", "params": {"left": 3}}]


def test_model_is_set_by_config_option_when_both_ways_exist(kernel: Kernel) -> None:
    """Codex sends legacy `models` beside its config options, and refuses `session/set_model`."""
    session = kernel.start("settings", "both")
    session.prompt("go").wait(PATIENCE)
    session.set_option("model", "m2")
    options = {option["id"]: option["currentValue"] for option in session.state.config_options or ()}
    assert options["model"] == "m2"


def stop(kernel: Kernel, session: Session) -> None:
    """Stops the running turn as a page does."""
    active = session.chat.active_turn
    assert active is not None
    kernel.act(session, ChatTurnCancelled(turn_id=active.id, hold_queue=True))


def held(session: Session) -> list[tuple[str, bool]]:
    return [(waiting.message.text, bool(waiting.held)) for waiting in session.chat.queued_messages or ()]


def test_new_prompt_runs_at_once_while_others_stay_held(kernel: Kernel) -> None:
    """Also after its turn ended or was stopped; removing one starts no other."""
    session = busy(kernel)
    taken_back, _ = session.prompt("a"), session.prompt("b")
    stop(kernel, session)
    fresh = session.prompt("fresh")
    assert (fresh.state, held(session)) == ("running", [("a", True), ("b", True)])
    later = session.prompt("later")
    fresh.cancel()
    assert (later.state, [text for text, _ in held(session)]) == ("queued", ["a", "b", "later"])
    taken_back.cancel()
    assert held(session) == [("b", True), ("later", True)]


def test_edited_prompt_stays_held_and_send_now_runs_one(kernel: Kernel) -> None:
    """The other prompts still wait."""
    session = busy(kernel)
    first, second = session.prompt("a"), session.prompt("b")
    stop(kernel, session)
    session.edit(first, "A")
    assert held(session) == [("A", True), ("b", True)]
    session.send_now(second)
    assert (second.state, held(session)) == ("running", [("A", True)])


def test_stop_holds_nothing_while_code_waits_for_a_prompt(kernel: Kernel) -> None:
    """The code would hang; code that begins to wait for a held prompt continues the queue."""
    session = busy(kernel)
    waited = session.prompt("a")

    async def cell() -> str:
        first_piece = asyncio.ensure_future(anext(aiter(waited)))
        await asyncio.sleep(0)  # it waits now
        stop(kernel, session)
        return await asyncio.wait_for(first_piece, PATIENCE)

    assert run(cell()) == "thinking"
    held_one = session.prompt("b")
    stop(kernel, session)
    assert held(session) == [("b", True)]
    assert next(iter(held_one)) == "thinking"


def test_cancel_without_hold_starts_the_next_prompt_at_once(kernel: Kernel) -> None:
    """A page of version 0.1 says nothing about the queue, and *Send now* of today wants the next one."""
    session = busy(kernel)
    following = session.prompt("a")
    active = session.chat.active_turn
    assert active is not None
    kernel.act(session, ChatTurnCancelled(turn_id=active.id))
    assert following.state == "running"
