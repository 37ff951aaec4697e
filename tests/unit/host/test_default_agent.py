"""The default agent of a new conversation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentnb import Session
from agentnb.agent.catalog import find
from agentnb.configuration.write import change_setting
from agentnb.errors import AgentStartFailed
from agentnb.host import Host
from tests import known_agent


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder in which agents are installed."""
    folder = tmp_path / "prefix"
    (folder / "bin").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
    return folder


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log that all notebooks share."""
    return tmp_path / "log/sessions.db"


@contextmanager
def notebook(log: Path | None = None, place: str = "") -> Iterator[Host]:
    """Runs a notebook's host."""
    host = Host(log=log, place=place)
    try:
        yield host
    finally:
        host.close()


def default(host: Host) -> str:
    """Returns the default agent, which the page has, too."""
    name = host.loop.submit(host.default_agent.find()).result(10)
    config = host.loop.call(lambda: host.root.state.config)
    assert config is not None
    assert config.values["agent"] == name
    return name


def use(host: Host, agent: str, folder: Path) -> None:
    """Sends a prompt and waits for it."""
    session = Session(host.loop.call(lambda: host.open(find(agent), cwd=folder)))
    session.prompt("Hello").wait(30)


def test_no_agent_is_the_default_when_none_is_installed(prefix: Path) -> None:
    with notebook() as host:
        assert default(host) == ""


def test_first_installed_real_agent_is_the_default(prefix: Path) -> None:
    for program in ("goose", "opencode"):
        known_agent.install(prefix, program, "moody")
    with notebook() as host:
        assert default(host) == "opencode"


def test_tour_is_the_default_only_without_a_real_agent(prefix: Path, tmp_path: Path) -> None:
    with notebook() as host:
        use(host, "eliza", tmp_path)
        assert default(host) == "eliza"
    known_agent.install(prefix, "goose", "moody")
    with notebook() as host:
        use(host, "eliza", tmp_path)
        assert default(host) == "goose"


def test_default_is_the_agent_last_used_in_this_notebook(prefix: Path, log: Path, tmp_path: Path) -> None:
    for program in ("goose", "opencode"):
        known_agent.install(prefix, program, "moody")
    with notebook(log, "a.ipynb") as host:
        use(host, "goose", tmp_path)
        assert default(host) == "goose"
    with notebook(log, "b.ipynb") as host:
        assert default(host) == "goose"  # the last used agent of any notebook
        use(host, "opencode", tmp_path)
    with notebook(log, "a.ipynb") as host:
        assert default(host) == "goose"
    with notebook(log, "c.ipynb") as host:
        assert default(host) == "opencode"


def test_npx_agent_is_the_default_only_when_none_is_installed(prefix: Path, tmp_path: Path) -> None:
    """Even if used last: a start would download it."""
    (prefix / "bin/npx").symlink_to("/bin/true")
    with notebook() as host:
        host.loop.call(host.default_agent.used, "claude")
        host.loop.call(host.default_agent.used, "eliza")
        assert default(host) == "eliza"
        host.loop.call(host.default_agent.used, "claude")
        assert default(host) == "claude"
    known_agent.install(prefix, "goose", "moody")
    with notebook() as host:
        host.loop.call(host.default_agent.used, "claude")
        assert default(host) == "goose"


def test_agent_setting_overrides_the_default_agent(
    prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known_agent.install(prefix, "goose", "moody")
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "config"))
    change_setting("agent", "local")
    with notebook() as host:
        assert default(host) == "local"


def test_agent_that_failed_to_start_is_not_the_default(prefix: Path, tmp_path: Path) -> None:
    known_agent.install(prefix, "opencode", "dies_at_start")
    known_agent.install(prefix, "goose", "moody")
    with notebook() as host:
        conversation = host.loop.call(lambda: host.open(find("opencode"), cwd=tmp_path))
        with pytest.raises(AgentStartFailed):
            host.loop.submit(conversation.ready()).result(30)
        host.loop.call(host.default_agent.used, "opencode")
        assert default(host) == "goose"
