"""A conversation's access to the kernel: chosen when it begins, and changed while it is open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentnb import PermissionQuestion, Session
from agentnb.errors import AgentnbError, UsageError
from agentnb.state import SessionConfigChanged
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.kernels import Kernel
from tests.unit.kernel.conftest import tools
from tests.unit.kernel.shell_tools import Tools

__all__ = ["tools"]  # the fixture


def begun(kernel: Kernel, /, **params: Any) -> Session:
    """Returns a conversation that a page began."""
    return kernel.session(kernel.ask("createSession", agent="eliza", **params)["channel"])


def setting(session: Session, name: str = "kernel") -> Any:
    config = session.state.config
    assert config is not None
    return config.values.get(name)


def choose(kernel: Kernel, session: Session, /, **config: str) -> None:
    kernel.act(session, SessionConfigChanged(config=config))


def test_page_chooses_kernel_access_of_a_new_conversation(kernel: Kernel) -> None:
    """The settings are the default; without access there is nothing to set."""
    for wanted, access in (("off", None), ("look", "look"), ("run", "run"), (None, None)):
        session = begun(kernel, **({} if wanted is None else {"kernel": wanted}))
        assert (setting(session), session.kernel_tools) == (access, access is not None)
    with pytest.raises(Exception, match="Invalid enum value 'everything'"):
        kernel.ask("createSession", kernel="everything")


def test_kernel_access_changes_in_an_open_conversation(kernel: Kernel) -> None:
    """Other values are refused."""
    session = begun(kernel, kernel="run")
    for access in ("look", "off", "run"):
        choose(kernel, session, kernel=access)
        assert setting(session) == access
    for wrong in ({"kernel": "all"}, {"kernel": "look", "permissions": "allow"}):
        with pytest.raises(AgentnbError):
            choose(kernel, session, **wrong)
    choose(kernel, session, permissions="deny")
    assert (session.permissions, setting(session)) == ("deny", "run")


def test_agent_gets_kernel_access_during_a_turn(kernel: Kernel, tools: Tools) -> None:
    """The agent always has the tools, and each call checks the present access; nothing restarts."""
    kernel.attend()
    kernel.connect(shell=tools)
    session = kernel.start("calls_kernel", kernel_tools=False)
    look: list[dict[str, Any]] = [{"start": ["variables", {}]}, {"end": 1}]
    pause = {"ask": {"toolCallId": "c1", "title": "dig", "kind": "execute", "rawInput": {"command": "dig example.org"}}}
    assert (session.kernel_tools, session.freedom) == (False, "custom")
    turn = session.prompt(json.dumps([*look, pause, *look]))
    kernel.until(session, lambda: session.questions)
    choose(kernel, session, freedom="edit")
    assert (session.freedom, session.kernel_tools) == ("edit", True)
    (question,) = session.questions
    assert isinstance(question, PermissionQuestion)
    question.allow()
    assert turn.wait(PATIENCE).text.split() == ["false", '"yes"', "true"]
    assert ("kernel access", "off → run", "user") in [(each.tool, each.what, each.by) for each in kernel.audit]
    session.kernel_tools = False
    assert (session.kernel_tools, session.freedom) == (False, "custom")


@pytest.mark.parametrize("options", [{}, {"kernel_tools": False, "spec": {"takes_mcp": False}}])
def test_conversation_without_a_kernel_cannot_get_access(kernel: Kernel, tools: Tools, options: dict[str, Any]) -> None:
    """In a batch, or with an agent without tools; the page gets the reason."""
    kernel.connect(shell=tools)
    session = kernel.start("remembers", **options)
    with pytest.raises(AgentnbError, match="can't access the kernel"):
        choose(kernel, session, kernel="run")
    with pytest.raises(UsageError, match="can't access the kernel"):
        session.kernel_tools = True
    assert (session.prompt("servers").wait(PATIENCE).text, session.kernel_tools) == ("given none", False)


def test_cell_review_setting_applies_to_every_conversation(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel has one setting; later conversations have it too, and the audit log names the page.

    If the project forbids it, the page gets the reason.
    """
    monkeypatch.chdir(tmp_path)
    one, other, without = (begun(kernel, kernel=access) for access in ("run", "look", "off"))
    assert [setting(each, "cellReview") for each in (one, other, without)] == ["first", "first", None]
    choose(kernel, one, cellReview="after")
    kernel.until(other, lambda: setting(other, "cellReview") == "after")
    later = begun(kernel, kernel="run")
    assert [setting(each, "cellReview") for each in (one, later, without)] == ["after", "after", None]
    record = kernel.audit[-1]
    assert (record.tool, record.what, record.by) == ("cell review", "first → after", "user")
    choose(kernel, one, cellReview="first")
    (tmp_path / ".agentnb").mkdir()
    (tmp_path / ".agentnb/policy.toml").write_text('cell_review = "first"')
    with pytest.raises(AgentnbError, match="reviewed first"):
        choose(kernel, one, cellReview="after")
    assert (setting(one, "cellReview"), setting(begun(kernel, kernel="run"), "cellReview")) == ("first", "first")


def test_tool_beyond_the_access_neither_runs_nor_asks(tools: Tools) -> None:
    """The error tells the agent why and what to do."""
    tools.access = "look"
    assert tools.call("run_code", code="x = 1")["isError"]
    assert "Look: run_code is not allowed" in tools.text("run_code", code="x = 1")
    assert ("x" in tools.shell.user_ns, tools.requests) == (False, [])
    assert not tools.call("variables")["isError"]


def test_chat_notes_the_first_look_at_the_kernel_once(kernel: Kernel, tools: Tools) -> None:
    """A later look is not mentioned, nor is running code."""
    kernel.connect(shell=tools)
    kernel.attend()
    session = begun(kernel, kernel="run")
    turns = [session.prompt("/kernel variables").wait(PATIENCE) for _ in range(2)]
    words = "looks at this kernel's variables"
    assert [str(turn.snapshot).count(words) for turn in turns] == [1, 0]
