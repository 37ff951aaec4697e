"""Mentions in prompts: variables, cells, errors and outputs.

A page that shows the notebook is asked first, because it has everything that the user sees: outputs from before
agentnb was loaded, and SVGs and charts drawn as PNG.
"""

from __future__ import annotations

import base64
import difflib
import mimetypes
import os
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.api.attachments import describe
from agentnb.credentials import Credentials
from agentnb.errors import OutsideWorkspace, UnknownMention
from agentnb.ipython.cell_errors import errors_of, text_of
from agentnb.ipython.cell_outputs import figures_in, live_figure, outputs_of
from agentnb.ipython.cells import all_text, cell_text, cells_run, notebook_of_history, quotes_of
from agentnb.kernel.chart_pictures import with_pictures
from agentnb.kernel.output_text import LARGEST_PICTURES, LEFT_OUT, masked, picture_size, read_outputs
from agentnb.server.comm.lab import current_notebook
from agentnb.state import (
    MessageEmbeddedResourceAttachment,
    MessageResourceAttachment,
    SimpleMessageAttachment,
    TextPosition,
    TextRange,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from agentnb.ipython.cell_errors import CellErrors
    from agentnb.kernel.code_runner import NotebookCell
    from agentnb.kernel.error_summary import ErrorSummary
    from agentnb.server.comm.notebook import PageNotebook
    from agentnb.server.lab_messages import CellOutputsParams
    from agentnb.state import MessageAttachment

    AskPage = Callable[[Sequence[str]], Sequence[CellOutputsParams]]
    Outputs = Sequence[Mapping[str, Any]]


class KnownOutputs:
    """The outputs of one shell's cells, from the page or from the kernel."""

    def __init__(
        self,
        shell: Any,
        ask_page: AskPage = lambda _: (),
        look: Callable[[Callable[[], bytes | None]], bytes | None] = lambda work: work(),
    ) -> None:
        self._shell = shell
        self._ask_page = ask_page
        self._look = look

    def of(self, cells: Sequence[tuple[int | None, str | None]]) -> list[Outputs]:
        """The outputs of *cells*, each given by its execution count and its id, as far as they are known."""
        ids = [cell_id for _, cell_id in cells if cell_id]
        answers = self._ask_page(ids) if ids else ()
        times = Counter(each.cell_id for each in answers)  # an id of two cells identifies neither
        outputs = {each.cell_id: each.outputs for each in answers if times[each.cell_id] == 1}
        seen = outputs_of(self._shell)
        return [outputs[cell_id] if cell_id in outputs else seen.of(count) if count else [] for count, cell_id in cells]

    def error_of(self, count: int | None) -> str | None:
        error = errors_of(self._shell).of(count) if count else None
        return None if error is None else text_of(error)

    def latest_figure(self, id_of: Callable[[int], str | None]) -> Outputs:
        """The matplotlib figure that is still open, else the last one that a cell showed; empty if there is none."""
        if drawn := self._look(live_figure):
            return [{"output_type": "display_data", "data": {"image/png": base64.b64encode(drawn).decode()}}]
        count = outputs_of(self._shell).last_figure
        if count is not None:
            return figures_in(self.of([(count, id_of(count))])[0])[-1:]
        return next((figures_in(each.outputs)[-1:] for each in self._ask_page(())), [])


def with_outputs(
    label: str,
    text: str,
    outputs: Outputs,
    place: TextRange | None,
    *,
    heading: str = "Output:",
    error: str | None = None,
    cut: str = "",
) -> list[MessageAttachment]:
    """A text followed by outputs: their text in the same attachment, each of their pictures in its own."""
    outputs, undrawn = with_pictures(outputs)
    read = read_outputs(outputs, error=error)
    text = masked(text, Credentials(os.environ))
    whole = "\n".join(each for each in (text, heading if read.text else "", read.text) if each)
    left_out = [*([cut] if cut else []), *undrawn, *read.left_out]
    attachment = SimpleMessageAttachment(
        label=label,
        range=place,
        display_kind="document",
        model_representation=whole,
        meta={LEFT_OUT: left_out} if left_out else None,
    )
    pictures = (
        MessageEmbeddedResourceAttachment(
            label=f"{label} picture {number}",
            range=place,
            display_kind="image",
            content_type=each.content_type,
            data=each.data,
        )
        for number, each in enumerate(read.pictures, 1)
    )
    return [attachment, *pictures]


def several(attached: Iterable[Sequence[MessageAttachment]]) -> list[MessageAttachment]:
    """The attachments of several cells, with as many of their pictures as fit the limit for all together."""
    kept: list[MessageAttachment] = []
    room = LARGEST_PICTURES
    for each in attached:
        for one in each:
            if isinstance(one, MessageEmbeddedResourceAttachment):
                room -= picture_size(one.data)
                if room < 0:
                    continue
            kept.append(one)
    return kept


def output_heading(count: int | None) -> str:
    """The line between a cell and its outputs, by the cell's execution count."""
    return f"Out[{count}]:" if count else "Output:"


_END = r"""[^\s`"'()\[\]{}<>,;!?*]"""
_MENTION = re.compile(rf"""(?<![^\s(\[{{"'“‘,;:>*])@(?:"(?P<quoted>[^"\n]+)"|(?P<word>[^\W\d]{_END}*|[.~/]{_END}+))""")
_CODE = re.compile(
    r"(?P<fence>```|~~~).*?(?:(?P=fence)|\Z)"
    r"|(?P<ticks>`+)[^`].*?(?P=ticks)"
    r"|^[^\S\n]*@[\w.]+(?:\((?:(?!\n[^\S\n]*@).)*?\))?[ \t]*(?=\n\s*(?:async |def |class |@))",
    re.DOTALL | re.MULTILINE,
)
SHELL_NAMES = frozenset({"In", "Out", "exit", "get_ipython", "open", "quit"})
MOST_SELECTED = 20
"""Selected cells that one mention attaches."""
_CELL = re.compile(r"cells?:(?P<number>\d+)")
_CELL_ID = re.compile(r"cell:(?P<id>[\w-]{4,64})", re.ASCII)
_OUTPUT = re.compile(r"outputs?:(?P<number>\d{1,9})")
_QUOTE = re.compile(r"selection:(?P<number>\d{1,9})")
_ERROR = re.compile(r"error:(?P<number>\d{1,9})")


def represented(value: Any, name: str) -> str | None:
    """Returns the text that shows an agent the variable *name*."""
    return describe(value, name).model_representation


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The things that mentions can name."""

    variables: Mapping[str, Any]
    cells: Sequence[str]
    outputs: Mapping[int, str]
    cwd: Path
    represent: Callable[[Any, str], str | None]
    errors: CellErrors
    known_outputs: KnownOutputs
    quotes: Callable[[int], str | None]
    notebook: PageNotebook | None = field(default_factory=current_notebook)

    def cell_id(self, count: int) -> str | None:
        """The id of the cell with an execution count, if a page reports it."""
        cell = self.notebook.executed(count) if self.notebook is not None else None
        return None if cell is None else cell.id


def scope_of(
    shell: Any,
    cwd: Path,
    represent: Callable[[Any, str], str | None] = represented,
    known_outputs: KnownOutputs | None = None,
) -> Scope:
    return Scope(
        variables=shell.user_ns,
        cells=cells_run(shell),
        outputs=shell.history_manager.output_hist_reprs,
        cwd=cwd,
        represent=represent,
        errors=errors_of(shell),
        known_outputs=known_outputs or KnownOutputs(shell),
        quotes=quotes_of(shell).of,
    )


def attachments(prompt: str, names: Iterable[str], scope: Scope) -> tuple[MessageAttachment, ...]:
    """The attachments of the mentions in *prompt* and of *names*, each once, in that order."""
    attached: dict[str, MessageAttachment] = {}
    for name, place in [*_mentions(prompt), *((name, None) for name in names)]:
        for attachment in _resolve(name, place, scope):
            attached.setdefault(attachment.label, attachment)
    return tuple(attached.values())


def mentioned(prompt: str) -> list[str]:
    """The names that *prompt* mentions, in order, each once."""
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


def _resolve(name: str, place: TextRange | None, scope: Scope) -> Sequence[MessageAttachment]:
    if (attached := _of_notebook(name, place, scope)) is not None:
        return attached
    if ("." in name or "/" in name or "~" in name) and (path := _existing(name, scope)):
        return [_file(path, name, place, scope)]
    base = name.partition(".")[0]
    if base in scope.variables:
        return [_variable(base, place, scope)]
    if name in {"error", "plot"}:
        return [_error(name, scope.errors.last, place)] if name == "error" else _plot(place, scope)
    if path := _existing(name, scope):
        return [_file(path, name, place, scope)]
    raise _unknown(name, scope)


def _of_notebook(name: str, place: TextRange | None, scope: Scope) -> Sequence[MessageAttachment] | None:
    """The cells, outputs, error or selection that *name* means; None if it means none of these."""
    notebook = scope.notebook
    if name == "cells":
        return [_text("cells", all_text(notebook or notebook_of_history(scope.cells), scope.outputs), place)]
    if match := _OUTPUT.fullmatch(name):
        return _output(int(match["number"]), place, scope)
    if match := _ERROR.fullmatch(name):
        return [_error(name, scope.errors.of(int(match["number"])), place)]
    if (match := _QUOTE.fullmatch(name)) and (text := scope.quotes(int(match["number"]))) is not None:
        return with_outputs(name, text, (), place)
    if notebook is not None and name == "selection" and name not in scope.variables:
        if notebook.selection:
            return with_outputs("selection", notebook.selection, (), place)
        return _cells(name, notebook.selected_cells, place, scope) or None
    cell = None if notebook is None else _shown_cell(name, notebook)
    if cell is None and (match := _CELL.fullmatch(name)):
        number = int(match["number"])
        _check_was_run(number, "cell", scope)
        cell, name = notebook_of_history(scope.cells).executed(number), f"cell:{number}"
    return None if cell is None else _cells(name, [cell], place, scope)


def _shown_cell(name: str, notebook: PageNotebook) -> NotebookCell | None:
    if name == "cell":
        return notebook.active_cell
    if match := _CELL.fullmatch(name):
        return notebook.executed(int(match["number"])) or notebook.cell(match["number"])
    match = _CELL_ID.fullmatch(name)
    return notebook.cell(match["id"]) if match else None


def _cells(name: str, cells: Sequence[NotebookCell], place: TextRange | None, scope: Scope) -> list[MessageAttachment]:
    """Cells with their outputs; each is an attachment of its own."""
    first = cells[:MOST_SELECTED]
    outputs = scope.known_outputs.of([(cell.count, cell.id if cell.kind == "code" else None) for cell in first])
    attached = several(
        with_outputs(
            name if number == 1 else f"{name} {number}",
            cell_text(cell, {}),
            outputs[number - 1],
            place,
            heading=output_heading(cell.count),
            error=scope.known_outputs.error_of(cell.count),
            cut="The cell's source is cut." if cell.cut else "",
        )
        for number, cell in enumerate(first, 1)
    )
    if len(cells) > len(first):
        attached.append(
            _text(f"{name}, the rest", f"{len(cells) - len(first)} more cells are selected; left out.", place)
        )
    return attached


def _text(label: str, text: str, place: TextRange | None) -> SimpleMessageAttachment:
    return SimpleMessageAttachment(label=label, range=place, display_kind="document", model_representation=text)


def _output(number: int, place: TextRange | None, scope: Scope) -> list[MessageAttachment]:
    cell_id = scope.cell_id(number)
    if cell_id is None:
        _check_was_run(number, "output", scope)
    (outputs,) = scope.known_outputs.of([(number, cell_id)])
    if not outputs:
        raise UnknownMention(
            f"@output:{number}: In [{number}] has no output.", hint="Run the cell, or choose another one."
        )
    heading, error = output_heading(number), scope.known_outputs.error_of(number)
    return with_outputs(f"output:{number}", "", outputs, place, heading=heading, error=error)


def _plot(place: TextRange | None, scope: Scope) -> list[MessageAttachment]:
    outputs = scope.known_outputs.latest_figure(scope.cell_id)
    if not outputs:
        hint = "Run the cell that draws it; @output:3 attaches all that cell [3] shows."
        raise UnknownMention("@plot: no figure is open, and the kernel knows of no cell that has shown one.", hint=hint)
    text, *pictures = with_outputs("plot", "", outputs, place, heading="")
    return [replace(pictures[0], label="plot")] if pictures else [text]


def _check_was_run(number: int, what: str, scope: Scope) -> None:
    """Check that the kernel has run the cell with an execution count."""
    if not 0 < number < len(scope.cells):
        last = len(scope.cells) - 1
        there = f"Cells 1 to {last} have been run." if last > 0 else "No cell has been run before this one."
        raise UnknownMention(f"@{what}:{number} names no cell.", hint=there)


def _error(name: str, error: ErrorSummary | None, place: TextRange | None) -> SimpleMessageAttachment:
    if error is not None:
        return _text(name, text_of(error), place)
    number = name.partition(":")[2]
    what = f"cell {number} has not failed" if number else "no cell has failed"
    raise UnknownMention(
        f"@{name}: {what} since agentnb was loaded in this kernel.",
        hint="Run the cell that fails, then send this again.",
    )


def _variable(name: str, place: TextRange | None, scope: Scope) -> SimpleMessageAttachment:
    text = scope.represent(scope.variables[name], name)
    return SimpleMessageAttachment(label=name, range=place, display_kind="symbol", model_representation=text)


def _existing(name: str, scope: Scope) -> Path | None:
    try:
        path = (scope.cwd / Path(name).expanduser()).resolve()
        return path if path.exists() else None
    except (OSError, RuntimeError, ValueError):  # the name cannot be a path
        return None


def _file(path: Path, name: str, place: TextRange | None, scope: Scope) -> MessageResourceAttachment:
    root = scope.cwd.resolve()
    if not path.is_relative_to(root):
        hint = "Only files in it can be mentioned; copy the file there, or set the workspace with %config Agentnb.cwd."
        raise OutsideWorkspace(f"@{name} is outside the workspace {root}.", hint=hint)
    kind = mimetypes.guess_type(path.name)[0]
    folder = path.is_dir()
    display_kind = "directory" if folder else "image" if (kind or "").startswith("image/") else "document"
    return MessageResourceAttachment(
        label=path.relative_to(root).as_posix(),
        range=place,
        display_kind=display_kind,
        uri=path.as_uri(),
        size_hint=None if folder else path.stat().st_size,
        content_type=None if folder else kind,
    )


def _unknown(name: str, scope: Scope) -> UnknownMention:
    known = [*visible(scope.variables), *file_names(scope.cwd), "cells", "error", "plot"]
    if name in {"cell", "selection"}:
        what = "cell is active" if name == "cell" else "text or cell is selected"
        hint = "Open agentnb's sidebar: it tells the kernel of the notebook. @cell:3 and @cells work without it."
        return UnknownMention(f"@{name}: the kernel knows of no such {what}.", hint=hint)
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
