"""The wider answers on a card: as wide as is safe, named exactly, and enough for the request they were given for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.host.talk import Talk, permission, run, write


@pytest.fixture
def talk(attended: Any, user_file: Path) -> Talk:
    """A session with the agent ``asker``, which sends all its requests at once."""
    return Talk(attended, user_file.parents[1] / "work")


COMMANDS = {
    "git status -s": ("`git status`", "Any `git status …`"),
    "ls; pwd": ("`ls, pwd`", "Any `ls, pwd …`"),
    "python fit.py": ("`python`", "Any Python code"),
    "ls > x": ("`ls > x`", "Exactly `ls > x`"),
    "sudo ls": ("`sudo ls`", "Exactly `sudo ls`"),
    "npx left-pad": ("`npx left-pad`", "Exactly `npx left-pad`"),
    "git add a && git commit -m b": ("`git add, git commit`", "Any `git add, git commit …`"),
    "rm -rf x": (None, None),
    "cat .env": (None, None),
    "ls 'x": (None, None),
}
"""Each command's words and what a wider answer permits; None for those that must always ask."""


def wider(call: Any) -> list[str]:
    return [option.label for option in call.options or () if option.id.startswith("agentnb:")]


def test_wider_answer_names_exactly_what_it_permits(talk: Talk) -> None:
    """The program and its verb, for the turn, the conversation and the folder."""
    turn = talk.prompt(*map(run, COMMANDS))
    found = {}
    for call in talk.questions(len(COMMANDS)):
        labels = wider(call)
        assert [label.rpartition(", ")[2] for label in labels] in (
            [],
            ["this turn", "this conversation", "until I revoke it"],
        )
        found[call.tool_input] = (
            call.risk and call.risk.like,
            labels[0].removesuffix(", this turn") if labels else None,
        )
        talk.answer(call, "reject")
    talk.done(turn)
    assert found == COMMANDS


def test_wider_answer_about_files_and_tools(talk: Talk, tmp_path: Path) -> None:
    """Edits in the workspace; sensitive files only exactly, and never always; unknown tools never."""
    work = tmp_path / "work"
    requests = {
        "a.txt": write(work / "a.txt"),
        "package.json": write(work / "package.json"),
        "fetch": permission("fetch", title="fetch", kind="fetch", rawInput={"url": "x"}),
        "other": permission("other", title="other", kind="other", rawInput={"x": 1}),
    }
    turn = talk.prompt(*requests.values())
    found = {}
    for call in talk.questions(len(requests)):
        name = next(name for name in requests if name in f"{call.confirmation_title} {call.details}")
        found[name] = wider(call)
        talk.answer(call, "no" if name in {"fetch", "other"} else "reject")
    talk.done(turn)
    assert found == {
        "a.txt": [
            "Any edit of files in the workspace, this turn",
            "Any edit of files in the workspace, this conversation",
            "Any edit of files in this folder, until I revoke it",
        ],
        "package.json": ["Changing package.json, this turn", "Changing package.json, this conversation"],
        "fetch": [
            "Any fetch, this turn",
            "Any fetch, this conversation",
            "Any fetch in this folder, until I revoke it",
        ],
        "other": [],
    }


def test_always_is_not_offered_if_the_project_asks(
    talk: Talk, user_file: Path, project_file: Path, tmp_path: Path
) -> None:
    """It would have no effect."""
    user_file.write_text(f'[trust]\nfolders = ["{tmp_path}"]\n[[rule]]\naction = "allow"\n')
    project_file.write_text("[[rule]]\naction = 'ask'\n")
    turn = talk.prompt(write(tmp_path / "work/a.txt"))
    (call,) = talk.questions()
    assert [label.rpartition(", ")[2] for label in wider(call)] == ["this turn", "this conversation"]
    talk.answer(call, "reject")
    talk.done(turn)


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("git status -s", 'command = ["git status *"]\nseverity = "low"'),
        ("ls > x", 'command = ["ls > x"]\nseverity = "medium"'),
        ("echo 'a*b'", 'command = ["echo *"]\nseverity = "low"'),
    ],
)
def test_wider_answer_allows_the_request_it_was_given_for(talk: Talk, user_file: Path, command: str, rule: str) -> None:
    """Otherwise the same request would ask again at once; it holds for this agent, and up to the risk that it had."""
    turn = talk.prompt(run(command))
    talk.answer(talk.questions()[0], "agentnb:always")
    talk.done(turn)
    assert f'action = "allow"\nagent = ["asker"]\ntool = ["execute"]\n{rule}\n' in user_file.read_text()
    again = talk.prompt(run(command))
    assert "terminalId" in talk.done(again)[0]
    other = Talk(talk.host, user_file.parents[1] / "work", name="other")
    turn = other.prompt(run(command))
    other.answer(other.questions()[0], "reject")
    assert other.done(turn)[0]["code"] == -32001
