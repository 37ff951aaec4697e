"""Turns that no cell waits for, under every program that runs notebooks: they are finished, or they fail the run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agentnb.cassette import file
from tests.notebooks.recorded import RUNNERS, execute, notebook, run_with

LOAD = "%load_ext agentnb"
START = "import agentnb\nsession = agentnb.start()"
NOTEBOOKS = {
    "last cell": (LOAD, "%agent -b /slow 4 150 old"),
    "near the end": (LOAD, "%agent -b /slow 4 150 old", "print('done')"),
    "from Python": (START, "turn = session.prompt('/slow 4 150 old')"),
    "several": (LOAD, "%agent -b -t one /slow 4 150 old", "%agent -b -t one /say two\n%agent -b -t other /say three"),
}
TURNS = {"last cell": 1, "near the end": 1, "from Python": 1, "several": 3}
CANCELLED = (LOAD, "turn = %agent -b /hang", "turn.cancel()", "print(turn.wait(60).state)")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The notebooks, each with its cassette, and its outputs stored."""
    folder = tmp_path_factory.mktemp("background")
    for name, cells in NOTEBOOKS.items():
        path = notebook(folder / f"{name.replace(' ', '-')}.ipynb", *cells)
        done = execute(path, AGENTNB_CASSETTE=f"{path.stem}.cassette.jsonl", AGENTNB_CASSETTE_MODE="record")
        assert done.returncode == 0, done.stderr
        assert file.read(path.with_suffix(".cassette.jsonl")).turns == TURNS[name]
    return folder


@pytest.fixture
def copied(recorded: Path, tmp_path: Path) -> Path:
    """A copy of them."""
    return Path(shutil.copytree(recorded, tmp_path / "copy"))


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_background_turn_when_prompt_is_as_recorded_passes_and_otherwise_fails_the_run(
    copied: Path, name: str, runner: str
) -> None:
    """The error shows the recorded and today's prompt, and its class is in the last line of the traceback."""
    path = copied / f"{name.replace(' ', '-')}.ipynb"
    done = run_with(runner, path)
    assert done.returncode == 0, done.stdout + done.stderr
    path.write_text(path.read_text(encoding="utf-8").replace("150 old", "150 new"), encoding="utf-8")
    done = run_with(runner, path)
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    assert "CassetteMismatch" in said
    assert "-/slow 4 150 old" in said
    assert "+/slow 4 150 new" in said


@pytest.mark.parametrize("runner", ["nbconvert", "nbval"])
def test_turn_that_fails_after_the_last_cell_fails_the_run(tmp_path: Path, runner: str) -> None:
    """An agent that dies in the background, without any cassette."""
    path = notebook(tmp_path / "dies.ipynb", LOAD, "%agent -b /crash")
    done = run_with(runner, path)
    assert done.returncode != 0
    assert "TurnFailed" in done.stdout + done.stderr


@pytest.mark.parametrize("runner", ["nbconvert", "nbval-lax"])
def test_background_turn_that_a_later_cell_cancels_is_not_waited_for_before(tmp_path: Path, runner: str) -> None:
    """Only the last cell waits: an agent that hangs can be stopped by the cell after."""
    path = notebook(tmp_path / "hangs.ipynb", *CANCELLED)
    done = run_with(runner, path)
    assert done.returncode == 0, done.stdout + done.stderr
