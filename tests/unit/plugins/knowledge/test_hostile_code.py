"""Cells and modules that are too many, too long or broken: each question gets an answer or the limit."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentnb import UsageError
from tests.thorough import examples
from tests.unit.plugins.knowledge.conftest import Ran, ask, places

SIGNS = st.sampled_from(
    [
        *(
            "x = 1\n",
            "x",
            "def f(:",
            "%time x",
            "!ls {x}",
            "%%bash\n",
            "x?",
            "'''",
            "(\n",
            "\t",
            "\u2028",
            "é",
            "[{",
            ")",
        ),
        *("if x:\n", "    y = 1\n", "@", "class A:\n", "try:\n", '"', "\\", "lambda", "del ", "=", ",", "\n"),
    ]
)


def test_large_module_and_thousands_of_cells_are_analysed(ran: Ran, tmp_path: Path) -> None:
    """Definitions at their ends are found; a file above the limit is named."""
    lines = "".join(f"def f{number}(x):\n    return x\n" for number in range(25_000))
    (tmp_path / "long.py").write_text(lines)
    ran(*(f"x{number} = {number}" for number in range(1, 4_999)), "from long import f24999", "f24999(x4998)")
    assert places(ask("definition", "x4998", cell=5000)) == [(4998, 1, 0)]
    assert places(ask("definition", "f24999", cell=5000)) == [("long.py", 49_999, 4)]
    assert list(ask("problems", file="long.py")) == []
    (tmp_path / "longest.py").write_text(lines * 20)
    with pytest.raises(UsageError, match=r"longest\.py has more than 5,000,000 bytes"):
        ask("definition", "f1", file="longest.py")


@example(sources=["print(f'{x"], defining=("whole = 1", 0))
@example(sources=["f'''{x"], defining=("whole = 1", 0))
@settings(
    max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)  # the cells of one kernel change
@given(
    sources=st.lists(st.lists(SIGNS).map("".join), min_size=1, max_size=4),
    defining=st.sampled_from(
        [("def whole():\n    return 1", 4), ("whole = 1", 0), ("class whole: ...", 6), ("import os as whole", -1)]
    ),
)
def test_broken_cell_does_not_hide_definitions_in_others(
    ran: Ran, sources: list[str], defining: tuple[str, int]
) -> None:
    """Syntax errors, magics and unclosed strings: a definition in another cell is found."""
    ran(*sources, defining[0], "whole")
    expected = ("os.py", 1, 0) if defining[1] < 0 else (len(sources) + 1, 1, defining[1])
    assert places(ask("definition", "whole", cell=len(sources) + 2)) == [expected]
