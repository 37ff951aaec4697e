"""Answers of a language server about a notebook and its workspace, in terms of cells and files.

A cell that Python cannot read is left blank in it, so that it spoils no other cell.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.code.language_server import LanguageServer, ServerFailure, server_for
from agentnb.plugins.knowledge.code.magics import LARGEST_FILE, is_readable, lines_of, read_source
from agentnb.plugins.knowledge.code.records import CodeLocation, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from agentnb.plugins.knowledge.code.language_server import ServerProgram
    from agentnb.plugins.knowledge.code.notebook_module import NotebookModule
    from agentnb.plugins.knowledge.code.records import Severity

MOST_FILES = 5_000
"""Files of the workspace whose changes a server is told of."""
MOST_CHANGED = 50
"""Files that may change between two questions; after more, the server is started again."""
MOST_SHOWN = 50
"""Files with a name that a server is shown before it is asked for the name's uses."""
MOST_FOUND = 500
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
_NAME = re.compile(r"[^\W\d]\w*")
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})

T = TypeVar("T")
Document = tuple[Path, str]
Spot = tuple[Path, str, int, int]
"""A document, and the line (from 1) and the column (from 0, in characters) in it."""


class ServerAnswers:
    """Asks a language server for one notebook."""

    def __init__(
        self, root: Path, module_path: Path, program: Callable[[], ServerProgram | None], seconds: float
    ) -> None:
        self.failure = ""
        self._root = root
        self._module_path = module_path
        self._program = program
        self._seconds = seconds

    def locations(self, question: str, spot: Spot, module: NotebookModule) -> list[CodeLocation] | None:
        """The places that a server gives; None where it has none to give."""
        path, text, line, column = spot
        return self._asked(lambda ask: ask.locations(question, path, text, (line, column)), module, uses=True)

    def diagnostics(
        self, document: Document, module: NotebookModule, variables: Callable[[], Collection[str]]
    ) -> list[Diagnostic] | None:
        """The problems that a server finds; None where it does not answer."""
        return self._asked(lambda ask: ask.diagnostics(*document, variables()), module, uses=False)

    def _asked(self, ask: Callable[[_Asking], list[T]], module: NotebookModule, *, uses: bool) -> list[T] | None:
        self.failure = ""
        deadline = time.monotonic() + self._seconds
        try:
            server = server_for(self._root, program := self._program())
            if server is None or program is None or (uses and not program.finds_uses):
                return None
            if not server.lock.acquire(timeout=self._seconds):
                raise ServerFailure(f"{program.name} is busy with other questions.")
            try:
                asking = _Asking(server, self._module_path, module, deadline)
                asking.tell_changes()
                return ask(asking)
            finally:
                server.lock.release()
        except ServerFailure as error:
            self.failure = str(error)
            return None


class _Asking:
    """One question to a server that runs."""

    def __init__(self, server: LanguageServer, module_path: Path, module: NotebookModule, deadline: float) -> None:
        self._server = server
        self._module_path = module_path
        self._module = module
        self._deadline = deadline
        self._lines: dict[Path, list[str]] = {}

    def tell_changes(self) -> None:
        """Have the server know the files of the workspace as they are now."""
        known, now = self._server.files, dict(_states(self._server.root))
        self._server.files = now
        changed = [name for name, state in now.items() if known.get(name) != state]
        gone = [name for name in known if name not in now]
        if not known:
            return
        if len(changed) + len(gone) > MOST_CHANGED:
            self._server.end()  # the next one reads all
            return
        for path in map(Path, changed):
            lines = self._text_lines(path)
            self._server.show(path, "\n".join(lines), self._deadline)
        for path in map(Path, gone):
            self._server.hide(path, self._deadline)

    def locations(self, question: str, path: Path, text: str, at: tuple[int, int]) -> list[CodeLocation]:
        self._show(path, text)
        params: dict[str, Any] = {"textDocument": {"uri": path.as_uri()}, "position": self._position(path, *at)}
        if question == "references":
            params["context"] = {"includeDeclaration": True}
            if path != self._module_path:
                self._show(self._module_path, self._module.text)
            self._show_files_with(_word(self._lines[path], at))
        answer = self._server.request(f"textDocument/{question}", params, self._deadline)
        each = [answer] if isinstance(answer, dict) else answer if isinstance(answer, list) else []
        made = [self._location(one) for one in each[:MOST_FOUND]]
        return list(dict.fromkeys(one for one in made if one is not None))

    def diagnostics(self, path: Path, text: str, variables: Collection[str]) -> list[Diagnostic]:
        version = self._show(path, text)
        if isinstance(self._server.capabilities.get("diagnosticProvider"), dict):
            params = {"textDocument": {"uri": path.as_uri()}}
            report = self._server.request("textDocument/diagnostic", params, self._deadline)
            problems = report.get("items") if isinstance(report, dict) else None
        else:
            problems = self._server.published(path, version, self._deadline)
        made = [self._diagnostic(each, path) for each in (problems or [])[:MOST_FOUND]]
        return [each for each in made if each is not None and not self._is_of_notebooks(each, variables)]

    def _show_files_with(self, name: str) -> None:
        """Have the server know each file with *name*: one that has just started looks for files a little later."""
        left = MOST_SHOWN
        for path in map(Path, self._server.files) if name else ():
            if path not in self._lines and _has(path, name.encode()):
                self._show(path, "\n".join(self._text_lines(path)))
                left -= 1
            if left <= 0:
                return

    def _show(self, path: Path, text: str) -> int:
        readable = without_broken_cells(self._module, text) if path == self._module_path else text
        self._lines[path] = lines_of(readable)
        return self._server.show(path, readable, self._deadline)

    def _position(self, path: Path, line: int, column: int) -> dict[str, int]:
        text = self._lines[path][line - 1][:column]
        return {"line": line - 1, "character": _units(text) if self._server.encoding == "utf-16" else len(text)}

    def _place(self, path: Path, position: Any) -> tuple[int, int, str] | None:
        """The line (from 1), the column in characters, and the line's text; None where the document has none such."""
        lines = self._text_lines(path)
        try:
            line, character = int(position["line"]), int(position["character"])
        except (KeyError, TypeError, ValueError):
            return None
        if not 0 <= line < len(lines) or character < 0:
            return None
        text = lines[line]
        return line + 1, _characters(text, character) if self._server.encoding == "utf-16" else character, text

    def _text_lines(self, path: Path) -> list[str]:
        if path not in self._lines:
            try:
                self._lines[path] = lines_of(read_source(path))
            except UsageError:
                self._lines[path] = []
        return self._lines[path]

    def _location(self, answer: Any) -> CodeLocation | None:
        try:
            path = _path(answer.get("uri") or answer["targetUri"])
            place = self._place(path, (answer.get("range") or answer["targetSelectionRange"])["start"])
        except (KeyError, TypeError, AttributeError, ValueError):
            return None
        if place is None:
            return None
        line, column, text = place
        name = _NAME.match(text, column)
        if path == self._module_path:
            position = self._module.cell_position(line, column)
            if position is None or name is None:
                return None
            cell = self._module.cell(position.cell_id)
            line_text = lines_of(cell.source)[position.line - 1] if cell is not None else ""
            return CodeLocation(
                name=name[0], cell_id=position.cell_id, line=position.line, column=column, text=line_text
            )
        if path.parent == self._module_path.parent and path.name.startswith("__agentnb_"):
            return None  # another notebook of this folder
        return CodeLocation(name=name[0] if name else path.stem, path=str(path), line=line, column=column, text=text)

    def _diagnostic(self, problem: Any, path: Path) -> Diagnostic | None:
        if not isinstance(problem, dict) or (problem.get("tags") and problem.get("severity") == _HINT):
            return None  # what is only to be drawn paler
        span = problem.get("range")
        place = self._place(path, span.get("start") if isinstance(span, dict) else None)
        if place is None:
            return None
        line, column, _ = place
        fields: dict[str, Any] = {
            "message": str(problem.get("message")).replace("\xa0", " ")[:1_000],
            "severity": _SEVERITIES.get(problem.get("severity"), "error"),
            "source": self._server.program.name,
            "code": str(problem.get("code") or "")[:100],
        }
        if path != self._module_path:
            return Diagnostic(path=str(path), line=line, column=column, **fields)
        position = self._module.cell_position(line, column)
        if position is None:
            return None
        return Diagnostic(cell_id=position.cell_id, line=position.line, column=column, **fields)

    def _is_of_notebooks(self, problem: Diagnostic, variables: Collection[str]) -> bool:
        cell = self._module.cell(problem.cell_id) if problem.cell_id is not None else None
        if cell is None:
            return False
        line, _ = self._module.module_position(cell.cell_id, problem.line, problem.column)
        text = self._module.lines[line - 1]
        if text != lines_of(cell.source)[problem.line - 1]:
            return True  # a magic is in the line: what is wrong there may be ours
        if _NOT_OF_CELLS.fullmatch(problem.code) or _NOT_OF_CELLS.fullmatch(problem.message):
            return True
        name = _NAME.match(text, problem.column)
        is_undefined = _UNDEFINED.fullmatch(problem.code) or _UNDEFINED.fullmatch(problem.message)
        known = name is not None and (name[0] in variables or name[0] in _OF_IPYTHON or _OF_HISTORY.fullmatch(name[0]))
        return bool(is_undefined and known)


def without_broken_cells(module: NotebookModule, text: str) -> str:
    """*text*, which begins with the module's, with the cells left blank that Python cannot read."""
    lines = text.split("\n")
    for cell in module.cells:
        first, _ = module.module_position(cell.cell_id, 1, 0)
        last = first + len(lines_of(cell.source)) - 1
        own = lines[first - 1 : last]
        if not is_readable("\n".join(own)):
            lines[first - 1 : last] = [" " * len(line) for line in own]
    return "\n".join(lines)


def _states(root: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    """The Python files of a folder with their times and sizes; not those in hidden folders and environments."""
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
    """The name at a line (from 1) and a column; empty where there is none."""
    line, column = at
    match = next((each for each in _NAME.finditer(lines[line - 1]) if each.start() <= column <= each.end()), None)
    return "" if match is None else match[0]


def _has(path: Path, name: bytes) -> bool:
    try:
        return path.stat().st_size <= LARGEST_FILE and name in path.read_bytes()
    except OSError:
        return False


def _path(uri: Any) -> Path:
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"}:
        raise ValueError(uri)
    return Path(url2pathname(parts.path) if os.name == "nt" else unquote(parts.path))


def _units(text: str) -> int:
    """Returns how many units of UTF-16 *text* has."""
    return len(text) + sum(char > "\uffff" for char in text)


def _characters(text: str, units: int) -> int:
    """Returns how many characters of *text* have so many units of UTF-16."""
    at = 0
    for char in text:
        if units <= 0:
            break
        units -= 2 if char > "\uffff" else 1
        at += 1
    return at
