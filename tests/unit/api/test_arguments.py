"""Wrong arguments are errors at once, in the caller's words."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import Session
from agentnb.errors import AgentNotFound, SessionClosed, UnknownAgent, UsageError
from tests.unit.api.conftest import PATIENCE

Start = Callable[..., Session]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"agent": 1}, "agent must be text, not 1"),
        ({"title": 1}, "title must be text, not 1"),
        ({"title": "x" * 201}, "A title is one line of 1 to 200 characters, not 'x"),
        ({"title": "two\nlines"}, "A title is one line of 1 to 200 characters, not 'two"),
        ({"env": {"LEVEL": 1}}, r"env has 'LEVEL' as 1"),
        ({"env": ["LEVEL"]}, "env must be a mapping"),
        ({"cwd": 3}, "cwd=3 does not name a folder"),
        ({"mcp_servers": 3}, "mcp_servers must be a list of servers"),
        ({"mcp_servers": "files"}, "The MCP servers in 'files' cannot be read"),
        ({"directories": "../data"}, "directories must be a list of folders"),
        ({"directories": 3}, "directories must be a list of folders"),
        ({"command": "opencode acp"}, "list of words"),
        ({"permissions": "maybe"}, r"permissions='maybe' is not one of 'ask', 'allow', 'deny'"),
        ({"cwd": "/nowhere"}, r"nowhere' is not a folder"),
        ({"model": ""}, "model"),
        ({"model": 3}, "model"),
    ],
)
def test_start_rejects_wrong_arguments(options: dict[str, Any], message: str) -> None:
    """The error names each argument, with an example."""
    with pytest.raises(UsageError, match=message):
        agentnb.start(**options)


def test_start_refuses_a_folder_whose_name_is_not_utf8(tmp_path: Path) -> None:
    """No message to an agent can contain it."""
    folder = tmp_path / os.fsdecode(b"m\xfcsli")
    folder.mkdir()
    for options in ({"cwd": folder}, {"directories": [folder]}):
        with pytest.raises(UsageError, match=r"m\\udcfcsli' is not UTF-8: no message"):
            agentnb.start(**options)


def test_environment_of_an_agent_may_hold_bytes_that_are_not_utf8(start: Start) -> None:
    session = start(env={"NAME": os.fsdecode(b"m\xfcsli")})
    assert session.prompt("/say hello").wait(PATIENCE).text == "hello"


def test_start_names_an_unknown_agent_or_missing_command() -> None:
    """It fails before anything starts, with a guess at a misspelt name."""
    with pytest.raises(UnknownAgent, match=r"no agent called 'elisa'\. Did you mean 'eliza'"):
        agentnb.start("elisa")
    with pytest.raises(AgentNotFound, match=r"there is no command 'no-such-agent'"):
        agentnb.start(command=["no-such-agent"])


def test_context_accepts_any_iterable_of_objects(start: Start) -> None:
    """Lists, tuples, views, generators."""
    session = start()
    for context in ([1, 2], (1, 2), {1: "a", 2: "b"}.keys(), iter([1, 2])):
        turn = session.prompt("Look", context=context).wait(PATIENCE)
        assert turn.snapshot is not None
        assert len(turn.snapshot.message.attachments or ()) == 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("Look", "df"), r"not one str\. Put it in brackets"),  # its characters are never meant
        (("Look", 3), r"not one int\. Put it in brackets"),
        *((("Look", {name: 1}), r"A name in context (must be text|is empty)") for name in (3, None, "", " ")),
        *(((text,), r"The prompt (must be text|is empty)") for text in (None, 3, "", "  ")),
    ],
)
def test_prompt_rejects_wrong_arguments(start: Start, wrong: tuple[Any, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        start().prompt(*wrong)


@pytest.mark.parametrize("wanted", ["", " ", None, 3])
def test_resume_rejects_an_id_that_is_not_text(wanted: Any) -> None:
    with pytest.raises(UsageError, match=r"A session's id (must be text|is empty)"):
        agentnb.resume(wanted)


@pytest.mark.parametrize(
    "options", [{"search": 3}, {"limit": 0}, {"limit": "ten"}, {"limit": True}, {"state": "asleep"}]
)
def test_history_rejects_wrong_arguments(options: dict[str, Any]) -> None:
    """The limit is a number of sessions; the error for a state lists them."""
    with pytest.raises(UsageError) as refused:
        agentnb.history(**options)
    assert "state" not in options or str(refused.value) == (
        "state='asleep' is not one of 'running', 'needs-you', 'failed'. For example state=\"failed\"."
    )


def test_closed_session_rejects_every_call(start: Start) -> None:
    """Every method fails with the same message."""
    session = start()
    session.close()
    for call in (session.restart, session.login, lambda: session.set_mode("x"), lambda: session.prompt("Hello")):
        with pytest.raises(SessionClosed, match=r"is closed\. Start another with agentnb\.start\(\)"):
            call()


def test_login_fails_for_an_agent_without_logins(start: Start) -> None:
    with pytest.raises(UsageError, match="Tour offers no login"):
        start().login()


def test_chat_rejects_the_name_of_an_agent() -> None:
    with pytest.raises(UsageError, match=r"'claude' is not a session\. agentnb\.start"):
        agentnb.chat("claude")  # type: ignore[arg-type]
