r"""Mentions: what ``@name`` in a prompt, or ``-c NAME``, attaches for the agent.

A mention is an ``@`` at the start of a word, outside of code: not in an address (``ada@example.org``), not between
backticks, not in a decorator above a ``def``, not after a backslash. It means, in this order: ``@cell:3`` and
``@cells``, and where a page tells of its notebook (the sidebar) ``@cell`` and ``@selection``; ``@error:3`` (the error
of that cell); a path with a dot or slash that exists; a variable (of ``@df.columns`` the variable is ``df``);
``@error`` (what failed last); any other existing file. A mention that means nothing is an error and not sent on as
prose: the agent would only guess.
"""

from __future__ import annotations

import difflib
import mimetypes
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.api.describe import describe
from agentnb.comm.lab import current_notebook
from agentnb.errors import OutsideWorkspace, UnknownMention
from agentnb.ipython import cells as real_cells
from agentnb.ipython.cell_errors import errors_of, text_of
from agentnb.state import MessageResourceAttachment, SimpleMessageAttachment, TextPosition, TextRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from agentnb.comm.notebook import Notebook
    from agentnb.ipython.cell_errors import CellError, CellErrors
    from agentnb.state import MessageAttachment

LONGEST_CELLS = 20_000
"""Characters of notebook cells that one mention attaches; the oldest are left out first."""
_END = r"""[^\s`"'()\[\]{}<>,;!?*]"""
_MENTION = re.compile(rf"""(?<![^\s(\[{{"'“‘,;:>*])@(?:"(?P<quoted>[^"\n]+)"|(?P<word>[^\W\d]{_END}*|[.~/]{_END}+))""")
_CODE = re.compile(
    r"(?P<fence>```|~~~).*?(?:(?P=fence)|\Z)"
    r"|(?P<ticks>`+)[^`].*?(?P=ticks)"
    r"|^[^\S\n]*@[\w.]+(?:\((?:(?!\n[^\S\n]*@).)*?\))?[ \t]*(?=\n\s*(?:async |def |class |@))",
    re.DOTALL | re.MULTILINE,
)
_SHELL_NAMES = frozenset({"In", "Out", "exit", "get_ipython", "open", "quit"})
_CELL = re.compile(r"cells?:(?P<number>\d+)")
_ERROR = re.compile(r"error:(?P<number>\d{1,9})")


def represented(value: Any, name: str) -> str | None:
    """How an agent is shown the variable *name*."""
    return describe(value, name).model_representation


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What mentions can name.

    Args:
        variables: The user's variables.
        cells: The cells run so far, by execution count; index 0 is unused.
        outputs: What they gave, as text, by execution count.
        cwd: The workspace.
        notebook: The notebook itself; the one that a page tells of by default.
        represent: How an agent is shown a variable.
        errors: What has failed.
    """

    variables: Mapping[str, Any]
    cells: Sequence[str] = ()
    outputs: Mapping[int, str] = field(default_factory=dict)
    cwd: Path = field(default_factory=Path.cwd)
    notebook: Notebook | None = field(default_factory=current_notebook)
    represent: Callable[[Any, str], str | None] = represented
    errors: CellErrors | None = None


def cells_run(shell: Any) -> list[str]:
    """The cells that *shell* has run, by execution count; index 0 is unused."""
    return list(shell.history_manager.input_hist_raw[: shell.execution_count])


def scope_of(shell: Any, cwd: Path, represent: Callable[[Any, str], str | None] = represented) -> Scope:
    """What mentions can name in an IPython shell.

    Args:
        shell: The IPython shell.
        cwd: The workspace.
        represent: How an agent is shown a variable.
    """
    return Scope(
        variables=shell.user_ns,
        cells=cells_run(shell),
        outputs=shell.history_manager.output_hist_reprs,
        cwd=cwd,
        represent=represent,
        errors=errors_of(shell),
    )


def attachments(prompt: str, names: Iterable[str], scope: Scope) -> tuple[MessageAttachment, ...]:
    """What *prompt* mentions and what *names* name, each once, in that order.

    Args:
        prompt: The prompt, as typed.
        names: More names, without ``@`` (the ``-c`` option).
        scope: What there is.

    Returns:
        Attachments; those of the prompt say where they are mentioned.

    Raises:
        UnknownMention: For a name that means nothing; it lists close matches.
        OutsideWorkspace: For a file outside of the workspace.

    Example:
        >>> [found.label for found in attachments("Look at @df.", [], Scope(variables={"df": [1]}))]
        ['df']
    """
    found: dict[str, MessageAttachment] = {}
    for name, place in _mentions(prompt):
        attachment = _resolve(name, place, scope)
        found.setdefault(attachment.label, attachment)
    for name in names:
        attachment = _resolve(name, None, scope)
        found.setdefault(attachment.label, attachment)
    return tuple(found.values())


def mentioned(prompt: str) -> list[str]:
    """The names that *prompt* mentions, in order, each once.

    Example:
        >>> mentioned("Look at @df, `@code` and @cells.")
        ['df', 'cells']
    """
    return list(dict.fromkeys(name for name, _ in _mentions(prompt)))


def _mentions(prompt: str) -> Iterator[tuple[str, TextRange]]:
    code = [match.span() for match in _CODE.finditer(prompt)]
    for match in _MENTION.finditer(prompt):
        if any(start <= match.start() < end for start, end in code):
            continue
        name = match["quoted"] or match["word"].rstrip(".:…")
        if name:
            end = match.end() - (0 if match["quoted"] else len(match["word"]) - len(name))
            yield name, TextRange(start=_position(prompt, match.start()), end=_position(prompt, end))


def _position(text: str, offset: int) -> TextPosition:
    before = text[:offset]
    return TextPosition(line=before.count("\n"), character=offset - (before.rfind("\n") + 1))


def _resolve(name: str, place: TextRange | None, scope: Scope) -> MessageAttachment:
    if (text := _of_notebook(name, scope)) is not None:
        return _text(name, text, place)
    if name == "cells":
        numbers = range(1, len(scope.cells))
        return _text("cells", _cells_text(numbers, scope), place)
    if match := _CELL.fullmatch(name):
        return _cell(int(match["number"]), place, scope)
    if match := _ERROR.fullmatch(name):
        return _error(name, scope.errors.of(int(match["number"])) if scope.errors else None, place)
    if ("." in name or "/" in name or "~" in name) and (path := _existing(name, scope)):
        return _file(path, name, place, scope)
    base = name.partition(".")[0]
    if base in scope.variables:
        return _variable(base, place, scope)
    if name == "error":
        return _error(name, scope.errors.last if scope.errors else None, place)
    if path := _existing(name, scope):
        return _file(path, name, place, scope)
    raise _unknown(name, scope)


def _of_notebook(name: str, scope: Scope) -> str | None:
    """What *name* means in the notebook that a page tells of: more than the kernel knows, which is what was run."""
    notebook = scope.notebook
    if notebook is None:
        return None
    if match := _CELL.fullmatch(name):
        return real_cells.executed_text(int(match["number"]), notebook, scope.outputs)
    if name == "cells":
        return real_cells.all_text(notebook, scope.outputs)
    if name == "cell":
        return real_cells.active_text(notebook, scope.outputs)
    return notebook.selection or None if name == "selection" and name not in scope.variables else None


def _text(label: str, text: str, place: TextRange | None) -> SimpleMessageAttachment:
    return SimpleMessageAttachment(label=label, range=place, display_kind="document", model_representation=text)


def _cell(number: int, place: TextRange | None, scope: Scope) -> SimpleMessageAttachment:
    if not 0 < number < len(scope.cells):
        last = len(scope.cells) - 1
        there = f"Cells 1 to {last} have been run." if last > 0 else "No cell has been run before this one."
        raise UnknownMention(f"@cell:{number} names no cell.", hint=there)
    return _text(f"cell:{number}", _cells_text([number], scope), place)


def _cells_text(numbers: Iterable[int], scope: Scope) -> str:
    pieces: list[str] = []
    left = LONGEST_CELLS
    for number in reversed([*numbers]):
        output = scope.outputs.get(number)
        piece = f"In [{number}]:\n{scope.cells[number]}" + (f"\nOut[{number}]:\n{output}" if output else "")
        if len(piece) > left:
            pieces.append(piece[:left] + "\n… (cut)" if left > 0 else "… (earlier cells left out)")
            break
        pieces.append(piece)
        left -= len(piece)
    return "\n\n".join(reversed(pieces)) or "(no cell has been run)"


def _error(name: str, error: CellError | None, place: TextRange | None) -> SimpleMessageAttachment:
    if error is not None:
        return _text(name, text_of(error), place)
    number = name.partition(":")[2]
    what = f"cell {number} has not failed" if number else "no cell has failed"
    raise UnknownMention(
        f"@{name}: {what} since agentnb was loaded in this kernel.",
        hint="Run the cell that fails, then send this again.",
    )


def _variable(name: str, place: TextRange | None, scope: Scope) -> SimpleMessageAttachment:
    shown = scope.represent(scope.variables[name], name)
    return SimpleMessageAttachment(label=name, range=place, display_kind="symbol", model_representation=shown)


def _existing(name: str, scope: Scope) -> Path | None:
    try:
        path = (scope.cwd / Path(name).expanduser()).resolve()
        return path if path.exists() else None
    except (OSError, RuntimeError, ValueError):  # a name that no path can have
        return None


def _file(path: Path, name: str, place: TextRange | None, scope: Scope) -> MessageResourceAttachment:
    root = scope.cwd.resolve()
    if not path.is_relative_to(root):
        hint = "Only files in it can be mentioned; copy the file there, or set the workspace with %config Agentnb.cwd."
        raise OutsideWorkspace(f"@{name} is outside of the workspace {root}.", hint=hint)
    kind = mimetypes.guess_type(path.name)[0]
    folder = path.is_dir()
    shown = "directory" if folder else "image" if (kind or "").startswith("image/") else "document"
    return MessageResourceAttachment(
        label=path.relative_to(root).as_posix(),
        range=place,
        display_kind=shown,
        uri=path.as_uri(),
        size_hint=None if folder else path.stat().st_size,
        content_type=None if folder else kind,
    )


def _unknown(name: str, scope: Scope) -> UnknownMention:
    known = [*visible(scope.variables), *file_names(scope.cwd), "cells", "error"]
    if name in {"cell", "selection"}:
        what = "cell is active" if name == "cell" else "text is selected"
        hint = "Open agentnb's sidebar: it tells the kernel of the notebook. @cell:3 and @cells work without it."
        return UnknownMention(f"@{name}: no {what}, as far as the kernel knows.", hint=hint)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    guess = f"Did you mean {' or '.join(f'@{match}' for match in close)}? " if close else ""
    return UnknownMention(
        f"@{name} names no variable, file or cell here.",
        hint=f"{guess}To send the plain word write `@{name}` in backticks.",
    )


def visible(variables: Mapping[str, Any]) -> list[str]:
    """The names of the user's own variables: not private, not IPython's."""
    return [
        name
        for name in variables
        if not name.startswith("_") and name not in {"In", "Out", "exit", "quit", "get_ipython"}
    ]


def file_names(folder: Path) -> list[str]:
    """The names in *folder* that are not hidden; a folder's ends in a slash."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    return [entry.name + ("/" if entry.is_dir() else "") for entry in entries if not entry.name.startswith(".")]
