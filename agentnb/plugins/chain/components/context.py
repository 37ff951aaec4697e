"""`context`: a tool that tells the agent of the surroundings, when it asks: date, environment, packages, notebook."""

from __future__ import annotations

import datetime as dt
import platform
import sys
from importlib import metadata
from typing import TYPE_CHECKING

from agentnb.errors import AgentnbError
from agentnb.plugins.chain.components.component import Component, ComponentTool

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.kernel.code_runner import CodeRunner, NotebookView

MOST_PACKAGES = 150
MOST_LINES = 200
LONGEST_LINE = 120


class ContextComponent(Component):
    """Offers one tool, ``surroundings``; nothing is sent unless the agent calls it."""

    name = "context"
    about = "A tool that tells the agent the date, the environment, the imported packages and the notebook's outline."

    def __init__(self, code_runner: Callable[[], CodeRunner | None] = lambda: None) -> None:
        self._code_runner = code_runner
        self.tools: tuple[ComponentTool, ...] = (
            ComponentTool(
                name="surroundings",
                description="Tells the date and time, the Python environment, the packages that the user's kernel has "
                "imported, with their versions, and the outline of the open notebook. It changes nothing.",
                run=self.surroundings,
            ),
        )

    def surroundings(self) -> str:
        """The date, environment, packages and notebook, as Markdown."""
        now = dt.datetime.now().astimezone()
        packages = imported_packages()
        listed = packages[:MOST_PACKAGES]
        more = f"\n… and {len(packages) - len(listed)} more" if len(packages) > len(listed) else ""
        return "\n".join(
            (
                f"Date: {now:%A, %Y-%m-%d %H:%M %Z}",
                f"Python: {platform.python_version()} on {platform.system()}, environment {sys.prefix}",
                "Imported packages:" + ("".join(f"\n- {each}" for each in listed) or " none") + more,
                self._outline(),
            )
        )

    def _outline(self) -> str:
        runner = self._code_runner()
        if runner is None:
            return "Notebook: none"
        try:
            notebook = runner.notebook(outputs=False)
        except AgentnbError as error:
            return f"Notebook: not known ({error.message})"
        return outline(notebook)


def outline(notebook: NotebookView) -> str:
    """The headings of a notebook and the first line of each code cell, by their cells."""
    lines = []
    for number, cell in enumerate(notebook.cells, notebook.start + 1):
        text = [line.strip() for line in cell.source.splitlines() if line.strip()]
        headings = [line for line in text if line.startswith("#")] if cell.kind == "markdown" else text[:1]
        mark = f"[{cell.count}]" if cell.kind == "code" and cell.count is not None else ""
        lines += [f"- cell {number} {cell.id} {cell.kind}{mark}: {line[:LONGEST_LINE]}" for line in headings]
    more = f"\n… and {len(lines) - MOST_LINES} more lines" if len(lines) > MOST_LINES else ""
    return f"Notebook: {notebook.name}, {len(notebook.cells)} cells\n" + "\n".join(lines[:MOST_LINES]) + more


def imported_packages() -> list[str]:
    """The distributions that this process has imported, ``name version``, by name."""
    loaded = {name.partition(".")[0] for name in tuple(sys.modules)}
    versions: dict[str, str] = {}
    for module, names in metadata.packages_distributions().items():
        if module in loaded:
            for name in names:
                versions[name] = metadata.version(name)
    return [f"{name} {versions[name]}" for name in sorted(versions, key=str.lower)]
