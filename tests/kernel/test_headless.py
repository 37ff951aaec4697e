"""Runs without a user: how a turn ends, its message, and when it stops the run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pexpect
import pytest

from tests.conftest import ROOT
from tests.kernel.running_kernel import ONE_KERNEL, RunningKernel
from tests.notebooks.recorded import notebook, run, with_plugin, without_agents


@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        ("/fail", "TurnFailed: Tour returned an error: eliza failed on purpose"),
        ("/stop refusal", "TurnRefused: The agent refused to continue. Rephrase the prompt, or ask another agent."),
        (
            "--timeout 1 /hang",
            "TurnTimeout: The turn did not end in 1 s and was cancelled. Give it more with --timeout.",
        ),
        ("/crash", "TurnFailed: Tour stopped unexpectedly (exit code 3)."),
    ],
)
def test_failed_turn_raises_the_error_class_of_its_cause(shared_kernel: RunningKernel, prompt: str, error: str) -> None:
    result = shared_kernel.run(f"%agent {prompt}")
    assert result.status == "error"
    assert result.error.startswith(error)
    assert len(result.displayed()) == 1
    assert shared_kernel.run("%agent Hello").status == "ok"


@ONE_KERNEL
def test_turn_has_a_time_limit_when_no_user_is_attached(kernel: RunningKernel) -> None:
    """Half an hour by default; a user or another limit overrides it."""
    assert kernel.run("from agentnb.ipython.config import Agentnb\nAgentnb().headless_timeout").values == ["1800.0"]
    kernel.run("%config Agentnb.headless_timeout = 0.01")
    result = kernel.run("%agent /hang")
    assert result.error.startswith("TurnTimeout: The turn did not end in 0.01 s and was cancelled. Give it more with")
    assert kernel.run("%agent --timeout 0.5 /hang").error.startswith("TurnTimeout: The turn did not end in 0.5 s")
    assert kernel.run("%agent /slow 50 3", clickable=True).status == "ok"
    kernel.run("%config Agentnb.timeout = 1")
    result = kernel.run("%agent /hang")
    assert result.error.startswith("TurnTimeout: The turn did not end in 1 s")
    assert "cancelled" not in result.displayed()[0]  # the error mentions it


def test_time_limit_applies_to_a_blocking_cell(shared_kernel: RunningKernel) -> None:
    result = shared_kernel.run("def ask():\n    %agent --timeout 1 /hang\nask()")
    assert result.error.startswith("TurnTimeout")


def test_permission_request_is_denied_with_a_reason(shared_kernel: RunningKernel) -> None:
    text = shared_kernel.run("%agent /write notes.txt Words").displayed()[0]
    assert "No front end is attached to ask" in text
    assert "--permissions allow" in text
    assert not (shared_kernel.folder / "notes.txt").exists()


@pytest.mark.parametrize(
    ("runner", "prompt", "error"),
    [
        (("nbconvert", "--to", "notebook", "--execute", "fails.ipynb"), "/stop refusal", "TurnRefused"),
        (("papermill", "--no-progress-bar", "fails.ipynb", "out.ipynb"), "/fail", "TurnFailed"),
        (("jupyter", "execute", "fails.ipynb"), "/stop refusal", "TurnRefused"),
        ((*with_plugin("--nbmake"), "fails.ipynb"), "--timeout 1 /hang", "TurnTimeout"),
        (("IPython", "fails.ipy"), "/stop refusal", "TurnRefused"),
    ],
    ids=["nbconvert", "papermill", "nbclient", "nbmake", "ipython"],
)
def test_every_notebook_runner_fails_with_the_turn_error(
    tmp_path: Path, runner: tuple[str, ...], prompt: str, error: str
) -> None:
    """Exit code 1, the error's class in the output, and no later cell runs."""
    cells = ("%load_ext agentnb", f"%agent {prompt}", "open('reached', 'w')")
    notebook(tmp_path / "fails.ipynb", *cells)
    (tmp_path / "fails.ipy").write_text("\n".join(cells), encoding="utf-8")
    done = run(*runner, cwd=tmp_path)
    assert done.returncode == 1
    assert error in done.stdout + done.stderr
    assert not (tmp_path / "reached").exists()


@pytest.mark.parametrize("option", ["--nbval", "--nbval-lax"])
def test_nbval_reports_each_failed_cell(tmp_path: Path, option: str) -> None:
    """The run goes on with the later cells."""
    prompts = ("/fail", "/stop refusal", "--timeout 1 /hang")
    path = notebook(tmp_path / "fails.ipynb", "%load_ext agentnb", *(f"%agent {prompt}" for prompt in prompts), "1")
    done = run(*with_plugin(option), path.name, cwd=tmp_path)
    assert done.returncode == 1
    assert "3 failed, 2 passed" in done.stdout
    assert all(error in done.stdout for error in ("TurnFailed", "TurnRefused", "TurnTimeout"))


def test_script_raises_the_turn_error(tmp_path: Path) -> None:
    script = "import agentnb; agentnb.start().prompt('/stop refusal').wait(60, check=False).raise_for_error()"
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    done = run("script", cwd=tmp_path)
    assert done.returncode == 1
    assert "agentnb.errors.TurnRefused" in done.stderr


def test_long_turn_is_reported_in_the_terminal(tmp_path: Path) -> None:
    path = notebook(tmp_path / "long.ipynb", "%load_ext agentnb", "%agent --permissions allow /run head -n 1 fifo")
    os.mkfifo(tmp_path / "fifo")  # the turn ends only after the terminal's message
    fifo = os.open(tmp_path / "fifo", os.O_RDWR)
    env = {**without_agents(), "AGENTNB_PROGRESS_SECONDS": "0.3", "PYTHONPATH": str(ROOT), "TERM": "dumb"}
    words = ["-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", path.name]
    child = pexpect.spawn(
        sys.executable, words, cwd=str(tmp_path), env=env, encoding="utf-8", timeout=100, dimensions=(24, 200)
    )
    child.expect(r"agentnb: eliza has been working for \d+ s")
    os.write(fifo, b"open\n")
    child.expect(pexpect.EOF)
    child.close()
    os.close(fifo)
    assert child.exitstatus == 0
    assert "has been working" not in path.read_text(encoding="utf-8")


def test_long_turn_prints_nothing_without_a_terminal(tmp_path: Path) -> None:
    path = notebook(tmp_path / "long.ipynb", "%load_ext agentnb", "%agent --permissions allow /run sleep 1")
    env = {**without_agents(), "AGENTNB_PROGRESS_SECONDS": "0.1"}
    done = run("nbconvert", "--to", "notebook", "--execute", "--inplace", path.name, cwd=tmp_path, env=env)
    assert done.returncode == 0
    assert "has been working" not in done.stderr + done.stdout + path.read_text(encoding="utf-8")


@ONE_KERNEL
def test_cell_waits_for_its_batch_when_no_user_is_attached(kernel: RunningKernel) -> None:
    """A failed input fails that cell, unless errors are kept; with a user, the cell ends at once."""
    kernel.run("import agentnb\ndef ask(text, **options):\n    return agentnb.map('{input}', [text], **options)")
    assert kernel.run("batch = ask('/slow 20 5')").status == "ok"
    assert kernel.run("batch.done").values == ["True"]
    assert kernel.run("batch = ask('/fail', retries=0)").error.startswith("BatchFailed: Input 0 (0) failed: ")
    assert kernel.run("batch = ask('/fail', on_error='keep', retries=0)").status == "ok"
    assert kernel.run("batch.failures").values != ["{}"]
    assert kernel.run("batch = ask('/hang')\nbatch.done", clickable=True).values == ["False"]
