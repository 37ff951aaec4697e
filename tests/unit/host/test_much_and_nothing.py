"""Large amounts, nothing at all, and a restart in the middle: the host goes on, and names what it leaves out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentnb.agent.catalog import AgentSpec, custom
from agentnb.api.session import Session
from agentnb.errors import FilesConflict
from agentnb.host import Host
from agentnb.host.history.restore import read_back, recorder_of, restore
from agentnb.host.intents import choose
from agentnb.host.session_options import SessionOptions
from agentnb.state import XConfigOptionChosen
from agentnb.state.session_state import option_value
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.host.conftest import CLIENT, hosted, until
from tests.unit.server.test_service import Page

MEGABYTE = "word " * 200_000
FILES = 500


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace; settings and changes lie beside it."""
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def kernel(tmp_path: Path, work: Path) -> Iterator[Callable[[], Host]]:
    """Makes kernels with the same log."""
    del work
    hosts: list[Host] = []

    def make() -> Host:
        hosts.append(Host(log=tmp_path / "log/sessions.db"))
        return hosts[-1]

    yield make
    for host in hosts:
        host.close()


def spec(script: str, *words: str) -> AgentSpec:
    return custom([sys.executable, str(AGENTS / f"{script}.py"), *words], name=script)


def begin(host: Host, work: Path, script: str, *words: str) -> Session:
    described = spec(script, *words)
    return Session(host.loop.call(lambda: host.open(described, cwd=work)))


def again(host: Host, session: Session, script: str) -> Session:
    stored = read_back(recorder_of(host), session.tab_id)
    options = SessionOptions(spec=spec(script), cwd=Path())
    return Session(host.loop.call(lambda: restore(host, stored, options)))


def test_megabyte_prompt_reaches_the_agent_and_survives_restart(kernel: Callable[[], Host], work: Path) -> None:
    """Sent by a page; its first words name the tab, and the agent's new session gets the beginning."""
    first = kernel()
    page = Page(first)
    page.ready()
    session = begin(first, work, "many_models")
    message = {"text": MEGABYTE, "origin": {"kind": "user"}}
    page.dispatch(hosted(first, session).chat.uri, {"type": "chat/turnStarted", "turnId": "t1", "message": message})
    until(first, session, lambda: len(session.chat.turns) == 1)
    assert session.turns[0].text == f"model-0, {len(MEGABYTE)} characters"
    assert (session.title[:9], len(session.title) <= 48) == ("word word", True)
    first.close()
    restored = again(kernel(), session, "many_models")
    assert restored.prompt("and then").wait(PATIENCE).text == "model-0, 8 characters"
    assert [turn.message.text for turn in restored.chat.turns] == [MEGABYTE, "and then"]


def test_megabyte_setting_is_refused_with_a_reason(kernel: Callable[[], Host], work: Path) -> None:
    """A text, a list, an address and a folder; nothing is written."""
    del work
    page = Page(kernel())
    page.ready()
    for name in ("local_url", "cwd", "components", "agent"):
        answer = page.ask("changeSetting", {"name": name, "value": MEGABYTE})
        assert 0 < len(answer["error"]["message"]) < 2_000, name
    assert "result" in page.ask("listSettings", {})


def test_agent_without_a_name_uses_its_catalogue_name(kernel: Callable[[], Host], work: Path) -> None:
    session = begin(kernel(), work, "many_models", "nothing")
    assert session.prompt("Hi").wait(PATIENCE).text == "model-0, 2 characters"
    process, state = session.state.agent_process, session.state
    assert process is not None
    assert (process.name, process.state) == ("many_models", "running")
    assert (state.config_options or (), state.modes) == ((), None)


def test_chosen_model_of_two_hundred_survives_a_restart(kernel: Callable[[], Host], work: Path) -> None:
    """Also after a kernel restart, though the agent cannot resume its session."""
    first = kernel()
    session = begin(first, work, "many_models")
    session.prompt("Hi").wait(PATIENCE)
    (option,) = session.state.config_options or ()
    assert len(option["options"]) == 200
    action = XConfigOptionChosen(config_id="model", value="model-150")
    first.loop.submit(choose(hosted(first, session), action, CLIENT)).result(PATIENCE)
    assert session.prompt("Hi").wait(PATIENCE).text == "model-150, 2 characters"
    first.close()
    restored = again(kernel(), session, "many_models")
    assert restored.prompt("Hi").wait(PATIENCE).text == "model-150, 2 characters"
    (option,) = restored.state.config_options or ()
    assert option_value(option) == "model-150"


def test_all_forty_user_agents_are_listed(kernel: Callable[[], Host], work: Path, tmp_path: Path) -> None:
    """Agents with an installed program can start; one of them does."""
    folder = tmp_path / "config/agents"
    folder.mkdir(parents=True)
    words = json.dumps([sys.executable, str(AGENTS / "many_models.py")])
    for number in range(40):
        text = f'name = "own-{number}"\ntitle = "Own {number}"\ncommand = {words}\nrank = {number}\n'
        (folder / f"own-{number}.toml").write_text(text)
    host = kernel()
    page = Page(host)
    page.ready()
    own = [each for each in host.root.state.agents if each.provider.startswith("own-")]
    assert (len(own), {each.missing for each in own}) == (40, {None})
    channel = page.ask("createSession", {"agent": "own-39"})["result"]["channel"]
    session = Session(host.find(channel))
    assert session.prompt("Hi").wait(PATIENCE).text == "model-0, 2 characters"


def test_many_files_can_be_undone_after_an_interrupted_turn(
    kernel: Callable[[], Host], work: Path, tmp_path: Path
) -> None:
    """The interrupted turn's changes are listed; undo asks about the file that the user changed, and undoes nothing."""
    os.mkfifo(tmp_path / "pipe")
    first = kernel()
    session = begin(first, work, "writes_files")
    steps = [["write", f"{number}.txt", f"{number}\n"] for number in range(FILES)]
    session.prompt(json.dumps([*steps, ["wait", str(tmp_path / "pipe")]]))
    with (tmp_path / "pipe").open("wb"):  # opens once the agent waits
        first.close()
    (work / "7.txt").write_text("mine\n")
    restored = again(kernel(), session, "writes_files")
    (turn,) = restored.turns
    assert (turn.state, len(turn.changes)) == ("error", FILES)
    with pytest.raises(FilesConflict) as conflict:
        turn.undo()
    assert ["7.txt" in str(each) for each in conflict.value.conflicts] == [True]
    assert len([*work.iterdir()]) == FILES
    turn.undo(choices={"7.txt": "mine"})
    assert [each.name for each in work.iterdir()] == ["7.txt"]
