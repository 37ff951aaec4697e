"""An analysis ends at its time limit, at any point.

The inside: a limit of 30 seconds, which tests shorten, and exceptions at an exact moment.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.code.deadline import Deadline
from agentnb.plugins.knowledge.code.language_server import ServerProgram
from agentnb.plugins.knowledge.code.notebook_module import CodeCell
from agentnb.plugins.knowledge.code.records import CodePlace
from agentnb.plugins.knowledge.code.service import CodeService
from tests.unit.api.conftest import AGENTS

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def slow_callback() -> Iterator[None]:
    """Lets the garbage collector call Python code, as other libraries do: exceptions there are only printed."""

    def called(phase: str, info: dict[str, int]) -> None:
        del phase, info
        for _ in range(20_000):
            pass

    gc.callbacks.append(called)
    try:
        yield
    finally:
        gc.callbacks.remove(called)


def collect() -> None:
    while True:
        gc.collect(0)
        for _ in range(20_000):
            pass


def caught_once() -> None:
    """Catches one exception of any kind."""
    with contextlib.suppress(BaseException):
        spin()
    spin()


def spin() -> None:
    while True:
        pass


@pytest.mark.parametrize("work", [collect, caught_once, spin])
def test_analysis_ends_at_its_deadline(work: object) -> None:
    """Callbacks of the collector that interrupt it, or catching the exception once, do not prevent that."""
    deadline = Deadline()
    with slow_callback(), pytest.raises(UsageError, match=r"took more than 0\.05 s"):
        deadline.run(work, 0.05)  # type: ignore[arg-type]
    assert [each.name for each in threading.enumerate() if each.name == "agentnb-code"] == []
    assert deadline.run(lambda: 5, 10) == 5


# The exception that ends it can arrive in a callback of the garbage collector (Hypothesis has one), where it is lost;
# the thread gets another.
@pytest.mark.filterwarnings("ignore:Exception ignored in.*gc_callback:pytest.PytestUnraisableExceptionWarning")
def test_analysis_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """The thread of an analysis ends at the limit."""
    cell = CodeCell(cell_id="a", source="".join(f"def f{n}(x): return x + {n}\n" for n in range(20_000)))
    code_service = CodeService(tmp_path, cells=lambda: [cell], seconds=0.05)
    with pytest.raises(UsageError, match="took more than"):
        code_service.definition(CodePlace(symbol="f3"))
    assert [each.name for each in threading.enumerate() if each.name == "agentnb-code"] == []


@pytest.mark.slow
@pytest.mark.parametrize("how", ["hangs-at-start", "hangs-at-question", "deaf"])
def test_hanging_language_server_is_ended_and_jedi_answers(tmp_path: Path, how: str) -> None:
    """It is ended at its time limit."""
    program = ServerProgram(name="odd", command=(sys.executable, str(AGENTS / "language_server.py"), how))
    cells = [CodeCell(cell_id="a", source=f"x('{'x' * 1_000_000}'")]
    code_service = CodeService(tmp_path, cells=lambda: cells, seconds=0.4, language_server=lambda: program)
    assert [each.message for each in code_service.diagnostics()] == ["'(' was never closed"]
    assert code_service.failure == "odd did not answer in time and was stopped."
