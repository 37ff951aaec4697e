"""The settings in the page: which it gets, changes and must confirm, and where *New conversation* leads."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from agentnb.agent.catalog import custom
from agentnb.configuration.sources import read_settings
from agentnb.host import Host
from agentnb.host.conversation import Conversation
from agentnb.state import ChatTurnComplete, ChatTurnStarted, Message, MessageOrigin, XConfigOptionsChanged
from tests.unit.api.conftest import KernelSettings
from tests.unit.host.test_permissions import Talk, write
from tests.unit.server.test_service import Page


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's settings folder, empty; the current folder is another one."""
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "conf"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "conf"


@pytest.fixture
def page(host: Host) -> Page:
    """A page of a kernel with these settings."""
    host.environment.connect(settings=KernelSettings())
    page = Page(host)
    page.ready()
    return page


def change(page: Page, name: str, value: object, **more: object) -> dict[str, Any]:
    """Returns the answer to the change of a setting."""
    return page.ask("changeSetting", {"name": name, "value": value, **more})


def test_wider_permissions_need_the_exact_confirmation(page: Page, folder: Path) -> None:
    """Another sentence, or another value's, confirms nothing; a narrower value needs none."""
    sentence = change(page, "permissions", "allow")["result"]["confirm"]
    for wrong in ("yes", sentence.replace("Allow", "Deny"), f"{sentence} "):
        assert change(page, "permissions", "allow", confirmed=wrong)["result"] == {"confirm": sentence}
    assert not (folder / "settings.toml").exists()
    assert change(page, "permissions", "allow", confirmed=sentence)["result"] == {}
    assert change(page, "permissions", "deny", was="allow", checks=True)["result"] == {}
    error = change(page, "permissions", "ask", was="allow", checks=True)
    assert (
        "It was changed meanwhile"
        in change(page, "permissions", "ask", was="allow", checks=True, confirmed=error["result"]["confirm"])["error"][
            "message"
        ]
    )
    assert read_settings()["permissions"].value == "deny"


def test_settings_listing_has_no_secrets(page: Page, folder: Path) -> None:
    """Neither the variables of MCP servers nor a password in an address."""
    folder.mkdir()
    servers = 'mcp_servers = { db = { command = "x", env = { KEY = "secret-1" }, args = ["secret-2"] } }\n'
    (folder / "settings.toml").write_text(f"{servers}warm = 3\n", encoding="utf-8")
    (folder / "local.toml").write_text('url = "http://me:secret-3@127.0.0.1/v1"\n', encoding="utf-8")
    listing = page.ask("listSettings", {})["result"]
    assert "secret-" not in json.dumps(listing)
    settings = {each["name"]: each for group in listing["groups"] for each in group["settings"]}
    assert (settings["mcp_servers"]["value"], settings["mcp_servers"]["source"]) == (["db"], "user")
    assert "warm cannot be 3." in "\n".join(listing["problems"])


def test_folder_list_stays_in_the_home_and_kernel_folder(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists no hidden folders, files or folders outside, even through a link; other paths are errors."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    for name in ("b", "A", ".hidden"):
        (work / name).mkdir()
    (work / "file").touch()
    (work / "out").symlink_to(tmp_path)
    assert page.ask("listFolders", {})["result"] == {"path": str(work), "folders": ["A", "b", "out"], "isCut": False}
    assert page.ask("listFolders", {"path": str(work / "A")})["result"]["parent"] == str(work)
    for path in ("/", str(work / "out"), str(work / "file"), str(work / "gone"), "a\0b", "~nobody-of-that-name/x"):
        assert "error" in page.ask("listFolders", {"path": path})


def test_log_limit_confirmation_says_how_much_it_deletes(page: Page) -> None:
    """An invalid size is refused; removing the limit needs no confirmation."""
    assert "It must be a size" in change(page, "log_max", "much")["error"]["message"]
    sentence = change(page, "log_days", 30)["result"]["confirm"]
    assert "(now: 0 conversations)" in sentence
    assert change(page, "log_days", 30, confirmed=sentence)["result"] == {}
    assert read_settings()["log_days"].value == 30
    assert change(page, "log_days", None)["result"] == {}
    assert change(page, "log_max", "")["result"] == {}


def test_page_adds_and_removes_one_mcp_server(page: Page, folder: Path) -> None:
    """The user confirms a new server with its command; no page gets the variables."""
    folder.mkdir()
    file = folder / "settings.toml"
    file.write_text('# mine\nmcp_servers = { db = { command = "x", env = { KEY = "k-1" } } }\n', encoding="utf-8")

    def server(name: str, line: str | None, **more: object) -> dict[str, Any]:
        params = {"name": name, **({} if line is None else {"server": {"line": line, **more}})}
        answer = page.ask("changeMcpServer", params)
        if "confirm" in answer.get("result", {}):
            assert line is not None
            assert line in answer["result"]["confirm"]
            return page.ask("changeMcpServer", {**params, "confirmed": answer["result"]["confirm"]})
        return answer

    assert server("git", "uvx 'mcp server' --verbose", env={"TOKEN": "k-2"})["result"] == {}
    assert server("docs", "https://example.org/mcp")["result"] == {}
    db = {"command": "x", "env": {"KEY": "k-1"}}
    git = {"command": "uvx", "args": ["mcp server", "--verbose"], "env": {"TOKEN": "k-2"}}
    docs = {"url": "https://example.org/mcp"}
    assert read_settings()["mcp_servers"].value == {"db": db, "git": git, "docs": docs}
    listing = json.dumps(page.ask("listSettings", {})["result"])
    assert [secret for secret in ("k-1", "k-2") if secret in listing] == []
    assert server("db", None)["result"] == {}
    assert read_settings()["mcp_servers"].value == {"git": git, "docs": docs}
    for line in ("", '"', "uvx 'a"):
        assert "error" in server("bad", line)
    assert file.read_text(encoding="utf-8").startswith("# mine\n")
    file.write_text('mcp_servers = "~/mcp.json"\n', encoding="utf-8")
    assert "are in the file ~/mcp.json" in page.ask("changeMcpServer", {"name": "git"})["error"]["message"]


def test_page_adds_tests_and_removes_rules_and_trusted_folders(page: Page, folder: Path) -> None:
    """The user confirms an allow rule, and the removal of a deny rule."""

    def policy(**params: object) -> dict[str, Any]:
        result: dict[str, Any] = page.ask("changePolicy", params)["result"]
        if "confirm" in result:
            assert page.ask("changePolicy", {**params, "confirmed": result["confirm"]})["result"] == {}
        return result

    push = {"command": "git push origin main"}
    assert policy(action="add", rule={"action": "deny", "command": ["git push *"]}) == {}
    assert page.ask("testPolicy", push)["result"]["outcome"] == "deny"
    assert "Add the rule" in policy(action="add", rule={"action": "allow", "command": ["git *"]})["confirm"]
    assert page.ask("testPolicy", push)["result"]["outcome"] == "deny"  # no rule allows anything in an untrusted folder
    work = str(Path.cwd())
    assert "Trust" in policy(action="trust", folder=work)["confirm"]
    assert page.ask("testPolicy", push)["result"]["outcome"] == "allow"
    listing = page.ask("listSettings", {})["result"]
    assert (listing["trusted"], [rule["text"] for rule in listing["rules"]]) == (
        [work],
        ["deny git push *", "allow git *"],
    )
    assert "Remove the rule" in policy(action="remove", number=1, text="deny git push *")["confirm"]
    assert policy(action="remove", number=1, text="allow git *") == {}
    assert policy(action="untrust", folder=work) == {}
    listing = page.ask("listSettings", {})["result"]
    assert (listing["trusted"], listing["rules"]) == ([], [])


def test_new_conversation_uses_folder_and_permission_settings(page: Page, tmp_path: Path) -> None:
    """A missing folder cannot be set; if it disappears later, an error says so and no tab opens."""
    there = tmp_path / "there"
    there.mkdir()
    assert "is not a folder" in change(page, "cwd", f"{tmp_path}/gone")["error"]["message"]
    for name, value in (("cwd", str(there)), ("permissions", "deny")):
        sentence = change(page, name, value)["result"].get("confirm", "")
        change(page, name, value, confirmed=sentence)
    opened = page.host.find(page.ask("createSession", {"agent": "eliza"})["result"]["channel"])
    assert (opened.cwd, opened.mode) == (there, "deny")
    there.rmdir()
    error = page.ask("createSession", {"agent": "eliza"})["error"]["message"]
    assert f"settings.toml, line 3, cwd: The working folder '{there}' is not a folder." in error
    assert len(page.host.conversations) == 1


def test_new_conversation_reuses_an_empty_one_of_the_same_agent(page: Page) -> None:
    """A conversation with a draft, other permissions or other kernel access does not count as empty."""

    def new(**params: object) -> str:
        channel: str = page.ask("createSession", {"agent": "eliza", **params})["result"]["channel"]
        return channel

    first = new()
    assert new() == first
    page.say("draft", {"channel": page.host.find(first).chat.uri, "text": "half a se"})
    second = new()
    assert second != first
    page.dispatch(second, {"type": "session/configChanged", "config": {"permissions": "deny"}})
    third = new()
    assert third not in (first, second)
    tab = "5a1f3f2e-6a3b-4a58-9f0e-0c1d2e3f4a5b"
    named = new(tabId=tab)
    assert named not in (first, second, third)
    assert new(tabId=tab, kernel="run") == named  # two windows reopen it after a kernel restart


def test_new_conversation_reuses_an_empty_one_only_in_its_folder(page: Page, tmp_path: Path) -> None:
    """Back in the first folder its empty conversation is reused, until it has a turn."""

    def new_in(folder: Path) -> Conversation:
        sentence = change(page, "cwd", str(folder))["result"].get("confirm", "")
        change(page, "cwd", str(folder), confirmed=sentence)
        return page.host.find(page.ask("createSession", {"agent": "eliza"})["result"]["channel"])

    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    first, second = new_in(here), new_in(there)
    assert (first.cwd, second.cwd) == (here, there)
    assert new_in(here) is first
    turn = ChatTurnStarted(turn_id="t1", message=Message(text="Go", origin=MessageOrigin(kind="user")))
    page.host.loop.call(first.dispatch, turn)
    third = new_in(here)
    assert (third is first, third.cwd) == (False, here)
    page.host.loop.call(first.dispatch, ChatTurnComplete(turn_id="t1"))
    assert new_in(here) is third


def test_look_and_agent_order_changes_reach_every_page(page: Page) -> None:
    """A hidden agent is marked; its open conversations still have its name."""
    order = [each.provider for each in page.host.root.state.agents]
    change(page, "agents_order", [order[2], "unknown"])
    change(page, "agents_hidden", ["eliza"])
    change(page, "density", "compact")
    state = page.host.root.state
    assert [each.provider for each in state.agents] == [order[2], *order[:2], *order[3:]]
    assert [each.provider for each in state.agents if each.hidden] == ["eliza"]
    assert state.config is not None
    assert state.config.values["look"] == {"density": "compact"}
    change(page, "density", None)
    assert page.host.root.state.config is not None
    assert page.host.root.state.config.values["look"] == {}


def test_page_watching_settings_gets_notice_of_edited_files(page: Page, folder: Path) -> None:
    """Reports edits of settings and rules; a page that does not watch gets nothing."""
    other = Page(page.host, "page-2")
    other.ready()
    assert page.ask("watchSettings", {"on": True})["result"] == {}
    folder.mkdir()
    (folder / "settings.toml").write_text('agent = "claude"\n', encoding="utf-8")
    assert page.hear("settingsChanged")["params"] == {}
    (folder / "policy.toml").write_text('[[rule]]\naction = "deny"\n', encoding="utf-8")
    assert page.hear("settingsChanged")["params"] == {}
    assert page.ask("watchSettings", {"on": False})["result"] == {}
    assert [one for one in other.messages.queue if one.get("method") == "settingsChanged"] == []


def test_page_adds_changes_and_removes_a_custom_agent(page: Page, folder: Path) -> None:
    """The user confirms each command; the list of agents follows, and no page gets a variable's value."""

    def ask(name: str, **params: object) -> dict[str, Any]:
        answer = page.ask("changeOwnAgent", {"name": name, **params})
        if "confirm" not in answer.get("result", {}):
            return answer
        assert name in answer["result"]["confirm"]
        return page.ask("changeOwnAgent", {"name": name, **params, "confirmed": answer["result"]["confirm"]})

    def agent(name: str) -> dict[str, Any]:
        return next(each for each in page.ask("listSettings", {})["result"]["agents"] if each["name"] == name)

    line = "no-such-program --acp"
    question = page.ask("changeOwnAgent", {"name": "mine", "agent": {"line": line, "env": {"KEY": "k-1"}}})
    assert [each in question["result"]["confirm"] for each in (line, "KEY", "k-1", "is not on this machine")] == [
        True,
        True,
        False,
        True,
    ]
    assert not folder.exists()
    assert ask("mine", agent={"line": line, "env": {"KEY": "k-1"}})["result"] == {}
    assert "mine" in [each.provider for each in page.host.root.state.agents]
    assert agent("mine")["variables"] == ["KEY"]
    state = agent("mine")["state"]
    assert ask("mine", agent={"line": "other", "env": {"KEY": None}}, state=state)["result"] == {}
    assert (folder / "agents/mine.toml").read_text(encoding="utf-8").count("k-1") == 1
    assert "k-1" not in json.dumps(page.ask("listSettings", {}))
    assert "meanwhile" in ask("mine", state=state)["error"]["message"]
    assert ask("mine", state=agent("mine")["state"])["result"] == {}
    assert "mine" not in [each.provider for each in page.host.root.state.agents]
    assert "not a command" in ask("mine", agent={"line": "'"})["error"]["message"]


def test_page_watching_settings_gets_notice_of_a_new_agent_file(page: Page, folder: Path) -> None:
    """Every page's list of agents has it too."""
    page.ask("watchSettings", {"on": True})
    (folder / "agents").mkdir(parents=True)
    text = 'name = "by-hand"\ntitle = "By hand"\ncommand = ["a"]\n'
    (folder / "agents/by-hand.toml").write_text(text, encoding="utf-8")
    assert page.hear("settingsChanged")["params"] == {}
    assert "by-hand" in [each.provider for each in page.host.root.state.agents]


def test_settings_list_the_models_of_open_conversations(page: Page, tmp_path: Path) -> None:
    """Each model appears once, with the agent's name for it."""
    agent = custom([sys.executable, str(Path(__file__).parents[2] / "agents/settings.py"), "both"], name="models")
    changes: SimpleQueue[object] = SimpleQueue()
    host = page.host
    host.loop.call(
        host.listen,
        lambda _, envelope: changes.put(None) if isinstance(envelope.action, XConfigOptionsChanged) else None,
    )
    assert page.ask("listSettings", {})["result"]["models"] == []
    message = {"text": "go", "origin": {"kind": "user"}}
    for seq, turn in enumerate(("t1", "t2"), 1):
        chat = host.loop.call(lambda: host.open(agent, cwd=tmp_path)).chat.uri
        page.dispatch(chat, {"type": "chat/turnStarted", "turnId": turn, "message": message}, seq=seq)
        changes.get(timeout=60)
    assert page.ask("listSettings", {})["result"]["models"] == [
        {"agent": "models", "id": "m1", "name": "One"},
        {"agent": "models", "id": "m2", "name": "Two"},
    ]


def test_page_lists_and_revokes_answers_of_open_conversations(page: Page, host: Host, tmp_path: Path) -> None:
    """Each answer has its conversation and a button that revokes it."""
    host.environment.connect(attached=lambda: True)
    talk = Talk(host, tmp_path / "work", name="asker")
    turn = talk.prompt(write(tmp_path / "work/a.txt"))
    talk.answer(talk.questions()[0], "agentnb:session")
    talk.done(turn)
    (grant,) = page.ask("listGrants", {})["result"]["grants"]
    assert (grant["session"], grant["scope"]) == (talk.conversation.session.uri, "conversation")
    assert grant["text"] == "asker may edit files without asking"
    assert page.ask("revokeGrant", {"id": grant["id"]})["result"] == {"message": "Revoked."}
    assert page.ask("listGrants", {})["result"]["grants"] == []
    assert page.ask("revokeGrant", {"id": grant["id"]})["result"] == {"message": "Already revoked."}
    assert "error" in page.ask("revokeGrant", {})
