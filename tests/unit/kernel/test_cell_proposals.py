"""The cell change that an agent's own request for a kernel tool proposes, as the page gets it to show it there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentnb.host import Host
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.talk import Talk, environment, host, work
from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import Tools

__all__ = ["environment", "host", "work"]  # the fixtures

CASES = [
    ("replace_cell", {"cell": "3", "source": "x"}, ("replace", "b", "code", "y = 2", "x")),
    ("replace_cell", {"cell": "a", "source": "x"}, ("replace", "a", "markdown", "# Fit", "x")),
    ("replace_cell", {"cell": "long", "source": "x"}, ("replace", "long", "code", None, "x")),
    ("insert_cell", {"source": "x"}, ("insert", None, "code", None, "x")),
    ("insert_cell", {"source": "x", "below": "b", "cell_type": "markdown"}, ("insert", "b", "markdown", None, "x")),
    ("replace_cell", {"cell": "gone", "source": "x"}, None),
    ("replace_cell", {"cell": "twice", "source": "x"}, None),
    ("run_cell", {"cell": "b"}, None),
]


def card_of(talk: Talk, call_id: str) -> Any:
    """Waits for the request for the tool call *call_id*."""
    (card,) = talk.until(lambda: [each for each in talk.open if each.tool_call_id == call_id] or None)
    return card


def test_request_proposes_the_cell_and_both_texts(host: Host, work: Path, tools: Tools) -> None:
    """Nothing without a clear cell or a change; no old text if it is not all known."""
    page = NotebookPage("fit.ipynb", {"a": "# Fit", "b": "y = 2", "long": "z = 12345", "twice": "1", "again": "2"})
    page.cells[0]["kind"], page.cells[1]["count"], page.cells[4]["id"] = "markdown", 3, "twice"
    page.longest = len("y = 2")
    page.tell()
    host.environment.connect(shell=tools)
    talk = Talk(host, work, script="calls_kernel", kernel_tools=True)
    asks = [
        {"ask": {"toolCallId": str(at), "title": f"mcp__kernel__{name}", "kind": "other", "rawInput": arguments}}
        for at, (name, arguments, _) in enumerate(CASES)
    ]
    turn = talk.prompt(*asks)
    for at, (_, _, expected) in enumerate(CASES):
        card = card_of(talk, str(at))
        cell = card.details.cell
        proposal = cell and (cell.action, cell.cell_id, cell.kind, cell.old_text, cell.new_text)
        assert proposal == expected
        talk.answer(card, "no")
    turn.wait(PATIENCE)
    page.close()
