"""Sessions that agents keep: listed page by page, opened, copied, deleted; logging out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentnb import Session
from agentnb.agent.catalog import custom, find
from agentnb.errors import AgentError, AgentRefused, NotOffered, UsageError
from agentnb.host import Host
from agentnb.host.history.restore import deleted, forked, listed, logged_out, opened
from agentnb.host.session_options import Configuration
from agentnb.log.store import LogStore
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.host.conftest import Open, configuration, hosted, uri_of

Kept = Callable[..., Configuration]


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """Returns the configuration of the scripted agent that keeps sessions and has these abilities."""

    def describe(*able: str) -> Configuration:
        return configuration(custom([sys.executable, str(AGENTS / "keeps.py"), *able], name="keeps"), tmp_path)

    return describe


def run(host: Host, work: Any) -> Any:
    """Returns the result of *work* on the host's thread."""
    return host.loop.submit(work).result(PATIENCE)


def texts(session: Session) -> list[tuple[str, str]]:
    """Returns the prompt and the answer of each turn."""
    return [(turn.message.text, session.turns[at].text) for at, turn in enumerate(session.chat.turns)]


def test_session_is_resumed_when_the_agent_cannot_load(host: Host, kept: Kept) -> None:
    """The transcript is empty."""
    conversation = run(host, opened(host, kept("resume"), "old-2", title="Mine"))
    assert (texts(Session(conversation)), conversation.lifecycle.opening.outcome) == ([], "resumed")


@pytest.mark.parametrize(
    ("able", "error", "message"),
    [
        ((), NotOffered, "keeps does not offer to open an old session. Start a new one."),
        (("load", "refuses"), AgentRefused, "keeps returned an error for session/load: No such session."),
    ],
    ids=["not offered", "refused"],
)
def test_a_session_that_cannot_be_opened_leaves_no_tab(
    host: Host, kept: Kept, able: tuple[str, ...], error: type[AgentError], message: str
) -> None:
    """No new session replaces it, because the user wants that one."""
    with pytest.raises(error) as failure:
        run(host, opened(host, kept(*able), "old-2"))
    assert str(failure.value) == message
    assert host.conversations == {}


def test_copy_has_the_memory_and_continues_separately(host: Host, open_session: Open) -> None:
    """Both remember the cat, but not what the other is told later; one process serves both."""
    conversation = host.loop.call(lambda: host.open(find("eliza"), cwd=Path.cwd(), title="Cats"))
    first = Session(conversation)
    first.prompt("my cat is ill").wait(PATIENCE, check=False)
    second = first.fork()
    assert texts(second) == texts(first)
    assert (second.title, second.tab_id != first.tab_id) == ("Cats (copy)", True)
    assert second.chat.origin is not None
    assert (second.chat.origin.kind, second.chat.origin.chat) == ("fork", first.chat.resource)
    assert (
        second.prompt("hm").wait(PATIENCE, check=False).text
        == "Earlier you spoke of your cat. Does this have to do with it?"
    )
    assert (len(first.turns), len(second.turns)) == (1, 2)
    assert second.health().pid == first.health().pid
    assert hosted(host, second).session_id != conversation.session_id


def test_copy_of_a_session_is_stored_in_the_log(tmp_path: Path) -> None:
    host = Host(log=tmp_path / "log.db")
    first = Session(host.loop.call(lambda: host.open(find("eliza"), cwd=tmp_path)))
    first.prompt("/say one").wait(PATIENCE, check=False)
    second = first.fork("The other")
    second.prompt("/say two").wait(PATIENCE, check=False)
    host.close()
    store = LogStore(tmp_path / "log.db", "another")
    assert {(record.title, record.turns) for record in store.sessions()} == {("/say one", 1), ("The other", 2)}
    stored = store.load(uri_of(second))
    assert [turn.message.text for turn in stored.chat.turns] == ["/say one", "/say two"]
    store.close()


def test_copied_transcript_does_not_appear_twice(host: Host, open_session: Open) -> None:
    """The copy already has the transcript; the title in the replay still counts."""
    session = open_session("keeps", "fork")
    session.prompt("tell").wait(PATIENCE, check=False)
    copy = session.fork("Copy")
    assert [prompt for prompt, _ in texts(copy)] == ["tell"]
    assert hosted(host, copy).session_id == "forked"
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
    host: Host, open_session: Open, able: tuple[str, ...], error: type[AgentError], message: str
) -> None:
    """The one tab still works."""
    session = open_session("keeps", *able)
    with pytest.raises(error, match=message):
        session.fork()
    assert list(host.conversations) == [uri_of(session)]
    assert session.prompt("tell").wait(PATIENCE, check=False).stop_reason == "end_turn"
    assert session.health().tabs == 1


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (
            lambda host, agent: listed(host, agent, None, None),
            "list its sessions. `agentnb.history()` lists the sessions",
        ),
        (lambda host, agent: deleted(host, agent, "old-1"), "delete a session. Delete it with the agent's own program"),
        (logged_out, "log out. Log out with the agent's own program."),
    ],
    ids=["list", "delete", "logout"],
)
def test_unsupported_request_is_not_sent_to_the_agent(
    host: Host, kept: Kept, work: Callable[[Host, Configuration], Any], message: str
) -> None:
    """The error says what to do instead."""
    with pytest.raises(NotOffered) as failure:
        run(host, work(host, kept("load")))
    assert f"keeps does not offer to {message}" in str(failure.value)


@pytest.mark.parametrize("step", ["session/list", "session/fork", "session/delete", "logout"])
def test_agent_that_dies_at_a_request_shows_its_last_output(host: Host, open_session: Open, step: str) -> None:
    """It leaves no tab, and the open session survives."""
    session = open_session("fails", "dies", step)
    session.open(PATIENCE)
    conversation = hosted(host, session)
    same = conversation.configuration
    work = {
        "session/list": lambda: listed(host, same, None, None),
        "session/fork": lambda: forked(conversation),
        "session/delete": lambda: deleted(host, same, "old"),
        "logout": lambda: logged_out(host, same),
    }[step]
    with pytest.raises(AgentError, match=f"stopped unexpectedly \\(exit code 9\\)(.|\n)*could not go on at {step}"):
        run(host, work())
    assert list(host.conversations) == [uri_of(session)]


def test_next_session_needs_a_login_after_a_logout(attended: Host, tmp_path: Path) -> None:
    """The host tells the running process; a running turn goes on."""
    env = {"AGENTNB_ELIZA_LOGIN": "1"}
    eliza = find("eliza")
    agent = configuration(eliza, tmp_path, env)
    session = Session(attended.loop.call(lambda: attended.open(eliza, cwd=tmp_path, env=env)))
    session.login("couch")
    assert session.prompt("/say in").wait(PATIENCE, check=False).text == "in"
    hanging = session.prompt("/hang")
    next(iter(hanging))
    with pytest.raises(UsageError, match="A turn runs in '/say in'"):
        run(attended, logged_out(attended, agent))
    hanging.cancel()
    hanging.wait(PATIENCE, check=False)
    assert run(attended, logged_out(attended, agent)) == 1
    attended.environment.connect(attached=lambda: False)
    another = Session(attended.loop.call(lambda: attended.open(eliza, cwd=tmp_path, env=env)))
    turn = another.prompt("/say out").wait(PATIENCE, check=False)
    assert turn.error is not None
    assert "Sign in to" in turn.error.message


def test_logout_error_names_the_command_to_type(host: Host, tmp_path: Path) -> None:
    """The catalogue has the command."""
    spec = custom([sys.executable, str(AGENTS / "echo.py")], name="echo")
    with pytest.raises(NotOffered, match="Type `echo logout` in a terminal"):
        run(host, logged_out(host, configuration(replace(spec, logout="echo logout"), tmp_path)))
