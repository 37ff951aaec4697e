"""What a conversation's agent may do with the kernel: chosen when it begins, and changed while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentnb import Session
from agentnb.errors import PermissionDenied
from agentnb.host import Host
from agentnb.host.conversation import Conversation
from agentnb.kernel.tools import demand_access, kernel_tools
from agentnb.policy.places import PROJECT
from agentnb.server.messages import REFUSED
from agentnb.state import SystemNotificationResponsePart
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import Open, hosted, until
from tests.unit.kernel.shell_tools import Tools
from tests.unit.server.test_service import Page

READING = {"variables", "inspect", "notebooks", "cells", "look_up_code", "read_skill", "research"}


@pytest.fixture
def page(host: Host) -> Page:
    """A page that is ready."""
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
def test_a_conversation_begins_with_the_kernel_access_that_its_page_chose(
    page: Page, wanted: str | None, access: str | None
) -> None:
    """Without a choice it is as the settings say; one without access has nothing to set."""
    conversation = begun(page, **({} if wanted is None else {"kernel": wanted}))
    assert (access_of(conversation), conversation.kernel is not None) == (access, access is not None)


def choose(page: Page, conversation: Conversation, seq: int, **config: str) -> None:
    page.dispatch(conversation.session.uri, {"type": "session/configChanged", "config": config}, seq)


def test_kernel_access_is_changed_while_a_conversation_is_open(page: Page) -> None:
    """The agent's next call is judged by it; no other value is taken."""
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
    """An IPython shell that agents of the host can use."""
    tools = Tools()
    page.host.environment.connect(shell=tools)
    yield
    tools.loop.stop()


@pytest.mark.parametrize("ways", [("resume",), ("load",), ()])
def test_a_conversation_that_began_without_kernel_access_goes_on_when_it_gets_it(
    page: Page, shell: None, open_session: Open, ways: tuple[str, ...]
) -> None:
    """The agent takes its session up again, with the tools; one that cannot says that it has forgotten."""
    del shell
    session = open_session("remembers", *ways)
    conversation = hosted(page.host, session)
    assert "given none" in session.prompt("servers").wait(PATIENCE).text
    session.prompt("Bordeaux").wait(PATIENCE)
    choose(page, conversation, 1, kernel="look")
    until(page.host, session, lambda: access_of(conversation) == "look")
    assert "given kernel" in session.prompt("servers").wait(PATIENCE).text
    recalled = session.prompt("recall").wait(PATIENCE)
    assert ("s1 knows Bordeaux" if ways else "s2 knows nothing") in recalled.text
    turns = conversation.chat.state.turns
    assert [turn.message.text for turn in turns] == ["servers", "Bordeaux", "servers", "recall"]
    notes = [str(part.content) for part in turns[2].response_parts if isinstance(part, SystemNotificationResponsePart)]
    assert any("does not remember" in note for note in notes) is (not ways)
    record = page.host.policy.audit.records[-1]
    assert (record.tool, record.what, record.by) == ("kernel access", "off → look", "user")
    session.close()


def test_an_empty_conversation_gets_kernel_access_without_a_word_about_memory(
    page: Page, shell: None, open_session: Open
) -> None:
    """There is nothing that its agent could have forgotten."""
    del shell
    session = open_session("remembers")
    conversation = hosted(page.host, session)
    page.host.loop.submit(conversation.ready()).result(PATIENCE)
    choose(page, conversation, 1, kernel="run")
    until(page.host, session, lambda: access_of(conversation) == "run")
    turn = session.prompt("servers").wait(PATIENCE)
    assert ("given kernel" in turn.text, "remember" in turn.text) == (True, False)
    session.close()


def test_kernel_access_that_is_chosen_while_a_turn_runs_is_refused(page: Page, open_session: Open) -> None:
    """The agent has to start again; the page hears what to do."""
    session = open_session("silent")
    conversation = hosted(page.host, session)
    turn = session.prompt("Hello")
    until(page.host, session, lambda: conversation.chat.state.active_turn is not None)
    choose(page, conversation, 1, kernel="run")
    assert "Wait until the turn has ended, or stop it." in page.envelope()["rejectionReason"]
    turn.cancel()
    assert access_of(conversation) is None


def review_of(conversation: Conversation) -> Any:
    config = conversation.session.state.config
    assert config is not None
    return config.values.get("cellReview")


def test_a_review_of_cells_that_a_page_chooses_holds_and_is_shown_in_every_conversation(page: Page) -> None:
    """It is one setting of the kernel; one that begins later has it, and the policy's log says who chose it."""
    one, other, without = begun(page, kernel="run"), begun(page, kernel="look"), begun(page, kernel="off")
    assert [review_of(each) for each in (one, other, without)] == ["first", "first", None]
    choose(page, one, 1, cellReview="after")
    until(page.host, Session(other), lambda: review_of(other) == "after")
    assert [review_of(each) for each in (one, begun(page, kernel="run"), without)] == ["after", "after", None]
    assert page.host.environment.cell_review() == "after"
    record = page.host.policy.audit.records[-1]
    assert (record.tool, record.what, record.by) == ("cell review", "first → after", "user")


def test_a_review_of_cells_that_the_project_does_not_allow_is_refused(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page hears why; the setting of the kernel stays."""
    monkeypatch.chdir(tmp_path)
    conversation = begun(page, kernel="run")
    policy = tmp_path / PROJECT
    policy.parent.mkdir()
    policy.write_text('cell_review = "first"')
    choose(page, conversation, 1, cellReview="after")
    assert "reviewed first" in page.envelope()["rejectionReason"]
    assert (review_of(conversation), page.host.environment.cell_review()) == ("first", None)


def test_a_page_cannot_choose_an_access_that_there_is_not(page: Page) -> None:
    """The parameters are checked."""
    assert page.ask("createSession", {"kernel": "everything"})["error"]["code"] != REFUSED


@pytest.mark.parametrize("name", kernel_tools())
def test_looking_covers_the_tools_that_only_read(name: str) -> None:
    """And no access covers none."""
    demand_access(name, "run")
    with pytest.raises(PermissionDenied, match="to Off"):
        demand_access(name, "off")
    if name in READING:
        demand_access(name, "look")
    else:
        with pytest.raises(PermissionDenied, match="to Look"):
            demand_access(name, "look")


def test_a_tool_that_the_access_does_not_cover_runs_nothing_and_asks_nobody() -> None:
    """The agent is told why, and what to do."""
    tools = Tools()
    tools.access = "look"
    assert tools.call("run_code", code="x = 1")["isError"]
    assert "Look: run_code is not allowed" in tools.text("run_code", code="x = 1")
    assert ("x" in tools.shell.user_ns, tools.requests) == (False, [])
    assert not tools.call("variables")["isError"]


def test_the_first_look_at_the_kernel_is_said_once_where_a_chat_shows_it(page: Page, shell: None) -> None:
    """A later one is not; nor is running code."""
    del shell
    page.host.environment.connect(attached=lambda: True)
    conversation = begun(page, kernel="run")
    session = Session(conversation)
    turns = [session.prompt("/kernel variables").wait(PATIENCE) for _ in range(2)]
    words = "looks at this kernel's variables"
    assert [str(turn.snapshot).count(words) for turn in turns] == [1, 0]
    session.close()
