"""Prompts that an agent suggests: shown until the next prompt, and not stored in the history."""

from __future__ import annotations

import json
from pathlib import Path

from agentnb import Session
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import NewKernel
from tests.unit.host.kernels import Kernel


def on_offer(session: Session) -> tuple[str, ...]:
    return session.suggestions


def prompts(*texts: str) -> str:
    """Returns a prompt with the suggestions."""
    return json.dumps([{"prompt": [{"type": "text", "text": text}]} for text in texts])


def test_suggestions_stay_until_the_next_prompt(kernel: Kernel) -> None:
    """Or the agent's next list, which may be empty; none is in the transcript."""
    session = kernel.start("suggests")
    assert on_offer(session) == ()
    turn = session.prompt(prompts("Plot it", "Explain it")).wait(PATIENCE)
    assert on_offer(session) == ("Plot it", "Explain it")
    assert turn.snapshot is not None
    assert [type(part).__name__ for part in turn.snapshot.response_parts] == ["MarkdownResponsePart"]
    session.prompt(prompts("Run the tests")).wait(PATIENCE)
    assert on_offer(session) == ("Run the tests",)
    session.prompt("Something else").wait(PATIENCE)
    assert on_offer(session) == ()
    session.prompt(prompts("Plot it")).wait(PATIENCE)
    session.prompt(prompts()).wait(PATIENCE)
    assert on_offer(session) == ()
    session.prompt(f"after {prompts('Plot it')}").wait(PATIENCE)  # sent after the answer
    kernel.until(session, lambda: session.suggestions == ("Plot it",))


def test_agent_without_the_capability_sends_no_suggestions(kernel: Kernel) -> None:
    """A description can refuse them: predictions cost tokens."""
    session = kernel.start("suggests", spec={"capabilities": {"prompt_suggestions": False}})
    session.prompt(prompts("Plot it")).wait(PATIENCE)
    assert on_offer(session) == ()


def test_reloaded_session_brings_no_old_suggestions(kernel: Kernel) -> None:
    """The present suggestions stay."""
    session = kernel.start("suggests")
    session.prompt(prompts("Plot it")).wait(PATIENCE)
    session.restart()
    assert on_offer(session) == ("Plot it",)
    session.prompt("Go on").wait(PATIENCE)
    assert on_offer(session) == ()


def test_restored_session_has_no_suggestions(new_kernel: NewKernel) -> None:
    """Neither suggestions of the earlier kernel, nor those that the agent sends again as it loads the session."""
    first = new_kernel()
    session = first.start("suggests")
    session.prompt(prompts("Plot it")).wait(PATIENCE)
    assert on_offer(session) == ("Plot it",)
    first.close()
    again = new_kernel().resume(session, "suggests")
    assert (on_offer(again), len(again.turns)) == ((), 1)
    again.open(PATIENCE)
    assert on_offer(again) == ()


def test_cassette_replays_suggestions_after_their_turn(kernel: Kernel, tmp_path: Path) -> None:
    """Also those sent after the answer; so a test can have an agent with any suggestions."""
    first, second = prompts("Plot it"), f"after {prompts('Run the tests', 'Explain it')}"
    path, offered = tmp_path / "a.cassette.jsonl", []
    for mode in ("record", "replay"):
        with kernel.cassette(path, mode):
            session = kernel.start("suggests")
            session.prompt(first).wait(PATIENCE)
            offered.append(on_offer(session))
            session.prompt(second).wait(PATIENCE)
            kernel.until(session, lambda: session.suggestions)  # noqa: B023
            offered.append(on_offer(session))
            session.close()
    assert offered == [("Plot it",), ("Run the tests", "Explain it")] * 2
    assert "prompt_suggestions_update" in path.read_text(encoding="utf-8")


def test_hostile_suggestions_are_bounded(kernel: Kernel) -> None:
    """Ten thousand suggestions and one of a megabyte: the first three are shown as text; an invalid list is raw."""
    session = kernel.start("suggests")
    hostile = ["x" * 1_000_000, "\u202e", "<script>alert(1)</script>", *(f"Plot {n}" for n in range(10_000))]
    session.prompt(prompts(*hostile)).wait(PATIENCE)
    assert on_offer(session) == ("<script>alert(1)</script>", "Plot 0", "Plot 1")
    turn = session.prompt(json.dumps({"suggestions": "Plot it"})).wait(PATIENCE)
    assert turn.snapshot is not None
    assert [type(part).__name__ for part in turn.snapshot.response_parts] == ["MarkdownResponsePart", "RawResponsePart"]
    assert on_offer(session) == ()
