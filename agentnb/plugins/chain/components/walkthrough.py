"""`walkthrough`: a tool with which the agent explains a notebook or a module in steps, each tied to a place."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import mapping
from agentnb.errors import UsageError
from agentnb.kernel.cell_changes import named_cell
from agentnb.plugins.chain.components.component import Component, ComponentTool
from agentnb.policy.workspace import WorkspaceBoundary

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.kernel.code_runner import CodeRunner, NotebookView

TOOL = "show_walkthrough"
MOST_STEPS = 50
LONGEST_TEXT = 4_000
LARGEST_FILE = 16 * 1024 * 1024


class Walkthrough(Component):
    """Offers one tool, ``show_walkthrough``."""

    name = "walkthrough"
    about = "A tool that lets the agent explain a notebook or a file in steps that you go through in the chat."

    def __init__(self, code_runner: Callable[[], CodeRunner | None] = lambda: None) -> None:
        self._code_runner = code_runner
        self._workspace = Path.cwd()
        self._calls: dict[str, str] = {}
        self._walkthroughs: list[dict[str, Any]] = []
        self.tools: tuple[ComponentTool, ...] = (
            ComponentTool(
                name=TOOL,
                description="Explains a notebook or a module to the user in steps, each tied to a cell or to a line of "
                "a file. The user goes through them with Back and Next, and sees each place. Say no more about it.",
                run=self.show_walkthrough,
                parameters={
                    "title": {"type": "string", "description": "What is explained, a few words."},
                    "steps": {
                        "type": "array",
                        "description": "The steps, in order.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "text": {"type": "string", "description": "The explanation, two or three sentences."},
                                "cell": {"type": "string", "description": "The cell: its id, or the n of its In [n]."},
                                "file": {"type": "string", "description": "Instead of a cell: a file."},
                                "line": {"type": "integer", "description": "The line of the file, from 1."},
                            },
                            "required": ["text"],
                        },
                    },
                },
                required=("title", "steps"),
            ),
        )

    async def on_opened(self, session_id: str, params: dict[str, Any]) -> None:
        del session_id
        if isinstance(cwd := params.get("cwd"), str):
            self._workspace = Path(cwd)

    def on_update(self, session_id: str, update: dict[str, Any]) -> dict[str, Any] | None:
        """Put the walkthrough into the tool call that showed it, once the agent reports that the call has ended."""
        call_id = str(update.get("toolCallId"))
        words = f"{update.get('title')} {update.get('name')} {mapping(update.get('rawInput')).get('tool')}"
        if TOOL in words and str(update.get("sessionUpdate")).startswith("tool_call"):
            self._calls[call_id] = session_id
        if update.get("status") != "completed" or call_id not in self._calls or not self._walkthroughs:
            return update
        del self._calls[call_id]
        meta = mapping(update.get("_meta"))
        return {**update, "_meta": {**meta, "agentnb": {"walkthrough": self._walkthroughs.pop(0)}}}

    async def show_walkthrough(self, title: Any, steps: Any) -> str:
        """Check the steps and keep them for the tool call."""
        if not isinstance(title, str) or not isinstance(steps, list) or not 1 <= len(steps) <= MOST_STEPS:
            raise UsageError(f"A walkthrough has a title, and 1 to {MOST_STEPS} steps.")
        checked = await asyncio.to_thread(self._checked, steps)
        self._walkthroughs = [*self._walkthroughs[-3:], {"title": title[:200], "steps": checked}]
        return f"The user sees the {len(checked)} steps now, one at a time."

    def _checked(self, steps: list[Any]) -> list[dict[str, Any]]:
        notebook: NotebookView | None = None
        if any(isinstance(each, dict) and each.get("cell") is not None for each in steps):
            runner = self._code_runner()
            if runner is None:
                raise UsageError(
                    "No notebook is open, so a step cannot name a cell.", hint="Specify a file and a line."
                )
            notebook = runner.notebook(outputs=False)
        return [self._step(number, each, notebook) for number, each in enumerate(steps, 1)]

    def _step(self, number: int, described: Any, notebook: NotebookView | None) -> dict[str, Any]:
        text = mapping(described).get("text")
        if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_TEXT:
            raise UsageError(f"Step {number} needs a 'text' of at most {LONGEST_TEXT:,} characters.")
        step: dict[str, Any] = {"text": text.strip()}
        if (cell := described.get("cell")) is not None and notebook is not None:
            named = named_cell(str(cell), notebook)
            count = f" [{named.count}]" if named.count is not None else ""
            return {**step, "cell": named.id, "place": f"{notebook.name}, cell{count}"}
        if (file := described.get("file")) is None:
            return step
        line = described.get("line", 1)
        path = WorkspaceBoundary(self._workspace).resolve(str(file))
        if type(line) is not int or not 1 <= line <= _count_lines(path, number):
            raise UsageError(f"Step {number} names line {line!r} of {file}, which it does not have.")
        name = path.relative_to(self._workspace.resolve()).as_posix()
        return {**step, "file": name, "line": line, "place": f"{name}:{line}"}


def _count_lines(path: Path, number: int) -> int:
    try:
        with path.open("rb") as file:
            return max(1, len(file.read(LARGEST_FILE).splitlines()))
    except OSError as error:
        raise UsageError(f"Step {number} names {path.name}, which cannot be read: {error.strerror}.") from None
