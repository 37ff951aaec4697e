"""An agent that is silent for long: every display without a live view says so."""

from __future__ import annotations

import pytest

from agentnb import Turn
from agentnb.host import Host
from agentnb.ipython import turn_display
from agentnb.state import SessionActivityChanged
from tests.unit.host.conftest import Open, hosted


@pytest.fixture
def silent(host: Host, open_session: Open) -> Turn:
    """Returns a turn whose agent has been silent for long."""
    session = open_session("slow")
    turn = session.prompt("go")
    next(iter(turn))
    say(host, turn, "no output for 40 s")
    return turn


def say(host: Host, turn: Turn, words: str | None) -> None:
    host.loop.call(hosted(host, turn.session).dispatch, SessionActivityChanged(activity=words))


def test_terminal_reports_each_silence_once_with_the_stop_key(
    host: Host, silent: Turn, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a separate line, between the agent's texts before and after."""
    display = turn_display.TerminalDisplay(silent)
    display.tick()
    display.tick()
    say(host, silent, "no output for 80 s")
    display.tick()
    assert capsys.readouterr().out == (
        "thinking\n(no output for 40 s; Ctrl+C stops the turn)\n\n(no output for 80 s; Ctrl+C stops the turn)\n"
    )


def test_cell_output_shows_silence_only_while_it_lasts(
    host: Host, silent: Turn, capsys: pytest.CaptureFixture[str]
) -> None:
    display = turn_display.GrowingMarkdownDisplay(silent)
    display.open()
    display.tick()
    assert r"thinking\n\n(no output for 40 s)" in capsys.readouterr().out
    say(host, silent, None)
    display.tick()
    assert "no word" not in capsys.readouterr().out
