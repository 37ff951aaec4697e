"""The settings in the page: which it gets, changes and must confirm, and where *New conversation* leads."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import PermissionQuestion, Session
from tests.unit.api.conftest import AGENTS, PATIENCE, KernelSettings
from tests.unit.host.conftest import until
from tests.unit.server.asking_page import Page, channel_of, happen, idle_session, turn


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's settings folder, empty; the current folder is another one."""
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "conf"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "conf"


@pytest.fixture
def page(page: Page) -> Page:
    """A page of a kernel with these settings."""
    page.host.environment.connect(settings=KernelSettings())
    return page


def change(page: Page, name: str, value: object, **more: object) -> dict[str, Any]:
    """Returns the answer to the change of a setting."""
    return page.ask("changeSetting", {"name": name, "value": value, **more})


def confirmed(page: Page, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Sends a request and confirms it if that is needed; returns the first result."""
    result: dict[str, Any] = page.ask(method, params)["result"]
    if "confirm" in result:
        assert page.ask(method, {**params, "confirmed": result["confirm"]})["result"] == {}
    return result


def values() -> dict[str, Any]:
    """Returns the settings, as Python shows them."""
    return {each.name: each.value for each in agentnb.settings()}


def test_wider_permissions_need_the_exact_confirmation(page: Page, folder: Path) -> None:
    """Another sentence, or another value's, confirms nothing; a narrower value needs none."""
    sentence = change(page, "permissions", "allow")["result"]["confirm"]
    for wrong in ("yes", sentence.replace("Allow", "Deny"), f"{sentence} "):
        assert change(page, "permissions", "allow", confirmed=wrong)["result"] == {"confirm": sentence}
    assert not (folder / "settings.toml").exists()
    assert change(page, "permissions", "allow", confirmed=sentence)["result"] == {}
    assert change(page, "permissions", "deny", was="allow", checks=True)["result"] == {}
    asked = {"was": "allow", "checks": True}
    sentence = change(page, "permissions", "ask", **asked)["result"]["confirm"]
    late = change(page, "permissions", "ask", **asked, confirmed=sentence)
    assert "It was changed meanwhile" in late["error"]["message"]
    assert values()["permissions"] == "deny"


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
    result = confirmed(page, "changeSetting", {"name": "log_days", "value": 30})
    assert ("(now: 0 conversations)" in result["confirm"], values()["log_days"]) == (True, 30)
    assert change(page, "log_days", None)["result"] == {}
    assert change(page, "log_max", "")["result"] == {}


def test_page_adds_and_removes_one_mcp_server(page: Page, folder: Path) -> None:
    """The user confirms a new server with its command; no page gets the variables."""
    folder.mkdir()
    file = folder / "settings.toml"
    file.write_text('# mine\nmcp_servers = { db = { command = "x", env = { KEY = "k-1" } } }\n', encoding="utf-8")
    for name, line, env in (("git", "uvx 'mcp server' --verbose", {"TOKEN": "k-2"}), ("docs", "https://x.org/mcp", {})):
        params = {"name": name, "server": {"line": line, "env": env}}
        assert line in confirmed(page, "changeMcpServer", params)["confirm"]
    db = {"command": "x", "env": {"KEY": "k-1"}}
    git = {"command": "uvx", "args": ["mcp server", "--verbose"], "env": {"TOKEN": "k-2"}}
    docs = {"url": "https://x.org/mcp"}
    assert values()["mcp_servers"] == {"db": db, "git": git, "docs": docs}
    listing = json.dumps(page.ask("listSettings", {})["result"])
    assert [secret for secret in ("k-1", "k-2") if secret in listing] == []
    assert confirmed(page, "changeMcpServer", {"name": "db"}) == {}
    assert values()["mcp_servers"] == {"git": git, "docs": docs}
    for line in ("", '"', "uvx 'a"):
        assert page.refused("changeMcpServer", name="bad", server={"line": line})
    assert file.read_text(encoding="utf-8").startswith("# mine\n")
    file.write_text('mcp_servers = "~/mcp.json"\n', encoding="utf-8")
    assert "are in the file ~/mcp.json" in page.refused("changeMcpServer", name="git")


def test_page_adds_tests_and_removes_rules_and_trusted_folders(page: Page) -> None:
    """The user confirms an allow rule, and the removal of a deny rule."""

    def policy(**params: object) -> str:
        return str(confirmed(page, "changePolicy", params).get("confirm", ""))

    def outcome() -> object:
        return page.ask("testPolicy", {"command": "git push origin main"})["result"]["outcome"]

    work = str(Path.cwd())
    assert policy(action="add", rule={"action": "deny", "command": ["git push *"]}) == ""
    assert outcome() == "deny"
    assert "Add the rule" in policy(action="add", rule={"action": "allow", "command": ["git *"]})
    assert outcome() == "deny"  # no rule allows anything in an untrusted folder
    assert "Trust" in policy(action="trust", folder=work)
    assert outcome() == "allow"
    listing = page.ask("listSettings", {})["result"]
    texts = [rule["text"] for rule in listing["rules"]]
    assert (listing["trusted"], texts) == ([work], ["deny git push *", "allow git *"])
    assert "Remove the rule" in policy(action="remove", number=1, text="deny git push *")
    assert policy(action="remove", number=1, text="allow git *") == ""
    assert policy(action="untrust", folder=work) == ""
    listing = page.ask("listSettings", {})["result"]
    assert (listing["trusted"], listing["rules"]) == ([], [])


def opened(page: Page, **params: object) -> Session:
    """Returns the conversation that *New conversation* leads to."""
    channel = page.ask("createSession", {"agent": "eliza", **params})["result"]["channel"]
    return Session(page.host.find(channel))


def test_new_conversation_uses_folder_and_permission_settings(page: Page, tmp_path: Path) -> None:
    """A missing folder cannot be set; if it disappears later, an error says so and no tab opens."""
    there = tmp_path / "there"
    there.mkdir()
    assert "is not a folder" in change(page, "cwd", f"{tmp_path}/gone")["error"]["message"]
    for name, value in (("cwd", str(there)), ("permissions", "deny")):
        confirmed(page, "changeSetting", {"name": name, "value": value})
    session = opened(page)
    assert (session.state.working_directories, session.permissions) == ((there.as_uri(),), "deny")
    there.rmdir()
    error = page.refused("createSession", agent="eliza")
    assert f"settings.toml, line 3, cwd: The working folder '{there}' is not a folder." in error
    assert len(page.host.conversations) == 1


def test_new_conversation_reuses_an_empty_one_of_the_same_agent(page: Page) -> None:
    """One with a draft, other permissions or other kernel access does not count as empty."""
    first = opened(page).tab_id
    assert opened(page).tab_id == first
    page.say("draft", {"channel": f"eliza:/{first}", "text": "half a se"})
    second = opened(page)
    assert second.tab_id != first
    page.dispatch(channel_of(second), {"type": "session/configChanged", "config": {"permissions": "deny"}})
    third = opened(page)
    assert third.tab_id not in (first, second.tab_id)
    tab = "5a1f3f2e-6a3b-4a58-9f0e-0c1d2e3f4a5b"
    assert (opened(page, tabId=tab).tab_id, opened(page, tabId=tab, kernel="run").tab_id) == (tab, tab)


def test_new_conversation_reuses_an_empty_one_only_in_its_folder(page: Page, tmp_path: Path) -> None:
    """Back in the first folder its empty conversation is reused, until it has a turn."""

    def in_folder(name: str) -> Session:
        (tmp_path / name).mkdir(exist_ok=True)
        confirmed(page, "changeSetting", {"name": "cwd", "value": str(tmp_path / name)})
        return opened(page)

    first, second = in_folder("here").tab_id, in_folder("there").tab_id
    again = in_folder("here")
    assert (again.tab_id, second == first) == (first, False)
    started, ended = turn(1, "Go")
    happen(page.host, again, started)
    third = in_folder("here").tab_id
    happen(page.host, again, ended)
    assert (third in (first, second), in_folder("here").tab_id) == (False, third)


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
    """Of settings, rules and agents; every page's list has a new agent. A page that does not watch gets no notice."""
    other = Page(page.host, "page-2")
    other.ready()
    assert page.ask("watchSettings", {"on": True})["result"] == {}
    (folder / "agents").mkdir(parents=True)
    for name, text in (
        ("settings.toml", 'agent = "claude"\n'),
        ("policy.toml", '[[rule]]\naction = "deny"\n'),
        ("agents/by-hand.toml", 'name = "by-hand"\ntitle = "By hand"\ncommand = ["a"]\n'),
    ):
        (folder / name).write_text(text, encoding="utf-8")
        assert page.hear("settingsChanged")["params"] == {}
    assert "by-hand" in [each.provider for each in page.host.root.state.agents]
    assert page.ask("watchSettings", {"on": False})["result"] == {}
    assert [one for one in other.messages.queue if one.get("method") == "settingsChanged"] == []


MINE = {"line": "no-such-program --acp", "env": {"KEY": "k-1"}}


def test_page_adds_changes_and_removes_a_custom_agent(page: Page, folder: Path) -> None:
    """The user confirms each command; the list of agents follows, and no page gets a variable's value."""

    def ask(**params: object) -> dict[str, Any]:
        result = confirmed(page, "changeOwnAgent", {"name": "mine", **params})
        assert "mine" in result["confirm"]
        return result

    def agent(name: str) -> dict[str, Any]:
        return next(each for each in page.ask("listSettings", {})["result"]["agents"] if each["name"] == name)

    question = page.ask("changeOwnAgent", {"name": "mine", "agent": MINE})["result"]["confirm"]
    assert [each in question for each in ("no-such-program --acp", "KEY", "is not on this machine")] == [True] * 3
    assert ("k-1" in question, folder.exists()) == (False, False)
    ask(agent=MINE)
    assert "mine" in [each.provider for each in page.host.root.state.agents]
    assert agent("mine")["variables"] == ["KEY"]
    state = agent("mine")["state"]
    ask(agent={"line": "other", "env": {"KEY": None}}, state=state)
    assert (folder / "agents/mine.toml").read_text(encoding="utf-8").count("k-1") == 1
    assert "k-1" not in json.dumps(page.ask("listSettings", {}))
    sentence = page.ask("changeOwnAgent", {"name": "mine", "state": state})["result"]["confirm"]
    assert "meanwhile" in page.refused("changeOwnAgent", name="mine", state=state, confirmed=sentence)
    ask(state=agent("mine")["state"])
    assert "mine" not in [each.provider for each in page.host.root.state.agents]
    assert "not a command" in page.refused("changeOwnAgent", name="mine", agent={"line": "'"})


def test_settings_list_the_models_of_open_conversations(page: Page, tmp_path: Path) -> None:
    """Each model appears once, with the agent's name for it."""
    assert page.ask("listSettings", {})["result"]["models"] == []
    for _ in range(2):
        command = (sys.executable, str(AGENTS / "settings.py"), "both")
        idle_session(page.host, tmp_path, *command, name="models").open(PATIENCE)
    assert page.ask("listSettings", {})["result"]["models"] == [
        {"agent": "models", "id": "m1", "name": "One"},
        {"agent": "models", "id": "m2", "name": "Two"},
    ]


def test_page_lists_and_revokes_answers_of_open_conversations(page: Page, tmp_path: Path) -> None:
    """Each answer has its conversation and a button that revokes it."""
    page.host.environment.connect(attached=lambda: True)
    session = idle_session(page.host, tmp_path / "work")
    running = session.prompt("/write a.txt new")
    until(page.host, session, lambda: session.questions)
    (question,) = session.questions
    assert isinstance(question, PermissionQuestion)
    question.answer("agentnb:session")
    running.wait(PATIENCE)
    (grant,) = page.ask("listGrants", {})["result"]["grants"]
    assert (grant["session"], grant["scope"]) == (channel_of(session), "conversation")
    assert grant["text"] == "Tour may edit files without asking"
    assert page.ask("revokeGrant", {"id": grant["id"]})["result"] == {"message": "Revoked."}
    assert page.ask("listGrants", {})["result"]["grants"] == []
    assert page.ask("revokeGrant", {"id": grant["id"]})["result"] == {"message": "Already revoked."}
    assert "error" in page.ask("revokeGrant", {})
