"""Turns that no cell waits for, under every notebook runner: they finish, or they fail the run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from agentnb.cassette import file
from tests.notebooks.recorded import execute_here, notebook, run, run_with, with_plugin, without_agents

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
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes a notebook with its cassette and its outputs at the first call."""
    folder = tmp_path_factory.mktemp("background")

    def one(name: str) -> Path:
        path = folder / f"{name.replace(' ', '-')}.ipynb"
        if not path.exists():
            notebook(path, *NOTEBOOKS[name])
            cassette = {"AGENTNB_CASSETTE": f"{path.stem}.cassette.jsonl", "AGENTNB_CASSETTE_MODE": "record"}
            execute_here(path, {**without_agents(), **cassette})
            assert file.read(path.with_suffix(".cassette.jsonl")).turns == TURNS[name]
        return path

    return one


def copied(path: Path, folder: Path) -> Path:
    """Copy a notebook and its cassette."""
    shutil.copy(path.with_suffix(".cassette.jsonl"), folder)
    return Path(shutil.copy(path, folder))


OTHERWISE = {
    "nbconvert": ["last cell", "several"],
    "papermill": ["near the end"],
    "jupyter execute": ["from Python"],
}
"""All three run cells with nbclient; together they run each notebook once."""


@pytest.mark.parametrize("runner", ["nbval", "nbmake"])
def test_changed_background_prompt_fails_under_pytest(
    recorded: Callable[[str], Path], tmp_path: Path, runner: str
) -> None:
    """A notebook with a changed prompt fails; the error shows its class, the recorded prompt and today's."""
    for path in [copied(recorded(name), tmp_path) for name in NOTEBOOKS]:
        changed = path.with_name(f"changed-{path.name}")
        changed.write_text(as_changed(path), encoding="utf-8")
        shutil.copy(path.with_suffix(".cassette.jsonl"), changed.with_suffix(".cassette.jsonl"))
    names = sorted(path.name for path in tmp_path.glob("*.ipynb"))
    done = run(*with_plugin(f"--{runner}"), *names, cwd=tmp_path, seconds=600)
    failed = {line.removeprefix("FAILED ").split("::")[0] for line in done.stdout.splitlines() if "FAILED " in line}
    assert sorted(failed) == [name for name in names if name.startswith("changed-")], done.stdout
    assert len(failed) == len(NOTEBOOKS)
    deviations = done.stdout.partition("agentnb cassettes")[2].split("not as recorded in ")[1:]
    for name in failed:
        deviation = "".join(each for each in deviations if each.startswith(name.replace(".ipynb", ".cassette.jsonl:")))
        assert "-/slow 4 150 old" in deviation
        assert "+/slow 4 150 new" in deviation
    assert done.stdout.count("CassetteMismatch") >= len(failed)


@pytest.mark.parametrize(("runner", "name"), [(runner, name) for runner, names in OTHERWISE.items() for name in names])
def test_changed_background_prompt_fails_in_every_runner(
    recorded: Callable[[str], Path], tmp_path: Path, runner: str, name: str
) -> None:
    """The error shows the recorded and today's prompt, and its class is in the last line of the traceback."""
    path = copied(recorded(name), tmp_path)
    done = run_with(runner, path)
    assert done.returncode == 0, done.stdout + done.stderr
    path.write_text(as_changed(path), encoding="utf-8")
    done = run_with(runner, path)
    output = done.stdout + done.stderr
    assert done.returncode != 0, output
    assert "CassetteMismatch" in output
    assert "-/slow 4 150 old" in output
    assert "+/slow 4 150 new" in output


def as_changed(path: Path) -> str:
    """Returns the notebook with a changed prompt."""
    text = path.read_text(encoding="utf-8")
    assert "150 old" in text
    return text.replace("150 old", "150 new")


def test_saved_notebook_has_the_full_table_of_a_background_batch(tmp_path: Path) -> None:
    """The last cell has it; the prompt's cell keeps its first output."""
    cells = (f"{LOAD}\nxs = [1, 2]", "%%agent -b map xs\n/say answer {input}", "print('done')")
    path = notebook(tmp_path / "batch.ipynb", *cells)
    execute_here(path, without_agents())
    last = nbformat.read(path, 4).cells[-1].outputs[-1]["data"]["text/plain"]
    assert last.splitlines()[0] == "2 of 2 done"
    assert "answer 2" in last


@pytest.mark.parametrize("runner", ["nbconvert", "nbval"])
def test_failed_turn_after_the_last_cell_fails_the_run(tmp_path: Path, runner: str) -> None:
    """Without a cassette, an agent dies in the background."""
    path = notebook(tmp_path / "dies.ipynb", LOAD, "%agent -b /crash")
    done = run_with(runner, path)
    assert done.returncode != 0
    assert "TurnFailed" in done.stdout + done.stderr


@pytest.mark.parametrize("runner", ["nbconvert", "nbval-lax"])
def test_later_cell_can_cancel_a_background_turn(tmp_path: Path, runner: str) -> None:
    """Only the last cell waits: a later cell can stop an agent that hangs."""
    path = notebook(tmp_path / "hangs.ipynb", *CANCELLED)
    done = run_with(runner, path)
    assert done.returncode == 0, done.stdout + done.stderr


GIVEN_UP = """
print(blocked.state, awaited.state)
try:
    batch.wait(20)
except agentnb.BatchFailed as error:
    print(str(error).split(" The answers")[0])
"""
GAVE_UP = """
import agentnb, asyncio
%config Agentnb.headless_timeout = 60
session, other = agentnb.start(), agentnb.start()
blocked, awaited = session.prompt("/hang"), other.prompt("/hang")
batch = agentnb.map("/hang {input}", [1])
try:
    blocked.wait(1)
except agentnb.TurnTimeout as error:
    print(error.hint)
try:
    await awaited.wait_async(1)
except agentnb.TurnTimeout:
    print(awaited.state)
try:
    batch.wait(1)
except TimeoutError as error:
    print(error)
"""


def test_turn_or_batch_is_cancelled_when_its_timed_out_cell_ends(tmp_path: Path) -> None:
    """The last cell does not wait for it; a later wait in the same cell works."""
    path = notebook(tmp_path / "gives-up.ipynb", LOAD, GAVE_UP, GIVEN_UP)
    execute_here(path, without_agents())
    first, second = ("".join(output.text for output in cell.outputs) for cell in nbformat.read(path, 4).cells[1:])
    assert first.splitlines() == [
        "Wait again in this cell: no user is attached, so the turn is cancelled when the cell ends.",
        "running",
        "The batch has not ended within 1 s; it is cancelled when this cell ends.",
    ]
    assert second == "cancelled cancelled\nThe batch ended early: It was cancelled.\n"


def test_timeout_that_fails_a_cell_ends_the_run(tmp_path: Path) -> None:
    """The run ends with that error at once, even in the last cell."""
    path = notebook(tmp_path / "fails.ipynb", START, "session.prompt('/hang').wait(1)")
    with pytest.raises(CellExecutionError, match="TurnTimeout: The turn did not end in 1 s"):
        execute_here(path, without_agents())


def test_saved_notebook_has_a_background_answer_only_once(tmp_path: Path) -> None:
    """Answers are in the last cell, in the order of the prompts, without those that a cell has shown."""
    cells = (
        LOAD,
        "turn = %agent -b /say shown",
        "await turn",
        "%agent -b /slow 2 300 late\n%agent -b -t other /say two",
    )
    path = notebook(tmp_path / "saved.ipynb", *cells, "print('done')")
    execute_here(path, without_agents())
    outputs = [cell.outputs for cell in nbformat.read(path, 4).cells]
    answers = [[text for each in cell if (text := each.get("data", {}).get("text/markdown"))] for cell in outputs]
    assert [len(cell) for cell in answers] == [0, 0, 1, 0, 2]
    assert "shown" in answers[2][0]
    assert "late" in answers[4][0]
    assert "two" in answers[4][1]
    assert "*The turn is still running" not in str(answers)
