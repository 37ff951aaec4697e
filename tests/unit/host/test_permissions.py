"""Permission requests on the host: who answers, what an answer covers and for how long, what the log keeps."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentnb import Session, Turn
from agentnb.acp.sessions import deliver
from agentnb.agent.catalog import custom
from agentnb.errors import UsageError
from agentnb.host import Host
from agentnb.host.intents import Rejected, carry_out
from agentnb.host.permissions.session_policy import HEADLESS, HostPolicy
from agentnb.policy.audit import AuditLog, Record
from agentnb.policy.keys import Mode
from agentnb.policy.store import PolicyFiles
from agentnb.server.comm.lab import Lab
from agentnb.server.comm.open_notebooks import OpenNotebooks
from agentnb.state import (
    ActionOrigin,
    Answerer,
    ChatToolCallConfirmed,
    SessionConfigChanged,
    SystemNotificationResponsePart,
    ToolCallPendingConfirmationState,
    ToolCallResponsePart,
    ToolDiffContent,
)
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.server.test_lab import Page

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "ever", "name": "Ever", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


@pytest.fixture
def environment() -> dict[str, str]:
    return {}


@pytest.fixture
def host(tmp_path: Path, environment: dict[str, str]) -> Iterator[Host]:
    """A host with an attached user and its own policy files."""
    files, log = PolicyFiles(tmp_path / "config/policy.toml"), AuditLog(tmp_path / "data/audit.jsonl")
    host = Host(policy=HostPolicy(files, log, environment))
    host.environment.connect(attached=lambda: True)
    yield host
    host.close()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


class Talk:
    """A session with the agent that sends all requests at once, and the user who answers."""

    def __init__(
        self,
        host: Host,
        work: Path,
        mode: Mode = "ask",
        name: str = "asker",
        script: str = "asks_many",
        *,
        directories: tuple[Path, ...] = (),
        kernel_tools: bool = False,
        command: tuple[str, ...] | None = None,
    ) -> None:
        spec = custom(command or [sys.executable, str(AGENTS / f"{script}.py")], name=name)
        self.host = host
        self.conversation = host.loop.call(
            lambda: host.open(spec, cwd=work, mode=mode, directories=directories, kernel_tools=kernel_tools)
        )
        self.session = Session(self.conversation)

    def prompt(self, *requests: Any) -> Turn:
        return self.session.prompt(json.dumps(requests))

    def done(self, turn: Turn) -> list[dict[str, Any]]:
        return [json.loads(line) for line in turn.wait(PATIENCE).text.splitlines()]

    @property
    def open(self) -> list[ToolCallPendingConfirmationState]:
        turn = self.session.chat.active_turn
        calls = (
            [part.tool_call for part in turn.response_parts if isinstance(part, ToolCallResponsePart)] if turn else []
        )
        return [call for call in calls if isinstance(call, ToolCallPendingConfirmationState)]

    def questions(self, count: int = 1) -> list[ToolCallPendingConfirmationState]:
        """Waits until *count* requests are open."""
        requests: list[ToolCallPendingConfirmationState] = self.until(
            lambda: self.open if len(self.open) == count else None
        )
        return requests

    def until(self, find: Callable[[], Any]) -> Any:
        """Waits until *find* finds something."""

        async def wait() -> Any:
            changed = asyncio.Event()
            stop = self.conversation.watch(changed.set)
            try:
                while (item := find()) is None:
                    await asyncio.wait_for(changed.wait(), PATIENCE)
                    changed.clear()
                return item
            finally:
                stop()

        return self.host.loop.submit(wait()).result(PATIENCE)

    def answer(
        self, call: ToolCallPendingConfirmationState, option: str, edited: str | None = None, client: str = "c"
    ) -> None:
        turn = self.session.chat.active_turn
        assert turn is not None
        action = ChatToolCallConfirmed(
            turn_id=turn.id,
            tool_call_id=call.tool_call_id,
            approved=True,
            selected_option_id=option,
            edited_tool_input=edited,
            answered_by=Answerer(kind="rule"),
        )
        origin = ActionOrigin(client_id=client, client_seq=1)
        self.host.loop.call(lambda: carry_out(self.host, self.conversation.chat.uri, action, origin))

    @property
    def log(self) -> list[Record]:
        return [*self.host.policy.audit.records]


def write(path: Path, content: str = "new\n") -> list[Any]:
    return ["fs/write_text_file", {"path": str(path), "content": content}]


def run(command: str) -> list[Any]:
    return ["terminal/create", {"command": command}]


def permission(call_id: str, **call: Any) -> list[Any]:
    return ["session/request_permission", {"toolCall": {"toolCallId": call_id, **call}, "options": OPTIONS}]


def ids(call: ToolCallPendingConfirmationState) -> list[str]:
    return [option.id for option in call.options or ()]


def user_policy(tmp_path: Path, text: str, trusted: str = "") -> None:
    """Writes the user's policy file, which trusts the folder *trusted*."""
    (tmp_path / "config").mkdir(exist_ok=True)
    trust = f'\n[trust]\nfolders = ["{trusted}"]\n' if trusted else ""
    (tmp_path / "config/policy.toml").write_text(f"{text}{trust}")


def test_card_shows_the_change_the_risk_and_wider_answers(host: Host, work: Path) -> None:
    """Ours come after the agent's own, by ids that no agent uses."""
    (work / "a.txt").write_text("old\n")
    talk = Talk(host, work)
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


def test_card_warns_of_unsaved_changes_in_the_notebook(host: Host, work: Path) -> None:
    """For requests and the agent's own questions; the reader tool gets them; other files have no such note."""
    path = work / "fit.ipynb"
    path.write_text('{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}', encoding="utf-8")
    page = Page(lab := Lab())
    page.say(path="fit.ipynb", cells=[{"id": "a", "kind": "code", "source": "typed"}], unsaved=True)
    host.environment.connect(
        editors=OpenNotebooks(lab, attached=host.environment.attached, environment={"JPY_SESSION_NAME": str(path)})
    )
    talk = Talk(host, work)
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
def test_wider_answer_applies_for_its_scope(host: Host, work: Path, scope: str, same_turn: int, next_turn: int) -> None:
    """It also answers similar open requests; an answer for the turn ends with the turn."""
    talk = Talk(host, work)
    turn = talk.prompt(write(work / "a"), write(work / "b"), run("ls"))
    first = next(call for call in talk.questions(3) if call.tool_name == "edit")
    talk.answer(first, f"agentnb:{scope}")
    (command,) = talk.questions(1)
    talk.answer(command, "reject")
    answers = talk.done(turn)
    assert (answers[:2], answers[2]["code"]) == ([{}, {}], -32001)
    again = talk.prompt(write(work / "c"))
    for call in talk.questions(next_turn) if next_turn else []:
        talk.answer(call, "reject")
    assert ("code" in talk.done(again)[0]) == bool(next_turn)


CLIENT = Answerer(kind="client", client_id="c")


def answerers(turn: Turn) -> list[Answerer | None]:
    assert turn.snapshot is not None
    calls = [part.tool_call for part in turn.snapshot.response_parts if isinstance(part, ToolCallResponsePart)]
    return [getattr(call, "answered_by", None) for call in calls]


def test_state_names_who_answered_a_request(host: Host, work: Path, tmp_path: Path) -> None:
    """The user in a view, the user's earlier answer, or a rule; a client cannot claim otherwise."""
    user_policy(tmp_path, "[[rule]]\naction = 'deny'\ncommand = 'git *'\n")
    talk = Talk(host, work)
    turn = talk.prompt(write(work / "a"), write(work / "b"), run("git push"))
    first, _ = talk.questions(2)
    talk.answer(first, "agentnb:turn")
    talk.done(turn)
    expected = [CLIENT, Answerer(kind="answer"), Answerer(kind="rule")]
    assert sorted(map(str, answerers(turn))) == sorted(map(str, expected))


@pytest.mark.parametrize(("mode", "attached", "kind"), [("allow", True, "mode"), ("ask", False, "nobody")])
def test_state_records_that_no_user_was_asked(host: Host, work: Path, mode: Mode, attached: bool, kind: str) -> None:
    """The session's permissions answered, or no user was attached."""
    host.environment.connect(attached=lambda: attached)
    turn = Talk(host, work, mode).prompt(write(work / "a"))
    turn.wait(PATIENCE)
    assert answerers(turn) == [Answerer(kind=kind)]


def test_user_changes_permissions_in_an_open_session(host: Host, work: Path, tmp_path: Path) -> None:
    """From a page and from Python; the state has the mode, and the log who changed it."""
    talk = Talk(host, work)
    values = lambda: (talk.session.permissions, talk.session.state.config and talk.session.state.config.values)  # noqa: E731
    assert values() == ("ask", {"permissions": "ask", "freedom": "ask"})
    turn = talk.prompt(write(work / "a"))
    assert len(talk.questions()) == 1
    set_ = SessionConfigChanged(config={"permissions": "allow"})
    origin = ActionOrigin(client_id="page", client_seq=1)
    host.loop.call(carry_out, host, talk.conversation.session.uri, set_, origin)
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


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"permissions": "maybe"},
        {"freedom": "custom"},
        {"permissions": None},
        {"sensitive": [""]},
        {"other": 1},
        {"permissions": "allow", "other": 1},
    ],
)
def test_page_sets_only_the_permission_options(host: Host, work: Path, config: dict[str, Any]) -> None:
    """Only to known values."""
    talk = Talk(host, work)
    origin = ActionOrigin(client_id="page", client_seq=1)
    with pytest.raises(Rejected, match="Only freedom, permissions"):
        host.loop.call(
            carry_out, host, talk.conversation.session.uri, SessionConfigChanged(config=config, replace=True), origin
        )
    with pytest.raises(UsageError, match="'maybe' is not one of"):
        talk.session.permissions = "maybe"  # type: ignore[assignment]
    assert (talk.session.permissions, talk.log) == ("ask", [])


def test_answer_from_kernel_code_is_recorded_as_python(host: Host, work: Path) -> None:
    talk = Talk(host, work)
    turn = talk.prompt(write(work / "a"))
    (call,) = talk.questions()
    talk.answer(call, "allow", client="python")
    talk.done(turn)
    assert answerers(turn) == [Answerer(kind="python")]


def test_request_of_a_cancelled_turn_is_marked_cancelled(host: Host, work: Path) -> None:
    talk = Talk(host, work)
    turn = talk.prompt(write(work / "a"))
    talk.questions()
    turn.cancel()
    turn.wait(PATIENCE)
    assert answerers(turn) == [Answerer(kind="cancelled")]


def test_always_is_saved_for_other_sessions_of_the_agent(host: Host, work: Path, tmp_path: Path) -> None:
    talk = Talk(host, work)
    turn = talk.prompt(write(work / "a"))
    talk.answer(talk.questions()[0], "agentnb:always")
    talk.done(turn)
    assert 'action = "allow"\nagent = ["asker"]\ntool = ["edit"]' in (tmp_path / "config/policy.toml").read_text()
    assert Talk(host, work).prompt(write(work / "b")).wait(PATIENCE).text == "{}\n"
    other = Talk(host, work, name="other")
    turn = other.prompt(write(work / "c"))
    other.answer(other.questions()[0], "reject")
    assert other.done(turn)[0]["code"] == -32001


@pytest.mark.parametrize("ended", ["rule", "answer"])
def test_revoked_answer_no_longer_applies_in_the_conversation(host: Host, work: Path, ended: str) -> None:
    """Its rule is removed from the file, or the answer itself is revoked."""
    talk, files = Talk(host, work), host.policy.files
    turn = talk.prompt(write(work / "a"))
    talk.answer(talk.questions()[0], "agentnb:session" if ended == "answer" else "agentnb:always")
    talk.done(turn)
    talk.done(talk.prompt(write(work / "b")))
    (grant,) = talk.conversation.permissions.grants.in_force
    if ended == "rule":
        host.loop.call(files.forget, 1, grant.rule.text)
    else:
        host.loop.call(talk.conversation.permissions.grants.revoke, grant.rule.text)
    assert talk.conversation.permissions.grants.in_force == ()
    turn = talk.prompt(write(work / "c"))
    talk.answer(talk.questions()[0], "reject")
    assert talk.done(turn)[0]["code"] == -32001


def test_always_applies_to_its_folder_and_adds_no_trust(host: Host, work: Path, tmp_path: Path) -> None:
    """It holds there and below, not beside it."""
    talk = Talk(host, work)
    turn = talk.prompt(write(work / "a"))
    (call,) = talk.questions()
    assert [option.label for option in call.options or ()][-1] == "Any edit of files in this folder, until I revoke it"
    talk.answer(call, "agentnb:always")
    talk.done(turn)
    assert host.policy.files.user.trusted == ()
    (work / "below").mkdir()
    assert Talk(host, work / "below").prompt(write(work / "below/b")).wait(PATIENCE).text == "{}\n"
    (tmp_path / "beside").mkdir()
    beside = Talk(host, tmp_path / "beside")
    turn = beside.prompt(write(tmp_path / "beside/c"))
    (call,) = beside.questions()
    beside.answer(call, "reject")
    assert beside.done(turn)[0]["code"] == -32001


@pytest.mark.parametrize(
    ("standing", "request_"),
    [
        ("[[rule]]\naction = 'allow'\n", ["fs/write_text_file", {"path": "a", "content": "x"}]),
        ("[[rule]]\naction = 'allow'\n", ["terminal/create", {"command": "true"}]),
        ("[agents.asker]\nbypass = true\n", ["terminal/create", {"command": "true"}]),
        ("headless = 'allow'\n", ["fs/write_text_file", {"path": "a", "content": "x"}]),
    ],
)
def test_unattended_request_in_an_untrusted_folder_is_denied(
    host: Host, work: Path, tmp_path: Path, standing: str, request_: list[Any]
) -> None:
    """A project's file cannot trust itself, and is named; the user's command works at once."""
    host.environment.connect(attached=lambda: False)
    user_policy(tmp_path, standing)
    (work / ".agentnb").mkdir()
    (work / ".agentnb/policy.toml").write_text(f"[trust]\nfolders = ['{work}']\n")
    talk = Talk(host, work)
    turn = talk.prompt(request_)
    (denied,) = talk.done(turn)
    assert all(words in denied["message"] for words in ("this folder is not trusted", "`agentnb trust`"))
    assert turn.snapshot is not None
    notices = [
        part.content for part in turn.snapshot.response_parts if isinstance(part, SystemNotificationResponsePart)
    ]
    assert (len(notices), "[trust]" in str(notices)) == (1, True)
    assert [record.by for record in talk.log] == ["nobody"]
    host.loop.call(host.policy.files.trust, work)
    assert "code" not in talk.done(talk.prompt(request_))[0]


def test_always_lasts_for_the_session_when_it_cannot_be_saved(host: Host, work: Path, tmp_path: Path) -> None:
    """The user's file stays as it is."""
    user_policy(tmp_path, "rule = [{action = 'ask', tool = 'fetch'}]\n")
    talk = Talk(host, work)
    turn = talk.prompt(write(work / "a"))
    talk.answer(talk.questions()[0], "agentnb:always")
    talk.done(turn)
    assert turn.snapshot is not None
    notices = [
        part.content for part in turn.snapshot.response_parts if isinstance(part, SystemNotificationResponsePart)
    ]
    assert "holds for this session" in str(notices)
    assert talk.done(talk.prompt(write(work / "b"))) == [{}]


def test_agents_own_options_come_first_and_one_is_returned(host: Host, work: Path) -> None:
    """The narrowest one, whatever the scope of agentnb's own option."""
    talk = Talk(host, work)
    turn = talk.prompt(permission("c1", title="`git status`", kind="execute", rawInput={"command": "git status"}))
    (call,) = talk.questions()
    assert ids(call) == ["yes", "ever", "no", "agentnb:turn", "agentnb:session", "agentnb:always"]
    assert call.risk is not None
    assert call.risk.like == "`git status`"
    talk.answer(call, "agentnb:session")
    assert talk.done(turn) == [{"outcome": {"outcome": "selected", "optionId": "yes"}}]


def test_request_that_names_an_announced_call_uses_its_data(host: Host, work: Path) -> None:
    """Mistral Vibe asks so: the call's kind and title count for rules and for the research limit, too."""
    talk = Talk(host, work, script="works")
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    asks = ["session/request_permission", {"toolCall": {"toolCallId": "c1"}, "options": options}]
    turn = talk.prompt(permission("c0", title="First", kind="fetch"), asks)
    (first,) = talk.questions()
    call = {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "mcp_files.look", "kind": "fetch"}
    host.loop.call(lambda: deliver([call], talk.conversation.events))
    talk.answer(first, "yes")
    (question,) = talk.questions()
    assert question.confirmation_title == "mcp_files.look"
    talk.answer(question, "yes")
    talk.done(turn)
    assert (talk.log[-1].what, talk.log[-1].tool) == ("mcp_files.look", "fetch")


def test_agent_with_agentnb_option_ids_gets_no_wider_answers(host: Host, work: Path) -> None:
    """Otherwise a click could mean two things."""
    talk = Talk(host, work)
    options = [{"optionId": "agentnb:turn", "name": "Mine", "kind": "allow_once"}]
    turn = talk.prompt(
        ["session/request_permission", {"toolCall": {"toolCallId": "c", "kind": "fetch"}, "options": options}]
    )
    (call,) = talk.questions()
    assert ids(call) == ["agentnb:turn"]
    talk.answer(call, "agentnb:turn")
    talk.done(turn)
    assert talk.conversation.permissions.grants.in_force == ()


def test_command_edited_by_the_user_is_the_one_that_runs(host: Host, work: Path) -> None:
    """The agent gets it, and the log has both."""
    talk = Talk(host, work)
    turn = talk.prompt(run("touch first"))
    (call,) = talk.questions()
    assert (call.editable, call.tool_input) == (True, "touch first")
    talk.answer(call, "allow", "touch second && echo done")
    (answer,) = talk.done(turn)
    assert answer["_meta"] == {"agentnb": {"editedCommand": "touch second && echo done"}}
    terminal = talk.session.chat.terminals or ()
    talk.until(lambda: True if (talk.session.chat.terminals or ())[0].exit_code is not None else None)
    assert (terminal[0].command, [path.name for path in work.iterdir()]) == ("touch second && echo done", ["second"])
    assert (talk.log[-1].what, talk.log[-1].edited) == ("touch first", "touch second && echo done")


def test_edited_command_that_a_rule_denies_does_not_run(host: Host, work: Path, tmp_path: Path) -> None:
    """Also a rule of the user."""
    user_policy(tmp_path, "[[rule]]\naction = 'deny'\ncommand = 'touch *'\n")
    talk = Talk(host, work)
    turn = talk.prompt(run("ls"))
    talk.answer(talk.questions()[0], "allow", "touch x")
    assert "denied by a rule of the user" in talk.done(turn)[0]["message"]
    assert list(work.iterdir()) == []


def test_empty_command_is_rejected_and_file_edit_is_ignored(host: Host, work: Path) -> None:
    """The question stays open; a client cannot edit a file's content."""
    talk = Talk(host, work)
    turn = talk.prompt(run("true"), write(work / "a"))
    command, file = sorted(talk.questions(2), key=lambda call: call.tool_name, reverse=True)
    with pytest.raises(Rejected, match="must not be empty"):
        talk.answer(command, "allow", " ")
    talk.answer(command, "reject")
    talk.answer(file, "allow", "other content")
    assert (talk.done(turn)[1], (work / "a").read_text()) == ({}, "new\n")


def test_approved_file_change_covers_no_other_change(host: Host, work: Path) -> None:
    """It covers the part that the agent showed; any other change is asked about."""
    path = work / "a"
    path.write_text("one\ntwo\n")
    talk = Talk(host, work, script="works")
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


def test_approval_does_not_cover_a_call_changed_afterwards(host: Host, work: Path) -> None:
    talk = Talk(host, work)
    request = permission("c1", title="List", kind="execute", rawInput={"command": "ls"})
    turn = talk.prompt(request)
    talk.answer(talk.questions()[0], "yes")
    talk.done(turn)
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "rawInput": {"command": "rm -rf x"}}

    def becomes() -> None:
        deliver([update], talk.conversation.events)

    turn = talk.prompt(permission("c1", title="List", kind="execute", rawInput={"command": "ls"}), run("rm -rf x"))
    questions = talk.questions(2)
    host.loop.call(becomes)
    talk.answer(next(call for call in questions if call.tool_call_id == "c1"), "yes")
    (left,) = talk.questions(1)
    assert left.tool_input == "rm -rf x"
    talk.answer(left, "reject")
    assert talk.done(turn)[1]["code"] == -32001


@pytest.mark.parametrize("kind", ["read", "fetch", "think", "search", "edit", "other", "execute"])
def test_request_with_a_command_is_judged_by_that_command(host: Host, work: Path, kind: str) -> None:
    """Also under Allow; a denied request cannot be repeated through the terminal."""
    talk = Talk(host, work, "allow", script="works")
    request = permission("c1", title="Look", kind=kind, rawInput={"command": "rm -rf x"})
    turn = talk.prompt(request, run("rm -rf x"))
    for option in ("no", "reject"):
        (call,) = talk.questions()
        assert call.risk is not None
        assert call.risk.severity == "critical"
        talk.answer(call, option)
    assert talk.done(turn)[1]["code"] == -32001
    assert [record.outcome for record in talk.log] == ["deny", "deny"]


@pytest.mark.parametrize("kind", ["read", "search", "edit"])
def test_approval_to_read_a_file_does_not_cover_a_write(host: Host, work: Path, kind: str) -> None:
    """Nor does leave to edit a file whose change was not shown."""
    (work / "a.py").write_text("one\n")
    talk = Talk(host, work, script="works")
    looks = permission("c1", title="Look at a.py", kind=kind, locations=[{"path": str(work / "a.py")}])
    turn = talk.prompt(looks, write(work / "a.py", "other\n"))
    talk.answer(talk.questions()[0], "yes")
    (call,) = talk.questions()
    assert call.details is not None
    change = ToolDiffContent(path=str(work / "a.py"), old_text="one\n", new_text="other\n")
    assert change in (call.details.content or ())
    talk.answer(call, "reject")
    assert (talk.done(turn)[1]["code"], (work / "a.py").read_text()) == (-32001, "one\n")


def test_automatic_approval_does_not_cover_sensitive_files(host: Host, work: Path) -> None:
    """Under Allow an agent may read a hook unasked, but not write it."""
    hook = work / ".git/hooks/pre-commit"
    hook.parent.mkdir(parents=True)
    talk = Talk(host, work, "allow", script="works")
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


def test_one_approval_covers_one_run(host: Host, work: Path) -> None:
    """In the folder and with the variables of the request; the second run asks again."""
    (work / "sub").mkdir()
    talk = Talk(host, work, script="works")
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


def test_command_variables_are_on_the_card_and_in_the_log(host: Host, work: Path, tmp_path: Path) -> None:
    """A rule for the command alone does not cover them; credentials are hidden; an edit may remove them."""
    user_policy(tmp_path, "[[rule]]\naction = 'allow'\ncommand = 'git log *'\n", trusted=str(work))
    env = [{"name": "GIT_PAGER", "value": "cat"}, {"name": "API_TOKEN", "value": "0123456789abcdef"}]
    talk = Talk(host, work)
    turn = talk.prompt(["terminal/create", {"command": "git", "args": ["log"], "env": env}])
    (call,) = talk.questions()
    assert call.tool_input == "GIT_PAGER=cat API_TOKEN=*** git log"
    talk.answer(call, "allow", "env > seen")
    talk.done(turn)
    talk.until(lambda: True if (talk.session.chat.terminals or ())[0].exit_code is not None else None)
    assert "API_TOKEN" not in (work / "seen").read_text()
    again = talk.prompt(["terminal/create", {"command": "true", "env": env}])
    (call,) = talk.questions()
    talk.answer(call, "allow", f"{call.tool_input} && env > seen")
    talk.done(again)
    talk.until(lambda: True if (talk.session.chat.terminals or ())[-1].exit_code is not None else None)
    assert "API_TOKEN=0123456789abcdef" in (work / "seen").read_text()
    assert [(record.what, record.edited) for record in talk.log] == [
        ("GIT_PAGER=cat API_TOKEN=*** git log", "env > seen"),
        ("GIT_PAGER=cat API_TOKEN=*** true", "GIT_PAGER=cat API_TOKEN=*** true && env > seen"),
    ]


def test_file_named_like_a_shell_is_not_treated_as_one(host: Host, work: Path, tmp_path: Path) -> None:
    """By path or by the agent's PATH: the whole command line is shown, and a rule for its script does not apply."""
    user_policy(tmp_path, "[[rule]]\naction = 'allow'\ncommand = 'true'\n", trusted=str(work))
    (work / "bash").write_text("#!/bin/sh\ntouch ran\n")
    (work / "bash").chmod(0o755)
    own = {"command": "./bash", "args": ["-c", "true"]}
    path = {"command": "bash", "args": ["-c", "true"], "env": [{"name": "PATH", "value": str(work)}]}
    talk = Talk(host, work)
    turn = talk.prompt(
        ["terminal/create", own], ["terminal/create", path], ["terminal/create", {**own, "command": "bash"}]
    )
    calls = talk.questions(2)
    assert {call.tool_input for call in calls} == {"./bash -c true", f"PATH={work} bash -c true"}
    for call in calls:
        talk.answer(call, "reject")
    assert ["code" in answer for answer in talk.done(turn)] == [True, True, False]
    assert not (work / "ran").exists()


def test_command_does_not_run_when_its_folder_becomes_a_link(host: Host, work: Path) -> None:
    (work / "sub").mkdir()
    talk = Talk(host, work)
    turn = talk.prompt(["terminal/create", {"command": "touch ran", "cwd": str(work / "sub")}])
    (call,) = talk.questions()
    (work / "sub").rmdir()
    (work / "sub").symlink_to(work.parent)
    talk.answer(call, "allow")
    assert "no longer leads to the same folder" in talk.done(turn)[0]["message"]
    assert not (work.parent / "ran").exists()


def test_a_path_outside_the_workspace_is_denied_and_logged(host: Host, work: Path) -> None:
    """Files and a command's folder; no user and no rule decides."""
    talk = Talk(host, work, "allow", script="works")
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
def test_allow_still_asks_for_critical_commands_and_secrets(host: Host, work: Path, request_: list[Any]) -> None:
    """Without a user they are denied."""
    (work / ".env").write_text("KEY=1")
    talk = Talk(host, work, "allow")
    turn = talk.prompt(request_, write(work / "a"))
    (call,) = talk.questions()
    talk.answer(call, "reject")
    assert [answer.get("code") for answer in talk.done(turn)] == [-32001, None]
    host.environment.connect(attached=lambda: False)
    denied = talk.done(talk.prompt(request_))[0]
    assert (denied["code"], "no front end is attached" in denied["message"]) == (-32001, True)


@pytest.mark.parametrize(
    "row",
    [("", "", False), ("allow", "", True), ("", 'headless = "allow"', True), ("deny", 'headless = "allow"', False)],
)
def test_unattended_request_is_denied_unless_headless_allows(
    host: Host, work: Path, tmp_path: Path, environment: dict[str, str], row: tuple[str, str, bool]
) -> None:
    """The flag is ``permissions="allow"``."""
    host.environment.connect(attached=lambda: False)
    environment[HEADLESS], config, allowed = row
    user_policy(tmp_path, config, trusted=str(work))
    assert (Talk(host, work).prompt(write(work / "a")).wait(PATIENCE).text == "{}\n") == allowed
    assert [record.by for record in host.policy.audit.records] == ["headless" if allowed else "nobody"]


def test_only_the_user_can_set_bypass_not_the_project(host: Host, work: Path, tmp_path: Path) -> None:
    """The repository's setting is ignored, with one warning in the turn."""
    (work / ".agentnb").mkdir()
    (work / ".agentnb/policy.toml").write_text("[agents.asker]\nbypass = true\n")
    talk = Talk(host, work)
    turn = talk.prompt(write(work / "a"))
    talk.answer(talk.questions()[0], "allow")
    talk.done(turn)
    assert turn.snapshot is not None
    notices = [
        part.content for part in turn.snapshot.response_parts if isinstance(part, SystemNotificationResponsePart)
    ]
    assert (len(notices), "a project may not" in str(notices)) == (1, True)
    user_policy(tmp_path, "[agents.asker]\nbypass = true\n", trusted=str(work))
    assert talk.done(talk.prompt(write(work / "b"))) == [{}]


def test_invalid_policy_file_is_reported_and_everything_asks(host: Host, work: Path, tmp_path: Path) -> None:
    """Also under Allow."""
    user_policy(tmp_path, "[[rule]]\naction = 'alow'\n")
    talk = Talk(host, work, "allow")
    turn = talk.prompt(write(work / "a"))
    talk.answer(talk.questions()[0], "reject")
    talk.done(turn)
    assert turn.snapshot is not None
    notices = [
        part.content for part in turn.snapshot.response_parts if isinstance(part, SystemNotificationResponsePart)
    ]
    assert "line 2 in rule 1: 'action' is 'alow'. Did you mean 'allow'?" in str(notices)


def test_a_rule_allows_files_outside_the_workspace(host: Host, work: Path, tmp_path: Path) -> None:
    """The rule names an absolute path."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.csv").write_text("1,2\n")
    read = ["fs/read_text_file", {"path": str(tmp_path / "data/a.csv")}]
    talk = Talk(host, work)
    assert "is outside the workspace" in talk.done(talk.prompt(read))[0]["message"]
    user_policy(tmp_path, f"[[rule]]\naction = 'allow'\ntool = 'read'\npath = '{tmp_path}/data/**'\n")
    answers = talk.done(talk.prompt(read, write(tmp_path / "data/b.csv")))
    assert (answers[0], "is outside" in answers[1]["message"]) == ({"content": "1,2\n"}, True)


def test_cancelling_the_turn_answers_every_open_request(host: Host, work: Path) -> None:
    """Each answer is "cancelled"; the log says that the turn ended first."""
    talk = Talk(host, work)
    turn = talk.prompt(permission("c1", kind="fetch", title="Look"), write(work / "a"))
    talk.questions(2)
    turn.cancel()
    turn.wait(PATIENCE)
    assert ([record.by for record in talk.log], talk.open, (work / "a").exists()) == (["end", "end"], [], False)


def test_every_decision_is_in_the_log(host: Host, work: Path, tmp_path: Path) -> None:
    """Who, in which session, what, by which rule, with what outcome, for how long, when."""
    user_policy(tmp_path, "[[rule]]\naction = 'deny'\npath = 'locked/**'\n")
    (work / "a").write_text("x")
    talk = Talk(host, work)
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
    assert {(line["agent"], line["session"]) for line in lines} == {("asker", talk.conversation.session.uri)}
    assert {(line["turn"], line["outcome"]) for line in lines if line["kind"] == "write"} == {
        (first.id, "deny"),
        (second.id, "allow"),
    }
    assert all(line["time"].endswith("+00:00") and line["what"] for line in lines)


def test_additional_directory_follows_the_workspace_rules(host: Host, work: Path, tmp_path: Path) -> None:
    """Reads need no question; a write asks, and its card does not call it outside."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/data.txt").write_text("shared")
    talk = Talk(host, work, script="works", directories=(tmp_path / "shared",))
    there = str(tmp_path / "shared/data.txt")
    turn = talk.prompt(["fs/read_text_file", {"path": there}], ["fs/write_text_file", {"path": there, "content": "x"}])
    (card,) = talk.questions()
    assert card.risk is not None
    assert (card.risk.severity, "Outside" in card.risk.reason) == ("medium", False)
    talk.answer(card, "allow")
    assert talk.done(turn) == [{"content": "shared"}, {}]
    assert Path(there).read_text() == "x"


def test_approval_does_not_cover_a_file_saved_after_the_card(host: Host, work: Path) -> None:
    """The second request shows the present file on a separate card."""
    path = work / "a.txt"
    path.write_text("one")
    talk = Talk(host, work, script="works")
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


def test_withdrawn_request_leaves_no_question(host: Host, work: Path, tmp_path: Path) -> None:
    """A change of the freedom during the same turn then has nothing to answer."""
    os.mkfifo(work / "go")
    talk = Talk(host, work, script="withdraws")
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
