"""Code intelligence over cells and files, with jedi itself."""

from __future__ import annotations

import importlib
import inspect
import sys
import textwrap
from pathlib import Path

import pytest

from agentnb import UsageError
from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import Tools
from tests.unit.plugins.knowledge.conftest import Ran, ask, places


def test_definition_is_in_the_cell_that_ran_last_before(ran: Ran) -> None:
    """Cells are one module in execution order, not in the notebook's order."""
    ran()
    page = NotebookPage("order.ipynb", {"In [3]": "f(1)", "In [2]": "def f(x): return str(x)", "In [1]": "f = len"})
    for count, cell in zip((3, 2, 1), page.cells, strict=True):
        cell["count"] = count
    page.tell()
    assert places(ask("definition", "f", cell=3)) == [(2, 1, 4)]
    page.cells.insert(0, page.cells.pop())  # the user moves a cell: the place stays the same
    page.tell()
    assert places(ask("definition", cell=3, line=1, column=0)) == [(2, 1, 4)]
    page.close()


BINDINGS = [
    (("df = make()", 'df["x"] = 1', "df"), [(1, 1, 0)]),
    (("df = make()", 'df["x"] = 1'), [(1, 1, 0)]),
    (("df = make()", 'df["x"] += 1', "df"), [(1, 1, 0)]),
    (("df = make()", 'df["x"]: int = 1', 'df["y"], z = 1, 2', "df"), [(1, 1, 0)]),
    (("df = make()", 'for df["x"] in range(2): pass', "df"), [(1, 1, 0)]),
    (("df = make()", 'del df["x"]', "df"), [(1, 1, 0)]),
    (("df = 1", "df = 2", 'df["x"] = 3', "df"), [(2, 1, 0)]),
    (("if a:\n    df = 1\nelse:\n    df = 2", 'df["x"] = 1', "df"), [(1, 2, 4), (1, 4, 4)]),
    (('df["x"] = 1', "df"), []),
    (('df["x"] = 1\ndf',), []),
    (("def f(df):\n    df['x'] = 1\n    return df", "df = 1", "f(df)"), [(2, 1, 0)]),
    (("def f(df):\n    df['x'] = 1\n    return df",), [(1, 1, 6)]),
]


@pytest.mark.parametrize(("cells", "expected"), BINDINGS, ids=[" ; ".join(each) for each, _ in BINDINGS])
def test_only_a_binding_of_a_name_is_its_definition(
    ran: Ran, cells: tuple[str, ...], expected: list[tuple[int, int, int]]
) -> None:
    """An assignment to one of its items never is, nor is the kernel's variable, which is not in the text."""
    ran(*cells, df={})
    last_line = len(cells[-1].splitlines())
    assert sorted(places(ask("definition", "df", cell=len(cells), line=last_line))) == expected


def test_definitions_of_public_agentnb_names_are_found(ran: Ran) -> None:
    """They are loaded at first use: their imports depend on a condition that jedi cannot decide."""
    ran("import agentnb\nagentnb.start('eliza').prompt('Hello')")
    found = [ask("definition", cell=1, line=2, column=column)[0].text.strip() for column in (8, 23)]
    assert found == ["def start(", "def prompt("]


def test_two_notebooks_of_one_folder_have_separate_answers(tools: Tools) -> None:
    """Each answers from its own cells, whichever was asked last."""
    texts = {"one.ipynb": "import os\nx = 1\nx", "two.ipynb": "def f():\n    return 2\nf()"}
    pages = [NotebookPage(path, {"a": text}) for path, text in texts.items()]
    lines = [
        tools.text("look_up_code", question="definition", cell="a", line=3, column=0, notebook=path)
        for path in [*texts, *texts]
    ]
    assert [line.partition("line ")[2] for line in lines] == ["2, column 0: x = 1", "1, column 4: def f():"] * 2
    for page in pages:
        page.close()


def test_definitions_and_references_cross_cells_and_files(ran: Ran, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("def fit(x):\n    return x\n")
    (tmp_path / "other.py").write_text("import model\n\nmodel.fit(2)\n")
    ran("from model import fit", "fit(3)")
    assert places(ask("definition", "fit")) == [("model.py", 1, 4)]
    expected = [(1, 1, 18), (2, 1, 0), ("model.py", 1, 4), ("other.py", 3, 6)]
    assert places(ask("references", "fit", cell=2)) == expected
    assert places(ask("references", "fit", file="model.py")) == expected


def test_rename_returns_changes_without_applying_them(ran: Ran, tmp_path: Path) -> None:
    """Each cell and file comes with its text before and after."""
    (tmp_path / "model.py").write_text("def fit(x):\r\n    return x\r\n", newline="")
    ran("from model import fit", "%time fit(3); refit = 'fit'", "!echo fit")
    renaming = ask("rename", "fit", cell=2, new_name="train").renaming
    assert {(change.cell_id, change.after) for change in renaming.changes} == {
        ("In [1]", "from model import train"),
        ("In [2]", "%time train(3); refit = 'fit'"),
        (None, "def train(x):\r\n    return x\r\n"),
    }
    assert renaming.notes == ("Magics in 1 cell contain the name, too; they are not changed.",)
    assert "fit" in (tmp_path / "model.py").read_text()


@pytest.mark.parametrize(("symbol", "new_name"), [("json.dumps", "write"), ("x", "class"), ("x", "a b")])
def test_rename_rejects_library_names_and_invalid_names(ran: Ran, symbol: str, new_name: str) -> None:
    """Names from outside the workspace stay; a new name must be valid in Python."""
    ran("import json\nx = json.dumps")
    with pytest.raises(UsageError, match=r"outside the workspace|not a valid Python name"):
        ask("rename", symbol, cell=1, new_name=new_name)


def test_hover_returns_signature_and_documentation(ran: Ran) -> None:
    """It covers functions in cells and in libraries."""
    ran('def f(x: int, y=2) -> str:\n    """Adds."""', "import textwrap")
    (hover,) = ask("describe", "f")
    assert (hover.signatures, hover.docs) == (("f(x: int, y=2) -> str",), "Adds.")
    (hover,) = ask("describe", "textwrap.dedent")
    assert hover.full_name == "textwrap.dedent"
    assert hover.docs == inspect.getdoc(textwrap.dedent)


TRAP = """
touched = []

class Trap:
    @property
    def touchy(self) -> int:
        touched.append("property")

    def method(self) -> int:
        '''A method.'''
        touched.append("method")

    def __getattr__(self, name):
        touched.append(name)

    def __dir__(self):
        touched.append("dir")
        return []

    def __repr__(self):
        touched.append("repr")
        return ""
"""


def test_live_variable_is_described_without_running_its_code(
    ran: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No property, ``__getattr__``, ``__dir__`` or ``__repr__`` of the user's objects runs."""
    (tmp_path / "trapped.py").write_text(TRAP)
    monkeypatch.syspath_prepend(str(tmp_path))
    trapped = importlib.import_module("trapped")
    ran("trap = anything()", trap=trapped.Trap(), n=3, made=trapped.Trap)
    completed = [[each.name for each in ask("complete", symbol)] for symbol in ("trap.m", "n.bit_l", "made.touch")]
    assert completed == [["method"], ["bit_length"], ["touchy"]]
    (hover,) = ask("describe", "trap.method")
    assert (hover.docs, hover.is_live) == ("A method.", True)
    assert trapped.touched == []


def test_analysis_does_not_import_or_change_the_import_path(ran: Ran, tmp_path: Path) -> None:
    """A module that the user has not imported stays so, whatever the question."""
    (tmp_path / "loud.py").write_text("import sys\nsys.loud = True\ndef shout(): ...\n")
    path, loaded = sys.path, {*sys.modules}
    ran("import loud, _ctypes_test, curses.panel\ncurses.panel.new_panel")
    assert places(ask("definition", "loud.shout")) == [("loud.py", 3, 4)]
    ask("describe", "_ctypes_test.func")
    assert sys.path is path
    assert not hasattr(sys, "loud")
    assert {"loud", "_ctypes_test"}.isdisjoint({*sys.modules} - loaded)


def test_syntax_errors_are_reported_with_their_cell(ran: Ran) -> None:
    """Magics and ``await`` are not errors."""
    ran("def f(:", "await g()\n%matplotlib inline\n!ls", "%%bash\nif", "def g(): ...", "g()\n  x")
    assert [place[:2] for place in places(ask("problems"))] == [(1, 1), (5, 2)]
    assert places(ask("definition", "g", cell=5)) == [(4, 1, 4)]


def test_places_that_do_not_exist_raise_an_error(ran: Ran) -> None:
    """Unknown cells, lines, columns, symbols and files: each has a sentence."""
    ran("x = 1")
    for place in (
        {"cell": "nope", "symbol": "x"},
        {"cell": 1, "line": 2, "column": 0},
        {"cell": 1, "line": 1, "column": 9},
        {"cell": 1, "symbol": "y"},
        {"cell": 1},
        {"file": "nope.py", "symbol": "x"},
        {"symbol": "f(x)"},
        {},
    ):
        with pytest.raises(UsageError):
            ask("definition", **place)
    assert list(ask("definition", "nowhere")) == []
