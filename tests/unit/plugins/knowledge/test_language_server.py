"""A language server beside jedi: real ones, and a program that misbehaves on purpose."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil
import pytest

from agentnb import UsageError
from tests.unit.kernel.shell_tools import Tools
from tests.unit.plugins.knowledge.conftest import Ran, Serves, ask, place_of, places, starts

pytestmark = pytest.mark.slow

CELLS = (
    "import os\nfrom model import fit",
    "'𝄞𝄞'; fit('a')\nlive; gone; display(1); _i1\nos",
    "fit(",
    "%time y = fit(nope)\n!ls\nz = fit(1).foo",
)
MODEL = "def fit(x: int) -> str:\n    return x\n"


def problems(diagnostics: Iterable[Any]) -> list[tuple[int | str, int, int, str]]:
    return [(place_of(each), each.line, each.column, each.code or each.message) for each in diagnostics]


def test_type_checker_finds_problems_in_cells_and_files(ran: Ran, serves: Serves, tmp_path: Path) -> None:
    """Each has its place in the cell; names of live variables and lines with a magic have none."""
    serves("basedpyright")
    (tmp_path / "model.py").write_text(MODEL)
    ran(*CELLS, live=1)
    answer = ask("problems")
    assert problems(answer) == [
        (3, 1, 3, "'(' was never closed"),
        (2, 1, 10, "reportArgumentType"),
        (2, 2, 6, "reportUndefinedVariable"),
        (4, 3, 11, "reportAttributeAccessIssue"),
    ]
    assert answer.note == ""
    assert problems(ask("problems", cell=4)) == [(4, 3, 11, "reportAttributeAccessIssue")]
    (problem,) = ask("problems", file="model.py")
    assert (problem.source, problem.severity, problem.line, problem.column) == ("basedpyright", "error", 2, 11)


def test_type_checker_finds_references_in_current_cells_and_files(ran: Ran, serves: Serves, tmp_path: Path) -> None:
    """It sees files added, changed or removed after its start; a renaming uses its results; library names stay."""
    serves("basedpyright")
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "other.py").write_text("import model\n\n'𝄞'; model.fit(2)\n")
    ran(*CELLS)
    in_cells = [(1, 2, 18), (2, 1, 6), (3, 1, 0), (4, 1, 10), (4, 3, 4)]
    expected = [*in_cells, ("model.py", 1, 4), ("other.py", 3, 11)]
    assert places(ask("references", "fit")) == expected
    assert places(ask("references", "model.fit", file="other.py")) == expected
    renaming = ask("rename", "fit", cell=2, new_name="train").renaming
    assert [change.count for change in renaming.changes] == [1, 1, 1, 2, 1, 1]
    assert renaming.notes == ("1 cell with the name cannot be parsed by Python; check it yourself.",)
    (tmp_path / "other.py").unlink()
    (tmp_path / "model.py").write_text(f"\n{MODEL}")
    (tmp_path / "new.py").write_text("from model import fit\n")
    answer = ask("references", "fit")
    assert places(answer) == [*in_cells, ("model.py", 2, 4), ("new.py", 1, 18)]
    assert answer.note == ""
    ran("import json\nx = json.dumps(1)")
    with pytest.raises(UsageError, match="outside the workspace"):
        ask("rename", "json.dumps", cell=1, new_name="write")


@pytest.mark.parametrize("name", ["ruff", "pylsp"])
def test_linter_finds_problems_and_jedi_finds_references(ran: Ran, serves: Serves, tmp_path: Path, name: str) -> None:
    """One answers requests, the other publishes unasked; both also after a cell has changed."""
    serves(name)
    (tmp_path / "ruff.toml").write_text("[lint]\nselect = ['F', 'PLE']\n")
    ran("import os\nx = 1", "await live\ngone; display(x)", live=1)
    diagnostics = {(place_of(each), each.line, each.column, each.source) for each in ask("problems")}
    assert diagnostics == {(1, 1, 7 if name == "ruff" else 0, name), (2, 2, 0, name)}
    ran("x = 1\nlost")
    assert [each.line for each in ask("problems")] == [2]
    answer = ask("references", "x")
    assert (places(answer), answer.note) == ([(1, 1, 0)], "")


def test_language_server_starts_only_when_needed(ran: Ran, serves: Serves, tmp_path: Path) -> None:
    """A question that only jedi answers starts nothing; nor does the setting `off`."""
    ran("x = 1", "x")
    serves(odd="good")
    for question in ("definition", "complete"):
        ask(question, "x")
    assert starts(tmp_path) == 0
    ask("problems")
    assert starts(tmp_path) == 1
    serves("off", odd="good")
    assert list(ask("problems")) == []
    assert starts(tmp_path) == 1


def test_conversations_of_one_folder_share_a_language_server(ran: Ran, serves: Serves, tmp_path: Path) -> None:
    """A folder never has two, also if two agents ask at once; another program replaces it."""
    serves(odd="good")
    ran("x = 1")
    both = [Tools(), Tools()]
    for each in both:
        each.shell.run_cell("x = 1", store_history=True)
    asked = [each.loop.submit(each.tool_runner.call("look_up_code", {"question": "problems"})) for each in both]
    one, two = [each.result(60)["content"][0]["text"] for each in asked]
    for each in both:
        each.loop.stop()
    assert one == two
    assert starts(tmp_path) == 1
    serves("ruff")
    ask("problems")
    (process_id,) = re.findall(r"told by (\d+)", one)
    assert gone(process_id)


@pytest.mark.parametrize("how", ["good", "out-of-order", "asks", "pushes"])
def test_unusual_server_responses_are_understood(ran: Ran, serves: Serves, how: str) -> None:
    """Answers out of order or twice, and its own requests, change nothing; its edits are refused."""
    serves(odd=how)
    ran("x = 1", "x")
    for _ in range(2):
        answer = ask("problems")
        assert [(place_of(each), each.severity, each.code) for each in answer] == [(1, "warning", "T1")]
        assert answer.note == ""


FAILURES = {
    "dies-at-start": r"pyright stopped unexpectedly \(exit code 1\)\. Last output: no heap left",
    "dies-at-question": r"pyright stopped unexpectedly \(exit code 3\)\. Last output: no heap left",
    "floods": r"pyright sent more than 64,000,000 bytes for one question and was stopped\.",
    "endless-header": r"pyright sent something that is not a Language Server Protocol message and was stopped\.",
    "huge": r"pyright sent something that is not a Language Server Protocol message and was stopped\.",
    "rubbish": r"pyright sent something that is not a Language Server Protocol message and was stopped\.",
    "refuses": r"pyright: not today",
}


@pytest.mark.parametrize("how", FAILURES)
def test_jedi_answers_when_the_language_server_fails(ran: Ran, serves: Serves, how: str) -> None:
    """Problems and uses are those without a server."""
    serves(odd=how)
    ran("x = 1", "x(")
    answer = ask("problems")
    assert problems(answer) == [(2, 1, 1, "'(' was never closed")]
    assert re.fullmatch(FAILURES[how], answer.note), answer.note
    assert places(ask("references", "x")) == [(1, 1, 0), (2, 1, 0)]
    assert ask("complete", "x").note == ""


def test_language_server_is_not_restarted_after_three_failures(ran: Ran, serves: Serves, tmp_path: Path) -> None:
    """It would cost time at each question."""
    serves(odd="dies-at-start")
    ran("x = 1")
    notes = [ask("problems").note for _ in range(4)]
    assert notes[-1].endswith("It has failed 3 times and is not started again.")
    assert starts(tmp_path) == 3


def test_dead_language_server_is_restarted(ran: Ran, serves: Serves) -> None:
    """No question was open when it died."""
    serves(odd="good")
    ran("x = 1")
    (first,) = ask("problems")
    process = psutil.Process(int(first.message.split()[-1]))
    process.send_signal(signal.SIGKILL)
    process.wait()
    (second,) = ask("problems") or ask("problems")
    assert second.message != first.message


def test_server_results_with_invalid_places_are_omitted(ran: Ran, serves: Serves) -> None:
    """Lines and files that do not exist, and invalid places."""
    serves(odd="lies")
    ran("x = 1", "x")
    assert problems(ask("problems")) == [(1, 1, 0, "T1")]
    assert places(ask("references", "x")) == [(1, 1, 0), (2, 1, 0)]


def test_missing_language_server_is_reported(
    ran: Ran, serves: Serves, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says what to do."""
    if Path(sysconfig.get_path("scripts"), "pyright-langserver").exists():
        pytest.skip("pyright is installed beside this Python.")
    serves(odd="good")
    monkeypatch.setenv("PATH", str(tmp_path))
    ran("x = (")
    answer = ask("problems")
    assert len(answer) == 1
    assert answer.note == (
        "pyright-langserver is not installed, so jedi answers. "
        "Install it (`pip install pyright`) or set language_server."
    )


ASKS = """
import agentnb, sys

print(agentnb.code("problems", file="model.py")[0].message, flush=True)
if sys.argv[1] == "waits":
    sys.stdin.read()
"""


def gone(process_id: str) -> bool:
    """Waits until the process has ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(int(process_id)).wait()
    return True


@pytest.mark.parametrize("how", ["ends", "waits"])
def test_language_server_ends_with_the_kernel(serves: Serves, tmp_path: Path, how: str) -> None:
    """It ends even if the kernel is killed."""
    serves(odd="good")
    (tmp_path / "model.py").write_text(MODEL)
    command = [sys.executable, "-c", ASKS, how]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as kernel:
        assert kernel.stdout is not None
        message = kernel.stdout.readline()
        assert message.startswith("told by")
        if how == "waits":
            kernel.kill()
        kernel.wait()
    assert gone(message.split()[-1])
