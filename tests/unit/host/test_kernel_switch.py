"""A conversation's access to the kernel: chosen when it begins, and changed while it is open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentnb import PermissionQuestion, Session
from agentnb.errors import PermissionDenied, UsageError
from agentnb.host import Host
from agentnb.host.conversation import Conversation
from agentnb.kernel.tools import demand_access, kernel_tools
from agentnb.policy.workspace import PROJECT
from agentnb.server.messages import REFUSED
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import Open, hosted, until
from tests.unit.kernel.shell_tools import Tools
from tests.unit.server.test_service import Page

READING = {"variables", "inspect", "notebooks", "cells", "look_up_code", "read_skill", "research"}


@pytest.fixture
def page(host: Host) -> Page:
    page = Page(host)
    page.ready()
    return page


def begun(page: Page, **params: Any) -> Conversation:
    return page.host.find(page.ask("createSession", {"agent": "eliza", **params})["result"]["channel"])


def access_of(conversation: Conversation) -> Any:
    config = conversation.session.state.config
    assert config is not None
    return config.values.get("kernel")


@pytest.mark.parametrize(("wanted", "access"), [("off", None), ("look", "look"), ("run", "run"), (None, None)])
def test_page_chooses_kernel_access_of_a_new_conversation(page: Page, wanted: str | None, access: str | None) -> None:
    """The settings are the default; without access there is nothing to set."""
    conversation = begun(page, **({} if wanted is None else {"kernel": wanted}))
    assert (access_of(conversation), conversation.kernel is not None) == (access, access is not None)


def choose(page: Page, conversation: Conversation, seq: int, **config: str) -> None:
    page.dispatch(conversation.session.uri, {"type": "session/configChanged", "config": config}, seq)


def test_kernel_access_changes_in_an_open_conversation(page: Page) -> None:
    """The agent's next call follows it; other values are refused."""
    conversation = begun(page, kernel="run")
    for seq, access in enumerate(("look", "off", "run"), 1):
        choose(page, conversation, seq, kernel=access)
        until(page.host, Session(conversation), lambda: conversation.channels.kernel_access == access)  # noqa: B023
    choose(page, conversation, 4, kernel="all")
    choose(page, conversation, 5, kernel="look", permissions="allow")
    choose(page, conversation, 6, permissions="deny")
    until(page.host, Session(conversation), lambda: conversation.mode == "deny")
    assert access_of(conversation) == "run"


@pytest.fixture
def shell(page: Page) -> Iterator[None]:
    """Connects an IPython shell for the host's agents."""
    tools = Tools()
    page.host.environment.connect(shell=tools)
    yield
    tools.loop.stop()


def test_agent_gets_kernel_access_during_a_turn(page: Page, shell: None, open_session: Open) -> None:
    """The agent always has the tools, and each call checks the present access; nothing restarts."""
    del shell
    page.host.environment.connect(attached=lambda: True)
    session = open_session("calls_kernel", kernel_tools=False)
    conversation = hosted(page.host, session)
    look: list[dict[str, Any]] = [{"start": ["variables", {}]}, {"end": 1}]
    pause = {"ask": {"toolCallId": "c1", "title": "dig", "kind": "execute", "rawInput": {"command": "dig example.org"}}}
    assert (session.kernel_tools, session.freedom) == (False, "custom")
    turn = session.prompt(json.dumps([*look, pause, *look]))
    until(page.host, session, lambda: bool(session.questions))
    choose(page, conversation, 1, freedom="edit")
    until(page.host, session, lambda: session.freedom == "edit")
    assert session.kernel_tools
    (question,) = session.questions
    assert isinstance(question, PermissionQuestion)
    question.allow()
    assert turn.wait(PATIENCE).text.split() == ["false", '"yes"', "true"]
    records = [(each.tool, each.what, each.by) for each in page.host.policy.audit.records]
    assert ("kernel access", "off → run", "user") in records
    session.kernel_tools = False
    assert (session.kernel_tools, session.freedom) == (False, "custom")
    session.close()


@pytest.mark.parametrize("options", [{}, {"kernel_tools": False, "spec": {"takes_mcp": False}}])
def test_conversation_without_a_kernel_cannot_get_access(
    page: Page, shell: None, open_session: Open, options: dict[str, Any]
) -> None:
    """In a batch, or with an agent without tools; the page gets the reason."""
    del shell
    session = open_session("remembers", **options)
    conversation = hosted(page.host, session)
    choose(page, conversation, 1, kernel="run")
    assert "can't access the kernel" in page.envelope()["rejectionReason"]
    with pytest.raises(UsageError, match="can't access the kernel"):
        session.kernel_tools = True
    assert (session.prompt("servers").wait(PATIENCE).text, session.kernel_tools) == ("given none", False)


def review_of(conversation: Conversation) -> Any:
    config = conversation.session.state.config
    assert config is not None
    return config.values.get("cellReview")


def test_cell_review_setting_applies_to_every_conversation(page: Page) -> None:
    """The kernel has one setting; later conversations have it too, and the audit log names the page."""
    one, other, without = begun(page, kernel="run"), begun(page, kernel="look"), begun(page, kernel="off")
    assert [review_of(each) for each in (one, other, without)] == ["first", "first", None]
    choose(page, one, 1, cellReview="after")
    until(page.host, Session(other), lambda: review_of(other) == "after")
    assert [review_of(each) for each in (one, begun(page, kernel="run"), without)] == ["after", "after", None]
    assert page.host.environment.cell_review() == "after"
    record = page.host.policy.audit.records[-1]
    assert (record.tool, record.what, record.by) == ("cell review", "first → after", "user")


def test_cell_review_that_the_project_forbids_is_refused(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page gets the reason; the kernel's setting stays."""
    monkeypatch.chdir(tmp_path)
    conversation = begun(page, kernel="run")
    policy = tmp_path / PROJECT
    policy.parent.mkdir()
    policy.write_text('cell_review = "first"')
    choose(page, conversation, 1, cellReview="after")
    assert "reviewed first" in page.envelope()["rejectionReason"]
    assert (review_of(conversation), page.host.environment.cell_review()) == ("first", None)


def test_page_cannot_choose_an_unknown_kernel_access(page: Page) -> None:
    assert page.ask("createSession", {"kernel": "everything"})["error"]["code"] != REFUSED


@pytest.mark.parametrize("name", kernel_tools())
def test_look_access_covers_only_reading_tools(name: str) -> None:
    """No access covers no tool."""
    demand_access(name, "run")
    with pytest.raises(PermissionDenied, match="to Off"):
        demand_access(name, "off")
    if name in READING:
        demand_access(name, "look")
    else:
        with pytest.raises(PermissionDenied, match="to Look"):
            demand_access(name, "look")


def test_tool_beyond_the_access_neither_runs_nor_asks() -> None:
    """The error tells the agent why and what to do."""
    tools = Tools()
    tools.access = "look"
    assert tools.call("run_code", code="x = 1")["isError"]
    assert "Look: run_code is not allowed" in tools.text("run_code", code="x = 1")
    assert ("x" in tools.shell.user_ns, tools.requests) == (False, [])
    assert not tools.call("variables")["isError"]


def test_chat_notes_the_first_look_at_the_kernel_once(page: Page, shell: None) -> None:
    """A later look is not mentioned, nor is running code."""
    del shell
    page.host.environment.connect(attached=lambda: True)
    conversation = begun(page, kernel="run")
    session = Session(conversation)
    turns = [session.prompt("/kernel variables").wait(PATIENCE) for _ in range(2)]
    words = "looks at this kernel's variables"
    assert [str(turn.snapshot).count(words) for turn in turns] == [1, 0]
    session.close()
