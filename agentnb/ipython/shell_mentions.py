"""Mentions for prompts typed in the chat: the variables, files and cells of one shell, suggested and attached."""

from __future__ import annotations

import re
from inspect import ismodule
from typing import TYPE_CHECKING, Any

from agentnb.api.describe import summarize
from agentnb.comm.lab import current_notebook
from agentnb.errors import AgentnbError
from agentnb.host.environment import Suggestion
from agentnb.ipython.mentions import Scope, attachments, file_names, mentioned, visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentnb.state import MessageAttachment

MOST = 40
"""How many suggestions are given at a time."""
RECENT_CELLS = 5
"""How many cells with a number come before the variables."""
_DETAIL_CHARACTERS = 80
_CELLS_LOOKED_AT = 200
_CHARACTERS_LOOKED_AT = 10_000
_NAME = re.compile(r"[^\W\d]\w*")
_nothing = object()


class ShellMentions:
    """The variables, files and cells that prompts can mention in one shell (a ``MentionSource``).

    Args:
        shell: The IPython shell.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def suggest(self, start: str, cwd: Path) -> list[Suggestion]:
        """What a prompt can mention that holds *start*, most likely first.

        The cells of now come first, then the user's variables, the last used one first, then files and earlier cells;
        last are modules and the names that IPython put there. Names that begin with *start* come before those that hold
        it.

        Args:
            start: What was typed after the ``@``.
            cwd: The workspace.

        Returns:
            At most :data:`MOST` suggestions.
        """
        found = [one for one in self._all(start, cwd) if start.lower() in one.text.lower()]
        injected = self._shell.user_ns_hidden
        found.sort(key=lambda one: (one.text in injected, not one.text.lower().startswith(start.lower())))
        return [self._detailed(one) for one in found[:MOST]]

    def attach(self, prompt: str, cwd: Path) -> tuple[MessageAttachment, ...]:
        """What *prompt* mentions, each once; an ``@`` that means nothing here is the user's own word."""
        found: dict[str, MessageAttachment] = {}
        scope = self.scope(cwd)
        for name in mentioned(prompt):
            try:
                (attachment,) = attachments("", [name], scope)
            except AgentnbError:
                continue
            found.setdefault(attachment.label, attachment)
        return tuple(found.values())

    def scope(self, cwd: Path) -> Scope:
        """Everything that can be named."""
        history = self._shell.history_manager
        return Scope(
            variables=self._shell.user_ns,
            cells=history.input_hist_raw[: self._shell.execution_count],
            outputs=history.output_hist_reprs,
            cwd=cwd,
        )

    def _all(self, start: str, cwd: Path) -> Iterator[Suggestion]:
        folder, slash, _ = start.rpartition("/")
        files = (
            Suggestion(text=f"{folder}{slash}{entry}", kind="folder" if entry.endswith("/") else "file")
            for entry in file_names(cwd / folder)
        )
        if slash:
            yield from files
            return
        own, others = names_by_recency(self._shell)
        cells = list(self._numbered_cells())
        yield from self._current_cells()
        yield from cells[:RECENT_CELLS]
        yield from (Suggestion(text=name, kind="variable") for name in own)
        yield from files
        yield from cells[RECENT_CELLS:]
        yield from (Suggestion(text=name, kind="variable") for name in others)

    def _current_cells(self) -> Iterator[Suggestion]:
        if (notebook := current_notebook()) is not None:
            if notebook.active_cell is not None:
                yield Suggestion(
                    text="cell", kind="cell", detail=f"the active one: {_first(notebook.active_cell.source)}"
                )
            if notebook.selection:
                yield Suggestion(text="selection", kind="cell", detail=notebook.selection[:_DETAIL_CHARACTERS])
            yield Suggestion(text="cells", kind="cell", detail=f"all {len(notebook.cells)} cells")
        elif (run := len(self.scope_cells()) - 1) > 0:
            yield Suggestion(text="cells", kind="cell", detail=f"all {run} that were run")

    def _numbered_cells(self) -> Iterator[Suggestion]:
        """The cells that have a number, the latest first: those of the open notebook, else those that were run."""
        notebook = current_notebook()
        if notebook is not None:
            numbered = {cell.count: cell.source for cell in notebook.cells if cell.count}
        else:
            numbered = dict(enumerate(self.scope_cells()))
            numbered.pop(0, None)
        for number in sorted(numbered, reverse=True):
            yield Suggestion(text=f"cell:{number}", kind="cell", detail=_first(numbered[number]))

    def scope_cells(self) -> list[str]:
        """The cells run so far, by execution count; the first is unused."""
        return list(self._shell.history_manager.input_hist_raw[: self._shell.execution_count])

    def _detailed(self, one: Suggestion) -> Suggestion:
        if one.kind != "variable":
            return one
        try:
            detail = summarize(self._shell.user_ns.get(one.text))
        except Exception:  # noqa: BLE001 - a user's object may raise anything when looked at
            detail = ""
        return Suggestion(text=one.text, kind=one.kind, detail=detail[:_DETAIL_CHARACTERS])


def names_by_recency(shell: Any) -> tuple[list[str], list[str]]:
    """The names in *shell*'s namespace: the user's own, the last used one first; and modules and injected names.

    A name is used where a cell that was run names it. IPython says which names it put there itself, before the user
    ran anything (``user_ns_hidden``), ``open`` among them.
    """
    held, hidden = dict(shell.user_ns), shell.user_ns_hidden
    names = visible(held)
    injected = [name for name in names if held[name] is hidden.get(name, _nothing)]
    modules = [name for name in names if ismodule(held[name]) and name not in injected]
    left = dict.fromkeys(reversed([name for name in names if name not in {*injected, *modules}]))
    own: list[str] = []
    for cell in reversed(shell.history_manager.input_hist_raw[: shell.execution_count][-_CELLS_LOOKED_AT:]):
        words = _NAME.findall(cell[:_CHARACTERS_LOOKED_AT])
        used = [name for name in dict.fromkeys(reversed(words)) if name in left]
        own += used
        for name in used:
            del left[name]
    return [*own, *left], [*modules, *injected]


def _first(source: str) -> str:
    return next((line for line in source.splitlines() if line.strip()), "")[:_DETAIL_CHARACTERS]
