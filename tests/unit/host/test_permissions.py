"""Permission requests on the host: who answers, for how long an answer holds, what the log keeps."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentnb.errors import AgentnbError, UsageError
from agentnb.state import Answerer, SessionConfigChanged, ToolDiffContent
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.talk import (
    NewTalk,
    answerers,
    environment,
    host,
    ids,
    new_talk,
    notices,
    permission,
    run,
    user_policy,
    work,
    write,
)

__all__ = ["environment", "host", "new_talk", "work"]  # the fixtures


def test_card_shows_the_change_the_risk_and_wider_answers(new_talk: NewTalk, work: Path) -> None:
    """Ours come after the agent's own, by ids that no agent uses."""
    (work / "a.txt").write_text("old\n")
    talk = new_talk()
    turn = talk.prompt(write(work / "a.txt"))
    (call,) = talk.questions()
    assert ids(call) == ["allow", "reject", "agentnb:turn", "agentnb:session", "agentnb:always"]
    assert [option.group for option in call.options or ()] == [None, None, 1, 1, 1]
    assert call.risk is not None
    assert (call.risk.severity, call.risk.like, bool(call.risk.reason)) == ("medium", "edits", True)
    assert call.details is not None
    assert call.details.content == (ToolDiffContent(path=str(work / "a.txt"), old_text="old\n", new_text="new\n"),)
    talk.answer(call, "allow")
    assert (talk.done(turn), (work / "a.txt").read_text()) == ([{}], "new\n")


def test_card_warns_of_unsaved_changes_in_the_notebook(new_talk: NewTalk, work: Path) -> None:
    """For requests and the agent's own questions; the reader tool gets them; other files have no such note."""
    path = work / "fit.ipynb"
    path.write_text('{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}', encoding="utf-8")
    talk = new_talk()
    talk.kernel.show_notebook(path, cells=[{"id": "a", "kind": "code", "source": "typed"}], unsaved=True)
    request = permission("p", title="Edit", kind="edit", locations=[{"path": str(path)}])
    read = ["fs/read_text_file", {"path": str(path)}]
    turn = talk.prompt(write(path), write(work / "a.txt"), request, read)
    for call in talk.questions(3):
        assert call.risk is not None
        named = "a.txt" in repr(call.details)
        assert ("fit.ipynb has unsaved changes in your browser." in call.risk.reason) != named
        talk.answer(call, "no" if call.tool_call_id == "p" else "reject")
    assert "typed" in talk.done(turn)[3]["content"]


@pytest.mark.parametrize(("scope", "same_turn", "next_turn"), [("turn", 1, 1), ("session", 1, 0), ("always", 1, 0)])
def test_wider_answer_applies_for_its_scope(
    new_talk: NewTalk, work: Path, scope: str, same_turn: int, next_turn: int
) -> None:
    """It also answers similar open requests; an answer for the turn ends with the turn."""
    talk = new_talk()
    turn = talk.prompt(write(work / "a"), write(work / "b"), run("ls"))
    first = next(call for call in talk.questions(3) if call.tool_name == "edit")
    talk.answer(first, f"agentnb:{scope}")
    answers = talk.reject(turn)
    assert (answers[:2], answers[2]["code"]) == ([{}, {}], -32001)
    again = talk.prompt(write(work / "c"))
    assert ("code" in (talk.reject(again) if next_turn else talk.done(again))[0]) == bool(next_turn)


def test_state_names_who_answered_a_request(new_talk: NewTalk, work: Path, tmp_path: Path) -> None:
    """The user in a view, the user's earlier answer, or a rule; a client cannot claim otherwise."""
    user_policy(tmp_path, "[[rule]]\naction = 'deny'\ncommand = 'git *'\n")
    talk = new_talk()
    turn = talk.prompt(write(work / "a"), write(work / "b"), run("git push"))
    first, _ = talk.questions(2)
    talk.answer(first, "agentnb:turn")
    talk.done(turn)
    expected = [Answerer(kind="client", client_id="c"), Answerer(kind="answer"), Answerer(kind="rule")]
    assert sorted(map(str, answerers(turn))) == sorted(map(str, expected))


def test_state_names_other_ends_of_a_request(new_talk: NewTalk, work: Path) -> None:
    """Code in the kernel answered, the turn was cancelled, nobody was there, or the permissions answered."""
    talk, kinds = new_talk(), []
    turn = talk.prompt(write(work / "a"))
    talk.answer(talk.questions()[0], "allow", client="python")
    talk.done(turn)
    kinds += answerers(turn)
    turn = talk.prompt(permission("c1", kind="fetch", title="Look"), write(work / "b"))
    talk.questions(2)
    turn.cancel()
    turn.wait(PATIENCE)
    kinds += answerers(turn)
    assert ([record.by for record in talk.log[-2:]], talk.open, (work / "b").exists()) == (["end", "end"], [], False)
    talk.kernel.attend(here=False)
    for mode in ("ask", "allow"):
        turn = new_talk(mode).prompt(write(work / "c"))
        turn.wait(PATIENCE)
        kinds += answerers(turn)
    assert [each and each.kind for each in kinds] == ["python", "cancelled", "cancelled", "nobody", "mode"]


def test_user_changes_permissions_in_an_open_session(new_talk: NewTalk, work: Path, tmp_path: Path) -> None:
    """From a page and from Python; the state has the mode, and the log who changed it."""
    talk = new_talk()
    values = lambda: (talk.session.permissions, talk.session.state.config and talk.session.state.config.values)  # noqa: E731
    assert values() == ("ask", {"permissions": "ask", "freedom": "ask"})
    turn = talk.prompt(write(work / "a"))
    assert len(talk.questions()) == 1
    talk.kernel.act(talk.session, SessionConfigChanged(config={"permissions": "allow"}))
    assert values() == ("allow", {"permissions": "allow", "freedom": "custom"})
    talk.done(turn)
    assert answerers(turn) == [Answerer(kind="mode")]
    talk.done(talk.prompt(write(work / "b")))
    talk.session.permissions = "deny"
    talk.done(talk.prompt(write(work / "c")))
    assert [(work / name).exists() for name in "abc"] == [True, True, False]
    changes = [(each.what, each.by, each.outcome) for each in talk.log if each.kind == "session"]
    assert changes == [("ask → allow", "user", "allow"), ("allow → deny", "python", "deny")]
    assert "ask → allow" in (tmp_path / "data/audit.jsonl").read_text(encoding="utf-8")


def test_page_sets_only_the_permission_options(new_talk: NewTalk) -> None:
    """Only to known values."""
    talk = new_talk()
    wrong: list[dict[str, Any]] = [{}, {"permissions": "maybe"}, {"freedom": "custom"}, {"permissions": None}]
    wrong += [{"sensitive": [""]}, {"other": 1}, {"permissions": "allow", "other": 1}]
    for config in wrong:
        with pytest.raises(AgentnbError, match="Only freedom, permissions"):
            talk.kernel.act(talk.session, SessionConfigChanged(config=config, replace=True))
    with pytest.raises(UsageError, match="'maybe' is not one of"):
        talk.session.permissions = "maybe"  # type: ignore[assignment]
    assert (talk.session.permissions, talk.log) == ("ask", [])


def test_always_is_saved_for_its_agent_and_folder(new_talk: NewTalk, work: Path, tmp_path: Path) -> None:
    """It holds there and below, not beside it, nor for another agent; it adds no trust."""
    talk = new_talk()
    turn = talk.prompt(write(work / "a"))
    (call,) = talk.questions()
    assert [option.label for option in call.options or ()][-1] == "Any edit of files in this folder, until I revoke it"
    talk.answer(call, "agentnb:always")
    talk.done(turn)
    policy = (tmp_path / "config/policy.toml").read_text()
    assert ('action = "allow"\nagent = ["asker"]\ntool = ["edit"]' in policy, "trust" in policy) == (True, False)
    for folder in (work, work / "below"):
        folder.mkdir(exist_ok=True)
        assert new_talk(cwd=folder).prompt(write(folder / "b")).wait(PATIENCE).text == "{}\n"
    (tmp_path / "beside").mkdir()
    for other, folder in ((new_talk(name="other"), work), (new_talk(cwd=tmp_path / "beside"), tmp_path / "beside")):
        assert other.reject(other.prompt(write(folder / "c")))[0]["code"] == -32001


@pytest.mark.parametrize(
    ("standing", "request_"),
    [
        ("[[rule]]\naction = 'allow'\n", ["fs/write_text_file", {"path": "a", "content": "x"}]),
        ("[[rule]]\naction = 'allow'\n", run("true")),
        ("[agents.asker]\nbypass = true\n", run("true")),
        ("headless = 'allow'\n", ["fs/write_text_file", {"path": "a", "content": "x"}]),
    ],
)
def test_unattended_request_in_an_untrusted_folder_is_denied(
    new_talk: NewTalk, work: Path, tmp_path: Path, standing: str, request_: list[Any]
) -> None:
    """A project's file cannot trust itself, and is named; the user's trust works at once."""
    user_policy(tmp_path, standing)
    (work / ".agentnb").mkdir()
    (work / ".agentnb/policy.toml").write_text(f"[trust]\nfolders = ['{work}']\n")
    talk = new_talk()
    talk.kernel.attend(here=False)
    turn = talk.prompt(request_)
    (denied,) = talk.done(turn)
    assert all(words in denied["message"] for words in ("this folder is not trusted", "`agentnb trust`"))
    assert ["[trust]" in each for each in notices(turn)] == [True]
    assert [record.by for record in talk.log] == ["nobody"]
    user_policy(tmp_path, standing, trusted=str(work))
    assert "code" not in talk.done(talk.prompt(request_))[0]


def test_always_lasts_for_the_session_when_it_cannot_be_saved(new_talk: NewTalk, work: Path, tmp_path: Path) -> None:
    """The user's file stays as it is."""
    user_policy(tmp_path, "rule = [{action = 'ask', tool = 'fetch'}]\n")
    talk = new_talk()
    turn = talk.prompt(write(work / "a"))
    talk.answer(talk.questions()[0], "agentnb:always")
    talk.done(turn)
    assert "holds for this session" in str(notices(turn))
    assert talk.done(talk.prompt(write(work / "b"))) == [{}]


def test_agents_own_options_come_first_and_one_is_returned(new_talk: NewTalk) -> None:
    """The narrowest one, whatever the scope of agentnb's own option."""
    talk = new_talk()
    turn = talk.prompt(permission("c1", title="`git status`", kind="execute", rawInput={"command": "git status"}))
    (call,) = talk.questions()
    assert ids(call) == ["yes", "ever", "no", "agentnb:turn", "agentnb:session", "agentnb:always"]
    assert call.risk is not None
    assert call.risk.like == "`git status`"
    talk.answer(call, "agentnb:session")
    assert talk.done(turn) == [{"outcome": {"outcome": "selected", "optionId": "yes"}}]


def test_request_that_names_an_announced_call_uses_its_data(new_talk: NewTalk) -> None:
    """Mistral Vibe asks so: the call's kind and title count for rules and for the research limit, too."""
    talk = new_talk(script="calls_kernel")
    call = {"toolCallId": "c1", "title": "mcp_files.look", "kind": "fetch"}
    turn = talk.prompt({"update": call}, {"ask": {"toolCallId": "c1"}})
    (question,) = talk.questions()
    assert question.confirmation_title == "mcp_files.look"
    talk.answer(question, "yes")
    talk.done(turn)
    assert (talk.log[-1].what, talk.log[-1].tool) == ("mcp_files.look", "fetch")


def test_agent_with_agentnb_option_ids_gets_no_wider_answers(new_talk: NewTalk) -> None:
    """Otherwise a click could mean two things."""
    talk = new_talk()
    options = [{"optionId": "agentnb:turn", "name": "Mine", "kind": "allow_once"}]
    call = {"toolCallId": "c", "kind": "fetch"}
    calls = [call, {**call, "toolCallId": "d"}]
    turn = talk.prompt(*(["session/request_permission", {"toolCall": each, "options": options}] for each in calls))
    for question in talk.questions(2):
        assert ids(question) == ["agentnb:turn"]
    talk.answer(talk.open[0], "agentnb:turn")
    talk.answer(talk.questions()[0], "agentnb:turn")  # the first answer was for one request
    talk.done(turn)


def test_a_path_outside_the_workspace_is_denied_and_logged(new_talk: NewTalk, work: Path) -> None:
    """Files and a command's folder; no user and no rule decides."""
    talk = new_talk("allow", script="works")
    loop = work / "loop"
    loop.symlink_to(loop)
    requests = [
        ["fs/read_text_file", {"path": "/etc/hostname"}],
        write(work.parent / "x"),
        ["terminal/create", {"command": "ls", "cwd": "/"}],
        write(loop),
    ]
    assert all("code" in answer for answer in talk.done(talk.prompt(*requests)))
    assert [(record.kind, record.outcome, record.by) for record in talk.log] == [
        ("read", "deny", "workspace"),
        ("write", "deny", "workspace"),
        ("terminal", "deny", "workspace"),
        ("write", "deny", "workspace"),
    ]
    assert [record.what for record in talk.log] == ["/etc/hostname", str(work.parent / "x"), "ls", str(loop)]


@pytest.mark.parametrize("request_", [run("rm -rf x"), ["fs/read_text_file", {"path": ".env"}]])
def test_allow_still_asks_for_critical_commands_and_secrets(new_talk: NewTalk, work: Path, request_: list[Any]) -> None:
    """Without a user they are denied."""
    (work / ".env").write_text("KEY=1")
    talk = new_talk("allow")
    answers = talk.reject(talk.prompt(request_, write(work / "a")))
    assert [answer.get("code") for answer in answers] == [-32001, None]
    talk.kernel.attend(here=False)
    denied = talk.done(talk.prompt(request_))[0]
    assert (denied["code"], "no front end is attached" in denied["message"]) == (-32001, True)


@pytest.mark.parametrize(
    "row",
    [("", "", False), ("allow", "", True), ("", 'headless = "allow"', True), ("deny", 'headless = "allow"', False)],
)
def test_unattended_request_is_denied_unless_headless_allows(
    new_talk: NewTalk, work: Path, tmp_path: Path, environment: dict[str, str], row: tuple[str, str, bool]
) -> None:
    """The flag is ``permissions="allow"``."""
    environment["AGENTNB_HEADLESS"], config, allowed = row
    user_policy(tmp_path, config, trusted=str(work))
    talk = new_talk()
    talk.kernel.attend(here=False)
    assert (talk.prompt(write(work / "a")).wait(PATIENCE).text == "{}\n") == allowed
    assert [record.by for record in talk.log] == ["headless" if allowed else "nobody"]


def test_only_the_user_can_set_bypass_not_the_project(new_talk: NewTalk, work: Path, tmp_path: Path) -> None:
    """The repository's setting is ignored, with one warning in the turn."""
    (work / ".agentnb").mkdir()
    (work / ".agentnb/policy.toml").write_text("[agents.asker]\nbypass = true\n")
    talk = new_talk()
    turn = talk.prompt(write(work / "a"))
    talk.reject(turn)
    assert ["a project may not" in each for each in notices(turn)] == [True]
    user_policy(tmp_path, "[agents.asker]\nbypass = true\n", trusted=str(work))
    assert talk.done(talk.prompt(write(work / "b"))) == [{}]


def test_invalid_policy_file_is_reported_and_everything_asks(new_talk: NewTalk, work: Path, tmp_path: Path) -> None:
    """Also under Allow."""
    user_policy(tmp_path, "[[rule]]\naction = 'alow'\n")
    talk = new_talk("allow")
    turn = talk.prompt(write(work / "a"))
    talk.reject(turn)
    assert "line 2 in rule 1: 'action' is 'alow'. Did you mean 'allow'?" in str(notices(turn))


def test_a_rule_allows_files_outside_the_workspace(new_talk: NewTalk, tmp_path: Path) -> None:
    """The rule names an absolute path."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.csv").write_text("1,2\n")
    read = ["fs/read_text_file", {"path": str(tmp_path / "data/a.csv")}]
    talk = new_talk()
    assert "is outside the workspace" in talk.done(talk.prompt(read))[0]["message"]
    user_policy(tmp_path, f"[[rule]]\naction = 'allow'\ntool = 'read'\npath = '{tmp_path}/data/**'\n")
    answers = talk.done(talk.prompt(read, write(tmp_path / "data/b.csv")))
    assert (answers[0], "is outside" in answers[1]["message"]) == ({"content": "1,2\n"}, True)


def test_every_decision_is_in_the_log(new_talk: NewTalk, work: Path, tmp_path: Path) -> None:
    """Who, in which session, what, by which rule, with what outcome, for how long, when."""
    user_policy(tmp_path, "[[rule]]\naction = 'deny'\npath = 'locked/**'\n")
    (work / "a").write_text("x")
    talk = new_talk()
    first = talk.prompt(["fs/read_text_file", {"path": "a"}], write(work / "locked/b"))
    talk.done(first)  # an answer for the session would also decide pending requests
    second = talk.prompt(write(work / "c"))
    talk.answer(talk.questions()[0], "agentnb:session")
    talk.done(second)
    lines = [json.loads(line) for line in (tmp_path / "data/audit.jsonl").read_text().splitlines()]
    decisions = {(line["kind"], line["outcome"], line["by"], line.get("source"), line.get("scope")) for line in lines}
    assert decisions == {
        ("read", "allow", "reading", None, None),
        ("write", "deny", "rule", "user", None),
        ("write", "allow", "user", None, "session"),
    }
    uri = talk.session.chat.resource.removesuffix("/chat")
    assert {(line["agent"], line["session"]) for line in lines} == {("asker", uri)}
    assert {(line["turn"], line["outcome"]) for line in lines if line["kind"] == "write"} == {
        (first.id, "deny"),
        (second.id, "allow"),
    }
    assert all(line["time"].endswith("+00:00") and line["what"] for line in lines)


def test_additional_directory_follows_the_workspace_rules(new_talk: NewTalk, tmp_path: Path) -> None:
    """Reads need no question; a write asks, and its card does not call it outside."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/data.txt").write_text("shared")
    talk = new_talk(script="works", directories=(tmp_path / "shared",))
    there = str(tmp_path / "shared/data.txt")
    turn = talk.prompt(["fs/read_text_file", {"path": there}], write(Path(there), "x"))
    (card,) = talk.questions()
    assert card.risk is not None
    assert (card.risk.severity, "Outside" in card.risk.reason) == ("medium", False)
    talk.answer(card, "allow")
    assert talk.done(turn) == [{"content": "shared"}, {}]
    assert Path(there).read_text() == "x"


def test_withdrawn_request_leaves_no_question(new_talk: NewTalk, work: Path, tmp_path: Path) -> None:
    """A change of the freedom during the same turn then has nothing to answer."""
    os.mkfifo(work / "go")
    talk = new_talk(script="withdraws")
    turn = talk.session.prompt("ask, and withdraw")
    talk.questions(1)
    (work / "go").write_bytes(b"")
    talk.until(lambda: turn.text or None)
    assert talk.open == []
    assert answerers(turn) == [Answerer(kind="withdrawn")]
    talk.session.permissions = "allow"
    turn.cancel()
    assert turn.wait(PATIENCE).state == "cancelled"
    lines = (tmp_path / "data/audit.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["by"] for line in lines][:1] == ["end"]
