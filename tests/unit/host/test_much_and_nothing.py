"""Large amounts, nothing at all, and a restart in the middle: the host goes on, and names what it leaves out."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from agentnb.errors import FilesConflict, UsageError
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.host.conftest import NewKernel

MEGABYTE = "word " * 200_000
FILES = 500


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace; settings and changes lie beside it."""
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def test_megabyte_prompt_reaches_the_agent_and_survives_restart(new_kernel: NewKernel, work: Path) -> None:
    """Its first words name the tab, and the agent's new session gets the beginning."""
    first = new_kernel(work)
    session = first.start("many_models")
    assert session.prompt(MEGABYTE).wait(PATIENCE).text == f"model-0, {len(MEGABYTE)} characters"
    assert (session.title[:9], len(session.title) <= 48) == ("word word", True)
    first.close()
    restored = new_kernel(work).resume(session, "many_models")
    assert restored.prompt("and then").wait(PATIENCE).text == "model-0, 8 characters"
    assert [turn.message.text for turn in restored.chat.turns] == [MEGABYTE, "and then"]


def test_megabyte_setting_is_refused_with_a_reason(new_kernel: NewKernel, work: Path) -> None:
    """A text, a list, an address and a folder; nothing is written."""
    kernel = new_kernel(work)
    for name in ("local_url", "cwd", "components", "agent"):
        with pytest.raises(UsageError) as refused:
            kernel.ask("changeSetting", name=name, value=MEGABYTE)
        assert 0 < len(str(refused.value)) < 2_000, name
    assert kernel.ask("listSettings")["groups"]


def test_agent_without_a_name_uses_its_catalogue_name(new_kernel: NewKernel, work: Path) -> None:
    session = new_kernel(work).start("many_models", "nothing")
    assert session.prompt("Hi").wait(PATIENCE).text == "model-0, 2 characters"
    process, state = session.state.agent_process, session.state
    assert process is not None
    assert (process.name, process.state) == ("many_models", "running")
    assert (state.config_options or (), state.modes) == ((), None)


def test_chosen_model_of_two_hundred_survives_a_restart(new_kernel: NewKernel, work: Path) -> None:
    """Also after a kernel restart, though the agent cannot resume its session."""
    first = new_kernel(work)
    session = first.start("many_models")
    session.prompt("Hi").wait(PATIENCE)
    (option,) = session.state.config_options or ()
    assert len(option["options"]) == 200
    session.set_model("model-150")
    assert session.prompt("Hi").wait(PATIENCE).text == "model-150, 2 characters"
    first.close()
    restored = new_kernel(work).resume(session, "many_models")
    assert restored.prompt("Hi").wait(PATIENCE).text == "model-150, 2 characters"
    (option,) = restored.state.config_options or ()
    assert option["currentValue"] == "model-150"


def test_all_forty_user_agents_are_listed(new_kernel: NewKernel, work: Path, tmp_path: Path) -> None:
    """Agents with an installed program can start; one of them does."""
    folder = tmp_path / "config/agents"
    folder.mkdir(parents=True)
    words = json.dumps([sys.executable, str(AGENTS / "many_models.py")])
    for number in range(40):
        text = f'name = "own-{number}"\ntitle = "Own {number}"\ncommand = {words}\nrank = {number}\n'
        (folder / f"own-{number}.toml").write_text(text)
    kernel = new_kernel(work)
    own = [each for each in kernel.agents if each.provider.startswith("own-")]
    assert (len(own), {each.missing for each in own}) == (40, {None})
    session = kernel.session(kernel.ask("createSession", agent="own-39")["channel"])
    assert session.prompt("Hi").wait(PATIENCE).text == "model-0, 2 characters"


def test_many_files_can_be_undone_after_an_interrupted_turn(new_kernel: NewKernel, work: Path, tmp_path: Path) -> None:
    """The interrupted turn's changes are listed; undo asks about the file that the user changed, and undoes nothing."""
    os.mkfifo(tmp_path / "pipe")
    first = new_kernel(work)
    session = first.start("writes_files")
    steps = [["write", f"{number}.txt", f"{number}\n"] for number in range(FILES)]
    session.prompt(json.dumps([*steps, ["wait", str(tmp_path / "pipe")]]))
    with (tmp_path / "pipe").open("wb"):  # opens once the agent waits
        first.close()
    (work / "7.txt").write_text("mine\n")
    restored = new_kernel(work).resume(session, "writes_files")
    (turn,) = restored.turns
    assert (turn.state, len(turn.changes)) == ("error", FILES)
    with pytest.raises(FilesConflict) as conflict:
        turn.undo()
    assert ["7.txt" in str(each) for each in conflict.value.conflicts] == [True]
    assert len([*work.iterdir()]) == FILES
    turn.undo(choices={"7.txt": "mine"})
    assert [each.name for each in work.iterdir()] == ["7.txt"]
