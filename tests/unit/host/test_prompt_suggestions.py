"""Prompts that an agent suggests: shown until the next prompt, and not stored in the history."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from agentnb import Session
from agentnb.acp.updates import SUGGESTIONS_KEPT
from agentnb.agent import Capabilities
from agentnb.agent.catalog import custom
from agentnb.host import Host
from agentnb.host.history.restore import read_back, recorder_of, restore
from agentnb.host.session_options import SessionOptions
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.host.conftest import Open, until
from tests.unit.host.test_restore import kernel, log

__all__ = ["kernel", "log"]


def on_offer(session: Session) -> tuple[str, ...]:
    return session.suggestions


def prompts(*texts: str) -> str:
    """Returns a prompt with the suggestions."""
    return json.dumps([{"prompt": [{"type": "text", "text": text}]} for text in texts])


def test_suggestions_stay_until_the_next_prompt(open_session: Open) -> None:
    """The agent's next list replaces the last, an empty list withdraws it; so does a new prompt."""
    session = open_session("suggests")
    assert on_offer(session) == ()
    session.prompt(prompts("Plot it", "Explain it")).wait(PATIENCE)
    assert on_offer(session) == ("Plot it", "Explain it")
    session.prompt(prompts("Run the tests")).wait(PATIENCE)
    assert on_offer(session) == ("Run the tests",)
    session.prompt("Something else").wait(PATIENCE)
    assert on_offer(session) == ()
    session.prompt(prompts("Plot it")).wait(PATIENCE)
    session.prompt(prompts()).wait(PATIENCE)
    assert on_offer(session) == ()


def test_suggestions_sent_after_the_answer_appear(host: Host, open_session: Open) -> None:
    session = open_session("suggests")
    session.prompt(f"after {prompts('Plot it')}").wait(PATIENCE)
    until(host, session, lambda: session.suggestions == ("Plot it",))


def test_suggestions_are_not_in_the_transcript(open_session: Open) -> None:
    session = open_session("suggests")
    turn = session.prompt(prompts("Plot it")).wait(PATIENCE)
    assert turn.snapshot is not None
    assert [type(part).__name__ for part in turn.snapshot.response_parts] == ["MarkdownResponsePart"]


def test_agent_without_the_capability_sends_no_suggestions(open_session: Open) -> None:
    """A description can refuse them: predictions cost tokens."""
    session = open_session("suggests", spec={"capabilities": Capabilities(prompt_suggestions=False)})
    session.prompt(prompts("Plot it")).wait(PATIENCE)
    assert on_offer(session) == ()


def test_reloaded_session_brings_no_old_suggestions(open_session: Open) -> None:
    """The present suggestions stay."""
    session = open_session("suggests")
    session.prompt(prompts("Plot it")).wait(PATIENCE)
    session.restart()
    assert on_offer(session) == ("Plot it",)
    session.prompt("Go on").wait(PATIENCE)
    assert on_offer(session) == ()


def test_restored_session_has_no_suggestions(kernel: Callable[[], Host], tmp_path: Path) -> None:
    """Neither suggestions of the earlier kernel, nor those that the agent sends again as it loads the session."""
    spec = custom([sys.executable, str(AGENTS / "suggests.py")], name="suggests")
    first = kernel()
    session = Session(first.loop.call(lambda: first.open(spec, cwd=tmp_path)))
    session.prompt(prompts("Plot it")).wait(PATIENCE)
    assert on_offer(session) == ("Plot it",)
    first.close()
    second = kernel()
    stored = read_back(recorder_of(second), session.tab_id)
    again = Session(second.loop.call(lambda: restore(second, stored, SessionOptions(spec=spec, cwd=tmp_path))))
    assert on_offer(again) == ()
    assert len(again.turns) == 1
    again.open(PATIENCE)
    assert on_offer(again) == ()


def test_cassette_replays_suggestions_after_their_turn(host: Host, tmp_path: Path) -> None:
    """Also those sent after the answer; so a test can have an agent with any suggestions."""
    spec = custom([sys.executable, str(AGENTS / "suggests.py")], name="suggests")
    first, second = prompts("Plot it"), f"after {prompts('Run the tests', 'Explain it')}"
    path, offered = tmp_path / "a.cassette.jsonl", []

    def talk() -> None:
        session = Session(host.loop.call(lambda: host.open(spec, cwd=tmp_path)))
        session.prompt(first).wait(PATIENCE)
        offered.append(session.suggestions)
        session.prompt(second).wait(PATIENCE)
        until(host, session, lambda: session.suggestions)
        offered.append(session.suggestions)
        session.close()

    for mode in ("record", "replay"):
        with host.environment.cassette.scope(path, mode):
            talk()
    assert offered == [("Plot it",), ("Run the tests", "Explain it")] * 2
    assert "prompt_suggestions_update" in path.read_text(encoding="utf-8")


def test_hostile_suggestions_are_bounded(open_session: Open) -> None:
    """Ten thousand suggestions and one of a megabyte: the first ones are shown as text."""
    session = open_session("suggests")
    hostile = ["x" * 1_000_000, "\u202e", "<script>alert(1)</script>", *(f"Plot {n}" for n in range(10_000))]
    session.prompt(prompts(*hostile)).wait(PATIENCE)
    assert on_offer(session) == ("<script>alert(1)</script>", "Plot 0", "Plot 1")
    assert len(session.suggestions) == SUGGESTIONS_KEPT


def test_invalid_suggestions_appear_as_a_raw_part(open_session: Open) -> None:
    """As every invalid update."""
    session = open_session("suggests")
    turn = session.prompt(json.dumps({"suggestions": "Plot it"})).wait(PATIENCE)
    assert turn.snapshot is not None
    assert [type(part).__name__ for part in turn.snapshot.response_parts] == ["MarkdownResponsePart", "RawResponsePart"]
    assert on_offer(session) == ()
