"""Cells and modules that are too many, too long or broken: each question gets an answer or the limit."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.code.records import CodePlace
from tests.thorough import examples
from tests.unit.plugins.knowledge.test_code_service import places, service

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


def test_large_module_and_thousands_of_cells_are_analysed(tmp_path: Path) -> None:
    """Definitions at their ends are found; a file above the limit is named."""
    lines = "".join(f"def f{number}(x):\n    return x\n" for number in range(25_000))
    (tmp_path / "long.py").write_text(lines)
    sources = [f"x{number} = {number}" for number in range(4_998)]
    code_service = service(tmp_path, *sources, "from long import f24999", "f24999(x4997)")
    assert places(code_service.definition(CodePlace(cell_id="c4999", symbol="x4997"))) == [("c4997", 1, 0)]
    assert places(code_service.definition(CodePlace(cell_id="c4999", symbol="f24999"))) == [("long.py", 49_999, 4)]
    assert code_service.diagnostics(CodePlace(path="long.py")) == []
    (tmp_path / "longest.py").write_text(lines * 20)
    with pytest.raises(UsageError, match=r"longest\.py has more than 5,000,000 bytes"):
        code_service.definition(CodePlace(path="longest.py", symbol="f1"))


@example(["print(f'{x"], ("whole = 1", 0))
@example(["f'''{x"], ("whole = 1", 0))
@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.lists(SIGNS).map("".join), min_size=1, max_size=4),
    st.sampled_from(
        [("def whole():\n    return 1", 4), ("whole = 1", 0), ("class whole: ...", 6), ("import os as whole", -1)]
    ),
)
def test_broken_cell_does_not_hide_definitions_in_others(sources: list[str], defining: tuple[str, int]) -> None:
    """Syntax errors, magics and unclosed strings: a definition in another cell is found."""
    with tempfile.TemporaryDirectory() as folder:
        code_service = service(Path(folder), *sources, defining[0], "whole")
        definitions = code_service.definition(CodePlace(cell_id=f"c{len(sources) + 1}", symbol="whole"))
    expected = ("os.py", 1, 0) if defining[1] < 0 else (f"c{len(sources)}", 1, defining[1])
    assert places(definitions) == [expected]
