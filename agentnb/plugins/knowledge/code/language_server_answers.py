"""Answers of a language server about a notebook and its workspace, in terms of cells and files.

The server sees a cell that is not valid Python as blank, so that it does not spoil other cells.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from agentnb.acp.fields import mapping
from agentnb.errors import UsageError
from agentnb.plugins.knowledge.code.language_server import LanguageServer, ServerFailure, server_for
from agentnb.plugins.knowledge.code.magics import LARGEST_FILE, NAME, is_readable, lines_of, read_source
from agentnb.plugins.knowledge.code.records import CodeLocation, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from agentnb.plugins.knowledge.code.language_server import ServerProgram
    from agentnb.plugins.knowledge.code.notebook_module import NotebookModule
    from agentnb.plugins.knowledge.code.records import Question, Severity

MOST_FILES = 5_000
"""Workspace files whose changes are reported to a server."""
MOST_CHANGED = 50
"""Files that may change between two questions; after more, the server is started again."""
MOST_SHOWN = 50
"""Files containing a name that a server gets before a request for the name's uses."""
MOST_FOUND = 500
NEEDS_SERVER = "Only a language server offers {}, and none is selected."
CHOOSE = 'Choose one that is installed: `%config Agentnb.language_server = "basedpyright"`, or "ruff" to format.'
_HINT = 4
_SEVERITIES: dict[Any, Severity] = {1: "error", 2: "warning", 3: "hint", 4: "hint"}
_NOT_OF_CELLS = re.compile(
    r"E402|E30\d|W391|B018|F704|PLE1142|reportUnusedExpression|'yield' outside function"
    r"|.*(?:await|async).*(?:outside|only within|module level).*"
)
"""Rules and messages that are about a file and not about cells."""
_UNDEFINED = re.compile(r"F821|reportUndefinedVariable|undefined name .*")
_OF_IPYTHON = frozenset({"display", "get_ipython", "In", "Out", "_", "__", "___", "exit", "quit"})
_OF_HISTORY = re.compile(r"_i*\d*|_ih|_oh|_dh")
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})

T = TypeVar("T")
Spot = tuple[str, Path, int, int]
"""A text, the path that stands for it, and a line (from 1) and a column (from 0, in characters) in it."""


class ServerAnswers:
    """Asks a language server for one notebook."""

    def __init__(
        self, root: Path, module_path: Path, program: Callable[[], ServerProgram | None], seconds: float
    ) -> None:
        self.failure: str = ""
        self._root = root
        self._module_path = module_path
        self._program = program
        self._seconds = seconds

    def locations(self, question: str, spot: Spot, module: NotebookModule) -> list[CodeLocation] | None:
        """Returns the places that a server gives; None if it gives none."""
        text, path, line, column = spot
        return self._answer(lambda ask: ask.locations(question, path, text, (line, column)), module, uses=True)

    def diagnostics(
        self, path: Path, text: str, module: NotebookModule, variables: Callable[[], Collection[str]]
    ) -> list[Diagnostic] | None:
        """Returns the diagnostics that a server finds; None if it does not answer."""
        return self._answer(lambda ask: ask.diagnostics(path, text, variables()), module, uses=False)

    def offered(self, question: Question, ask: Callable[[ServerQuestion], list[T]], module: NotebookModule) -> list[T]:
        """Returns the answer to a question that only a server can answer; raises UsageError if there is none."""

        def demanded(asking: ServerQuestion) -> list[T]:
            asking.demand(question)
            return ask(asking)

        answers = self._answer(demanded, module, uses=False)
        if answers is None:
            message = self.failure.replace(", so jedi answers", "") or NEEDS_SERVER.format(question.needs)
            raise UsageError(message, hint="" if self.failure else CHOOSE)
        return answers

    def _answer(
        self, ask: Callable[[ServerQuestion], list[T]], module: NotebookModule, *, uses: bool
    ) -> list[T] | None:
        self.failure = ""
        deadline = time.monotonic() + self._seconds
        try:
            server = server_for(self._root, program := self._program())
            if server is None or program is None or (uses and not program.finds_uses):
                return None
            if not server.lock.acquire(timeout=self._seconds):
                raise ServerFailure(f"{program.name} is busy with other questions.")
            try:
                asking = ServerQuestion(server, self._module_path, module, deadline)
                asking.tell_changes()
                return ask(asking)
            finally:
                server.lock.release()
        except ServerFailure as error:
            self.failure = str(error)
            return None


class ServerQuestion:
    def __init__(self, server: LanguageServer, module_path: Path, module: NotebookModule, deadline: float) -> None:
        self._server = server
        self.root: Path = server.root
        self.module_path = module_path
        self.module = module
        self._deadline = deadline
        self._texts: dict[Path, list[str]] = {}

    def tell_changes(self) -> None:
        """Tell the server which files of the workspace have changed or are gone."""
        known, now = self._server.files, dict(_states(self._server.root))
        self._server.files = now
        changed = [name for name, state in now.items() if known.get(name) != state]
        gone = [name for name in known if name not in now]
        if not known:
            return
        if len(changed) + len(gone) > MOST_CHANGED:
            self._server.end()  # the next server reads all files
            return
        for path in map(Path, changed):
            self._server.show(path, "\n".join(self.lines(path)), self._deadline)
        for path in map(Path, gone):
            self._server.hide(path, self._deadline)

    def locations(self, question: str, path: Path, text: str, at: tuple[int, int]) -> list[CodeLocation]:
        self.show(path, text)
        params: dict[str, Any] = {"textDocument": {"uri": path.as_uri()}, "position": self.position(path, *at)}
        if question == "references":
            params["context"] = {"includeDeclaration": True}
            if path != self.module_path:
                self.show_notebook()
            self.show_files_with(_word(self._texts[path], at))
        answer = self.request(f"textDocument/{question}", params)
        each = [answer] if isinstance(answer, dict) else answer if isinstance(answer, list) else []
        made = [self.location(one) for one in each[:MOST_FOUND]]
        return list(dict.fromkeys(one for one in made if one is not None))

    def diagnostics(self, path: Path, text: str, variables: Collection[str]) -> list[Diagnostic]:
        made = [self._diagnostic(each, path) for each in self.problems(path, text)[:MOST_FOUND]]
        return [each for each in made if each is not None and not self._is_of_notebooks(each, variables)]

    def problems(self, path: Path, text: str) -> list[Any]:
        """Returns a document's diagnostics in the server's own form."""
        version = self.show(path, text)
        if not isinstance(self._server.capabilities.get("diagnosticProvider"), dict):
            return self._server.published(path, version, self._deadline)
        report = self.request("textDocument/diagnostic", {"textDocument": {"uri": path.as_uri()}})
        problems = mapping(report).get("items")
        return problems if isinstance(problems, list) else []

    def demand(self, question: Question) -> None:
        """Raise UsageError unless the server offers what *question* needs."""
        self._server.start(self._deadline)
        if self._server.capabilities.get(question.capability) in (None, False):
            message = f"{self._server.program.name} offers no {question.needs}."
            raise UsageError(message, hint="Another language server may support it: see the setting language_server.")

    @property
    def resolves_actions(self) -> bool:
        """True if the server resolves the changes of a code action in a separate request."""
        return bool(mapping(self._server.capabilities.get("codeActionProvider")).get("resolveProvider"))

    def request(self, method: str, params: Any) -> Any:
        return self._server.request(method, params, self._deadline)

    def characters(self, text: str, units: int) -> int:
        """Returns how many characters of *text* come before the server's column *units*."""
        return _characters(text, units) if self._server.encoding == "utf-16" else units

    def show_notebook(self) -> None:
        """Send the server the notebook as it is now."""
        self.show(self.module_path, self.module.text)

    def hide(self, path: Path) -> None:
        """Have the server forget a document that is not a file."""
        self._texts.pop(path, None)
        self._server.hide(path, self._deadline)

    def show_files_with(self, name: str) -> None:
        """Send the server each file that contains *name*: one that has just started finds files a little later."""
        left = MOST_SHOWN
        for path in map(Path, self._server.files) if name else ():
            if path not in self._texts and _has(path, name.encode()):
                self.show(path, "\n".join(self.lines(path)))
                left -= 1
            if left <= 0:
                return

    def show(self, path: Path, text: str) -> int:
        readable = without_broken_cells(self.module, text) if path == self.module_path else text
        self._texts[path] = lines_of(readable)
        return self._server.show(path, readable, self._deadline)

    def position(self, path: Path, line: int, column: int) -> dict[str, int]:
        text = self._texts[path][line - 1][:column]
        return {"line": line - 1, "character": _units(text) if self._server.encoding == "utf-16" else len(text)}

    def _place(self, path: Path, position: Any) -> tuple[int, int, str] | None:
        """Returns the line (from 1), the column in characters, and the line's text; None if there is no such place."""
        lines = self.lines(path)
        try:
            line, character = int(position["line"]), int(position["character"])
        except (KeyError, TypeError, ValueError):
            return None
        if not 0 <= line < len(lines) or character < 0:
            return None
        text = lines[line]
        return line + 1, self.characters(text, character), text

    def lines(self, path: Path) -> list[str]:
        if path not in self._texts:
            try:
                self._texts[path] = lines_of(read_source(path))
            except UsageError:
                self._texts[path] = []
        return self._texts[path]

    def location(self, answer: Any) -> CodeLocation | None:
        try:
            path = file_path(answer.get("uri") or answer["targetUri"])
            place = self._place(path, (answer.get("range") or answer["targetSelectionRange"])["start"])
        except (KeyError, TypeError, AttributeError, ValueError):
            return None
        if place is None:
            return None
        line, column, text = place
        name = NAME.match(text, column)
        if path == self.module_path:
            at = self.module.cell_at(line)
            if at is None or name is None:
                return None
            cell, line = at
            text = lines_of(cell.source)[line - 1]
            return CodeLocation(name=name[0], cell_id=cell.cell_id, line=line, column=column, text=text)
        if path.parent == self.module_path.parent and path.name.startswith("__agentnb_"):
            return None  # another notebook of this folder
        return CodeLocation(name=name[0] if name else path.stem, path=str(path), line=line, column=column, text=text)

    def _diagnostic(self, problem: Any, path: Path) -> Diagnostic | None:
        if not isinstance(problem, dict) or (problem.get("tags") and problem.get("severity") == _HINT):
            return None  # a hint to draw the code faded
        place = self._place(path, mapping(problem.get("range")).get("start"))
        if place is None:
            return None
        line, column, _ = place
        fields: dict[str, Any] = {
            "message": str(problem.get("message")).replace("\xa0", " ")[:1_000],
            "severity": _SEVERITIES.get(problem.get("severity"), "error"),
            "source": self._server.program.name,
            "code": str(problem.get("code") or "")[:100],
        }
        if path != self.module_path:
            return Diagnostic(path=str(path), line=line, column=column, **fields)
        at = self.module.cell_at(line)
        return None if at is None else Diagnostic(cell_id=at[0].cell_id, line=at[1], column=column, **fields)

    def _is_of_notebooks(self, problem: Diagnostic, variables: Collection[str]) -> bool:
        cell = self.module.cell(problem.cell_id) if problem.cell_id is not None else None
        if cell is None:
            return False
        text = self.module.lines[self.module.module_line(cell.cell_id, problem.line) - 1]
        if text != lines_of(cell.source)[problem.line - 1]:
            return True  # the line had a magic: the error may come from agentnb's replacement
        if _NOT_OF_CELLS.fullmatch(problem.code) or _NOT_OF_CELLS.fullmatch(problem.message):
            return True
        name = NAME.match(text, problem.column)
        is_undefined = _UNDEFINED.fullmatch(problem.code) or _UNDEFINED.fullmatch(problem.message)
        known = name is not None and (name[0] in variables or name[0] in _OF_IPYTHON or _OF_HISTORY.fullmatch(name[0]))
        return bool(is_undefined and known)


def without_broken_cells(module: NotebookModule, text: str) -> str:
    """Returns *text*, which begins with the module's, with the cells that Python cannot parse blanked out."""
    lines = text.split("\n")
    for cell in module.cells:
        first = module.module_line(cell.cell_id, 1)
        last = first + len(lines_of(cell.source)) - 1
        own = lines[first - 1 : last]
        if not is_readable("\n".join(own)):
            lines[first - 1 : last] = [" " * len(line) for line in own]
    return "\n".join(lines)


def _states(root: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yields the Python files of a folder with times and sizes; hidden folders and environments are skipped."""
    left = MOST_FILES
    for folder, folders, files in os.walk(root):
        folders[:] = [each for each in folders if each[0] != "." and each not in _LEFT_OUT]
        for name in files:
            if name.endswith((".py", ".pyi")):
                path = Path(folder, name)
                try:
                    state = path.stat()
                except OSError:
                    continue
                yield str(path), (state.st_mtime_ns, state.st_size)
                left -= 1
        if left <= 0:
            return


def _word(lines: Sequence[str], at: tuple[int, int]) -> str:
    """Returns the name at a line (from 1) and a column, or '' if there is none."""
    line, column = at
    match = next((each for each in NAME.finditer(lines[line - 1]) if each.start() <= column <= each.end()), None)
    return "" if match is None else match[0]


def _has(path: Path, name: bytes) -> bool:
    try:
        return path.stat().st_size <= LARGEST_FILE and name in path.read_bytes()
    except OSError:
        return False


def file_path(uri: Any) -> Path:
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"}:
        raise ValueError(uri)
    return Path(url2pathname(parts.path) if os.name == "nt" else unquote(parts.path))


def _units(text: str) -> int:
    """Returns the length of *text* in UTF-16 code units."""
    return len(text) + sum(char > "\uffff" for char in text)


def _characters(text: str, units: int) -> int:
    """Returns how many characters of *text* make up *units* UTF-16 code units."""
    at = 0
    for char in text:
        if units <= 0:
            break
        units -= 2 if char > "\uffff" else 1
        at += 1
    return at
