"""The chat's requests to the kernel: completion, drafts, a new agent, a tab closed and reopened."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from msgspec.structs import replace

from agentnb import Session
from agentnb.agent.catalog import custom
from agentnb.host import Host
from agentnb.host.conversation import Conversation
from agentnb.server.client_requests import LONGEST_DRAFT
from agentnb.server.service import Service
from agentnb.state import SessionStatus
from agentnb.state.versions import WINDOW
from tests.unit.api.conftest import AGENTS, PATIENCE, KernelSettings
from tests.unit.host.conftest import until
from tests.unit.server.test_service import Page


@pytest.fixture
def page(host: Host) -> Page:
    page = Page(host)
    page.ready()
    return page


def test_refresh_finds_an_agent_installed_meanwhile(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every page learns of it: installed agents come first, by rank, without an install command."""
    before = page.host.root.state.agents
    assert [each.provider for each in before if each.missing][:3] == ["claude", "codex", "gemini"]
    assert before[-1].install is not None
    assert "codex" not in page.ask("refreshAgents", {})["result"]["installed"]
    assert page.host.root.state.agents is before
    program = tmp_path / ("codex-acp.cmd" if os.name == "nt" else "codex-acp")
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert "codex" in page.ask("refreshAgents", {})["result"]["installed"]
    first = page.host.root.state.agents[0]
    assert (first.provider, first.missing, first.install) == ("codex", None, None)


@pytest.mark.parametrize("method", ["complete", "suggestPrompts", "restartAgent", "forkSession", "openSession"])
@pytest.mark.parametrize(("params", "code"), [({}, -32602), ({"channel": "eliza:/none", "start": ""}, -32001)])
def test_invalid_request_gets_an_error_answer(
    page: Page, conversation: Conversation, method: str, params: dict[str, Any], code: int
) -> None:
    """Also from methods that answer later."""
    assert page.ask(method, params)["error"]["code"] == code


def test_open_tab_starts_its_agent_before_the_first_prompt(page: Page, conversation: Conversation) -> None:
    """Several views open one session; the mode chosen in it holds for the first prompt."""
    session = Session(conversation)
    assert (session.state.lifecycle, session.state.modes, session.state.agent_process) == ("creating", None, None)
    for view in ("page-1", "page-2"):
        page.say("openSession", {"channel": conversation.chat.uri}, id=view)
        assert page.hear("id")["result"] == {}
    until(page.host, session, lambda: session.state.lifecycle == "ready")
    opened, agent = conversation.session_id, conversation.agent
    until(page.host, session, lambda: bool(session.state.commands))
    page.dispatch(conversation.session.uri, {"type": "x-agentnb/modeChanged", "modeId": "plain"})
    until(
        page.host, session, lambda: session.state.modes is not None and session.state.modes.current_mode_id == "plain"
    )
    page.ask("openSession", {"channel": conversation.session.uri})
    session.open(PATIENCE)
    assert session.prompt("Just as I say.").wait(PATIENCE).text == "Just as I say."
    assert (conversation.session_id, conversation.agent) == (opened, agent)


def test_tab_says_how_to_install_an_agent_that_cannot_start(page: Page, tmp_path: Path) -> None:
    """The error is in the session's state and its tab is marked; the transcript stays empty."""
    spec = replace(custom(["no-such-agent"], name="missing"), install="npm install missing")
    missing = page.host.loop.call(lambda: page.host.open(spec, cwd=tmp_path))
    assert page.ask("openSession", {"channel": missing.session.uri})["result"] == {}
    until(page.host, Session(missing), lambda: missing.session.state.lifecycle == "failed")
    error = missing.session.state.creation_error
    assert error is not None
    assert "npm install missing" in error.message
    assert (missing.chat.state.active_turn, missing.chat.state.turns) == (None, ())
    assert missing.channels.summary.status == SessionStatus.ERROR | SessionStatus.IS_READ


def test_fork_copies_a_session_when_the_agent_supports_it(page: Page, conversation: Conversation) -> None:
    """The copy is a tab with the same turns; a running agent's state has the capability."""
    Session(conversation).prompt("/say my cat").wait(PATIENCE)
    process = conversation.session.state.agent_process
    assert process is not None
    assert process.fork is True
    result = page.ask("forkSession", {"channel": conversation.chat.uri})["result"]
    copy = page.host.find(result["channel"])
    assert (result["chat"], copy.session.state.title) == (copy.chat.uri, "/say my cat (copy)")
    assert copy.chat.state.turns == conversation.chat.state.turns
    assert copy.session_id not in (None, conversation.session_id)


def test_impossible_fork_is_refused_with_the_reason(page: Page, conversation: Conversation, tmp_path: Path) -> None:
    """A turn is running, or the agent cannot copy sessions; no tab remains."""
    spec = custom([sys.executable, str(AGENTS / "keeps.py"), "list"], name="keeps")
    other = page.host.loop.call(lambda: page.host.open(spec, cwd=tmp_path))
    Session(other).prompt("go").wait(PATIENCE)
    process = other.session.state.agent_process
    assert process is not None
    assert process.fork is None
    assert (
        "does not offer to copy a session" in page.ask("forkSession", {"channel": other.chat.uri})["error"]["message"]
    )
    running = Session(conversation).prompt("/hang")
    next(iter(running))
    error = page.ask("forkSession", {"channel": conversation.session.uri})["error"]
    assert (error["code"], "A turn runs in" in error["message"]) == (-32012, True)
    assert len(page.host.conversations) == 2


def test_tab_opened_in_the_chat_uses_configured_mcp_servers(tmp_path: Path) -> None:
    """Both a new tab and one from the log; an error in the settings is reported, and no tab remains."""
    servers: dict[str, Any] = {"docs": {"url": "https://x.test/mcp"}}
    host = Host(log=tmp_path / "log.db")
    page = Page(host)
    page.ready()
    settings = KernelSettings(mcp_servers=servers, local_model="small")
    host.environment.connect(settings=settings)
    assert host.environment.default_variables("local") == {"AGENTNB_LOCAL_MODEL": "small"}
    try:
        opened = host.find(page.ask("createSession", {"agent": "eliza"})["result"]["channel"])
        assert [server.name for server in opened.configuration.components] == ["docs"]
        assert opened.configuration.env == {}
        Session(opened).prompt("/say x").wait(PATIENCE)
        host.loop.submit(opened.close()).result(PATIENCE)
        servers["more"] = {"url": "https://y.test/mcp"}
        again = host.find(page.ask("resumeSession", {"channel": opened.session.uri})["result"]["channel"])
        assert [server.name for server in again.configuration.components] == ["docs", "more"]
        servers["bad"] = {}
        assert "bad" in page.ask("createSession", {"agent": "eliza"})["error"]["message"]
        assert len(host.conversations) == 1
    finally:
        host.close()


def test_draft_reaches_other_and_later_windows(page: Page, conversation: Conversation) -> None:
    """The sending window does not get it; a window opened later gets it in its handshake, until it is sent."""
    uri = conversation.chat.uri
    messages: Queue[tuple[str, dict[str, Any]]] = Queue()
    service = page.service = Service(page.host, lambda client, message, *_: messages.put((client, message)))
    first, second = Page(page.host, "first"), Page(page.host, "second")
    first.service = second.service = service
    for window in (first, second):
        window.say("initialize", {"protocolVersions": [WINDOW.current], "visible": True}, id=1)
        messages.get(timeout=PATIENCE)
    first.say("draft", {"channel": uri, "text": "half a sen"})
    client, message = messages.get(timeout=PATIENCE)
    assert (client, message["method"]) == ("second", "x-agentnb/draft")
    assert message["params"] == {"channel": uri, "text": "half a sen"}
    second.say("initialize", {"protocolVersions": [WINDOW.current]}, id=2)
    assert messages.get(timeout=PATIENCE)[1]["result"]["drafts"] == {uri: "half a sen"}
    first.say("draft", {"channel": uri, "text": ""})
    messages.get(timeout=PATIENCE)
    second.say("initialize", {"protocolVersions": [WINDOW.current]}, id=3)
    assert messages.get(timeout=PATIENCE)[1]["result"]["drafts"] == {}


def test_draft_is_kept_out_of_state_and_log(page: Page, conversation: Conversation) -> None:
    """A draft may hold a secret pasted by mistake."""
    before = (page.host.root.index, conversation.chat.index, conversation.session.index)
    page.say("draft", {"channel": conversation.chat.uri, "text": "sk-secret"})
    page.say("draft", {"channel": conversation.chat.uri, "text": "x" * (LONGEST_DRAFT + 1)})
    page.say("draft", {"channel": "eliza:/none", "text": "x"})
    assert (page.host.root.index, conversation.chat.index, conversation.session.index) == before
    assert page.ready()["result"]["drafts"] == {conversation.chat.uri: "sk-secret"}


def test_page_reads_a_file_in_byte_ranges_and_by_lines(page: Page, conversation: Conversation) -> None:
    """Each answer has the file's size and time of change; lines can be read from either end."""
    data = bytes(range(256)) * 5
    (conversation.cwd / "a b\n€.bin").write_bytes(data)
    request = {"channel": conversation.chat.uri, "path": "a b\n€.bin"}
    read, times = b"", set()
    while len(read) < len(data):
        answer = page.ask("readFile", {**request, "offset": len(read), "length": 500})
        result = answer["result"]
        assert (result["path"], result["offset"], result["size"]) == ("a b\n€.bin", len(read), len(data))
        times.add(result["modified"])
        read += answer["buffers"][0]
    assert (read, len(times)) == (data, 1)
    (conversation.cwd / "log").write_text("1\n2\n3\n")
    log = {"channel": conversation.session.uri, "path": "log"}
    assert page.ask("readFile", {**log, "head": 1})["buffers"][0] == b"1\n"
    tail = page.ask("readFile", {**log, "tail": 2})
    assert (tail["buffers"][0], tail["result"]["offset"], tail["result"]["size"]) == (b"2\n3\n", 2, 6)
    assert page.ask("readFile", {**log, "tail": 2, "length": 3})["buffers"][0] == b"\n3\n"


def test_page_cannot_read_secret_or_outside_files(
    page: Page, conversation: Conversation, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """However the path is written; the error says what to do."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a.txt").write_text("outside")
    (conversation.cwd / ".env").write_text("KEY=1")
    (conversation.cwd / "notes.txt").symlink_to(".env")
    (conversation.cwd / "link").symlink_to(outside)

    def refused(method: str, path: str) -> str:
        answer = page.ask(method, {"channel": conversation.chat.uri, "path": path})
        assert answer["error"]["code"] == -32012
        return str(answer["error"]["message"])

    for path in (".env", "notes.txt", "./x/../.env"):
        assert "'.env' may hold secrets: it matches **/.env*" in refused("readFile", path)
    for path in (str(outside / "a.txt"), "link/a.txt", "../a.txt"):
        assert "outside the workspace" in refused("readFile", path)
    for path in (str(outside), "link", ".."):
        assert "outside the workspace" in refused("listFiles", path)
    assert "There is no file 'none'" in refused("readFile", "none")
    listed = page.ask("listFiles", {"channel": conversation.chat.uri})["result"]
    assert [(entry["name"], entry["kind"]) for entry in listed["entries"]] == [
        (".env", "file"),
        ("link", "link"),
        ("notes.txt", "link"),
    ]


def test_file_name_with_invalid_bytes_is_listed_as_text(page: Page, conversation: Conversation) -> None:
    """The invalid bytes are replaced, as JSON has no bytes."""
    (conversation.cwd / os.fsdecode(b"a\xff")).touch()
    (entry,) = page.ask("listFiles", {"channel": conversation.chat.uri})["result"]["entries"]
    assert entry["name"] == "a\ufffd"
