"""Permission requests that do not name their action."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentnb.host import Host
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.test_permissions import Talk, environment, host, work

__all__ = ["environment", "host", "work"]  # the fixtures

RUN = {"title": "Run", "kind": "execute", "rawInput": {"command": "rm -rf sub"}}
LOOK = {"title": "Look", "kind": "execute", "rawInput": {"command": "ls"}}
EDIT = {"title": "Edit", "kind": "edit", "locations": [{"path": "a.py"}], "rawInput": {"command": "str_replace"}}


def requests_and_records(
    host: Host, work: Path, word: str, *calls: dict[str, Any], mode: Any = "allow"
) -> tuple[Any, ...]:
    """Returns the callback's requests under *mode*; denies them."""
    talk = Talk(host, work, mode, script="asks_vaguely")
    seen: list[Any] = []

    def deny(request: Any) -> str:
        seen.append(request)
        return "deny"

    if mode == "ask":
        talk.session.permissions = deny
    talk.session.prompt(f"{word} {json.dumps(calls)}").wait(PATIENCE)
    records = [(each.what, each.severity, each.outcome) for each in host.policy.audit.records]
    return seen, records


def test_unnamed_request_is_about_the_announced_calls(host: Host, work: Path) -> None:
    """The worst call counts: under Allow a command that deletes for good still asks."""
    talk = Talk(host, work, "allow", script="asks_vaguely")
    turn = talk.session.prompt(f"confirm {json.dumps([LOOK, RUN])}")
    (question,) = talk.questions()
    assert (question.tool_input, question.risk and question.risk.severity) == ("rm -rf sub\nls", "critical")
    talk.answer(question, "n")
    assert turn.wait(PATIENCE).text == "n"


def test_unnamed_request_without_announced_calls_is_high_risk(host: Host, work: Path) -> None:
    """Also under Allow."""
    talk = Talk(host, work, "allow", script="asks_vaguely")
    turn = talk.session.prompt("confirm []")
    (question,) = talk.questions()
    assert question.risk is not None
    assert (question.risk.severity, question.risk.reason) == ("high", "Doesn't say what it would do.")
    talk.answer(question, "n")
    turn.wait(PATIENCE)


@pytest.mark.parametrize(
    ("word", "calls", "command"),
    [
        ("text", [RUN], "rm -rf sub"),
        ("confirm", [RUN], "rm -rf sub"),
        ("confirm", [EDIT], None),
        ("confirm", [], None),
    ],
)
def test_request_command_is_a_command_line_or_none(
    host: Host, work: Path, word: str, calls: list[Any], command: str | None
) -> None:
    """So a function that allows some commands allows no edit, and nothing that it cannot see."""
    seen, _ = requests_and_records(host, work, word, *calls, mode="ask")
    assert [request.command for request in seen] == [command]
