"""A language server beside jedi: real ones, and a program that misbehaves on purpose."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from agentnb.agent.programs import find_on_path
from agentnb.errors import UsageError
from agentnb.plugins.knowledge.code.language_server import (
    MOST_FAILURES,
    ServerFailure,
    ServerProgram,
    chosen_program,
    server_for,
)
from agentnb.plugins.knowledge.code.notebook_module import CodeCell
from agentnb.plugins.knowledge.code.records import CodePlace, Diagnostic
from agentnb.plugins.knowledge.code.service import CodeService

ODD = Path(__file__).parents[3] / "agents" / "language_server.py"
pytestmark = pytest.mark.slow


def odd(how: str) -> ServerProgram:
    """Returns the program that behaves as *how* says."""
    return ServerProgram(name="odd", command=(sys.executable, str(ODD), how), finds_uses=True)


def service(
    root: Path, program: ServerProgram | str, *sources: str, seconds: float = 150.0, **variables: Any
) -> CodeService:
    """Returns code intelligence with a language server, for cells ``c0``, ``c1`` and so on that ran in order."""
    cells = [CodeCell(cell_id=f"c{at}", source=source, count=at + 1) for at, source in enumerate(sources)]
    return CodeService(
        root,
        cells=lambda: cells,
        variables=lambda: variables,
        seconds=seconds,
        language_server=lambda: chosen_program(program) if isinstance(program, str) else program,
    )


@pytest.fixture(autouse=True)
def _ends_servers(tmp_path: Path) -> Any:
    yield
    server_for(tmp_path, None)


def places(locations: list[Any]) -> list[tuple[str | None, int, int]]:
    return [(each.cell_id or (each.path and Path(each.path).name), each.line, each.column) for each in locations]


def problems(diagnostics: list[Diagnostic]) -> list[tuple[str | None, int, int, str]]:
    return [
        (each.cell_id or (each.path and Path(each.path).name), each.line, each.column, each.code or each.message)
        for each in diagnostics
    ]


def installed(name: str) -> str:
    """Returns *name*; skips the test if that server is not installed."""
    try:
        chosen_program(name)
    except ServerFailure as error:
        pytest.skip(str(error))
    return name


CELLS = (
    "import os\nfrom model import fit",
    "'𝄞𝄞'; fit('a')\nlive; gone; display(1); _i1\nos",
    "fit(",
    "%time y = fit(nope)\n!ls\nz = fit(1).foo",
)
MODEL = "def fit(x: int) -> str:\n    return x\n"


def test_type_checker_finds_problems_in_cells_and_files(tmp_path: Path) -> None:
    """Each has its place in the cell; names of live variables and lines with a magic have none."""
    (tmp_path / "model.py").write_text(MODEL)
    code_service = service(tmp_path, installed("basedpyright"), *CELLS, live=1)
    assert problems(code_service.diagnostics()) == [
        ("c2", 1, 3, "'(' was never closed"),
        ("c1", 1, 10, "reportArgumentType"),
        ("c1", 2, 6, "reportUndefinedVariable"),
        ("c3", 3, 11, "reportAttributeAccessIssue"),
    ]
    assert problems(code_service.diagnostics(CodePlace(cell_id="c3"))) == [("c3", 3, 11, "reportAttributeAccessIssue")]
    (problem,) = code_service.diagnostics(CodePlace(path="model.py"))
    assert (problem.source, problem.severity, problem.line, problem.column) == ("basedpyright", "error", 2, 11)
    assert code_service.failure == ""


def test_type_checker_finds_references_in_current_cells_and_files(tmp_path: Path) -> None:
    """It sees files added, changed or removed after its start; a renaming uses its results."""
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "other.py").write_text("import model\n\n'𝄞'; model.fit(2)\n")
    code_service = service(tmp_path, installed("basedpyright"), *CELLS)
    in_cells = [("c0", 2, 18), ("c1", 1, 6), ("c2", 1, 0), ("c3", 1, 10), ("c3", 3, 4)]
    expected = [*in_cells, ("model.py", 1, 4), ("other.py", 3, 11)]
    assert places(code_service.references(CodePlace(symbol="fit"))) == expected
    assert places(code_service.references(CodePlace(path="other.py", symbol="model.fit"))) == expected
    renaming = code_service.rename(CodePlace(cell_id="c1", symbol="fit"), "train")
    assert [change.count for change in renaming.changes] == [1, 1, 1, 2, 1, 1]
    assert renaming.notes == ("1 cell with the name cannot be parsed by Python; check it yourself.",)
    (tmp_path / "other.py").unlink()
    (tmp_path / "model.py").write_text(f"\n{MODEL}")
    (tmp_path / "new.py").write_text("from model import fit\n")
    expected = [*in_cells, ("model.py", 2, 4), ("new.py", 1, 18)]
    assert places(code_service.references(CodePlace(symbol="fit"))) == expected
    assert code_service.failure == ""


def test_type_checker_does_not_rename_library_names(tmp_path: Path) -> None:
    """Names defined elsewhere stay."""
    code_service = service(tmp_path, installed("basedpyright"), "import json\nx = json.dumps(1)")
    with pytest.raises(UsageError, match="outside the workspace"):
        code_service.rename(CodePlace(cell_id="c0", symbol="json.dumps"), "write")


@pytest.mark.parametrize("name", ["ruff", "pylsp"])
def test_linter_finds_problems_and_jedi_finds_references(tmp_path: Path, name: str) -> None:
    """One answers requests, the other publishes unasked; both also after a cell has changed."""
    (tmp_path / "ruff.toml").write_text("[lint]\nselect = ['F', 'PLE']\n")
    sources = ["import os\nx = 1", "await live\ngone; display(x)"]
    cells = [CodeCell(cell_id="c0", source=sources[0]), CodeCell(cell_id="c1", source=sources[1])]
    code_service = CodeService(
        tmp_path,
        cells=lambda: cells,
        variables=lambda: {"live": 1},
        seconds=150,
        language_server=lambda: chosen_program(installed(name)),
    )
    diagnostics = {(each.cell_id, each.line, each.column, each.source) for each in code_service.diagnostics()}
    assert diagnostics == {("c0", 1, 7 if name == "ruff" else 0, name), ("c1", 2, 0, name)}
    cells[:] = [CodeCell(cell_id="c0", source="x = 1\nlost")]
    assert [each.line for each in code_service.diagnostics()] == [2]
    assert places(code_service.references(CodePlace(symbol="x"))) == [("c0", 1, 0)]
    assert code_service.failure == ""


def test_language_server_starts_only_when_needed(tmp_path: Path) -> None:
    """A question that only jedi answers starts nothing."""
    code_service = service(tmp_path, odd("good"), "x = 1", "x")
    code_service.definition(CodePlace(symbol="x"))
    code_service.completions(CodePlace(symbol="x"))
    server = server_for(tmp_path, odd("good"))
    assert server is not None
    assert server.pid == 0
    assert chosen_program("off") is None
    assert service(tmp_path, "off", "x").diagnostics() == []


def test_notebooks_of_one_folder_share_a_language_server(tmp_path: Path) -> None:
    """A folder never has two, also if two threads ask at once."""
    notebooks = [service(tmp_path, odd("good"), "x = 1") for _ in range(2)]
    messages: list[str] = []
    threads = [
        threading.Thread(target=lambda code_service=each: messages.append(code_service.diagnostics()[0].message))
        for each in notebooks
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(messages) == 2
    assert len(set(messages)) == 1
    (other,) = service(tmp_path, odd("pushes"), "x = 1").diagnostics()
    assert other.message != messages[0]
    assert gone(messages[0])


@pytest.mark.parametrize("how", ["good", "out-of-order", "asks", "pushes"])
def test_unusual_server_responses_are_understood(tmp_path: Path, how: str) -> None:
    """Answers out of order or twice, and its own requests, change nothing; its edits are refused."""
    code_service = service(tmp_path, odd(how), "x = 1", "x")
    for _ in range(2):
        (problem,) = code_service.diagnostics()
        assert (problem.cell_id, problem.severity, problem.code) == ("c0", "warning", "T1")
    assert code_service.failure == ""


FAILURES = {
    "dies-at-start": r"odd stopped unexpectedly \(exit code 1\)\. Last output: no heap left",
    "dies-at-question": r"odd stopped unexpectedly \(exit code 3\)\. Last output: no heap left",
    "floods": r"odd sent more than 64,000,000 bytes for one question and was stopped\.",
    "endless-header": r"odd sent something that is not a Language Server Protocol message and was stopped\.",
    "huge": r"odd sent something that is not a Language Server Protocol message and was stopped\.",
    "rubbish": r"odd sent something that is not a Language Server Protocol message and was stopped\.",
    "refuses": r"odd: not today",
}


@pytest.mark.parametrize("how", FAILURES)
def test_jedi_answers_when_the_language_server_fails(tmp_path: Path, how: str) -> None:
    """Problems and uses are those without a server."""
    code_service = service(tmp_path, odd(how), "x = 1", "x(")
    assert problems(code_service.diagnostics()) == [("c1", 1, 1, "'(' was never closed")]
    assert re.fullmatch(FAILURES[how], code_service.failure), code_service.failure
    assert places(code_service.references(CodePlace(symbol="x"))) == [("c0", 1, 0), ("c1", 1, 0)]
    code_service.completions(CodePlace(symbol="x"))
    assert code_service.failure == ""


@pytest.mark.parametrize("how", ["hangs-at-start", "hangs-at-question", "deaf"])
def test_hanging_language_server_is_ended_and_jedi_answers(tmp_path: Path, how: str) -> None:
    """It is ended at its time limit."""
    code_service = service(tmp_path, odd(how), "x = 1", f"x('{'x' * 1_000_000}'", seconds=1)
    assert problems(code_service.diagnostics()) == [("c1", 1, 1, "'(' was never closed")]
    assert code_service.failure == "odd did not answer in time and was stopped."


def test_language_server_is_not_restarted_after_three_failures(tmp_path: Path) -> None:
    """It would cost time at each question."""
    code_service = service(tmp_path, odd("dies-at-start"), "x = 1")
    for _ in range(MOST_FAILURES):
        code_service.diagnostics()
    server = server_for(tmp_path, odd("dies-at-start"))
    assert server is not None
    last = server.pid
    code_service.diagnostics()
    assert code_service.failure.endswith("It has failed 3 times and is not started again.")
    assert server.pid == last


def test_dead_language_server_is_restarted(tmp_path: Path) -> None:
    """No question was open when it died."""
    code_service = service(tmp_path, odd("good"), "x = 1")
    (first,) = code_service.diagnostics()
    process = psutil.Process(int(first.message.split()[-1]))
    process.send_signal(signal.SIGKILL)
    process.wait()
    messages = [each.message for each in code_service.diagnostics()] or [
        each.message for each in code_service.diagnostics()
    ]
    assert messages != [first.message]
    assert len(messages) == 1


def test_server_results_with_invalid_places_are_omitted(tmp_path: Path) -> None:
    """Lines and files that do not exist, and invalid places."""
    code_service = service(tmp_path, odd("lies"), "x = 1", "x")
    assert problems(code_service.diagnostics()) == [("c0", 1, 0, "T1")]
    assert places(code_service.references(CodePlace(symbol="x"))) == [("c0", 1, 0), ("c1", 1, 0)]


def test_missing_language_server_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The message says what to do."""
    monkeypatch.setenv("PATH", str(tmp_path))
    if find_on_path("pyright-langserver") is not None:
        pytest.skip("pyright is installed beside this Python.")
    code_service = service(tmp_path, "pyright", "x = (")
    assert len(code_service.diagnostics()) == 1
    assert code_service.failure == (
        "pyright-langserver is not installed, so jedi answers. "
        "Install it (`pip install pyright`) or set language_server."
    )


ASKS = """
import json, os, sys
from pathlib import Path
from agentnb.agent.programs import find_on_path
from agentnb.plugins.knowledge.code.notebook_module import CodeCell
from agentnb.plugins.knowledge.code.service import CodeService
from agentnb.plugins.knowledge.code.language_server import ServerProgram

asked = CodeService(
    Path.cwd(),
    cells=lambda: [CodeCell(cell_id="c0", source="x = 1")],
    language_server=lambda: ServerProgram(name="odd", command=tuple(json.loads(sys.argv[1]))),
)
print(asked.diagnostics()[0].message, flush=True)
if sys.argv[2] == "waits":
    sys.stdin.read()
"""


def gone(message: str) -> bool:
    """Waits until the process named in *message* has ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(int(message.rsplit(maxsplit=1)[-1])).wait()
    return True


@pytest.mark.parametrize("how", ["ends", "waits"])
def test_language_server_ends_with_the_kernel(tmp_path: Path, how: str) -> None:
    """It ends even if the kernel is killed."""
    command = [sys.executable, "-c", ASKS, json.dumps(odd("good").command), how]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as kernel:
        assert kernel.stdout is not None
        message = kernel.stdout.readline()
        assert message.startswith("told by")
        if how == "waits":
            kernel.kill()
        kernel.wait()
    assert gone(message)
