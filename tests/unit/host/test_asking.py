"""Under Ask, an agent that acts by itself is set to ask after each start; if that fails, the chat says so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentnb import Session
from agentnb.agent import AgentSpec
from agentnb.agent.catalog import Asks
from agentnb.host import Host
from agentnb.policy.keys import Mode
from agentnb.state import SystemNotificationResponsePart
from tests.unit.api.conftest import AGENTS
from tests.unit.host.test_permissions import Talk, environment, host, work

__all__ = ["environment", "host", "work"]  # the fixtures

WAIT = 30
CAREFUL = Asks(mode="careful", modes=("plan",))


class FreeTalk(Talk):
    """A session with the agent that begins in a mode in which it acts at once."""

    def __init__(self, host: Host, work: Path, *words: str, mode: Mode = "ask", asks: Asks | None = CAREFUL) -> None:
        command = (sys.executable, str(AGENTS / "free_modes.py"), *words)
        spec = AgentSpec(name="free", title="Free", command=command, asks=asks)
        self.host, self.work = host, work
        self.conversation = host.loop.call(lambda: host.open(spec, cwd=work, mode=mode))
        self.session = Session(self.conversation)

    @property
    def has_acted(self) -> bool:
        return (self.work / "out.txt").exists()

    @property
    def problem(self) -> str | None:
        process = self.session.state.agent_process
        return None if process is None else process.acts_unasked

    def answer_to(self, text: str) -> str:
        return self.session.prompt(text).wait(WAIT).text

    def act(self, text: str = "act") -> list[str]:
        """Has the agent act, denies its requests, returns the turn's notes."""
        self.session.permissions = lambda _request: "deny"
        self.session.prompt(text).wait(WAIT)
        turn = self.host.loop.call(lambda: self.conversation.chat.state.turns[-1])
        return [str(each.content) for each in turn.response_parts if isinstance(each, SystemNotificationResponsePart)]


@pytest.mark.parametrize("mode", ["ask", "deny"])
@pytest.mark.parametrize("words", [(), ("option",)])
def test_agent_is_set_to_ask_before_the_first_prompt(
    host: Host, work: Path, words: tuple[str, ...], mode: Mode
) -> None:
    """By the agent's mode or its config option; the chat shows no note."""
    talk = FreeTalk(host, work, *words, mode=mode)
    assert (talk.answer_to("mode?"), talk.problem) == ("careful", None)


def test_agent_keeps_its_mode_under_allow_until_ask_is_chosen(host: Host, work: Path) -> None:
    """Also in an open conversation."""
    talk = FreeTalk(host, work, mode="allow")
    assert (talk.answer_to("mode?"), talk.problem) == ("free", None)
    talk.session.permissions = "ask"
    assert talk.answer_to("mode?") == "careful"


def test_restarted_agent_is_set_to_ask_again(host: Host, work: Path) -> None:
    """It resumed its session in a mode that acts at once."""
    talk = FreeTalk(host, work, "resume")
    assert talk.answer_to("mode?") == "careful"
    talk.session.restart()
    assert talk.answer_to("mode?") == "careful"


def test_agent_that_leaves_its_mode_is_set_to_ask_again(host: Host, work: Path) -> None:
    talk = FreeTalk(host, work)
    talk.act("leave")
    assert talk.answer_to("mode?") == "careful"


@pytest.mark.parametrize("words", [("refuses",), ("none",), ("insists",)])
def test_agent_that_cannot_be_set_to_ask_is_reported_at_start(host: Host, work: Path, words: tuple[str, ...]) -> None:
    """A note names the confinement that applies instead; the first turn repeats it and marks the call."""
    talk = FreeTalk(host, work, *words)
    host.loop.submit(talk.conversation.ready()).result(WAIT)
    problem = talk.until(lambda: talk.problem)
    assert problem.startswith("Free may act without asking")
    assert problem.endswith("It is not confined; changes of files can be undone after the turn.")
    turn = talk.session.prompt("act").wait(WAIT)
    assert [call.ran_without_asking for call in turn.tool_calls] == [True]


def test_mode_chosen_by_the_user_stays_with_a_warning(host: Host, work: Path) -> None:
    """Until the user chooses the permissions again."""
    talk = FreeTalk(host, work)
    talk.answer_to("mode?")
    talk.session.set_mode("free")
    assert talk.answer_to("mode?") == "free"
    assert (talk.problem or "").startswith("Free may act without asking in the mode Free.")
    talk.session.set_mode("plan")
    assert (talk.answer_to("mode?"), talk.problem) == ("plan", None)


def test_unknown_agent_is_reported_when_it_first_acts_unasked(host: Host, work: Path) -> None:
    """Once per conversation, in the turn in which it acted."""
    talk = FreeTalk(host, work, asks=None)
    assert (talk.answer_to("mode?"), talk.problem) == ("free", None)
    first, second = talk.act(), talk.act()
    assert [each for each in first if "acts without asking" in each] != []
    assert [each for each in second if "acts without asking" in each] == []
    assert (talk.problem or "").startswith("Free acts without asking.")


def test_variable_that_overrides_the_ask_setting_is_reported(host: Host, work: Path) -> None:
    """The user's own variables override the catalogue's."""
    asks = Asks(env={"FREE_PERMISSION": "ask"})
    assert asks.overruled({"FREE_PERMISSION": "ask"}) is None
    talk = FreeTalk(host, work, asks=asks)
    talk.answer_to("mode?")
    assert "FREE_PERMISSION has another value" in (talk.problem or "")
