"""Requests only for language servers: symbols, implementations, types, code actions and formatting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentnb import UsageError
from tests.unit.api.conftest import PATIENCE, KernelSettings
from tests.unit.host.talk import Talk, environment, host, work
from tests.unit.kernel.conftest import tools
from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import Tools
from tests.unit.plugins.knowledge.conftest import Ran, Serves, ask, places

__all__ = ["environment", "host", "tools", "work"]  # the fixtures
pytestmark = pytest.mark.slow

MODEL = """class Base:
    def fit(self) -> "Base": ...


class Tree(Base):
    def fit(self) -> "Tree":
        return self
"""


def test_type_checker_finds_symbols_implementations_and_types(ran: Ran, serves: Serves, tmp_path: Path) -> None:
    """They cover cells, files and the workspace; missing abilities have a message."""
    serves("basedpyright")
    (tmp_path / "model.py").write_text(MODEL)
    ran("from model import Base, Tree", "'𝄞'; t = Tree()\n%time u = t.fit()", "def show(x): ...")
    symbols = ask("symbols")
    assert [(each.kind, each.full_name) for each in symbols if each.kind != "variable"] == [("function", "show")]
    assert [each for each in places(symbols) if each[0] == 2] == [(2, 1, 5), (2, 2, 6)]
    methods = [("method", "Base.fit"), ("method", "Tree.fit")]
    in_file = ask("symbols", file="model.py")
    assert [(each.kind, each.full_name) for each in in_file if each.kind == "method"] == methods
    assert sorted((each.kind, each.full_name) for each in ask("workspace_symbols", "fit")) == methods
    implementations = places(ask("implementation", "fit", file="model.py", line=2))
    assert implementations == [("model.py", 2, 8), ("model.py", 6, 8)]
    assert places(ask("type_definition", "t", cell=2)) == [("model.py", 5, 6)]
    with pytest.raises(UsageError, match=r"^basedpyright offers no formatting\. Another language server may"):
        ask("format")


def test_formatter_changes_each_readable_cell_separately(ran: Ran, serves: Serves, tmp_path: Path) -> None:
    """A cell with a magic or an error stays, and so does a semicolon that hides a value."""
    serves("ruff")
    ran("x = {'a':1}", "%time y = ( 1)", "x(", "f( x ) ;", "z = 1")
    (formatted,) = ask("format")
    assert [(each.cell_id, each.after) for each in formatted.changes] == [
        ("In [1]", 'x = {"a": 1}'),
        ("In [4]", "f(x);"),
    ]
    assert formatted.notes == ("Left as they are: 2 cells with magics, or that Python cannot read.",)
    assert list(ask("format", cell=5)) == []
    (tmp_path / "a.py").write_bytes(b"x = ( 1 )\r\n")
    (formatted,) = ask("format", file="a.py")
    assert [Path(each.path).name for each in formatted.changes] == ["a.py"]
    with pytest.raises(UsageError, match=r"^ruff offers no symbols of a file\."):
        ask("symbols")


def test_code_actions_at_a_line_list_their_changes(ran: Ran, serves: Serves, tmp_path: Path) -> None:
    """It covers cells and files; lines with a magic are never changed."""
    serves("ruff")
    ran("import os\nimport sys\nprint(sys)", "%time import re")
    (unused,) = [each for each in ask("actions", cell=1, line=1) if "Remove unused" in each.title]
    assert unused.title == "Ruff (F401): Remove unused import: `os`"
    assert [(each.cell_id, each.after) for each in unused.changes] == [("In [1]", "import sys\nprint(sys)")]
    assert not any("`re`" in each.title for each in ask("actions"))
    (tmp_path / "a.py").write_text("import os\n")
    in_file = ask("actions", "os", file="a.py")
    assert "" in [change.after for each in in_file for change in each.changes]


def test_code_actions_with_unsupported_changes_are_omitted(ran: Ran, serves: Serves) -> None:
    """It overlaps, leaves the workspace, creates files, spans cells, runs a command, or is empty."""
    serves(odd="edits")
    ran("x = 1", "x")
    (action,) = ask("actions", cell=1)
    assert (action.title, [each.after for each in action.changes]) == ("well", ["y = 1"])
    with pytest.raises(UsageError, match=r"formatting cannot be used\. Its changes overlap\."):
        ask("format")


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("off", r"^Only a language server offers formatting, and none is selected\. Choose one"),
        ("dies-at-start", r"^pyright stopped unexpectedly \(exit code 1\)"),
        ("refuses", r"^pyright offers no formatting\."),
    ],
)
def test_request_without_a_working_server_raises_the_reason(ran: Ran, serves: Serves, how: str, why: str) -> None:
    """Jedi cannot answer instead."""
    if how != "off":
        serves(odd=how)
    ran("x = 1")
    with pytest.raises(UsageError, match=why):
        ask("format")


@pytest.fixture
def page() -> Iterator[NotebookPage]:
    notebook_page = NotebookPage("fit.ipynb", {"a": "from model import fit\nx=fit( 1 )"})
    yield notebook_page
    notebook_page.close()


@pytest.fixture
def talk(host: Any, work: Path, tools: Tools, serves: Serves) -> Talk:
    """Returns a session whose agent has access to the kernel but must ask."""
    serves("ruff")
    (work / "model.py").write_text("def fit(x): return x\n")
    host.environment.connect(shell=tools, settings=KernelSettings(cell_review="first", language_server="ruff"))
    return Talk(host, work, script="calls_kernel", kernel_tools=True)


def changed(talk: Talk, *answers: str, **arguments: Any) -> Any:
    """Returns a turn that changes code, with the user's answers."""
    turn = talk.prompt({"start": ["change_code", arguments]}, {"end": 1})
    for answer in answers:
        (card,) = talk.questions()
        talk.answer(card, answer)
    return turn.wait(PATIENCE)


def test_formatting_by_an_agent_needs_permission_and_can_be_undone(talk: Talk, page: NotebookPage, work: Path) -> None:
    """It changes a cell in its page, or a file of the workspace."""
    turn = changed(talk, "allow", change="format")
    assert page.texts() == {"a": "from model import fit\n\nx = fit(1)"}
    assert [(each.id, each.status) for each in turn.changes] == [("cell:a", "changed")]
    turn.undo()
    assert page.texts() == {"a": "from model import fit\nx=fit( 1 )"}
    turn = changed(talk, "allow", change="format", file="model.py")
    assert (work / "model.py").read_text() == "def fit(x):\n    return x\n"
    assert [(each.id, each.status) for each in turn.changes] == [("file:model.py", "changed")]
    turn.undo()
    assert (work / "model.py").read_text() == "def fit(x): return x\n"


def test_denied_part_of_a_renaming_is_not_changed(talk: Talk, page: NotebookPage, work: Path) -> None:
    """A renaming asks separately for the cell and the file."""
    turn = changed(talk, "allow", "reject", change="rename", symbol="fit", new_name="train")
    assert page.texts() == {"a": "from model import train\nx=train( 1 )"}
    assert (work / "model.py").read_text() == "def fit(x): return x\n"
    assert turn.text.strip() == "false"
