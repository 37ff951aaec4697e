"""Sessions that agents keep: opened, copied, listed, deleted; logging out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import Session
from agentnb.errors import AgentError, AgentRefused, NotOffered, UsageError
from tests.unit.api.conftest import AGENTS, PATIENCE, start
from tests.unit.host.conftest import NewKernel, uri_of
from tests.unit.host.kernels import Kernel

__all__ = ["start"]  # the fixture

Start = Callable[..., Session]


def command(script: str, *able: str) -> list[str]:
    return [sys.executable, str(AGENTS / f"{script}.py"), *able]


def texts(session: Session) -> list[tuple[str, str]]:
    """Returns the prompt and the answer of each turn."""
    return [(turn.message.text, session.turns[at].text) for at, turn in enumerate(session.chat.turns)]


def test_session_is_resumed_when_the_agent_cannot_load(start: Start) -> None:
    """The transcript is empty."""
    session = start("keeps", "resume", agent="keeps", session="old-2", title="Mine")
    assert (texts(session), session.title) == ([], "Mine")
    methods = session.prompt("tell").wait(PATIENCE).text
    assert ('"session/resume"' in methods, '"session/new"' in methods) == (True, False)


@pytest.mark.parametrize(
    ("able", "error", "message"),
    [
        ((), NotOffered, "keeps does not offer to open an old session. Start a new one."),
        (("load", "refuses"), AgentRefused, "keeps returned an error for session/load: No such session."),
    ],
    ids=["not offered", "refused"],
)
def test_a_session_that_cannot_be_opened_leaves_no_tab(
    start: Start, tmp_path: Path, able: tuple[str, ...], error: type[AgentError], message: str
) -> None:
    """No new session replaces it, because the user wants that one; the agent serves other sessions."""
    with pytest.raises(error) as failure:
        start("keeps", *able, agent="keeps", session="old-2")
    assert str(failure.value) == message
    other = start("keeps", *able, agent="keeps")
    other.open(PATIENCE)
    assert other.health().tabs == 1


def test_copy_has_the_memory_and_continues_separately(new_kernel: NewKernel) -> None:
    """Both remember the cat, but not what the other is told later; one process serves both, and both are logged."""
    kernel = new_kernel()
    first = kernel.start(title="Cats")
    first.prompt("my cat is ill").wait(PATIENCE, check=False)
    second = first.fork()
    assert texts(second) == texts(first)
    assert (second.title, second.tab_id != first.tab_id) == ("Cats (copy)", True)
    assert second.chat.origin is not None
    assert (second.chat.origin.kind, second.chat.origin.chat) == ("fork", first.chat.resource)
    answer = "Earlier you spoke of your cat. Does this have to do with it?"
    assert second.prompt("hm").wait(PATIENCE, check=False).text == answer
    assert (len(first.turns), len(second.turns)) == (1, 2)
    assert second.health().pid == first.health().pid
    kernel.close()
    again = new_kernel()
    assert [len(again.resume(each).turns) for each in (first, second)] == [1, 2]
    assert again.resume(second).title == "Cats (copy)"


def test_copied_transcript_does_not_appear_twice(kernel: Kernel) -> None:
    """The copy already has the transcript; the title in the replay still counts."""
    session = kernel.start("keeps", "fork")
    session.prompt("tell").wait(PATIENCE, check=False)
    copy = session.fork("Copy")
    assert [prompt for prompt, _ in texts(copy)] == ["tell"]
    assert copy.title == "As the agent calls it"


@pytest.mark.parametrize(
    ("able", "error", "message"),
    [
        ((), NotOffered, "does not offer to copy a session. Start a new one, and tell it what it needs to know."),
        (("fork", "refuses"), AgentRefused, "returned an error for session/fork: No such session."),
    ],
    ids=["not offered", "refused"],
)
def test_failed_copy_leaves_the_session_unchanged(
    kernel: Kernel, able: tuple[str, ...], error: type[AgentError], message: str
) -> None:
    """The one tab still works."""
    session = kernel.start("keeps", *able)
    with pytest.raises(error, match=message):
        session.fork()
    assert kernel.open_sessions == [uri_of(session)]
    assert session.prompt("tell").wait(PATIENCE, check=False).stop_reason == "end_turn"
    assert session.health().tabs == 1


REQUESTS: dict[str, Callable[..., Any]] = {
    "session/list": lambda folder, **agent: agentnb.history(kept_by="mine", folder=folder, **agent),
    "session/delete": lambda folder, **agent: agentnb.delete_session("old-1", agent="mine", cwd=folder, **agent),
    "logout": lambda folder, **agent: agentnb.logout("mine", cwd=folder, **agent),
}


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("session/list", "list its sessions. `agentnb.history()` lists the sessions"),
        ("session/delete", "delete a session. Delete it with the agent's own program"),
        ("logout", "log out. Log out with the agent's own program."),
    ],
)
def test_unsupported_request_is_not_sent_to_the_agent(tmp_path: Path, step: str, message: str) -> None:
    """The error says what to do instead."""
    with pytest.raises(NotOffered) as failure:
        REQUESTS[step](tmp_path, command=command("keeps", "load"))
    assert f"mine does not offer to {message}" in str(failure.value)


@pytest.mark.parametrize("step", ["session/fork", *REQUESTS])
def test_agent_that_dies_at_a_request_shows_its_last_output(start: Start, tmp_path: Path, step: str) -> None:
    """It leaves no tab, and the open session survives."""
    session = start("fails", "dies", step, agent="mine")
    session.open(PATIENCE)
    request = REQUESTS.get(step, lambda *_, **__: session.fork())
    with pytest.raises(AgentError, match=f"stopped unexpectedly \\(exit code 9\\)(.|\n)*could not go on at {step}"):
        request(tmp_path, command=command("fails", "dies", step))
    session.open(PATIENCE)
    assert session.health().tabs == 1


def test_next_session_needs_a_login_after_a_logout(start: Start, tmp_path: Path) -> None:
    """The host tells the running process; a running turn goes on."""
    env = {"AGENTNB_ELIZA_LOGIN": "1"}
    session = start(env=env)
    session.login("couch")
    assert session.prompt("/say in").wait(PATIENCE, check=False).text == "in"
    hanging = session.prompt("/hang")
    next(iter(hanging))
    with pytest.raises(UsageError, match="A turn runs in '/say in'"):
        agentnb.logout("eliza", env=env, cwd=tmp_path)
    hanging.cancel()
    hanging.wait(PATIENCE, check=False)
    agentnb.logout("eliza", env=env, cwd=tmp_path)
    turn = start(env=env).prompt("/say out").wait(PATIENCE, check=False)
    assert turn.error is not None
    assert "Sign in to" in turn.error.message


def test_logout_error_names_the_command_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue has the command."""
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path))
    (tmp_path / "agents").mkdir()
    described = f'name = "echo"\ntitle = "Echo"\ncommand = {command("echo")!r}\nlogout = "echo logout"\n'
    (tmp_path / "agents/echo.toml").write_text(described)
    with pytest.raises(NotOffered, match="Type `echo logout` in a terminal"):
        agentnb.logout("echo", cwd=tmp_path)
