"""Code intelligence for one notebook and its workspace: questions, and answers in terms of cells and files."""

from __future__ import annotations

import ast
import itertools
import keyword
import os
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.code.deadline import Deadline
from agentnb.plugins.knowledge.code.language_server_answers import ServerAnswers
from agentnb.plugins.knowledge.code.live_names import live_lines
from agentnb.plugins.knowledge.code.magics import NAME, lines_of, python_of, read_source
from agentnb.plugins.knowledge.code.notebook_module import NotebookModule, in_order, no_cell
from agentnb.plugins.knowledge.code.records import (
    QUESTIONS,
    CodeCompletion,
    CodeLocation,
    CodePlace,
    Description,
    Diagnostic,
)
from agentnb.plugins.knowledge.code.server_requests import server_request
from agentnb.plugins.knowledge.code.text_edits import renaming

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from agentnb.plugins.knowledge.code.jedi_analysis import JediAnalysis
    from agentnb.plugins.knowledge.code.language_server import ServerProgram
    from agentnb.plugins.knowledge.code.language_server_answers import Spot
    from agentnb.plugins.knowledge.code.notebook_module import CodeCell
    from agentnb.plugins.knowledge.code.records import Renaming

T = TypeVar("T")

SECONDS = 30.0
"""Seconds that an answer may take."""
MOST_LOCATIONS = 500
MOST_CHECKED = 200
"""Names in cells that are checked one by one, because jedi does not report them as references."""
MOST_COMPLETIONS = 100
MOST_DOCS = 4_000
LONGEST_SYMBOL = 500

_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_EXPRESSION = re.compile(r"[^\W\d]\w*(?:\.\w+|\([^()\n]*\)|\[[^\[\]\n]*\])*\.?\w*$")
_OWN_MODULE = re.compile(r"__agentnb_(?:notebook|live)_\d+__\.")
_numbers = itertools.count(1)


class CodeService:
    """Answers questions about the code of a notebook and of its workspace. Any thread may ask."""

    def __init__(
        self,
        root: Path,
        *,
        cells: Callable[[], Sequence[CodeCell]],
        variables: Callable[[], Mapping[str, Any]] = dict,
        seconds: float = SECONDS,
        language_server: Callable[[], ServerProgram | None] = lambda: None,
    ) -> None:
        self.root: Path = Path(os.path.realpath(root))
        self._cells = cells
        self.variables = variables
        self._seconds = seconds
        # jedi keeps one tree for each path and changes it in place: two notebooks of one folder must not share a path.
        number = next(_numbers)
        self.module_path: Path = self.root / f"__agentnb_notebook_{number}__.py"
        self.live_path: Path = self.root / f"__agentnb_live_{number}__.py"
        self._deadline = Deadline()
        self._analysis: JediAnalysis | None = None
        self._server = ServerAnswers(self.root, self.module_path, language_server, seconds)
        self._read: tuple[tuple[CodeCell, ...], NotebookModule] = (), NotebookModule(())

    @property
    def failure(self) -> str:
        """Returns, as whole sentences, why jedi gave the last answer instead of the language server; else empty."""
        return self._server.failure

    def ask(self, question: str, place: CodePlace) -> list[Any]:
        """Answer a question, given by its name, that changes nothing."""
        if question == "problems":
            return self.diagnostics(place if place.cell_id or place.path else None)
        if QUESTIONS[question].method:
            return self._server.offered(QUESTIONS[question], server_request(self, question, place), self.module())
        methods: dict[str, Callable[[CodePlace], list[Any]]] = {
            "definition": self.definition,
            "references": self.references,
            "describe": self.hover,
            "complete": self.completions,
        }
        return methods[question](place)

    def definition(self, place: CodePlace) -> list[CodeLocation]:
        """Returns where the name at *place* is defined; jedi is asked first, then the language server."""
        self._begin()
        return self._answer(place, lambda question: question.definition()) or self._located("definition", place) or []

    def references(self, place: CodePlace) -> list[CodeLocation]:
        """Returns all places in the notebook and the workspace that refer to what the name at *place* means."""
        return self._located("references", place) or self._answer(place, lambda question: question.references())

    def hover(self, place: CodePlace) -> list[Description]:
        """Returns the description of the name at *place*: its signatures and documentation."""
        self._begin()
        return self._answer(place, lambda question: question.hover())

    def completions(self, place: CodePlace) -> list[CodeCompletion]:
        """Returns the names that can stand at *place*, or that complete its symbol."""
        self._begin()
        return self._answer(place, lambda question: question.completions(), may_be_open=True)

    def rename(self, place: CodePlace, new_name: str) -> Renaming:
        if not new_name.isidentifier() or keyword.iskeyword(new_name):
            raise UsageError(f"{new_name!r} is not a valid Python name.")
        if uses := self._located("references", place):
            return renaming(self.root, self.module(), new_name, uses, self._located("definition", place) or uses)
        return self._answer(place, lambda question: question.rename(new_name))

    def diagnostics(self, place: CodePlace | None = None) -> list[Diagnostic]:
        """The problems of the cell or file of *place*; of all cells by default."""
        if place is not None and place.path is not None:
            path = self.file(place.path)
            text = read_source(path)
            problems = self._server.diagnostics(path, text, self.module(), self.variables)
            return list(_syntax_errors(text, path=str(path))) if problems is None else problems
        cells = self.chosen_cells(place)
        errors = [
            problem
            for cell in cells
            if not cell.is_cut
            for problem in _syntax_errors(python_of(cell.source), cell_id=cell.cell_id)
        ]
        wanted = {cell.cell_id for cell in cells}
        module = self.module()
        more = self._server.diagnostics(self.module_path, module.text, module, self.variables) or []
        return [*errors, *(each for each in more if each.cell_id in wanted)]

    def chosen_cells(self, place: CodePlace | None) -> list[CodeCell]:
        """Returns the cell of *place*, which must exist; all cells if it names none."""
        cells = [cell for cell in self._cells() if place is None or place.cell_id in {None, cell.cell_id}]
        if place is not None and place.cell_id is not None and not cells:
            raise no_cell(place.cell_id)
        return cells

    def file(self, path: str) -> Path:
        """Resolve a file, given relative to the workspace or by its absolute path."""
        return Path(os.path.realpath(self.root / Path(path).expanduser()))

    def module(self) -> NotebookModule:
        cells = tuple(self._cells())
        if cells != self._read[0]:
            self._read = cells, NotebookModule(cells)
        return self._read[1]

    def _begin(self) -> None:
        """Clear the language server's last failure, since the next question may not reach the server."""
        self._server.failure = ""

    def _located(self, question: str, place: CodePlace) -> list[CodeLocation] | None:
        """Returns the places that the language server gives; None if no server answers."""
        module = self.module()
        locations = self._server.locations(question, self.resolved(place, module), module)
        return None if locations is None else in_order(locations, module)

    def _answer(self, place: CodePlace, ask: Callable[[_Question], T], *, may_be_open: bool = False) -> T:
        module = self.module()
        where = self.resolved(place, module, may_be_open=may_be_open)

        def work() -> T:
            if self._analysis is None:
                from agentnb.plugins.knowledge.code.jedi_analysis import JediAnalysis

                self._analysis = JediAnalysis(self.root)
            return ask(_Question(self, self._analysis, module, where))

        try:
            return self._deadline.run(work, self._seconds)
        except UsageError:
            self._analysis = None
            raise
        except Exception as error:
            self._analysis = None
            raise UsageError(
                f"The code could not be analysed: {type(error).__name__}.", hint="Ask about another place."
            ) from error

    def resolved(self, place: CodePlace, module: NotebookModule, *, may_be_open: bool = False) -> Spot:
        symbol = place.symbol.strip() if place.symbol is not None else None
        if symbol is not None:
            plain = symbol.removesuffix(".") if may_be_open else symbol
            if len(symbol) > LONGEST_SYMBOL or (plain and _DOTTED.fullmatch(plain) is None):
                raise UsageError(f"{symbol[:80]!r} is not a name, or names with dots.")
        if place.path is not None:
            path = self.file(place.path)
            text = read_source(path)
            line, column = _position(place, lines_of(text), symbol, str(path))
            return text, path, line, column
        path = self.module_path
        if place.cell_id is None:
            if symbol is None:
                raise UsageError("No place was given.", hint="Specify a symbol, a cell or a file.")
            return f"{module.text}{symbol}\n", path, len(module.lines) + 1, len(symbol)
        cell = module.cell(place.cell_id)
        if cell is None:
            raise no_cell(place.cell_id)
        line, column = _position(place, lines_of(python_of(cell.source)), symbol, "The cell")
        return module.text, path, module.module_line(cell.cell_id, line), column


class _Question:
    """One question, on the thread of the analysis."""

    def __init__(self, service: CodeService, analysis: JediAnalysis, module: NotebookModule, where: Spot) -> None:
        text, path, line, column = where
        self._service = service
        self._analysis = analysis
        self._module = module
        self._module_path = service.module_path
        self._script = analysis.script(text, path)
        self._text = text
        self._path = path
        self._at = line, column

    def definition(self) -> list[CodeLocation]:
        names = self._bindings()
        if not names and (live := self._live()) is not None:
            script, at = live
            names = script.goto(*at, follow_imports=True)
        return self._locations(names)

    def _bindings(self) -> list[Any]:
        return self._analysis.bindings(self._script.goto(*self._at, follow_imports=True))

    def references(self) -> list[CodeLocation]:
        definitions = self._bindings()
        is_local = self._path == self._module_path and all(self._is_in_notebook(each) for each in definitions)
        names = self._script.get_references(*self._at, include_builtins=False, scope="file" if is_local else "project")
        known = {(each.line, each.column) for each in names if self._is_in_notebook(each)}
        names = [*names, *self._in_notebook(definitions, known)]
        return in_order(self._locations(names), self._module)

    def hover(self) -> list[Description]:
        described, is_live = self._script.help(*self._at), False
        names = self._script.goto(*self._at)
        if (not described or all(each.type == "statement" for each in described)) and (
            live := self._live()
        ) is not None:
            script, at = live
            described, is_live = script.infer(*at), True
        described = [_described(each, is_live=is_live) for each in described or names]
        return list(dict.fromkeys(described))[:MOST_LOCATIONS]

    def completions(self) -> list[CodeCompletion]:
        names = self._script.complete(*self._at)
        if not names and (live := self._live()) is not None:
            script, at = live
            names = script.complete(*at)
        return [CodeCompletion(name=each.name, kind=each.type) for each in names[:MOST_COMPLETIONS]]

    def rename(self, new_name: str) -> Renaming:
        return renaming(self._service.root, self._module, new_name, self.references(), self.definition())

    def _in_notebook(self, definitions: Iterable[Any], known: Collection[tuple[int, int]]) -> Iterator[Any]:
        """Yields names in cells that mean *definitions* and are not *known*: of a file, or used before the definition.

        Cells may have moved, or not have run; jedi finds a use before the definition only from the use.
        """
        wanted = {(each.module_path, each.line, each.column) for each in definitions}
        names = {each.name for each in definitions}
        # Two texts for one path share one tree, which the later one changes.
        is_here = self._path == self._module_path
        script = self._script if is_here else self._analysis.script(self._module.text, self._module_path)
        places = (
            (number, match.start(), match[0])
            for number, line in enumerate(self._module.lines, 1)
            if any(name in line for name in names)
            for match in NAME.finditer(line)
            if match[0] in names and (number, match.start()) not in known
        )
        for number, column, name in islice(places, MOST_CHECKED):
            same = script.goto(number, column, follow_imports=True)
            if not same:  # the name is above its definition
                same = script.get_references(number, column, include_builtins=False, scope="file")
            if wanted & {(each.module_path, each.line, each.column) for each in same}:
                yield _Occurrence(name, number, column, self._module_path)

    def _live(self) -> tuple[Any, tuple[int, int]] | None:
        """Returns the expression here, with its first name taken from the live variables; None if there is none."""
        line, column = self._at
        row = self._text.split("\n")[line - 1]
        end = next((at for at in range(column, len(row)) if not (row[at].isalnum() or row[at] == "_")), len(row))
        expression = _EXPRESSION.search(row[max(0, end - LONGEST_SYMBOL) : end])
        if expression is None:
            return None
        name = NAME.match(expression[0])
        lines = [] if name is None else live_lines(self._service.variables(), name[0])
        if not lines:
            return None
        text = "".join(f"{each}\n" for each in [*lines, expression[0]])
        if any("__agentnb_live_" in each for each in lines):
            text = self._module.text + text
        script = self._analysis.script(text, self._service.live_path)
        return script, (text.count("\n"), len(expression[0]))

    def _is_in_notebook(self, name: Any) -> bool:
        return bool(name.module_path == self._module_path)

    def _locations(self, names: Iterable[Any]) -> list[CodeLocation]:
        made = (self._location(name) for name in names)
        return list(dict.fromkeys(each for each in made if each is not None))[:MOST_LOCATIONS]

    def _location(self, name: Any) -> CodeLocation | None:
        line, column = name.line or 0, name.column or 0
        fields = {"name": name.name, "kind": name.type, "full_name": name.full_name or ""}
        if self._is_in_notebook(name):
            at = self._module.cell_at(line)
            if at is None:
                return None
            fields["full_name"] = ""
            cell, line = at
            text = lines_of(cell.source)[line - 1]
            return CodeLocation(cell_id=cell.cell_id, line=line, column=column, text=text, **fields)
        if name.module_path is None or name.module_path == self._service.live_path or not line:
            if name.module_path is not None and name.type != "module":
                return None
            path = None if name.module_path is None else str(name.module_path)
            return CodeLocation(path=path, line=1 if path else 0, **fields)
        text = name.get_line_code().rstrip("\r\n") if hasattr(name, "get_line_code") else ""
        return CodeLocation(path=str(name.module_path), line=line, column=column, text=text, **fields)


class _Occurrence(NamedTuple):
    """A name in a cell, with the interface of jedi's names."""

    name: str
    line: int
    column: int
    module_path: Path
    type: str = "statement"
    full_name: str = ""


def _position(place: CodePlace, lines: Sequence[str], symbol: str | None, where: str) -> tuple[int, int]:
    """The line and column that *place* means in a text."""
    if place.line is not None and not 1 <= place.line <= len(lines):
        raise UsageError(f"{where} has {len(lines)} lines, not {place.line}.")
    if symbol is not None:
        wanted = re.compile(rf"(?<![\w.]){re.escape(symbol)}" + ("" if symbol.endswith(".") else r"(?!\w)"))
        numbers = [place.line] if place.line is not None else range(1, len(lines) + 1)
        for number in numbers:
            if (match := wanted.search(lines[number - 1])) is not None:
                last = len(symbol.rpartition(".")[2])
                return number, match.end() - last
        raise UsageError(
            f"{symbol!r} does not occur in {where[0].lower()}{where[1:]}.", hint="Magics are not searched."
        )
    if place.line is None or place.column is None:
        raise UsageError("No place was given.", hint="Give a symbol, or a line and a column.")
    if not 0 <= place.column <= len(lines[place.line - 1]):
        raise UsageError(f"Line {place.line} has {len(lines[place.line - 1])} columns, not {place.column}.")
    return place.line, place.column


def _described(name: Any, *, is_live: bool) -> Description:
    signatures = tuple(dict.fromkeys(each.to_string() for each in name.get_signatures()))[:10]
    docs = name.docstring(raw=True)
    cut = docs if len(docs) <= MOST_DOCS else f"{docs[:MOST_DOCS]}\n… (cut)"
    kind, full_name = name.type, _OWN_MODULE.sub("", name.full_name or "")
    return Description(name=name.name, kind=kind, full_name=full_name, signatures=signatures, docs=cut, is_live=is_live)


def _syntax_errors(text: str, *, cell_id: str | None = None, path: str | None = None) -> Iterator[Diagnostic]:
    """Yields the first syntax error; Python reports no more than one."""
    try:
        compile(text, path or "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as error:
        line, column = max(1, error.lineno or 1), max(0, (error.offset or 1) - 1)
        yield Diagnostic(message=error.msg, cell_id=cell_id, path=path, line=line, column=column)
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        yield Diagnostic(message=f"Python cannot parse this: {error}.", cell_id=cell_id, path=path)
