"""Under Ask, an agent that acts by itself is set to ask after each start; if that fails, the chat says so."""

from __future__ import annotations

from typing import Any

import pytest

from agentnb import Session
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.kernels import Kernel
from tests.unit.host.talk import notices

CAREFUL = {"mode": "careful", "modes": ["plan"]}


@pytest.fixture(autouse=True)
def user(kernel: Kernel) -> None:
    """A user who could be asked."""
    kernel.attend()


def free(kernel: Kernel, *words: str, mode: str = "ask", asks: dict[str, Any] | None = CAREFUL) -> Session:
    """Returns a session with the agent that begins in a mode in which it acts at once."""
    return kernel.start("free_modes", *words, spec={"title": "Free", "asks": asks}, mode=mode)


def answer_to(session: Session, text: str) -> str:
    return session.prompt(text).wait(PATIENCE).text


def problem(session: Session) -> str | None:
    process = session.state.agent_process
    return None if process is None else process.acts_unasked


def act(session: Session, text: str = "act") -> list[str]:
    """Has the agent act, denies its requests, returns the turn's notes."""
    session.permissions = lambda _request: "deny"
    return notices(session.prompt(text).wait(PATIENCE))


@pytest.mark.parametrize("mode", ["ask", "deny"])
@pytest.mark.parametrize("words", [(), ("option",)])
def test_agent_is_set_to_ask_before_the_first_prompt(kernel: Kernel, words: tuple[str, ...], mode: str) -> None:
    """By the agent's mode or its config option; the chat shows no note."""
    session = free(kernel, *words, mode=mode)
    assert (answer_to(session, "mode?"), problem(session)) == ("careful", None)


def test_agent_keeps_its_mode_under_allow_until_ask_is_chosen(kernel: Kernel) -> None:
    """Also in an open conversation."""
    session = free(kernel, mode="allow")
    assert (answer_to(session, "mode?"), problem(session)) == ("free", None)
    session.permissions = "ask"
    assert answer_to(session, "mode?") == "careful"


def test_agent_is_set_to_ask_again(kernel: Kernel) -> None:
    """After it left that mode by itself, and after a restart with a session in a mode that acts at once."""
    session = free(kernel, "resume")
    act(session, "leave")
    assert answer_to(session, "mode?") == "careful"
    session.restart()
    assert answer_to(session, "mode?") == "careful"


@pytest.mark.parametrize("word", ["refuses", "none", "insists"])
def test_agent_that_cannot_be_set_to_ask_is_reported_at_start(kernel: Kernel, word: str) -> None:
    """A note names the confinement that applies instead; the first turn repeats it and marks the call."""
    session = free(kernel, word)
    session.open(PATIENCE)
    kernel.until(session, lambda: problem(session))
    note = problem(session) or ""
    assert note.startswith("Free may act without asking")
    assert note.endswith("It is not confined; changes of files can be undone after the turn.")
    turn = session.prompt("act").wait(PATIENCE)
    assert [call.ran_without_asking for call in turn.tool_calls] == [True]


def test_mode_chosen_by_the_user_stays_with_a_warning(kernel: Kernel) -> None:
    """Until the user chooses the permissions again."""
    session = free(kernel)
    answer_to(session, "mode?")
    session.set_mode("free")
    assert answer_to(session, "mode?") == "free"
    assert (problem(session) or "").startswith("Free may act without asking in the mode Free.")
    session.set_mode("plan")
    assert (answer_to(session, "mode?"), problem(session)) == ("plan", None)


def test_unknown_agent_is_reported_when_it_first_acts_unasked(kernel: Kernel) -> None:
    """Once per conversation, in the turn in which it acted."""
    session = free(kernel, asks=None)
    assert (answer_to(session, "mode?"), problem(session)) == ("free", None)
    notes = [[each for each in act(session) if "acts without asking" in each] for _ in range(2)]
    assert [bool(each) for each in notes] == [True, False]
    assert (problem(session) or "").startswith("Free acts without asking.")


def test_variable_that_overrides_the_ask_setting_is_reported(kernel: Kernel) -> None:
    """The user's own variables override the catalogue's."""
    session = free(kernel, asks={"env": {"FREE_PERMISSION": "ask"}})
    answer_to(session, "mode?")
    assert "FREE_PERMISSION has another value" in (problem(session) or "")
