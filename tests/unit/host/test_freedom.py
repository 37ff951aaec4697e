"""A conversation's freedom: changed in a running turn, limited, kept; and its grants, revoked."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentnb import Rehearsal, Session
from agentnb.agent.catalog import custom
from agentnb.errors import PolicyError, UsageError
from agentnb.host import Host
from agentnb.host.history.restore import read_back, recorder_of
from agentnb.host.intents import carry_out
from agentnb.host.permissions.outcome import is_harmless
from agentnb.host.permissions.session_policy import HostPolicy
from agentnb.kernel.rehearsal_result import unavailable
from agentnb.policy.audit import AuditLog
from agentnb.policy.request import Situation
from agentnb.policy.store import PolicyFiles
from agentnb.server.policy_requests import grants_of
from agentnb.state import ActionOrigin, Answerer, RehearsalFile, SessionConfigChanged, ToolCallRunningState
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.host.test_permissions import Talk, answerers, run, write
from tests.unit.server.test_service import Page

ORIGIN = ActionOrigin(client_id="page", client_seq=1)
HostOf = Callable[..., Host]


@pytest.fixture
def host_of(tmp_path: Path) -> Iterator[HostOf]:
    """Makes hosts with their own policy files and an attached user."""
    hosts: list[Host] = []

    def make(site: str = "") -> Host:
        (tmp_path / "site.toml").write_text(site)
        files = PolicyFiles(tmp_path / "config/policy.toml", site=(tmp_path / "site.toml",))
        hosts.append(Host(policy=HostPolicy(files, AuditLog(tmp_path / "data/audit.jsonl"), {})))
        hosts[-1].environment.connect(attached=lambda: True)
        return hosts[-1]

    yield make
    for host in hosts:
        host.close()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def choose(talk: Talk, **config: Any) -> None:
    action = SessionConfigChanged(config=config)
    talk.host.loop.call(lambda: carry_out(talk.host, talk.conversation.session.uri, action, ORIGIN))


def values(talk: Talk) -> dict[str, Any]:
    config = talk.conversation.session.state.config
    assert config is not None
    return config.values


def test_freedom_changed_during_a_turn_applies_at_once(host_of: HostOf, work: Path) -> None:
    """The pending edit is made, the pending command still asks; conversation and agent stay the same."""
    talk = Talk(host_of(), work)
    turn = talk.prompt(write(work / "a"), run("true"))
    assert len(talk.questions(2)) == 2
    agent = talk.conversation.agent
    choose(talk, freedom="edit")
    (command,) = talk.questions(1)
    assert command.tool_name == "execute"
    assert (talk.session.freedom, talk.session.permissions) == ("edit", "ask")
    talk.answer(command, "reject")
    talk.done(turn)
    assert Answerer(kind="freedom") in answerers(turn)
    talk.done(talk.prompt(write(work / "b")))
    talk.session.freedom = "ask"
    turn = talk.prompt(write(work / "c"))
    talk.answer(talk.questions()[0], "reject")
    talk.done(turn)
    assert ([(work / name).exists() for name in "abc"], talk.conversation.agent) == ([True, True, False], agent)


def test_unknown_freedom_is_refused(host_of: HostOf, work: Path) -> None:
    talk = Talk(host_of(), work)
    with pytest.raises(UsageError, match="freedom='most' is not one of 'ask', 'edit', 'auto'"):
        talk.session.freedom = "most"  # type: ignore[assignment]
    assert talk.session.freedom == "ask"


def test_auto_asks_for_commands_without_preview_or_confinement(
    host_of: HostOf, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control's label says that commands still ask."""
    host = host_of()
    monkeypatch.chdir(work)
    (work / ".agentnb").mkdir()
    (work / ".agentnb/settings.toml").write_text('rehearse = "off"\n')
    talk = Talk(host, work, mode="auto")
    turn = talk.prompt(run("echo hi > made.txt"))
    (call,) = talk.questions()
    page = Page(host)
    page.ready()
    label = page.ask("describeFreedom", {"channel": talk.conversation.session.uri})["result"]["auto"]
    assert label == "Edits at once. Running still asks: nothing here can confine or preview it."
    talk.answer(call, "reject")
    talk.done(turn)


SAFE = Rehearsal(files=(RehearsalFile(path="a", status="created"), RehearsalFile(path="/w/b", status="changed")))


@pytest.mark.parametrize(
    ("preview", "harmless"),
    [
        (Rehearsal(), True),
        (SAFE, True),
        (Rehearsal(exit_code=0), True),
        (Rehearsal(exit_code=1), False),
        (Rehearsal(error="ZeroDivisionError"), False),
        (Rehearsal(reason="With Landlock alone not all is seen."), False),
        (Rehearsal(connections=("x:80",)), False),
        (Rehearsal(refused=("/etc/hosts",)), False),
        (Rehearsal(more_files=1), False),
        (Rehearsal(files=(RehearsalFile(path="a", status="deleted"),)), False),
        (Rehearsal(files=(RehearsalFile(path=".env", status="changed"),)), False),
        (Rehearsal(files=(RehearsalFile(path="../a", status="created"),)), False),
        (Rehearsal(files=(RehearsalFile(path="/etc/a", status="created"),)), False),
        (unavailable("This is not Linux."), False),
    ],
)
def test_preview_is_harmless_if_complete_and_undoable(preview: Rehearsal, harmless: bool) -> None:
    assert is_harmless(preview, "/w", Situation(agent="a", root=Path("/w"))) is harmless


# --- the site's ceiling ---


def test_site_limit_caps_freedom_and_refuses_more(host_of: HostOf, work: Path) -> None:
    """Auto becomes Edit; a request for Auto or full trust names the site's policy."""
    talk = Talk(host_of('freedom_at_most = "edit"\n'), work, mode="auto")
    assert (talk.session.freedom, values(talk)["permissions"]) == ("edit", "edit")
    config = talk.conversation.session.state.config
    assert config is not None
    assert config.schema["properties"]["freedom"]["enum"] == ["ask", "edit"]
    for wanted in ({"freedom": "auto"}, {"permissions": "allow"}):
        with pytest.raises(PolicyError, match="A policy file limits agents to Edit here"):
            choose(talk, **wanted)
    choose(talk, freedom="ask")
    choose(talk, permissions="deny")
    assert talk.session.freedom == "custom"


def test_site_limit_applies_to_an_open_conversation_at_once(host_of: HostOf, work: Path, tmp_path: Path) -> None:
    talk = Talk(host_of(), work, mode="edit")
    talk.done(talk.prompt(write(work / "a")))
    (tmp_path / "site.toml").write_text('freedom_at_most = "ask"\n')
    turn = talk.prompt(write(work / "b"))
    talk.answer(talk.questions()[0], "reject")
    talk.done(turn)
    assert [(work / name).exists() for name in "ab"] == [True, False]


# --- kept ---


@pytest.mark.parametrize(("mode", "kept"), [("edit", "edit"), ("auto", "auto"), ("deny", "deny"), ("allow", "ask")])
def test_kernel_restart_keeps_freedom_but_not_full_trust(tmp_path: Path, work: Path, mode: Any, kept: str) -> None:
    """Also the conversation's sensitive files."""
    log = tmp_path / "log.db"
    first = Host(log=log)
    spec = custom([sys.executable, str(AGENTS / "echo.py")], name="echo")
    conversation = first.loop.call(lambda: first.open(spec, cwd=work, mode=mode))
    session = Session(conversation)
    action = SessionConfigChanged(config={"sensitive": ["data/**"]})
    first.loop.call(lambda: carry_out(first, conversation.session.uri, action, ORIGIN))
    session.prompt("Hello").wait(PATIENCE)
    first.close()
    second = Host(log=log)
    try:
        stored = read_back(recorder_of(second), conversation.tab_id)
        page = Page(second)
        page.ready()
        assert "result" in page.ask("resumeSession", {"channel": conversation.session.uri})
        again = second.find(conversation.session.uri)
        assert (again.mode, again.channels.sensitive) == (kept, ("data/**",))
        assert stored.record.uri == conversation.session.uri
    finally:
        second.close()


# --- sensitive files of a conversation ---


def test_sensitive_files_ask_only_in_their_conversation(host_of: HostOf, work: Path) -> None:
    """From the next request on, under any freedom, until they are removed."""
    host = host_of()
    talk, other = Talk(host, work, mode="edit"), Talk(host, work, mode="edit", name="other")
    choose(talk, sensitive=["data/**"])
    turn = talk.prompt(write(work / "data/a"))
    (call,) = talk.questions()
    assert call.risk is not None
    assert "A sensitive file, as data/** says." in call.risk.reason
    talk.answer(call, "reject")
    talk.done(turn)
    (work / "data").mkdir()
    assert other.done(other.prompt(write(work / "data/a"))) == [{}]
    choose(talk, sensitive=[])
    turn = talk.prompt(write(work / "data/b"))
    assert talk.done(turn) == [{}]


# --- grants ---


def revoke(host: Host, **which: str) -> str:
    page = Page(host)
    page.ready()
    message: str = page.ask("revokeGrant", which)["result"]["message"]
    return message


def test_revoked_grant_lets_the_running_command_finish(host_of: HostOf, work: Path) -> None:
    """The card that gave it finds it; the answer says what still runs; a second time it is gone."""
    host = host_of()
    os.mkfifo(work / "pipe")
    talk = Talk(host, work, script="runs_until")
    turn = talk.session.prompt(str(work))
    (call,) = talk.questions()
    talk.answer(call, "agentnb:always")
    running = talk.until(
        lambda: isinstance(talk.conversation.tool_call(call.tool_call_id), ToolCallRunningState) or None
    )
    assert running
    (grant,) = grants_of(host)
    assert (grant.scope, grant.text) == ("folder", f"asker may run `cat …` in {work} without asking")
    where = {"channel": talk.conversation.chat.uri, "toolCallId": call.tool_call_id}
    assert revoke(host, **where) == "Revoked. Running work continues; the next request asks."
    assert grants_of(host) == ()
    (work / "pipe").write_bytes(b"")
    (second,) = talk.questions()
    talk.answer(second, "no")
    assert turn.wait(PATIENCE).text == "ended, then refused"
    assert revoke(host, **where) == "Already revoked."
    assert revoke(host, id=grant.id) == "Already revoked."


def test_every_grant_is_listed_and_revoked_by_its_id(host_of: HostOf, work: Path, tmp_path: Path) -> None:
    """Those of a conversation, a folder and the user; full trust and the file's bypass count, too."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config/policy.toml").write_text(
        '# mine\n[[rule]]\naction = "allow"\ncommand = "git status *"\n\n[[rule]]\naction = "deny"\ncommand = "x"\n'
        f'\n[[rule]]\naction = "allow"\ntool = "edit"\nfolder = "{work}"\n'
        "\n[agents.eliza]\nbypass = true\nconfine = true\n"
    )
    host = host_of()
    talk = Talk(host, work)
    turn = talk.prompt(run("ls"))
    talk.answer(talk.questions()[0], "agentnb:session")
    talk.done(turn)
    choose(talk, permissions="allow")
    listed = grants_of(host)
    assert [(each.scope, each.text) for each in listed] == [
        ("conversation", "asker may do everything without asking, except what always asks"),
        ("conversation", "asker may run `ls …` without asking"),
        ("user", "Any agent may run `git status …` without asking"),
        ("folder", f"Any agent may edit files in {work} without asking"),
        ("user", "Tour may do everything without asking, except what always asks"),
    ]
    for grant in listed:
        assert revoke(host, id=grant.id) == "Revoked."
    assert (grants_of(host), talk.session.freedom) == ((), "ask")
    revoked = [(each.kind, each.what.partition(" →")[0], each.by) for each in host.policy.audit.records[-5:]]
    assert [kind for kind, _, _ in revoked] == ["session", "session", "policy", "policy", "policy"]
    assert [what for _, what, _ in revoked[2:]] == [*(each.rule for each in listed[2:4]), "bypass eliza"]
    text = (tmp_path / "config/policy.toml").read_text()
    assert ("# mine" in text, "bypass = false\nconfine = true" in text, text.count("[[rule]]")) == (True, True, 1)
