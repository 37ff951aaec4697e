"""What an approval covers: the change, the command and the run that the user saw, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentnb.errors import AgentnbError
from agentnb.state import ToolDiffContent
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.talk import (
    NewTalk,
    Talk,
    environment,
    host,
    new_talk,
    permission,
    run,
    user_policy,
    work,
    write,
)

__all__ = ["environment", "host", "new_talk", "work"]  # the fixtures


def wait_for_exit(talk: Talk) -> None:
    """Waits until the last command has ended."""
    talk.until(lambda: True if (talk.session.chat.terminals or ())[-1].exit_code is not None else None)


def test_command_edited_by_the_user_is_the_one_that_runs(new_talk: NewTalk, work: Path) -> None:
    """The agent gets it, and the log has both."""
    talk = new_talk()
    turn = talk.prompt(run("touch first"))
    (call,) = talk.questions()
    assert (call.editable, call.tool_input) == (True, "touch first")
    talk.answer(call, "allow", "touch second && echo done")
    (answer,) = talk.done(turn)
    assert answer["_meta"] == {"agentnb": {"editedCommand": "touch second && echo done"}}
    wait_for_exit(talk)
    (terminal,) = talk.session.chat.terminals or ()
    assert (terminal.command, [path.name for path in work.iterdir()]) == ("touch second && echo done", ["second"])
    assert (talk.log[-1].what, talk.log[-1].edited) == ("touch first", "touch second && echo done")


def test_edited_command_that_a_rule_denies_does_not_run(new_talk: NewTalk, work: Path, tmp_path: Path) -> None:
    """Also a rule of the user."""
    user_policy(tmp_path, "[[rule]]\naction = 'deny'\ncommand = 'touch *'\n")
    talk = new_talk()
    turn = talk.prompt(run("ls"))
    talk.answer(talk.questions()[0], "allow", "touch x")
    assert "denied by a rule of the user" in talk.done(turn)[0]["message"]
    assert list(work.iterdir()) == []


def test_empty_command_is_rejected_and_file_edit_is_ignored(new_talk: NewTalk, work: Path) -> None:
    """The question stays open; a client cannot edit a file's content."""
    talk = new_talk()
    turn = talk.prompt(run("true"), write(work / "a"))
    command, file = sorted(talk.questions(2), key=lambda call: call.tool_name, reverse=True)
    with pytest.raises(AgentnbError, match="must not be empty"):
        talk.answer(command, "allow", " ")
    talk.answer(command, "reject")
    talk.answer(file, "allow", "other content")
    assert (talk.done(turn)[1], (work / "a").read_text()) == ({}, "new\n")


def test_approved_file_change_covers_no_other_change(new_talk: NewTalk, work: Path) -> None:
    """It covers the part that the agent showed; any other change is asked about."""
    path = work / "a"
    path.write_text("one\ntwo\n")
    talk = new_talk(script="works")
    diff = {"type": "diff", "path": str(path), "oldText": "two\n", "newText": "2\n"}
    request = permission("c1", title="Edit a", kind="edit", content=[diff])
    turn = talk.prompt(request, write(path, "one\n2\n"), write(path, "something else\n"))
    talk.answer(talk.questions()[0], "yes")
    (other,) = talk.questions()
    assert path.read_text() == "one\n2\n"
    assert other.details is not None
    assert other.details.content == (ToolDiffContent(path=str(path), old_text="one\n2\n", new_text="something else\n"),)
    talk.answer(other, "reject")
    assert ("code" in talk.done(turn)[2], path.read_text()) == (True, "one\n2\n")


def test_approval_does_not_cover_a_call_changed_afterwards(new_talk: NewTalk) -> None:
    talk = new_talk()
    request = permission("c1", title="List", kind="execute", rawInput={"command": "ls"})
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "rawInput": {"command": "rm -rf x"}}
    text = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": '"changed"\n'}}
    updates = [["session/update", {"update": each}] for each in (update, text)]
    turn = talk.prompt(request, run("rm -rf x"), *updates)
    talk.questions(2)
    talk.until(lambda: turn.text or None)
    talk.answer(next(call for call in talk.open if call.tool_call_id == "c1"), "yes")
    (left,) = talk.questions()
    assert left.tool_input == "rm -rf x"
    talk.answer(left, "reject")
    assert talk.done(turn)[2]["code"] == -32001


@pytest.mark.parametrize("kind", ["read", "other", "execute"])
def test_request_with_a_command_is_judged_by_that_command(new_talk: NewTalk, kind: str) -> None:
    """Also under Allow; a denied request cannot be repeated through the terminal."""
    talk = new_talk("allow", script="works")
    request = permission("c1", title="Look", kind=kind, rawInput={"command": "rm -rf x"})
    turn = talk.prompt(request, run("rm -rf x"))
    for option in ("no", "reject"):
        (call,) = talk.questions()
        assert call.risk is not None
        assert call.risk.severity == "critical"
        talk.answer(call, option)
    assert talk.done(turn)[1]["code"] == -32001
    assert [record.outcome for record in talk.log] == ["deny", "deny"]


@pytest.mark.parametrize("kind", ["read", "edit"])
def test_approval_to_read_a_file_does_not_cover_a_write(new_talk: NewTalk, work: Path, kind: str) -> None:
    """Nor does leave to edit a file whose change was not shown."""
    (work / "a.py").write_text("one\n")
    talk = new_talk(script="works")
    looks = permission("c1", title="Look at a.py", kind=kind, locations=[{"path": str(work / "a.py")}])
    turn = talk.prompt(looks, write(work / "a.py", "other\n"))
    talk.answer(talk.questions()[0], "yes")
    (call,) = talk.questions()
    assert call.details is not None
    change = ToolDiffContent(path=str(work / "a.py"), old_text="one\n", new_text="other\n")
    assert change in (call.details.content or ())
    talk.answer(call, "reject")
    assert (talk.done(turn)[1]["code"], (work / "a.py").read_text()) == (-32001, "one\n")


def test_automatic_approval_does_not_cover_sensitive_files(new_talk: NewTalk, work: Path) -> None:
    """Under Allow an agent may read a hook unasked, but not write it."""
    hook = work / ".git/hooks/pre-commit"
    hook.parent.mkdir(parents=True)
    talk = new_talk("allow", script="works")
    reads = permission("c1", title="Read it", kind="read", locations=[{"path": str(hook)}])
    edits = permission("c2", title="Edit", kind="edit", rawInput={"file_path": str(work / ".env")})
    turn = talk.prompt(reads, write(hook), edits)
    (call,) = talk.questions()
    assert (call.tool_name, hook.exists()) == ("edit", False)
    talk.answer(call, "reject")
    (call,) = talk.questions()
    assert call.tool_call_id == "c2"
    talk.answer(call, "no")
    assert talk.done(turn)[1]["code"] == -32001


def test_one_approval_covers_one_run(new_talk: NewTalk, work: Path) -> None:
    """In the folder and with the variables of the request; the second run asks again."""
    (work / "sub").mkdir()
    talk = new_talk(script="works")
    request = permission("c1", title="Run", kind="execute", rawInput={"command": "true"})
    there = ["terminal/create", {"command": "true", "cwd": str(work / "sub")}]
    other = ["terminal/create", {"command": "true", "env": [{"name": "PATH", "value": "/nowhere:/usr/bin:/bin"}]}]
    turn = talk.prompt(request, there, other, run("true"), run("true"))
    talk.answer(talk.questions()[0], "yes")
    commands = []
    for _ in range(3):
        (call,) = talk.questions()
        commands.append(call.tool_input)
        talk.answer(call, "reject")
    assert commands == ["true", "PATH=/nowhere:/usr/bin:/bin true", "true"]
    assert ["code" in answer for answer in talk.done(turn)] == [False, True, True, False, True]
    assert [record.by for record in talk.log] == ["user", "user", "user", "covered", "user"]


def test_command_variables_are_on_the_card_and_in_the_log(new_talk: NewTalk, work: Path, tmp_path: Path) -> None:
    """A rule for the command alone does not cover them; credentials are hidden; an edit may remove them."""
    user_policy(tmp_path, "[[rule]]\naction = 'allow'\ncommand = 'git log *'\n", trusted=str(work))
    env = [{"name": "GIT_PAGER", "value": "cat"}, {"name": "API_TOKEN", "value": "0123456789abcdef"}]
    talk = new_talk()
    turn = talk.prompt(["terminal/create", {"command": "git", "args": ["log"], "env": env}])
    (call,) = talk.questions()
    assert call.tool_input == "GIT_PAGER=cat API_TOKEN=*** git log"
    talk.answer(call, "allow", "env > seen")
    talk.done(turn)
    wait_for_exit(talk)
    assert "API_TOKEN" not in (work / "seen").read_text()
    again = talk.prompt(["terminal/create", {"command": "true", "env": env}])
    (call,) = talk.questions()
    talk.answer(call, "allow", f"{call.tool_input} && env > seen")
    talk.done(again)
    wait_for_exit(talk)
    assert "API_TOKEN=0123456789abcdef" in (work / "seen").read_text()
    assert [(record.what, record.edited) for record in talk.log] == [
        ("GIT_PAGER=cat API_TOKEN=*** git log", "env > seen"),
        ("GIT_PAGER=cat API_TOKEN=*** true", "GIT_PAGER=cat API_TOKEN=*** true && env > seen"),
    ]


def test_file_named_like_a_shell_is_not_treated_as_one(new_talk: NewTalk, work: Path, tmp_path: Path) -> None:
    """By path or by the agent's PATH: the whole command line is shown, and a rule for its script does not apply."""
    user_policy(tmp_path, "[[rule]]\naction = 'allow'\ncommand = 'true'\n", trusted=str(work))
    (work / "bash").write_text("#!/bin/sh\ntouch ran\n")
    (work / "bash").chmod(0o755)
    own = {"command": "./bash", "args": ["-c", "true"]}
    path = {"command": "bash", "args": ["-c", "true"], "env": [{"name": "PATH", "value": str(work)}]}
    talk = new_talk()
    requests: list[dict[str, Any]] = [own, path, {**own, "command": "bash"}]
    turn = talk.prompt(*(["terminal/create", each] for each in requests))
    calls = talk.questions(2)
    assert {call.tool_input for call in calls} == {"./bash -c true", f"PATH={work} bash -c true"}
    for call in calls:
        talk.answer(call, "reject")
    assert ["code" in answer for answer in talk.done(turn)] == [True, True, False]
    assert not (work / "ran").exists()


def test_command_does_not_run_when_its_folder_becomes_a_link(new_talk: NewTalk, work: Path) -> None:
    (work / "sub").mkdir()
    talk = new_talk()
    turn = talk.prompt(["terminal/create", {"command": "touch ran", "cwd": str(work / "sub")}])
    (call,) = talk.questions()
    (work / "sub").rmdir()
    (work / "sub").symlink_to(work.parent)
    talk.answer(call, "allow")
    assert "no longer leads to the same folder" in talk.done(turn)[0]["message"]
    assert not (work.parent / "ran").exists()


def test_approval_does_not_cover_a_file_saved_after_the_card(new_talk: NewTalk, work: Path) -> None:
    """The second request shows the present file on a separate card."""
    path = work / "a.txt"
    path.write_text("one")
    talk = new_talk(script="works")
    turn = talk.prompt(["fs/write_text_file", {"path": str(path), "content": "two"}])
    (first,) = talk.questions()
    path.write_text("my words")
    talk.answer(first, "allow")
    (second,) = talk.questions()
    assert second.tool_call_id != first.tool_call_id
    assert "my words" in str(second.details)
    assert path.read_text() == "my words"
    talk.answer(second, "reject")
    assert "code" in talk.done(turn)[0]
    assert path.read_text() == "my words"


# --- requests that do not name their action ---

RUN = {"title": "Run", "kind": "execute", "rawInput": {"command": "rm -rf sub"}}
LOOK = {"title": "Look", "kind": "execute", "rawInput": {"command": "ls"}}
EDIT = {"title": "Edit", "kind": "edit", "locations": [{"path": "a.py"}], "rawInput": {"command": "str_replace"}}


@pytest.mark.parametrize(
    ("calls", "shown", "severity"),
    [([LOOK, RUN], "rm -rf sub\nls", "critical"), ([], None, "high")],
    ids=["announced calls", "none"],
)
def test_unnamed_request_is_as_severe_as_the_worst_call(
    new_talk: NewTalk, calls: list[Any], shown: str | None, severity: str
) -> None:
    """Also under Allow, a command that deletes for good asks, and so does a request about nothing."""
    talk = new_talk("allow", script="asks_vaguely")
    turn = talk.session.prompt(f"confirm {json.dumps(calls)}")
    (question,) = talk.questions()
    assert question.risk is not None
    assert (question.tool_input, question.risk.severity) == (shown, severity)
    assert (question.risk.reason == "Doesn't say what it would do.") == (shown is None)
    talk.answer(question, "n")
    assert turn.wait(PATIENCE).text == "n"


def test_request_command_is_a_command_line_or_none(new_talk: NewTalk) -> None:
    """So a function that allows some commands allows no edit, and nothing that it cannot see."""
    talk = new_talk(script="asks_vaguely")
    seen: list[str | None] = []

    def deny(request: Any) -> str:
        seen.append(request.command)
        return "deny"

    talk.session.permissions = deny
    for word, calls in (("text", [RUN]), ("confirm", [RUN]), ("confirm", [EDIT]), ("confirm", [])):
        talk.session.prompt(f"{word} {json.dumps(calls)}").wait(PATIENCE)
    assert seen == ["rm -rf sub", "rm -rf sub", None, None]
