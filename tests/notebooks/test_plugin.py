"""The pytest plugin: a notebook with a cassette beside it runs under every runner, with no agent installed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agentnb.cassette import file
from tests.notebooks.recorded import (
    CELLS,
    NAMED,
    PYTEST,
    execute,
    execute_here,
    notebook,
    record,
    run,
    stand_in,
    with_plugin,
    without_agents,
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = notebook(tmp_path_factory.mktemp("recorded") / "fit.ipynb", *CELLS)
    record(path)
    return path


@pytest.fixture
def recorded(original: Path, tmp_path: Path) -> Path:
    """A copy in another folder, without the agent's files of the recording."""
    for name in ("fit.ipynb", "fit.cassette.jsonl"):
        shutil.copy(original.parent / name, tmp_path / name)
    return tmp_path / "fit.ipynb"


def reworded(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")


@pytest.mark.parametrize("options", [("--nbval",), ("--nbmake",)])
def test_runners_replay_the_cassette(recorded: Path, options: tuple[str, ...]) -> None:
    """The outputs match, and the replay writes the agent's file again."""
    done = run(*with_plugin(*options), "fit.ipynb", cwd=recorded.parent)
    assert done.returncode == 0, done.stdout
    assert (recorded.parent / "report.txt").read_text(encoding="utf-8") == "The fit converged.\n"
    assert "agentnb cassettes" not in done.stdout


@pytest.mark.parametrize("options", [("--nbval",), ("--nbmake",)])
def test_changed_prompt_fails_with_a_diff(recorded: Path, options: tuple[str, ...]) -> None:
    reworded(recorded, "-t other Hello", "-t other Good evening")
    done = run(*with_plugin(*options), "fit.ipynb", cwd=recorded.parent)
    assert done.returncode == 1
    assert "the prompt differs from the recorded one" in done.stdout
    assert "-Hello" in done.stdout
    assert "+Good evening" in done.stdout


def cut(notebook: Path, cells: int) -> None:
    """Keeps only the first *cells*."""
    document = json.loads(notebook.read_text(encoding="utf-8"))
    document["cells"] = document["cells"][:cells]
    notebook.write_text(json.dumps(document), encoding="utf-8")


def test_unused_recorded_turns_are_reported(recorded: Path) -> None:
    cut(recorded, 4)
    done = run(*with_plugin("--nbval"), "fit.ipynb", cwd=recorded.parent)
    assert done.returncode == 0, done.stdout
    assert "turn 2 of session 2 was not used" in done.stdout
    strict = run(*with_plugin("--nbval"), "--agentnb-strict", "fit.ipynb", cwd=recorded.parent)
    assert strict.returncode == 1
    assert "The run fails because of --agentnb-strict" in strict.stdout


def test_parallel_workers_use_the_cassette_of_each_notebook(recorded: Path) -> None:
    """Each notebook uses its own cassette; every worker reports unexpected prompts."""
    folder = recorded.parent
    for name in ("one", "two", "three"):
        (folder / name).mkdir()
        for file_name in ("fit.ipynb", "fit.cassette.jsonl"):
            shutil.copy(folder / file_name, folder / name / file_name.replace("fit", name))
    reworded(folder / "two/two.ipynb", "What shall I do?", "/say What?")
    parallel = ("-p", "xdist", "-n", "2", "--dist", "loadfile")
    done = run(*with_plugin("--nbval"), *parallel, "one/one.ipynb", "two/two.ipynb", "three/three.ipynb", cwd=folder)
    assert done.returncode == 1
    assert "+/say What?" in done.stdout
    assert "two/two.cassette.jsonl" in done.stdout.partition("agentnb cassettes")[2]
    assert "one/one.cassette.jsonl" not in done.stdout.partition("agentnb cassettes")[2]
    assert (folder / "one/report.txt").exists()
    assert (folder / "three/report.txt").exists()


def test_replay_fixture_works_with_papermill_and_nbclient(recorded: Path) -> None:
    (recorded.parent / "test_fit.py").write_text(
        """
import nbformat, papermill
from nbclient import NotebookClient

def test_papermill(agentnb_replay):
    with agentnb_replay("fit.ipynb"):
        done = papermill.execute_notebook("fit.ipynb", None, progress_bar=False)
    assert "I wrote" in str(done.cells[1].outputs)

def test_nbclient(agentnb_replay):
    document = nbformat.read("fit.ipynb", as_version=4)
    with agentnb_replay("fit.ipynb"):
        NotebookClient(document).execute()
    assert "I wrote" in str(document.cells[1].outputs)
""",
        encoding="utf-8",
    )
    done = run(*NAMED, "test_fit.py", cwd=recorded.parent)
    assert done.returncode == 0, done.stdout


def test_nbconvert_replays_with_environment_variables(recorded: Path) -> None:
    before = recorded.read_bytes()
    done = execute(recorded, AGENTNB_CASSETTE="fit.cassette.jsonl", AGENTNB_CASSETTE_MODE="replay")
    assert done.returncode == 0, done.stderr
    assert recorded.read_bytes() == before


def test_papermill_replays_with_environment_variables(recorded: Path) -> None:
    env = {**without_agents(), "AGENTNB_CASSETTE": "fit.cassette.jsonl", "AGENTNB_CASSETTE_MODE": "replay"}
    done = run("papermill", "--no-progress-bar", "fit.ipynb", "out.ipynb", cwd=recorded.parent, env=env)
    assert done.returncode == 0, done.stderr
    assert outputs(recorded.parent / "out.ipynb") == outputs(recorded)


def outputs(path: Path) -> list[object]:
    return [cell["outputs"] for cell in json.loads(path.read_bytes())["cells"]]


def test_record_option_records_the_cassette_again(recorded: Path) -> None:
    reworded(recorded, "-t other Hello", "-t other Good evening")
    before = recorded.read_bytes()
    env = stand_in(recorded.parent)
    done = run(*with_plugin("--nbmake"), "--agentnb-record", "fit.ipynb", cwd=recorded.parent, env=env)
    assert done.returncode == 0, done.stdout
    assert recorded.read_bytes() == before
    assert "Good evening" in (recorded.parent / "fit.cassette.jsonl").read_text(encoding="utf-8")
    assert (
        "fit.ipynb: its cassette was recorded, and the outputs stored in it are still those from before" in done.stdout
    )
    done = run(*with_plugin("--nbmake"), "fit.ipynb", cwd=recorded.parent)
    assert done.returncode == 0, done.stdout


def test_broken_cassette_error_names_the_line(recorded: Path) -> None:
    cassette = recorded.parent / "fit.cassette.jsonl"
    data = cassette.read_bytes()
    cassette.write_bytes(data[: len(data) // 2])
    done = run(*with_plugin("--nbmake"), "fit.ipynb", cwd=recorded.parent)
    assert done.returncode == 1
    assert f"fit.cassette.jsonl:{data[: len(data) // 2].count(10) + 1}: the line is truncated" in done.stdout
    assert "CassetteBroken" in done.stdout
    assert "CassetteMismatch" not in done.stdout


def test_unused_plugin_imports_and_prints_nothing(tmp_path: Path) -> None:
    """It imports nothing of agentnb but itself and the verification options, and prints nothing."""
    (tmp_path / "test_nothing.py").write_text(
        """
import sys
def test_nothing():
    loaded = {name for name in sys.modules if name.startswith("agentnb")}
    verify = {"agentnb.plugins", "agentnb.plugins.verify", "agentnb.plugins.verify.pytest_plugin"}
    assert loaded == {"agentnb", "agentnb.pytest_plugin", *verify}
    assert not {"msgspec", "IPython", "acp"} & set(sys.modules)
""",
        encoding="utf-8",
    )
    done = run(*PYTEST, "-p", "no:nbval", "-p", "no:anyio", "test_nothing.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "agentnb" not in done.stdout


def test_session_fixture_records_and_replays_its_cassette(tmp_path: Path) -> None:
    """Recorded with --agentnb-record, then replayed without the agent; the helpers check the turn."""
    (tmp_path / "test_agent.py").write_text(
        """
import pytest
from agentnb.testing import assert_files_written, assert_permissions, assert_text, assert_tool_calls

@pytest.mark.parametrize("mode", ["allow", "deny"])
def test_write(agentnb_session, mode):
    session = agentnb_session("opencode", permissions=mode)
    turn = session.prompt("/write notes.txt Words.").wait(60)
    if mode == "allow":
        assert_text(turn, contains="I wrote")
        assert_tool_calls(turn, {"kind": "edit", "status": "completed"})
        assert_files_written(turn, {"notes.txt": "Words.\\n"})
        assert_permissions(turn, ("Write `notes.txt`", "allowed"))
    else:
        assert_files_written(turn, [])
        assert_permissions(turn, ("Write `notes.txt`", "denied"))
        with pytest.raises(AssertionError, match="did not say 'I wrote'"):
            assert_text(turn, contains="I wrote")

def test_built_in(agentnb_session):
    turn = agentnb_session().prompt("/ask execute").wait(60)
    assert turn.id.startswith("00000000-0000-4000-8000-")
    assert_text(turn, matches="reject|chose|denied")
""",
        encoding="utf-8",
    )
    done = run(*NAMED, "test_agent.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "there is no cassette for this test. Record it with the agent installed" in done.stdout
    done = run(*NAMED, "--agentnb-record", "test_agent.py", cwd=tmp_path, env=stand_in(tmp_path))
    assert done.returncode == 0, done.stdout
    cassettes = sorted((tmp_path / "cassettes/test_agent").iterdir())
    assert [path.name for path in cassettes] == [
        "test_built_in.cassette.jsonl", "test_write-allow.cassette.jsonl", "test_write-deny.cassette.jsonl",
    ]  # fmt: skip
    assert [file.read(path).turns for path in cassettes] == [1, 1, 1]
    (tmp_path / "bin/opencode").unlink()
    done = run(*NAMED, "test_agent.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "agentnb cassettes" not in done.stdout


QUIET = (
    "import agentnb\nsession = agentnb.start()\nturn = session.prompt('/say old')",
    "%load_ext agentnb",
    (
        "import threading\nback = %agent -b -t other /say back\nover = [threading.Event() for _ in (back, turn)]\n"
        "for each, event in zip((back, turn), over): each.add_done_callback(lambda _, event=event: event.set())\n"
        "for event in over: event.wait()"
    ),
)
"""Turns whose errors no cell raises."""


@pytest.fixture(scope="module")
def looked_at_by_nobody(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded notebook that shows no turn; both prompts have changed since."""
    path = notebook(tmp_path_factory.mktemp("quiet") / "quiet.ipynb", *QUIET)
    cassette = {"AGENTNB_CASSETTE": "quiet.cassette.jsonl", "AGENTNB_CASSETTE_MODE": "record"}
    execute_here(path, {**without_agents(), **cassette})
    reworded(path, "/say old", "/say new")
    reworded(path, "/say back", "/say forth")
    return path


@pytest.fixture
def quiet(looked_at_by_nobody: Path, tmp_path: Path) -> Path:
    for name in ("quiet.ipynb", "quiet.cassette.jsonl"):
        shutil.copy(looked_at_by_nobody.parent / name, tmp_path / name)
    return tmp_path / "quiet.ipynb"


@pytest.mark.parametrize("option", ["--nbval-lax", "--nbmake"])
def test_changed_prompt_fails_when_no_cell_shows_its_turn(quiet: Path, option: str) -> None:
    """The prompt's cell fails with the diff and how to record again; the summary has all deviations."""
    done = run(*with_plugin(option), "quiet.ipynb", cwd=quiet.parent)
    assert done.returncode == 1, done.stdout
    failed = [line.split(" - ")[0] for line in done.stdout.splitlines() if line.startswith("FAILED")]
    summary = done.stdout.partition("agentnb cassettes")[2]
    if option == "--nbmake":  # nbmake stops at the first cell that fails
        assert failed == ["FAILED quiet.ipynb::quiet.ipynb"]
        assert "CassetteMismatch: Session 1 with eliza" in done.stdout.partition("short test summary")[2]
    else:
        assert failed == ["FAILED quiet.ipynb::Cell 0", "FAILED quiet.ipynb::Cell 2"]
        assert "-/say back\n+/say forth" in summary
    assert "not as recorded in quiet.cassette.jsonl" in summary
    assert "-/say old\n+/say new" in summary
    assert "--agentnb-record for pytest" in done.stdout


def test_kernel_reports_deviations_from_the_recording_on_stderr(quiet: Path) -> None:
    """Under nbconvert the cell of the prompt fails; on stderr the kernel also names unused recorded turns."""
    done = execute(quiet, AGENTNB_CASSETTE="quiet.cassette.jsonl", AGENTNB_CASSETTE_MODE="replay")
    assert done.returncode == 1
    assert f"agentnb: not as recorded in {quiet.parent / 'quiet.cassette.jsonl'}: Session " in done.stderr
    assert "-/say old\n+/say new" in done.stderr
    assert "CassetteMismatch" in done.stderr
    assert "quiet.cassette.jsonl:" in done.stderr
    assert "was not used" in done.stderr


def test_notebook_without_a_cassette_can_use_only_eliza(tmp_path: Path) -> None:
    """A real agent starts only if the environment allows it."""
    notebook(tmp_path / "mixed.ipynb", "%load_ext agentnb", "%agent /say Yes", "%agent -n -a opencode /say No")
    env = stand_in(tmp_path)
    done = run(*with_plugin("--nbval-lax"), "mixed.ipynb", cwd=tmp_path, env=env)
    assert [line.split(" - ")[0] for line in done.stdout.splitlines() if line.startswith("FAILED")] == [
        "FAILED mixed.ipynb::Cell 2"
    ]
    assert "There is no cassette for this notebook, and it starts the agent 'opencode'." in done.stdout
    live = {**env, "AGENTNB_CASSETTE_MODE": "off"}
    assert run(*with_plugin("--nbval-lax"), "mixed.ipynb", cwd=tmp_path, env=live).returncode == 0


def test_notebook_without_prompts_reports_unused_turns(recorded: Path) -> None:
    cut(recorded, 1)
    done = run(*with_plugin("--nbval"), "--agentnb-strict", "fit.ipynb", cwd=recorded.parent)
    assert done.returncode == 1, done.stdout
    assert done.stdout.count("was not used") == 3
    done = execute(recorded, AGENTNB_CASSETTE="fit.cassette.jsonl", AGENTNB_CASSETTE_MODE="replay")
    assert done.returncode == 0
    assert done.stderr.count("was not used") == 3


FIXTURES = """
import os, pytest, papermill

class TestA:
    def test_x(self, agentnb_session):
        assert agentnb_session().prompt("/say A").wait(60).text.strip() == "A"

class TestB:
    def test_x(self, agentnb_session):
        assert agentnb_session().prompt("/say B").wait(60).text.strip() == "B"

@pytest.mark.parametrize("words", ["a/b", "a-b"])
def test_words(agentnb_session, words):
    assert agentnb_session().prompt("/say " + words).wait(60).text.strip() == words

def test_nobody_looks(agentnb_session):
    agentnb_session().prompt("/say " + os.environ.get("WORDS", "old"))

def test_typo(agentnb_replay):
    with agentnb_replay("typo.ipynb"):
        pass

def test_no_cassette(agentnb_replay):
    with agentnb_replay("plain.ipynb"):
        pass

def test_beside_the_test(agentnb_replay):
    with agentnb_replay("quiet.ipynb"):
        assert os.environ["AGENTNB_CASSETTE"].endswith("tests/quiet.cassette.jsonl")
"""


def test_each_test_has_its_own_cassette(tmp_path: Path) -> None:
    """The path has classes and parameters; a changed prompt fails unread, and a missing notebook fails too."""
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_it.py").write_text(FIXTURES, encoding="utf-8")
    notebook(folder / "plain.ipynb", "1")
    notebook(folder / "quiet.ipynb", "1")
    done = run(*NAMED, "--agentnb-record", "tests", "-k", "not typo", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.jsonl"))
    assert names[:2] == [f"cassettes/test_it/Test{name}/test_x.cassette.jsonl" for name in "AB"]
    assert len(names) == 5
    shutil.copy(folder / names[0], folder / "quiet.cassette.jsonl")
    env = {**without_agents(), "WORDS": "new"}
    done = run(*NAMED, "tests", cwd=tmp_path, env=env)
    assert done.returncode == 1
    assert "6 passed" in done.stdout, done.stdout
    assert "ERROR tests/test_it.py::test_nobody_looks - agentnb.errors.CassetteMismatch" in done.stdout
    assert "-/say old\n" in done.stdout
    assert "+/say new\n" in done.stdout
    assert "tests/typo.ipynb: there is no such notebook." in done.stdout
    assert "plain.cassette.jsonl: there is no cassette for this notebook. Record it" in done.stdout
