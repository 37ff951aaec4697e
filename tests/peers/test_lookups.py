"""Real agents ask about code and packages: the tools `look_up_code` and `research`, over a real kernel.

The model is scripted: the prompt names the tools that it calls. A second conversation with the same agent answers a
research; its model reads the package's source and returns its findings.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentnb.agent import AgentSpec
from tests.kernel.running_kernel import RunningKernel
from tests.peers.model import call

pytestmark = pytest.mark.peers
SECONDS = 300
ASKS = ["opencode", "vibe"]

NOTEBOOK = "def total(rows):\n    '''Adds rows.'''\n    return sum(rows)", "rows = [1, 2]\ntotal(rows)"

READ_TOOL_CALLS = """
import json
cards = [part.tool_call for part in turn.snapshot.response_parts if hasattr(part, "tool_call")]
shown = [card.details.research.citations if card.details and card.details.research else () for card in cards]
told = [
    {"status": call.status, "text": call.text, "cites": [[each.text, each.place, each.excerpt] for each in citations]}
    for call, citations in zip(turn.tool_calls, shown, strict=True)
]
"""


@pytest.fixture
def kernel(kernelspecs: Path, tmp_path: Path) -> Iterator[RunningKernel]:
    """A kernel with agentnb loaded, in which a notebook's cells have run."""
    folder = tmp_path / "notebook"
    folder.mkdir()
    with RunningKernel.started("ipykernel7", folder) as running:
        for cell in ("%load_ext agentnb", *NOTEBOOK):
            assert running.run(cell).status == "ok"
        yield running


@pytest.fixture
def session(kernel: RunningKernel, spec: AgentSpec, environment: dict[str, str], workspace: Path) -> Session:
    """A conversation with the agent, with kernel access."""
    return Session(kernel, list(spec.command), environment, workspace)


class Session:
    """A conversation in the kernel."""

    def __init__(self, kernel: RunningKernel, command: list[str], environment: dict[str, str], workspace: Path) -> None:
        self._kernel = kernel
        options = f"command={command!r}, env={environment!r}, cwd={str(workspace)!r}, kernel_tools=True"
        self._run(f"import agentnb\nsession = agentnb.start({options}, permissions='allow')")

    def prompt(self, *calls: str) -> list[dict[str, Any]]:
        """Prompts with *calls* for the model; returns the turn's tool calls: title, status, text, citations."""
        self._run(f"turn = session.prompt('[[{' '.join(calls)}]]').wait(timeout={SECONDS}).raise_for_error()")
        self._run(READ_TOOL_CALLS)
        tool_calls: list[dict[str, Any]] = json.loads(ast.literal_eval(self._kernel.run("json.dumps(told)").values[0]))
        return tool_calls

    def _run(self, code: str) -> None:
        done = self._kernel.run(code, timeout=SECONDS)
        assert done.status == "ok", done.error


@pytest.mark.parametrize("peer", ASKS, indirect=True)
def test_agent_looks_up_code_of_the_notebook(session: Session) -> None:
    """Definition, uses and documentation of a name from cells that ran; each answer is in its tool call."""
    lookups = "definition", "references", "describe"
    questions = [call("kernel/look_up_code", question=each, symbol="total") for each in lookups]
    definition, references, described = session.prompt(*questions)
    assert [each["status"] for each in (definition, references, described)] == ["completed"] * 3
    assert "line 1, column 4: def total(rows):" in definition["text"]
    assert "line 2, column 0: total(rows)" in references["text"]
    assert "Adds rows." in described["text"]


@pytest.mark.parametrize("peer", ASKS, indirect=True)
def test_package_research_shows_citations_in_the_turn(session: Session) -> None:
    """The second conversation finds the source, reads it with the agent's own tool, and cites a line."""
    source = Path(json.__file__)
    line = next(
        n for n, text in enumerate(source.read_text(encoding="utf-8").splitlines(), 1) if text.startswith("def dumps(")
    )
    steps = [
        call("package_source/get_package_source", package="json"),
        call("read", path=str(source)),
        call("package_source/return_response", text="It makes text.", file="json/__init__.py", line=str(line)),
    ]
    question = f"What does dumps do? [[{' '.join(steps)}]]"
    (research,) = session.prompt(call("kernel/research", package="json", question=question))
    text = source.read_text(encoding="utf-8").splitlines()[line - 1]
    assert research["status"] == "completed"
    assert research["cites"] == [["It makes text.", f"json/__init__.py:{line}", text]]
    assert f"- It makes text. (`json/__init__.py:{line}`)" in research["text"]
