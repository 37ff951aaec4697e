"""The Python in cells with magics, character for character.

The inside: generated texts and their positions.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.plugins.knowledge.code.magics import lines_of, python_of
from agentnb.plugins.knowledge.code.notebook_module import CodeCell, NotebookModule

SIGNS = st.sampled_from([*"ab =%!?\"'#\\()[]\n\r\t.,\0\u2028\x0cé", "%%time\n", "%%bash", "\ud800"])
TEXTS = st.lists(SIGNS).map("".join)


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("x = 10 % 3", "x = 10 % 3"),
        ("x = (10\n% 3)", "x = (10\n% 3)"),
        ('s = """\n%ls\n!x\n"""\n%ls', 's = """\n%ls\n!x\n"""\n0  '),
        ("s = 'a' \\\n%x", "s = 'a' \\\n%x"),
        ("if x:\n    %ls", "if x:\n    0  "),
        ("%timeit -n 10 f(x)", "0;            f(x)"),
        ("a, b = %magic x", "a, b = __      "),
        ("!ls \\\n  -l\nx", "0    \n    \nx"),
        ("%%capture out\nx = 1", "             \nx = 1"),
        ("%%html\n<b>", "      \n   "),
        ("x.f??", "x.f  "),
        ("?x", "0 "),
        ("'it # is' # it's\n%ls", "'it # is' # it's\n0  "),
        ("'open\n%ls", "'open\n0  "),
        ("a != b", "a != b"),
    ],
)
def test_python_of_keeps_positions_and_removes_magics(cell: str, python: str) -> None:
    """Positions are equal in both texts."""
    assert python_of(cell) == python


@given(TEXTS)
def test_python_of_keeps_the_length_of_every_line(cell: str) -> None:
    """Each character of any cell has its line and column in the module and back."""
    assert [len(line) for line in python_of(cell).split("\n")] == [len(line) for line in lines_of(cell)]
    module = NotebookModule([CodeCell(cell_id="a", source="1\n2"), CodeCell(cell_id="b", source=cell)])
    for number in range(1, len(lines_of(cell)) + 1):
        assert module.cell_at(module.module_line("b", number)) == (module.cell("b"), number)


def test_module_of_many_cells_omits_a_too_long_cell() -> None:
    """The module reports the number of omitted cells."""
    cells = [CodeCell(cell_id=str(at), source=f"x{at} = 1\n!ls") for at in range(5_000)]
    module = NotebookModule(cells)
    assert (len(module.cells), len(module.lines), module.left_out) == (5_000, 10_000, 0)
    module = NotebookModule([*cells, CodeCell(cell_id="long", source="x = 1\n" * 60_000)])
    assert (len(module.cells), module.left_out) == (5_000, 1)
