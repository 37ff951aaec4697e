"""Research: a separate conversation answers a question about a package, and can read only its source.

The inside: how many run at once, limits that tests lower, and every kind of permission request.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentnb import Session
from agentnb.agent.catalog import custom, find
from agentnb.errors import AgentError, UsageError
from agentnb.host import Host
from agentnb.host.conversation import Conversation
from agentnb.plugins.knowledge.research.findings import (
    Research,
    earlier_findings,
    forget_findings,
    keep_findings,
    kept_versions,
    read_findings,
)
from agentnb.plugins.knowledge.research.source import PackageSource
from agentnb.plugins.knowledge.researches.researches import AT_ONCE, ResearchLimit, researches_of
from agentnb.policy.request import PolicyRequest, Verdict
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.host.conftest import configuration

QUESTION = "What does JSONDecodeError say?"


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))


def run_research(host: Host, question: str = QUESTION, package: str = "json", version: str | None = None) -> Research:
    config = configuration(find("eliza"), Path.cwd())
    work = researches_of(host).research(question, package, version, configuration=config)
    return host.loop.submit(work).result(PATIENCE)


def researcher(host: Host, research: Research) -> Conversation:
    talks = [each for each in host.conversations.values() if each.tab_id == research.session]
    return talks[0]


def test_research_returns_source_places_and_caches_them(host: Host) -> None:
    """The conversation has no tab, can be opened, and shows the agent's reads."""
    research = run_research(host)
    (first, *_) = research.findings
    assert (first.name, first.excerpt) == ("json/decoder.py", "class JSONDecodeError(ValueError):")
    assert f"(`json/decoder.py:{first.line}`)" in research.text
    conversation = researcher(host, research)
    assert conversation.is_hidden
    assert conversation.kernel is None
    session = Session(conversation)
    assert [call.title for call in session.turns[0].tool_calls] == [
        "package_source: get_package_source",
        "Read `decoder.py`",
        "package_source: return_response",
    ]
    assert [call.status for call in session.turns[0].tool_calls] == ["completed"] * 3
    again = run_research(host)
    assert (again.is_cached, again.findings, len(host.conversations)) == (True, research.findings, 1)


class Led:
    """Controls the agent ``researches``, question by question."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(PATIENCE)
        self._links: list[Any] = []

    @property
    def command(self) -> list[str]:
        return [sys.executable, str(AGENTS / "researches.py"), str(self._server.getsockname()[1])]

    def ask(self, question: str) -> Future[Research]:
        """Asks *question* through the agent's program."""
        config = configuration(custom(self.command), Path.cwd())
        return self._host.loop.submit(researches_of(self._host).research(question, "json", configuration=config))

    def next(self) -> tuple[str, Any]:
        """Returns the next question of an agent, and its stream."""
        link, _ = self._server.accept()
        link.settimeout(PATIENCE)
        lines = link.makefile("rw")
        self._links += [lines, link]
        return lines.readline().strip(), lines

    def close(self) -> None:
        for each in [*self._links, self._server]:
            each.close()


@pytest.fixture
def led(host: Host) -> Iterator[Led]:
    leader = Led(host)
    yield leader
    leader.close()


def tell(lines: Any, what: str) -> None:
    lines.write(f"{what}\n")
    lines.flush()


def test_at_most_three_researches_run_at_once(host: Host, led: Led) -> None:
    """The fourth has no conversation until then."""
    results = {question: led.ask(question) for question in ("A?", "B?", "C?", "D?")}
    running = dict(led.next() for _ in range(AT_ONCE))
    (waiting,) = results.keys() - running.keys()
    assert len(host.conversations) == AT_ONCE
    first = next(iter(running))
    tell(running[first], "return First.")
    assert results[first].result(PATIENCE).text == "- First."
    question, lines = led.next()
    assert question == waiting
    for each in (lines, *(running[other] for other in running if other != first)):
        tell(each, "return More.")
    assert sorted(each.result(PATIENCE).text for each in results.values()) == ["- First.", *["- More."] * AT_ONCE]


def test_cancelled_research_makes_room_for_another(led: Led) -> None:
    """Its agent gets the cancel; a waiting one never begins."""
    results = {question: led.ask(question) for question in ("A?", "B?", "C?", "D?")}
    running = dict(led.next() for _ in range(AT_ONCE))
    for lines in running.values():
        tell(lines, "hang")
    (waiting,) = results.keys() - running.keys()
    results[waiting].cancel()
    for question, lines in running.items():
        results[question].cancel()
        assert lines.readline() == "cancelled\n"
    for each in results.values():
        with pytest.raises(CancelledError):
            each.result(PATIENCE)
    last = led.ask("And now?")
    question, lines = led.next()
    assert question == "And now?"
    tell(lines, "return Free.")
    assert last.result(PATIENCE).text == "- Free."


def test_research_ends_at_its_time_limit(host: Host, led: Led) -> None:
    """It holds at any point: here the agent never answers."""
    researches_of(host).seconds = 0.1
    with pytest.raises(AgentError, match=r"The research took more than 0\.1 s\. Ask a smaller question\."):
        led.ask("Why?").result(PATIENCE)


def test_invalid_research_question_starts_no_agent(host: Host) -> None:
    for question, package, version in (
        ("", "json", None),
        ("x" * 4_001, "json", None),
        ("What?", "no-such-package-1", None),
        ("What?", "json", "-r"),
    ):
        with pytest.raises(UsageError):
            run_research(host, question, package, version)
    assert host.conversations == {}


def test_missing_version_is_not_fetched_without_a_user(host: Host) -> None:
    with pytest.raises(Exception, match="no one could be asked"):
        run_research(host, version="0.0.1")


def test_findings_are_reported_early_and_kept_after_a_limit(host: Host, led: Led) -> None:
    """A later research starts from them and says so; another version, or one after deletion, does not."""
    updates: list[Research] = []
    config = configuration(custom(led.command), Path.cwd())
    researches = researches_of(host)

    def ask(question: str) -> Future[Research]:
        return host.loop.submit(researches.research(question, "json", configuration=config, on_findings=updates.append))

    researches.tokens = 1_000
    first = ask("Why?")
    _, lines = led.next()
    tell(lines, "more json/decoder.py It decodes.")
    assert lines.readline() == "returned\n"
    assert [(each.text, each.reused) for each in updates] == [("- It decodes. (`json/decoder.py:1`)", 0)]
    tell(lines, "spend 1001")
    with pytest.raises(AgentError, match=r"What it found until then \(1\) is kept: ask again"):
        first.result(PATIENCE)
    assert lines.readline() == "cancelled\n"
    later = ask("And then?")
    _, lines = led.next()
    tell(lines, "return More.")
    research = later.result(PATIENCE)
    assert (research.reused, research.note) == (1, "Started from 1 earlier finding of this version.")
    snapshot = Session(researcher(host, research)).turns[0].snapshot
    assert snapshot is not None
    prompt = snapshot.message.text
    assert "- It decodes. (`json/decoder.py:1`)" in prompt
    assert host.loop.call(lambda: researches.forget("json")) == 1
    last = ask("And now?")
    _, lines = led.next()
    tell(lines, "return Nothing.")
    assert last.result(PATIENCE).reused == 0


def test_earlier_findings_exclude_changed_lines_and_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed line drops out; a secret is hidden; an editable install keeps nothing."""
    monkeypatch.setenv("MY_API_KEY", "0123456789abcdef0123456789")
    (tmp_path / "p").mkdir()
    file = tmp_path / "p" / "a.py"
    file.write_text("one\ntwo\n")
    source = PackageSource(package="P.q", version="1.0", root=tmp_path, places=(tmp_path / "p",))
    rows: list[Any] = [
        {"text": f"key 0123456789abcdef0123456789 {line}", "file": "p/a.py", "line": line} for line in (1, 2)
    ]
    keep_findings(source, "Why?", read_findings([*rows, {"text": "No place."}], [source]))
    assert [each.text for each in earlier_findings(source)] == ["key *** 1", "key *** 2"]
    (kept,) = (tmp_path / "data" / "research" / "findings").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    file.write_text("one\nother\n")
    assert [each.line for each in earlier_findings(source)] == [1]
    assert earlier_findings(replace(source, version="1.1")) == ()
    assert earlier_findings(replace(source, is_editable=True)) == ()
    keep_findings(replace(source, version="2", is_editable=True), "Why?", read_findings(rows, [source]))
    assert [(each.package, each.version, len(each.findings)) for each in kept_versions()] == [("P.q", "1.0", 2)]
    assert (forget_findings("p_q", "1.1"), forget_findings("p-q")) == (0, 2)
    kept.write_text("{")
    assert (earlier_findings(source), kept_versions()) == ((), [])


@pytest.fixture
def limit(tmp_path: Path) -> ResearchLimit:
    """Returns the limit of a research on the package in folder ``p``, and the module ``one.py`` beside it."""
    (tmp_path / "p").mkdir()
    (tmp_path / "one.py").touch()
    places = (tmp_path / "p", tmp_path / "one.py")
    return ResearchLimit([PackageSource(package="p", version="1", root=tmp_path, places=places)])


def request(kind: Any, *paths: Path, **more: Any) -> PolicyRequest:
    title = more.pop("title", "Look")
    if kind == "permission":
        return PolicyRequest(kind=kind, title=title, paths=tuple(map(str, paths)), **more)
    return PolicyRequest(kind=kind, title=title, path=str(paths[0]) if paths else None, **more)


@pytest.mark.parametrize("floor", [None, "outside"])
def test_research_may_read_the_source_of_its_package(limit: ResearchLimit, tmp_path: Path, floor: str | None) -> None:
    """It uses our files service, or its own tool with a permission request."""
    asks = Verdict(outcome="ask", reason="", floor=floor)
    for allowed in (
        request("read", tmp_path / "p" / "x.py"),
        request("read", tmp_path / "one.py"),
        request("permission", tmp_path / "p" / "x.py", asked="read"),
        request("permission", tmp_path / "p", asked="search"),
        request("permission", asked="other", title="mcp_package_source.return_response"),
        request("permission", asked="other", title="mcp__package_source__return_response"),
        request("permission", asked="other", title="get_package_source (package_source MCP Server)"),
        request("permission", asked="other", title="package_source: get_package_source"),
    ):
        assert limit.verdict(allowed, asks).outcome == "allow", allowed
    assert limit.opens(str(tmp_path / "p" / "x.py"), "read")


def test_research_may_do_nothing_except_read_its_package(limit: ResearchLimit, tmp_path: Path) -> None:
    """Denied files and possible secrets are refused, too; the policy's yes does not count here."""
    inside, outside = tmp_path / "p" / "x.py", tmp_path / "two.py"
    allows = Verdict(outcome="allow", reason="")
    for refused in (
        request("read", outside),
        request("read", tmp_path / "p" / ".." / "two.py"),
        request("read"),
        request("write", inside),
        request("terminal", inside, command="cat x.py"),
        request("kernel", command="1"),
        request("cell"),
        request("permission", inside, outside, asked="read"),
        request("permission", inside, asked="edit"),
        request("permission", inside, asked="read", command="cat x.py"),
        request("permission", asked="read"),
        request("permission", asked="execute", title="return_response"),
        request("permission", asked="other", title="return_response", command="rm -rf ."),
        request("permission", asked="other", title="rm -rf . # return_response()"),
        request("permission", asked="other", title="return_response; rm -rf ."),
        request("permission", outside, asked="other", title="return_response"),
        request("permission", asked="fetch", title="Fetch"),
    ):
        assert limit.verdict(refused, allows).outcome == "deny", refused
    read = request("read", inside)
    for verdict in (
        Verdict(outcome="deny", reason="", rule="deny read", source="user"),
        Verdict(outcome="ask", reason="", floor="sensitive"),
        Verdict(outcome="ask", reason="", floor="unreadable"),
    ):
        assert limit.verdict(read, verdict).outcome == "deny"
    assert not limit.opens(str(outside), "read")
    assert not limit.opens(str(inside), "edit")
