"""What displays without a live view say of an agent: that it is silent for long, and what it ran unasked.

The inside: a notebook shows this after 40 seconds.
"""

from __future__ import annotations

import json

import pytest

from agentnb import Turn
from agentnb.ipython import turn_display
from agentnb.ipython.transcript import plain_text, transcript
from agentnb.state import SessionActivityChanged
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.kernels import Kernel


@pytest.fixture
def silent(kernel: Kernel) -> Turn:
    """Returns a turn whose agent has been silent for long."""
    session = kernel.start("slow")
    turn = session.prompt("go")
    next(iter(turn))
    kernel.tell(session, SessionActivityChanged(activity="no output for 40 s"))
    return turn


def test_terminal_reports_each_silence_once_with_the_stop_key(
    kernel: Kernel, silent: Turn, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a separate line, between the agent's texts before and after."""
    display = turn_display.TerminalDisplay(silent)
    display.tick()
    display.tick()
    kernel.tell(silent.session, SessionActivityChanged(activity="no output for 80 s"))
    display.tick()
    assert capsys.readouterr().out == (
        "thinking\n(no output for 40 s; Ctrl+C stops the turn)\n\n(no output for 80 s; Ctrl+C stops the turn)\n"
    )


def test_cell_output_shows_silence_only_while_it_lasts(
    kernel: Kernel, silent: Turn, capsys: pytest.CaptureFixture[str]
) -> None:
    display = turn_display.GrowingMarkdownDisplay(silent)
    display.open()
    display.tick()
    assert r"thinking\n\n(no output for 40 s)" in capsys.readouterr().out
    kernel.tell(silent.session, SessionActivityChanged(activity=None))
    display.tick()
    assert "no output" not in capsys.readouterr().out


def test_transcript_marks_a_tool_call_that_ran_unasked(kernel: Kernel) -> None:
    """In Markdown and in text."""
    session = kernel.start("acts_without_asking", mode="deny")
    command = {"title": "touch a", "kind": "execute", "rawInput": {"command": "touch a"}}
    turn = session.prompt(json.dumps([{"toolCallId": "c", **command, "status": "completed"}])).wait(PATIENCE)
    for text in (transcript(turn.snapshot), plain_text(turn.snapshot)):
        assert "touch a · done · ran without asking" in text
