"""What prompts typed in the chat can mention in a shell."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentnb.ipython.shell_mentions import MOST, ShellMentions


class Broken:
    """An object that fails when it is looked at."""

    def __getattr__(self, name: str) -> Any:
        message = f"no {name} today"
        raise RuntimeError(message)


@pytest.fixture
def mentions(tmp_path: Path) -> ShellMentions:
    """A shell with variables and two cells run; a folder with files."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.csv").write_text("a,b\n")
    (tmp_path / "fit.py").write_text("x = 1\n")
    history = SimpleNamespace(input_hist_raw=["", "import pandas", "df = 3"], output_hist_reprs={})
    variables = {"frame": [1, 2], "broken": Broken(), "_hidden": 1, "In": [], "subframe": "x"}
    shell: Any = SimpleNamespace(user_ns=variables, history_manager=history, execution_count=3)
    return ShellMentions(shell)


def offered(mentions: ShellMentions, start: str, cwd: Path) -> list[tuple[str, str, str]]:
    return [(one.text, one.kind, one.detail) for one in mentions.suggest(start, cwd)]


def test_variables_come_with_type_and_size_cells_with_their_first_line(mentions: ShellMentions, tmp_path: Path) -> None:
    """All there is to mention, before anything is typed; an object that fails is offered all the same."""
    assert offered(mentions, "", tmp_path) == [
        ("frame", "variable", "list, length 2"),
        ("broken", "variable", ""),
        ("subframe", "variable", "str, length 1"),
        ("cells", "cell", "all 2 that were run"),
        ("cell:2", "cell", "df = 3"),
        ("cell:1", "cell", "import pandas"),
        ("data/", "folder", ""),
        ("fit.py", "file", ""),
    ]


def test_names_that_begin_as_typed_come_before_those_that_hold_it(mentions: ShellMentions, tmp_path: Path) -> None:
    """Whatever the capitals."""
    assert [text for text, _, _ in offered(mentions, "FRAME", tmp_path)] == ["frame", "subframe"]


def test_folders_are_looked_into(mentions: ShellMentions, tmp_path: Path) -> None:
    """After a slash there are only files."""
    assert offered(mentions, "data/r", tmp_path) == [("data/rows.csv", "file", "")]


def test_only_so_many_are_offered(mentions: ShellMentions, tmp_path: Path) -> None:
    """A folder of a thousand files is no list to read."""
    for number in range(2 * MOST):
        (tmp_path / f"f{number}").touch()
    assert len(mentions.suggest("", tmp_path)) == MOST


def test_what_is_mentioned_is_attached_and_the_rest_is_prose(mentions: ShellMentions, tmp_path: Path) -> None:
    """Each once; unknown names, code and files outside of the workspace are passed over."""
    found = mentions.attach("@frame and @frame, @nobody, `@subframe`, @cell:1, @../secret, @fit.py", tmp_path)
    assert [attachment.label for attachment in found] == ["frame", "cell:1", "fit.py"]
