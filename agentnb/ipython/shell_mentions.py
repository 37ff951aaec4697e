"""Mentions for prompts typed in the chat: the variables, files and cells of one shell, suggested and attached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.api.describe import summarize
from agentnb.comm.lab import current_notebook
from agentnb.errors import AgentnbError
from agentnb.host.mention_source import Suggestion
from agentnb.ipython.mentions import Scope, attachments, file_names, mentioned, visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentnb.host import Host
    from agentnb.state import MessageAttachment

MOST = 40
"""How many suggestions are given at a time."""
_DETAIL_CHARACTERS = 80


class ShellMentions:
    """What prompts can mention in one shell (a ``MentionSource``).

    Args:
        shell: The IPython shell.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def suggest(self, start: str, cwd: Path) -> list[Suggestion]:
        """Variables first, then cells, then files; those whose names hold *start* without beginning with it last."""
        found = [one for one in self._all(start, cwd) if start.lower() in one.text.lower()]
        found.sort(key=lambda one: not one.text.lower().startswith(start.lower()))
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
        if not slash:
            yield from (Suggestion(text=name, kind="variable") for name in visible(dict(self._shell.user_ns)))
            yield from self._cells()
        for entry in file_names(cwd / folder):
            yield Suggestion(text=f"{folder}{slash}{entry}", kind="folder" if entry.endswith("/") else "file")

    def _cells(self) -> Iterator[Suggestion]:
        cells = self.scope_cells()
        if (notebook := current_notebook()) is not None:
            yield Suggestion(text="cell", kind="cell", detail="the active one")
            yield Suggestion(text="cells", kind="cell", detail=f"all {len(notebook.cells)} of the notebook")
            if notebook.selection:
                yield Suggestion(text="selection", kind="cell", detail=notebook.selection[:_DETAIL_CHARACTERS])
        elif len(cells) > 1:
            yield Suggestion(text="cells", kind="cell", detail=f"all {len(cells) - 1} that were run")
        for number in range(len(cells) - 1, 0, -1):
            first = next((line for line in cells[number].splitlines() if line.strip()), "")
            yield Suggestion(text=f"cell:{number}", kind="cell", detail=first[:_DETAIL_CHARACTERS])

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


def install(host: Host, shell: Any) -> None:
    """Let prompts typed in *host*'s chat mention what *shell* has."""
    host.mentions = ShellMentions(shell)
