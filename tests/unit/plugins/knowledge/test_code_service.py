"""Code intelligence over cells and files, with jedi itself."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.code.notebook_module import CodeCell
from agentnb.plugins.knowledge.code.records import CodePlace
from agentnb.plugins.knowledge.code.service import CodeService


def service(root: Path, *sources: str, variables: dict[str, Any] | None = None, seconds: float = 300.0) -> CodeService:
    """Returns code intelligence for cells ``c0``, ``c1`` and so on that ran in order."""
    cells = [CodeCell(cell_id=f"c{at}", source=source, count=at + 1) for at, source in enumerate(sources)]
    return CodeService(root, cells=lambda: cells, variables=lambda: variables or {}, seconds=seconds)


def places(locations: list[Any]) -> list[tuple[str | None, int, int]]:
    return [(each.cell_id or (each.path and Path(each.path).name), each.line, each.column) for each in locations]


def test_definition_is_in_the_cell_that_ran_last_before(tmp_path: Path) -> None:
    """Cells are one module in execution order, not in the notebook's order."""
    cells = [
        CodeCell(cell_id="use", source="f(1)", count=3),
        CodeCell(cell_id="new", source="def f(x): return str(x)", count=2),
        CodeCell(cell_id="old", source="def f(x): return x", count=1),
    ]
    code_service = CodeService(tmp_path, cells=lambda: cells, seconds=300)
    expected = [("new", 1, 4)]
    assert places(code_service.definition(CodePlace(cell_id="use", symbol="f"))) == expected
    cells.insert(0, cells.pop())  # the user moves a cell: the place stays the same
    assert places(code_service.definition(CodePlace(cell_id="use", line=1, column=0))) == expected


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("df = make()", 'df["x"] = 1', "df"), [("c0", 1, 0)]),
        (("df = make()", 'df["x"] = 1'), [("c0", 1, 0)]),
        (("df = make()", 'df["x"] += 1', "df"), [("c0", 1, 0)]),
        (("df = make()", 'df["x"]: int = 1', 'df["y"], z = 1, 2', "df"), [("c0", 1, 0)]),
        (("df = make()", 'for df["x"] in range(2): pass', "df"), [("c0", 1, 0)]),
        (("df = make()", 'del df["x"]', "df"), [("c0", 1, 0)]),
        (("df = 1", "df = 2", 'df["x"] = 3', "df"), [("c1", 1, 0)]),
        (("if a:\n    df = 1\nelse:\n    df = 2", 'df["x"] = 1', "df"), [("c0", 2, 4), ("c0", 4, 4)]),
        (('df["x"] = 1', "df"), []),
        (("def f(df):\n    df['x'] = 1\n    return df", "df = 1", "f(df)"), [("c1", 1, 0)]),
    ],
)
def test_only_a_binding_of_a_name_is_its_definition(
    tmp_path: Path, cells: tuple[str, ...], expected: list[tuple[str, int, int]]
) -> None:
    """An assignment to one of its items never does."""
    place = CodePlace(cell_id=f"c{len(cells) - 1}", symbol="df")
    assert sorted(places(service(tmp_path, *cells).definition(place))) == expected


def test_item_assignment_is_not_a_definition(tmp_path: Path) -> None:
    """If no cell binds the name, it leads nowhere: the kernel's variable is not in the text."""
    code_service = service(tmp_path, "def f(df):\n    df['x'] = 1\n    return df", variables={"df": {}})
    assert places(code_service.definition(CodePlace(cell_id="c0", symbol="df", line=3))) == [("c0", 1, 6)]
    code_service = service(tmp_path, "df['x'] = 1\ndf", variables={"df": {}})
    assert code_service.definition(CodePlace(cell_id="c0", symbol="df", line=2)) == []


def test_definitions_of_public_agentnb_names_are_found(tmp_path: Path) -> None:
    """They are loaded at first use: their imports depend on a condition that jedi cannot decide."""
    code = """
from pathlib import Path
from agentnb.plugins.knowledge.code.notebook_module import CodeCell
from agentnb.plugins.knowledge.code.records import CodePlace
from agentnb.plugins.knowledge.code.service import CodeService
cells = [CodeCell(cell_id="c", source="import agentnb\\nagentnb.start('eliza').prompt('Hello')", count=1)]
asked = CodeService(Path.cwd(), cells=lambda: cells)
for column in (8, 23):
    print(asked.definition(CodePlace(cell_id="c", line=2, column=column))[0].text)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    start, prompt = done.stdout.splitlines()
    assert start == "def start("
    assert prompt.strip() == "def prompt("


def test_two_notebooks_of_one_folder_have_separate_answers(tmp_path: Path) -> None:
    """Each answers from its own cells, also after one has changed."""
    first, second = (service(tmp_path, text) for text in ("import os\nx = 1\nx", "def f():\n    return 2\nf()"))
    for _ in range(2):
        assert places(first.definition(CodePlace(cell_id="c0", line=3, column=0))) == [("c0", 2, 0)]
        assert places(second.definition(CodePlace(cell_id="c0", line=3, column=0))) == [("c0", 1, 4)]


def test_definitions_and_references_cross_cells_and_files(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("def fit(x):\n    return x\n")
    (tmp_path / "other.py").write_text("import model\n\nmodel.fit(2)\n")
    code_service = service(tmp_path, "from model import fit", "fit(3)")
    assert places(code_service.definition(CodePlace(symbol="fit"))) == [("model.py", 1, 4)]
    expected = [("c0", 1, 18), ("c1", 1, 0), ("model.py", 1, 4), ("other.py", 3, 6)]
    assert places(code_service.references(CodePlace(cell_id="c1", symbol="fit"))) == expected
    assert places(code_service.references(CodePlace(path="model.py", symbol="fit"))) == expected


def test_rename_returns_changes_without_applying_them(tmp_path: Path) -> None:
    """Each cell and file comes with its text before and after."""
    (tmp_path / "model.py").write_text("def fit(x):\r\n    return x\r\n", newline="")
    code_service = service(tmp_path, "from model import fit", "%time fit(3); refit = 'fit'", "!echo fit")
    renaming = code_service.rename(CodePlace(cell_id="c1", symbol="fit"), "train")
    assert {(change.cell_id, change.after) for change in renaming.changes} == {
        ("c0", "from model import train"),
        ("c1", "%time train(3); refit = 'fit'"),
        (None, "def train(x):\r\n    return x\r\n"),
    }
    assert renaming.notes == ("Magics in 1 cell contain the name, too; they are not changed.",)
    assert "fit" in (tmp_path / "model.py").read_text()


@pytest.mark.parametrize(("symbol", "new_name"), [("json.dumps", "write"), ("x", "class"), ("x", "a b")])
def test_rename_rejects_library_names_and_invalid_names(tmp_path: Path, symbol: str, new_name: str) -> None:
    """Names from outside the workspace stay; a new name must be valid in Python."""
    code_service = service(tmp_path, "import json\nx = json.dumps")
    with pytest.raises(UsageError, match=r"outside the workspace|not a valid Python name"):
        code_service.rename(CodePlace(cell_id="c0", symbol=symbol), new_name)


def test_hover_returns_signature_and_documentation(tmp_path: Path) -> None:
    """It covers functions in cells and in libraries."""
    code_service = service(tmp_path, 'def f(x: int, y=2) -> str:\n    """Adds."""', "import textwrap")
    (hover,) = code_service.hover(CodePlace(symbol="f"))
    assert (hover.signatures, hover.docs) == (("f(x: int, y=2) -> str",), "Adds.")
    (hover,) = code_service.hover(CodePlace(symbol="textwrap.dedent"))
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


def test_live_variable_is_described_without_running_its_code(tmp_path: Path, monkeypatch: Any) -> None:
    """No property, ``__getattr__``, ``__dir__`` or ``__repr__`` of the user's objects runs."""
    (tmp_path / "trapped.py").write_text(TRAP)
    monkeypatch.syspath_prepend(str(tmp_path))
    trapped = importlib.import_module("trapped")
    variables = {"trap": trapped.Trap(), "n": 3, "made": trapped.Trap}
    code_service = service(tmp_path, "trap = anything()", variables=variables)
    assert [each.name for each in code_service.completions(CodePlace(symbol="trap.m"))] == ["method"]
    assert [each.name for each in code_service.completions(CodePlace(symbol="n.bit_l"))] == ["bit_length"]
    assert [each.name for each in code_service.completions(CodePlace(symbol="made.touch"))] == ["touchy"]
    (hover,) = code_service.hover(CodePlace(symbol="trap.method"))
    assert (hover.docs, hover.is_live) == ("A method.", True)
    assert trapped.touched == []


def test_analysis_does_not_import_or_change_the_import_path(tmp_path: Path) -> None:
    """A module that the user has not imported stays so, whatever the question."""
    (tmp_path / "loud.py").write_text("import sys\nsys.loud = True\ndef shout(): ...\n")
    path, loaded = sys.path, {*sys.modules}
    code_service = service(tmp_path, "import loud, _ctypes_test, curses.panel\ncurses.panel.new_panel")
    assert places(code_service.definition(CodePlace(symbol="loud.shout"))) == [("loud.py", 3, 4)]
    code_service.hover(CodePlace(symbol="_ctypes_test.func"))
    assert sys.path is path
    assert not hasattr(sys, "loud")
    assert {"loud", "_ctypes_test"}.isdisjoint({*sys.modules} - loaded)


def test_syntax_errors_are_reported_with_their_cell(tmp_path: Path) -> None:
    """Magics and ``await`` are not errors."""
    code_service = service(
        tmp_path, "def f(:", "await g()\n%matplotlib inline\n!ls", "%%bash\nif", "def g(): ...", "g()\n  x"
    )
    diagnostics = code_service.diagnostics()
    assert [(each.cell_id, each.line) for each in diagnostics] == [("c0", 1), ("c4", 2)]
    assert places(code_service.definition(CodePlace(cell_id="c4", symbol="g"))) == [("c3", 1, 4)]


# The exception that ends it can arrive in a callback of the garbage collector (Hypothesis has one), where it is lost;
# the thread gets another.
@pytest.mark.filterwarnings("ignore:Exception ignored in.*gc_callback:pytest.PytestUnraisableExceptionWarning")
def test_analysis_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """The thread of an analysis ends at the limit."""
    count = 0

    def cells() -> list[CodeCell]:
        return [CodeCell(cell_id="a", source="".join(f"def f{n}(x): return x + {n}\n" for n in range(count)))]

    count = 20_000
    code_service = CodeService(tmp_path, cells=cells, seconds=0.05)
    with pytest.raises(UsageError, match="took more than"):
        code_service.definition(CodePlace(symbol="f3"))
    assert [each.name for each in threading.enumerate() if each.name == "agentnb-code"] == []


def test_places_that_do_not_exist_raise_an_error(tmp_path: Path) -> None:
    """Unknown cells, lines, columns, symbols and files: each has a sentence."""
    code_service = service(tmp_path, "x = 1")
    for place in (
        CodePlace(cell_id="nope", symbol="x"),
        CodePlace(cell_id="c0", line=2, column=0),
        CodePlace(cell_id="c0", line=1, column=9),
        CodePlace(cell_id="c0", symbol="y"),
        CodePlace(cell_id="c0"),
        CodePlace(path="nope.py", symbol="x"),
        CodePlace(symbol="f(x)"),
        CodePlace(),
    ):
        with pytest.raises(UsageError):
            code_service.definition(place)
    assert code_service.definition(CodePlace(symbol="nowhere")) == []
