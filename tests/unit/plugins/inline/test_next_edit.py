"""Completions by an agent that suggests edits (ACP `nes/…`)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agentnb
from tests.conftest import ROOT
from tests.unit.plugins.inline.conftest import Complete

pytestmark = pytest.mark.slow
PATIENCE = 60


def scripted(name: str, folder: Path) -> agentnb.Session:
    return agentnb.start(command=[sys.executable, str(ROOT / f"tests/agents/{name}.py")], cwd=folder)


def test_agent_completes_code_and_learns_the_outcome(ask: Complete, by: Callable[..., None], tmp_path: Path) -> None:
    """It hears of the cell once, then of its changes, and of each suggestion's end; a jump is not shown."""
    by("agent")
    with scripted("next_edits", tmp_path) as session:
        session.prompt("Begin").wait(PATIENCE)
        where: dict[str, Any] = {"cell_id": "c 1", "path": "nb.ipynb"}
        before = "# 🐍 fills\n# fills: x = 1\n"
        assert ask(before, above=("import math",), suffix="\ny", **where).text == "x = 1"
        assert ask(f"{before}x = 1\n# fills: y\nz", suffix="\ny", **where).text == "y"
        assert ask(f"{before}# jumps\n", **where).text == ""
        assert ask("nothing", **where).text == ""
        journal = json.loads(session.prompt("Tell").wait(PATIENCE).text)
    assert journal == [
        ["start", True],
        ["open", "python"],
        ["suggest", ["import math"]],
        ["nes/accept"],
        ["change", 2],
        ["suggest", []],
        ["nes/reject"],
        ["change", 3],
        ["suggest", []],
        ["change", 4],
        ["suggest", []],
    ]


def test_error_says_that_the_agent_suggests_no_edits(ask: Complete, by: Callable[..., None], tmp_path: Path) -> None:
    by("agent")
    assert ask("x").error.startswith("No running agent can complete code.")
    with scripted("echo", tmp_path) as session:
        session.prompt("Begin").wait(PATIENCE)
        assert "suggests no edits" in ask("x").error


def edit(start: int, end: int, text: Any, line: int = 1) -> dict[str, Any]:
    """Returns the fields of a suggestion that changes the cell's second line."""
    places = {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}
    return {"edits": [{"range": places, "newText": text}]}


SUGGESTIONS: list[tuple[dict[str, Any], str]] = [
    (edit(3, 3, "bc"), "bc"),
    (edit(0, 4, "a🐍xyd"), "xy"),
    (edit(3, 4, "zd"), "z"),
    (edit(0, 1, "b"), ""),
    (edit(3, 3, "x", line=7), ""),
    (edit(4, 3, "x"), ""),
    (edit(3, 3, None), ""),
    ({"edits": []}, ""),
    ({"edits": "nonsense"}, ""),
    ({**edit(3, 3, "bc"), "uri": "other"}, ""),
    ({**edit(3, 3, "bc"), "kind": "rename"}, ""),
]


def test_only_insertions_at_the_cursor_are_shown(ask: Complete, by: Callable[..., None], tmp_path: Path) -> None:
    """Positions count UTF-16 units and may be invalid; another document or kind is not for the cell."""
    by("agent")
    with scripted("next_edits", tmp_path) as session:
        session.prompt("Begin").wait(PATIENCE)
        for suggestion, inserted in SUGGESTIONS:
            answer = ask(f"# suggests: {json.dumps(suggestion)}\na🐍", suffix="d", cell_id="c", path="nb.ipynb")
            assert (answer.text, answer.error) == (inserted, ""), suggestion
