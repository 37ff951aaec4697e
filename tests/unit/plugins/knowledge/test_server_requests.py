"""Requests only for language servers: symbols, implementations, types, code actions and formatting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentnb.errors import UsageError
from agentnb.host import Host
from agentnb.plugins.knowledge.code.language_server import server_for
from agentnb.plugins.knowledge.code.records import CodePlace
from agentnb.plugins.knowledge.code.service import CodeService
from tests.unit.api.conftest import PATIENCE, KernelSettings
from tests.unit.host.talk import Talk, environment, host, work
from tests.unit.kernel.conftest import tools
from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import Tools
from tests.unit.plugins.knowledge.test_language_server import installed, odd, places, service

__all__ = ["environment", "host", "tools", "work"]  # the fixtures
pytestmark = pytest.mark.slow

MODEL = """class Base:
    def fit(self) -> "Base": ...


class Tree(Base):
    def fit(self) -> "Tree":
        return self
"""


@pytest.fixture(autouse=True)
def _ends_servers(tmp_path: Path) -> Iterator[None]:
    yield
    for folder in (tmp_path, tmp_path / "work"):
        server_for(folder, None)


def test_type_checker_finds_symbols_implementations_and_types(tmp_path: Path) -> None:
    """They cover cells, files and the workspace; missing abilities have a message."""
    (tmp_path / "model.py").write_text(MODEL)
    cells = ("from model import Base, Tree", "'𝄞'; t = Tree()\n%time u = t.fit()", "def show(x): ...")
    code_service = service(tmp_path, installed("basedpyright"), *cells)
    symbols = code_service.ask("symbols", CodePlace())
    assert [(each.kind, each.full_name) for each in symbols if each.kind != "variable"] == [("function", "show")]
    assert [each for each in places(symbols) if each[0] == "c1"] == [("c1", 1, 5), ("c1", 2, 6)]
    in_file = code_service.ask("symbols", CodePlace(path="model.py"))
    methods = [("method", "Base.fit"), ("method", "Tree.fit")]
    assert [(each.kind, each.full_name) for each in in_file if each.kind == "method"] == methods
    in_workspace = code_service.ask("workspace_symbols", CodePlace(symbol="fit"))
    assert sorted((each.kind, each.full_name) for each in in_workspace) == methods
    assert places(code_service.ask("implementation", CodePlace(path="model.py", symbol="fit", line=2))) == [
        ("model.py", 2, 8),
        ("model.py", 6, 8),
    ]
    assert places(code_service.ask("type_definition", CodePlace(cell_id="c1", symbol="t"))) == [("model.py", 5, 6)]
    with pytest.raises(UsageError, match=r"^basedpyright offers no formatting\. Another language server may"):
        code_service.ask("format", CodePlace())


def test_formatter_changes_each_readable_cell_separately(tmp_path: Path) -> None:
    """A cell with a magic or an error stays, and so does a semicolon that hides a value."""
    cells = ("x = {'a':1}", "%time y = ( 1)", "x(", "f( x ) ;", "z = 1")
    code_service = service(tmp_path, installed("ruff"), *cells)
    (formatted,) = code_service.ask("format", CodePlace())
    assert [(each.cell_id, each.after) for each in formatted.changes] == [("c0", 'x = {"a": 1}'), ("c3", "f(x);")]
    assert formatted.notes == ("Left as they are: 2 cells with magics, or that Python cannot read.",)
    assert code_service.ask("format", CodePlace(cell_id="c4")) == []
    (tmp_path / "a.py").write_bytes(b"x = ( 1 )\r\n")
    (formatted,) = code_service.ask("format", CodePlace(path="a.py"))
    assert [Path(each.path).name for each in formatted.changes] == ["a.py"]
    with pytest.raises(UsageError, match=r"^ruff offers no symbols of a file\."):
        code_service.ask("symbols", CodePlace())


def test_code_actions_at_a_line_list_their_changes(tmp_path: Path) -> None:
    """It covers cells and files; lines with a magic are never changed."""
    cells = ("import os\nimport sys\nprint(sys)", "%time import re")
    code_service = service(tmp_path, installed("ruff"), *cells)
    unused = [
        each for each in code_service.ask("actions", CodePlace(cell_id="c0", line=1)) if "Remove unused" in each.title
    ]
    assert [each.title for each in unused] == ["Ruff (F401): Remove unused import: `os`"]
    assert [(each.cell_id, each.after) for each in unused[0].changes] == [("c0", "import sys\nprint(sys)")]
    assert not any("`re`" in each.title for each in code_service.ask("actions", CodePlace()))
    (tmp_path / "a.py").write_text("import os\n")
    in_file = code_service.ask("actions", CodePlace(path="a.py", symbol="os"))
    assert "" in [change.after for each in in_file for change in each.changes]


def test_code_actions_with_unsupported_changes_are_omitted(tmp_path: Path) -> None:
    """It overlaps, leaves the workspace, creates files, spans cells, runs a command, or is empty."""
    code_service = service(tmp_path, odd("edits"), "x = 1", "x")
    (action,) = code_service.ask("actions", CodePlace(cell_id="c0"))
    assert (action.title, [each.after for each in action.changes]) == ("well", ["y = 1"])
    with pytest.raises(UsageError, match=r"formatting cannot be used\. Its changes overlap\."):
        code_service.ask("format", CodePlace())


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("off", r"^Only a language server offers formatting, and none is selected\. Choose one"),
        ("dies-at-start", r"^odd stopped unexpectedly \(exit code 1\)"),
        ("refuses", r"^odd offers no formatting\."),
    ],
)
def test_request_without_a_working_server_raises_the_reason(tmp_path: Path, how: str, why: str) -> None:
    """Jedi cannot answer instead."""
    code_service = service(tmp_path, how if how == "off" else odd(how), "x = 1")
    with pytest.raises(UsageError, match=why):
        code_service.ask("format", CodePlace())
    with pytest.raises(UsageError, match="Only a language server offers symbols of a file, and none is selected"):
        CodeService(tmp_path, cells=tuple).ask("symbols", CodePlace())


@pytest.fixture
def page() -> Iterator[NotebookPage]:
    notebook_page = NotebookPage("fit.ipynb", {"a": "from model import fit\nx=fit( 1 )"})
    yield notebook_page
    notebook_page.close()


@pytest.fixture
def talk(host: Host, work: Path, tools: Tools) -> Talk:
    """Returns a session whose agent has access to the kernel but must ask."""
    installed("ruff")
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


def test_unknown_code_action_is_reported_to_the_agent(tools: Tools, page: NotebookPage) -> None:
    """The only permission request is for reading."""
    answer = tools.text("change_code", change="action", action="nothing", cell="a")
    assert "language server" in answer or "There is no code action 'nothing' here" in answer
    assert {request.kind for request in tools.requests} == {"read"}
