"""An IPython shell whose variables, cells, outputs and errors prompts can mention."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from agentnb.host.environment import Suggestion
from agentnb.ipython.cell_errors import expanded, failed_prompt
from agentnb.ipython.cell_outputs import outputs_of
from agentnb.ipython.cells import quotes_of
from agentnb.ipython.connected_shell import ConnectedShell
from agentnb.ipython.mentions import attachments, scope_of
from agentnb.ipython.shell_mentions import ShellMentions
from agentnb.kernel.job_queue import JobQueue
from agentnb.server.lab_messages import FailedParams, QuoteParams
from agentnb.state import MessageAttachment
from tests.unit.kernel.notebook_page import NotebookPage


class HookedPublisher(DisplayPublisher):
    """Publishes to hooks, as ipykernel's does."""

    def register_hook(self, hook: Callable[[Any], Any]) -> None:
        self._hook = hook

    def publish(self, data: dict[str, Any], kind: str = "display_data", **content: Any) -> None:  # type: ignore[override]
        transient = content.pop("transient", None) or {}
        self._hook({"msg_type": kind, "content": {"data": data, "transient": transient, **content}})


class Shell:
    """A shell that works in *folder*."""

    def __init__(self, folder: Path) -> None:
        settings = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"xmode": "Minimal"}})
        self.ip: Any = InteractiveShell(config=settings, display_pub_class=HookedPublisher)
        history: Any = self.ip.history_manager
        history.outputs = defaultdict(list)  # IPython's is shared by all shells of a process
        self.names: dict[str, Any] = self.ip.user_ns
        self.folder = folder
        self.mentions = ShellMentions(self.ip)
        self.ip.events.register("post_run_cell", ConnectedShell(self.ip, JobQueue()).cell_ended)
        outputs_of(self.ip).follow()

    def run(self, *cells: str, cell_id: str | None = None) -> None:
        for cell in cells:
            self.ip.run_cell(cell, store_history=True, cell_id=cell_id)

    def show(self, *bundles: Mapping[str, Any], **content: Any) -> None:
        """Runs a cell that shows outputs, each given by its media types."""
        self.names["_shown"] = [*bundles]
        self.run(f"for _each in _shown: get_ipython().display_pub.publish(_each, **{content!r})")

    def attachments(self, prompt: str, *names: str) -> tuple[MessageAttachment, ...]:
        """Returns what ``%agent`` attaches to *prompt*; *names* are those of its option."""
        return attachments(prompt, names, scope_of(self.ip, self.folder))

    def attached(self, prompt: str, *names: str) -> dict[str, str]:
        """Returns the attached texts, or the data of pictures, by label."""
        return contents(self.attachments(prompt, *names))

    def suggested(self, start: str = "") -> list[Suggestion]:
        """Returns what the chat suggests after ``@`` and *start*."""
        return self.mentions.suggest(start, self.folder)

    def expanded(self, typed: str, *, edits: bool = True) -> tuple[str, str]:
        """Returns the prompt and the folded instructions that ``%agent`` makes of *typed*."""
        return expanded(typed, self.ip, edits=edits)

    def failed(self, action: str, cell_id: str, name: str, **more: Any) -> str:
        """Returns the prompt for an error when the user chooses *action* at its output in a page."""
        params = {"id": "1", "action": action, "cellId": cell_id, "name": name, **more}
        return failed_prompt(self.ip, msgspec.convert(params, FailedParams))

    def quote(self, text: str) -> str:
        """Returns the name of code that the user adds to a message in a page."""
        return quotes_of(self.ip).add(QuoteParams(id="1", cell_id="c", text=text))


def contents(attached: tuple[MessageAttachment, ...]) -> dict[str, str]:
    """Returns the texts, or the data of pictures, by label."""
    return {
        each.label: str(getattr(each, "model_representation", None) or getattr(each, "data", "")) for each in attached
    }


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell that works in an empty folder."""
    return Shell(tmp_path)


Open = Callable[..., NotebookPage]


@pytest.fixture
def open_page() -> Iterator[Open]:
    """Opens a page with *cells*, whose numbers *counts* gives; other arguments are what the user has selected."""
    pages: list[NotebookPage] = []

    def begin(
        cells: Mapping[str, str],
        counts: Mapping[str, int] | None = None,
        outputs: dict[str, list[dict[str, Any]]] | None = None,
        **shown: Any,
    ) -> NotebookPage:
        page = NotebookPage("work.ipynb", dict(cells), outputs)
        for cell in page.cells:
            cell["count"] = (counts or {}).get(cell["id"])
            if cell["source"].startswith("#"):
                cell["kind"] = "markdown"
        page.shown = shown
        page.tell()
        pages.append(page)
        return page

    yield begin
    for page in pages:
        page.close()
