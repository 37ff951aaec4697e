"""Completions after ``%agent -a``, ``@`` and ``%agents use``; loaded at their first use."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.completer import SimpleCompletion

from agentnb.agent.catalog import known
from agentnb.ipython.arguments import FREEDOMS, OPTIONS, PERMISSIONS
from agentnb.ipython.cell_errors import errors_of
from agentnb.ipython.cell_outputs import has_live_figure, outputs_of
from agentnb.ipython.manage import commands
from agentnb.ipython.mentions import file_names, visible
from agentnb.ipython.shell_mentions import names_by_recency
from agentnb.server.comm.lab import current_notebook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from IPython.core.completer import CompletionContext

    from agentnb.ipython.extension import Extension

_LINE = re.compile(r"(?:.*=\s*|\s*)%{1,2}agent\s(?P<words>.*)$")
_MANAGE = re.compile(r"\s*%agents\s+(?P<words>.*)$")
_OF_AGENTS = frozenset({"new", "doctor", "kept", "logout"})
_MENTION = re.compile(r"(?:^|[\s(\[{\"'])@(?P<start>[\w./~:-]*)$")


def matches(context: CompletionContext, extension: Extension) -> dict[str, Any]:
    names, start = _matches(context, extension)
    completions = [SimpleCompletion(text=name, type="agentnb") for name in names if name.startswith(start)]
    return {"completions": completions, "matched_fragment": start, "suppress": bool(completions), "ordered": True}


def _matches(context: CompletionContext, extension: Extension) -> tuple[Iterable[str], str]:
    line = context.line_with_cursor
    if match := _MANAGE.match(line):
        return _managed(match["words"], extension)
    inside = context.full_text.lstrip().startswith("%%agent")
    command = _LINE.match(line)
    if not command and not inside:
        return (), ""
    if mention := _MENTION.search(line):
        return _mentionable(mention["start"], extension)
    if command and (inside_options := _option(command["words"], extension)):
        return inside_options
    return (), ""


def _managed(words: str, extension: Extension) -> tuple[Iterable[str], str]:
    command, space, start = words.partition(" ")
    if not space:
        return commands(), command
    names = (spec.name for spec in known()) if command in _OF_AGENTS else extension.tabs.all()
    return names, start


def _option(words: str, extension: Extension) -> tuple[Iterable[str], str] | None:
    before, _, start = words.rpartition(" ")
    values = _VALUES.get(before.rpartition(" ")[2])
    if values is not None:
        return values(extension), start
    return (OPTIONS, start) if start.startswith("-") else None


_VALUES: dict[str, Callable[[Extension], Iterable[str]]] = {
    **dict.fromkeys(("-a", "--agent"), lambda _: [spec.name for spec in known()]),
    **dict.fromkeys(("-t", "--tab"), lambda extension: list(extension.tabs.all())),
    **dict.fromkeys(("-c", "--context"), lambda extension: visible(extension.shell.user_ns)),
    "--freedom": lambda _: FREEDOMS,
    "--permissions": lambda _: PERMISSIONS,
}


def _mentionable(start: str, extension: Extension) -> tuple[Iterable[str], str]:
    folder, slash, _ = start.rpartition("/")
    root = Path(extension.settings.cwd or ".")
    files = [f"{folder}{slash}{entry}" for entry in file_names(root / folder)]
    if slash:
        return files, start
    cells = ["cell", "selection"] if current_notebook() is not None else []
    error = ["error"] if errors_of(extension.shell).last is not None else []
    plot = ["plot"] if outputs_of(extension.shell).last_figure is not None or has_live_figure() else []
    own, others = names_by_recency(extension.shell)
    return [*error, *plot, *cells, "cells", "cell:", "output:", *own, *files, *others], start
