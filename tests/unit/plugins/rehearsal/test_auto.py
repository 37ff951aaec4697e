"""Auto runs commands and code at once if their preview is harmless."""

from __future__ import annotations

import sys
from pathlib import Path

from agentnb.state import Answerer
from tests.rehearsal_here import needs_namespaces
from tests.unit.host.talk import Talk, answerers, run
from tests.unit.host.test_freedom import HostOf, choose

pytestmark = needs_namespaces


def test_auto_runs_only_commands_with_a_harmless_preview(host_of: HostOf, work: Path) -> None:
    """A new file in the workspace needs no question; use of the network and a deletion ask."""
    (work / "old").write_text("x")
    talk = Talk(host_of(), work, mode="auto")
    turn = talk.prompt(run("echo hi > made.txt"))
    talk.done(turn)
    assert (answerers(turn), talk.open) == ([Answerer(kind="preview")], [])
    net = f"{sys.executable} -c \"__import__('so' + 'cket').create_connection(('192.0.2.1', 80))\""
    for command in ("rm old", net, "false"):
        turn = talk.prompt(run(command))
        (call,) = talk.questions()
        talk.answer(call, "reject")
        talk.done(turn)
        assert [each.kind for each in answerers(turn) if each] == ["client"], command
    assert (work / "old").exists()


def test_auto_chosen_during_a_turn_previews_waiting_requests(host_of: HostOf, work: Path) -> None:
    talk = Talk(host_of(), work)
    turn = talk.prompt(run("echo hi > made.txt"))
    talk.questions()
    choose(talk, freedom="auto")
    talk.done(turn)
    assert answerers(turn) == [Answerer(kind="preview")]
