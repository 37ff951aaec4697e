"""Agents' saved sessions in Python: listed, opened, deleted; deletion from the log; extensions; health."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

import agentnb
from agentnb import Session
from agentnb.errors import AgentError, AgentRefused, NotOffered, SessionError, UnknownSession, UsageError
from tests.unit.api.conftest import AGENTS, PATIENCE

Start = Callable[..., Session]


@pytest.fixture
def kept(tmp_path: Path) -> dict[str, Any]:
    """Options for an eliza that saves its sessions."""
    return {"env": {"AGENTNB_ELIZA_STORE": str(tmp_path / "store")}, "cwd": tmp_path}


def test_saved_agent_session_is_listed_resumed_and_deleted(kept: dict[str, Any], start: Start) -> None:
    """Closed here, it stays with the agent; deleted, it is gone."""
    before = agentnb.start("eliza", **kept)
    before.prompt("my cat is ill").wait(PATIENCE)
    before.close()
    page = agentnb.history(kept_by="eliza", env=kept["env"], folder=kept["cwd"])
    assert [(row.id, row.title, row.agent, row.cwd) for row in page] == [
        ("sess-1", "my cat is ill", "eliza", str(kept["cwd"]))
    ]
    assert page.cursor is None
    session = agentnb.start(session=page[0], **kept)
    assert [turn.text for turn in session.turns] == [before.turns[0].text]
    assert session.prompt("hm").wait(PATIENCE).text == "Earlier you spoke of your cat. Does this have to do with it?"
    with pytest.raises(SessionError, match="is open in the tab"):
        agentnb.delete_session(page[0], **kept)
    session.close()
    agentnb.delete_session(page[0], **kept)
    page = agentnb.history(kept_by="eliza", env=kept["env"], folder=kept["cwd"])
    assert repr(page) == "The agent has no saved sessions here."
    with pytest.raises(AgentRefused, match="There is no session"):
        agentnb.start("eliza", session="sess-1", **kept)


def test_agent_sessions_table_names_the_cursor_of_the_next_page(tmp_path: Path) -> None:
    """In text and HTML; the contents are escaped."""
    command = [sys.executable, str(AGENTS / "keeps.py"), "list"]
    first = agentnb.history(kept_by="mine", command=command, folder=tmp_path)
    assert repr(first).splitlines()[0].split() == ["id", "title", "when", "folder"]
    assert repr(first).splitlines()[-1] == "There are more. Pass cursor='2' for the next page."
    assert "<td>old-1</td><td>Talk 1</td>" in first._repr_html_()
    last = agentnb.history(kept_by="mine", command=command, folder=tmp_path, cursor="4", everywhere=True)
    assert ([row.id for row in last], last.cursor, last[0].cwd) == (["old-5"], None, "/")


def test_hanging_agent_request_raises_after_the_timeout(tmp_path: Path) -> None:
    """The error names the agent, and the open session continues."""
    for step, ask in (
        (
            "session/list",
            lambda command, _: agentnb.history(kept_by="mine", command=command, folder=tmp_path, timeout=0.2),
        ),
        ("session/delete", lambda command, _: agentnb.delete_session("x", command=command, cwd=tmp_path, timeout=0.2)),
        ("logout", lambda command, _: agentnb.logout(command=command, cwd=tmp_path, timeout=0.2)),
        ("session/fork", lambda _, session: session.fork(timeout=0.2)),
    ):
        command = [sys.executable, str(AGENTS / "fails.py"), "hangs", step]
        session = agentnb.start(command=command, cwd=tmp_path)
        session.open(PATIENCE)
        with pytest.raises(AgentError, match=r"did not answer within 0\.2 s\. Restart the agent, or give it longer"):
            ask(command, session)
        pid = session.health().pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)  # it would also hang at its end
        session.close()


def test_old_names_of_history_work_with_a_deprecation_warning(kept: dict[str, Any]) -> None:
    """They stay for one release."""
    with pytest.warns(DeprecationWarning, match=r"agentnb\.history\(kept_by=agent\)"):
        assert agentnb.agent_sessions("eliza", **kept).cursor is None
    with pytest.warns(DeprecationWarning, match=r"agentnb\.history"):
        assert len(agentnb.sessions("nowhere said")) == 0


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"kept_by": "eliza", "search": "x"}, "search= does not go with kept_by="),
        ({"kept_by": "eliza", "limit": 3}, "limit= does not go with kept_by="),
        ({"cursor": "4"}, "cursor= needs kept_by="),
        ({"timeout": 3}, "timeout= needs kept_by="),
    ],
)
def test_history_rejects_arguments_of_the_other_source(wrong: dict[str, Any], why: str) -> None:
    """The error names it."""
    with pytest.raises(UsageError, match=f"^{why}"):
        agentnb.history(**wrong)


def test_forget_deletes_a_closed_session_from_the_log(start: Start) -> None:
    """A missing session and an open one are errors."""
    session = start(title="Soon gone")
    session.prompt("/say x").wait(PATIENCE)
    with pytest.raises(SessionError, match=r"'Soon gone' is open here\. Close it first\."):
        agentnb.forget(session.tab_id)
    session.close()
    assert agentnb.forget(session.tab_id[:12]).title == "Soon gone"
    assert len(agentnb.history("Soon gone")) == 0
    with pytest.raises(UnknownSession):
        agentnb.forget(session.tab_id)


def test_extension_methods_work_in_both_directions(start: Start) -> None:
    """Requests and notifications to the agent, and requests from it, which fail without a handler."""
    session = start()
    assert session.extension("_eliza/echo", {"a": 1})["echo"]["a"] == 1
    assert session.extension("_eliza/anything", notify=True) is None
    with pytest.raises(AgentRefused, match="_eliza/nothing"):
        session.extension("_eliza/nothing")
    for wrong in (lambda: session.extension("eliza/echo"), lambda: session.on_extension("zoo", None)):
        with pytest.raises(UsageError, match=r"not an extension method\. Their names begin with an underscore"):
            wrong()
    prompt = '/extend _zoo/feed {"animal": "otter"}'
    assert session.prompt(prompt).wait(PATIENCE).text.endswith("Method not found: _zoo/feed (-32601).")
    session.on_extension("_zoo/feed", lambda params: {"fed": params["animal"]})
    answer = session.prompt(prompt).wait(PATIENCE).text
    assert json.loads(answer.partition("```json\n")[2].rstrip("`\n")) == {"fed": "otter"}
    session.on_extension("_zoo/feed", lambda params: params["plant"])
    assert "The function for _zoo/feed failed: KeyError: 'plant'" in session.prompt(prompt).wait(PATIENCE).text
    session.on_extension("_zoo/feed", None)
    assert session.prompt(prompt).wait(PATIENCE).text.endswith("Method not found: _zoo/feed (-32601).")


def test_health_reports_process_silence_deaths_and_stderr(start: Start) -> None:
    """Before it runs, while it works, and after it has died."""
    session = start()
    assert session.health().state == "idle"
    turn = session.prompt("/noise")
    turn.wait(PATIENCE)
    session.prompt("/say on").wait(PATIENCE)  # stderr is a separate pipe; by now it has been read, too
    health = session.health()
    assert (health.state, health.tabs, health.deaths, health.silent) == ("running", 1, 0, None)
    assert health.pid is not None
    assert psutil.pid_exists(health.pid)
    assert health.stray >= 2
    assert health.stderr == "eliza: a stray line on stderr"
    assert health.seconds is not None
    hanging = session.prompt("/hang")
    next(iter(hanging))
    assert session.health().silent is not None
    assert repr(session.health()).startswith("state     running\npid ")
    hanging.cancel()
    session.prompt("/crash").wait(PATIENCE, check=False)
    assert session.health().deaths == 1


def test_logout_fails_for_an_agent_without_logout(tmp_path: Path) -> None:
    with pytest.raises(NotOffered, match=r"Tour does not offer to log out\."):
        agentnb.logout("eliza", cwd=tmp_path)
