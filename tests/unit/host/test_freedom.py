"""A conversation's freedom: changed in a running turn, limited, kept; and its grants, revoked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentnb.errors import PolicyError, UsageError
from agentnb.state import Answerer, SessionConfigChanged, ToolCallResponsePart, ToolCallRunningState
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import NewKernel, uri_of
from tests.unit.host.kernels import host_with_policy
from tests.unit.host.talk import Talk, answerers, run, write

HostOf = Callable[..., Any]


@pytest.fixture
def host_of(tmp_path: Path) -> Iterator[HostOf]:
    """Makes hosts with their own policy files and an attached user."""
    hosts: list[Any] = []

    def make(site: str = "") -> Any:
        (tmp_path / "site.toml").write_text(site)
        hosts.append(host_with_policy(tmp_path / "config/policy.toml", tmp_path, site=tmp_path / "site.toml"))
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
    talk.kernel.act(talk.session, SessionConfigChanged(config=config))


def test_freedom_changed_during_a_turn_applies_at_once(host_of: HostOf, work: Path) -> None:
    """The pending edit is made, the pending command still asks; conversation and agent stay the same."""
    talk = Talk(host_of(), work)
    turn = talk.prompt(write(work / "a"), run("true"))
    assert len(talk.questions(2)) == 2
    agent = talk.session.health().pid
    choose(talk, freedom="edit")
    (command,) = talk.questions(1)
    assert command.tool_name == "execute"
    assert (talk.session.freedom, talk.session.permissions) == ("edit", "ask")
    talk.answer(command, "reject")
    talk.done(turn)
    assert Answerer(kind="freedom") in answerers(turn)
    talk.done(talk.prompt(write(work / "b")))
    talk.session.freedom = "ask"
    talk.reject(talk.prompt(write(work / "c")))
    assert [(work / name).exists() for name in "abc"] == [True, True, False]
    assert talk.session.health().pid == agent


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
    talk.questions()
    label = talk.kernel.ask("describeFreedom", channel=uri_of(talk.session))["auto"]
    assert label == "Edits at once. Running still asks: nothing here can confine or preview it."
    talk.reject(turn)


# --- the site's ceiling ---


def test_site_limit_caps_freedom_and_refuses_more(host_of: HostOf, work: Path) -> None:
    """Auto becomes Edit; a request for Auto or full trust names the site's policy."""
    talk = Talk(host_of('freedom_at_most = "edit"\n'), work, mode="auto")
    config = talk.session.state.config
    assert config is not None
    assert (talk.session.freedom, config.values["permissions"]) == ("edit", "edit")
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
    talk.reject(talk.prompt(write(work / "b")))
    assert [(work / name).exists() for name in "ab"] == [True, False]


# --- kept ---


def test_kernel_restart_keeps_freedom_but_not_full_trust(new_kernel: NewKernel) -> None:
    """Also the conversation's sensitive files."""
    first, modes = new_kernel(), {"edit": "edit", "auto": "auto", "deny": "deny", "allow": "ask"}
    sessions = {mode: first.start("echo", mode=mode) for mode in modes}
    for session in sessions.values():
        first.act(session, SessionConfigChanged(config={"sensitive": ["data/**"]}))
        session.prompt("Hello").wait(PATIENCE)
    first.close()
    second = new_kernel()
    for mode, kept in modes.items():
        uri = uri_of(sessions[mode])
        second.ask("resumeSession", channel=uri)
        config = second.session(uri).state.config
        assert config is not None
        assert (config.values["permissions"], config.values["sensitive"]) == (kept, ["data/**"])


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
    talk.reject(turn)
    (work / "data").mkdir()
    assert other.done(other.prompt(write(work / "data/a"))) == [{}]
    choose(talk, sensitive=[])
    assert talk.done(talk.prompt(write(work / "data/b"))) == [{}]


# --- grants ---


def listed(talk: Talk) -> list[dict[str, Any]]:
    """Returns the grants that a page shows."""
    return [dict(each) for each in talk.kernel.ask("listGrants")["grants"]]


def revoke(talk: Talk, **which: str) -> str:
    return str(talk.kernel.ask("revokeGrant", **which)["message"])


def test_revoked_grant_lets_the_running_command_finish(host_of: HostOf, work: Path) -> None:
    """The card that gave it finds it; the answer says what still runs; a second time it is gone."""
    os.mkfifo(work / "pipe")
    talk = Talk(host_of(), work, script="runs_until")
    turn = talk.session.prompt(str(work))
    (call,) = talk.questions()
    talk.answer(call, "agentnb:always")
    talk.until(lambda: True if call.tool_call_id in running(talk) else None)
    (grant,) = listed(talk)
    assert (grant["scope"], grant["text"]) == ("folder", f"asker may run `cat …` in {work} without asking")
    where = {"channel": talk.session.chat.resource, "toolCallId": call.tool_call_id}
    assert revoke(talk, **where) == "Revoked. Running work continues; the next request asks."
    assert listed(talk) == []
    (work / "pipe").write_bytes(b"")
    (second,) = talk.questions()
    talk.answer(second, "no")
    assert turn.wait(PATIENCE).text == "ended, then refused"
    assert revoke(talk, **where) == "Already revoked."
    assert revoke(talk, id=grant["id"]) == "Already revoked."


def running(talk: Talk) -> list[str]:
    """Returns the ids of the calls that run."""
    turn = talk.session.chat.active_turn
    calls = [each.tool_call for each in turn.response_parts if isinstance(each, ToolCallResponsePart)] if turn else []
    return [each.tool_call_id for each in calls if isinstance(each, ToolCallRunningState)]


def test_every_grant_is_listed_and_revoked_by_its_id(host_of: HostOf, work: Path, tmp_path: Path) -> None:
    """Those of a conversation, a folder and the user; full trust and the file's bypass count; then all asks again."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config/policy.toml").write_text(
        '# mine\n[[rule]]\naction = "allow"\ncommand = "git status *"\n\n[[rule]]\naction = "deny"\ncommand = "x"\n'
        f'\n[[rule]]\naction = "allow"\ntool = "edit"\nfolder = "{work}"\n'
        "\n[agents.eliza]\nbypass = true\nconfine = true\n"
    )
    talk = Talk(host_of(), work)
    turn = talk.prompt(run("ls"))
    talk.answer(talk.questions()[0], "agentnb:session")
    talk.done(turn)
    choose(talk, permissions="allow")
    grants = listed(talk)
    assert [(each["scope"], each["text"]) for each in grants] == [
        ("conversation", "asker may do everything without asking, except what always asks"),
        ("conversation", "asker may run `ls …` without asking"),
        ("user", "Any agent may run `git status …` without asking"),
        ("folder", f"Any agent may edit files in {work} without asking"),
        ("user", "Tour may do everything without asking, except what always asks"),
    ]
    for grant in grants:
        assert revoke(talk, id=grant["id"]) == "Revoked."
    assert (listed(talk), talk.session.freedom) == ([], "ask")
    revoked = [(each.kind, each.what.partition(" →")[0], each.by) for each in talk.log[-5:]]
    assert [kind for kind, _, _ in revoked] == ["session", "session", "policy", "policy", "policy"]
    assert [what for _, what, _ in revoked[2:]] == [*(each["rule"] for each in grants[2:4]), "bypass eliza"]
    text = (tmp_path / "config/policy.toml").read_text()
    assert ("# mine" in text, "bypass = false\nconfine = true" in text, text.count("[[rule]]")) == (True, True, 1)
    for request in (run("ls"), write(work / "a")):
        assert "code" in talk.reject(talk.prompt(request))[0]
