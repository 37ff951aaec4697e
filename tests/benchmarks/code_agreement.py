"""How often jedi, as agentnb asks it, and pyright name the same definition, for names of this repository's notebooks.

``python -m tests.benchmarks.code_agreement [PYRIGHT-LANGSERVER]``; ``make code-agreement`` installs pyright from npm.
"""

from __future__ import annotations

import io
import itertools
import json
import keyword
import random
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from agentnb.plugins.knowledge.code.notebook_module import CodeCell
from agentnb.plugins.knowledge.code.records import CodePlace
from agentnb.plugins.knowledge.code.service import CodeService

ROOT = Path(__file__).parents[2]
ASKED = 200
SEED = 16


class Found(NamedTuple):
    """Where a name is defined: the file (empty for a cell), the line from 1 (for a cell: of the module), its text."""

    file: str
    line: int
    text: str


class Pyright:
    """pyright's language server, which is asked for definitions in one document after the other.

    Args:
        program: The path of ``pyright-langserver``.
    """

    def __init__(self, program: str) -> None:
        self._process = subprocess.Popen([program, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
        self._numbers = itertools.count(1)
        able = {"workspace": {"configuration": True}, "textDocument": {"definition": {"linkSupport": False}}}
        folder = {"uri": ROOT.as_uri(), "name": ROOT.name}
        params = {"processId": None, "rootUri": folder["uri"], "capabilities": able, "workspaceFolders": [folder]}
        self._ask("initialize", params)
        self._send({"method": "initialized", "params": {}})

    def open(self, path: Path, text: str) -> None:
        """Show the server a document."""
        document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def definition(self, path: Path, line: int, column: int) -> list[tuple[Path, int]]:
        """The files and lines (from 1) of the definitions of the name at *line* (from 1) and *column*."""
        place = {"textDocument": {"uri": path.as_uri()}, "position": {"line": line - 1, "character": column}}
        found = self._ask("textDocument/definition", place) or []
        places = found if isinstance(found, list) else [found]
        return [(Path(unquote(urlsplit(each["uri"]).path)), each["range"]["start"]["line"] + 1) for each in places]

    def close(self) -> None:
        """End the server."""
        self._process.kill()
        self._process.wait()

    def _ask(self, method: str, params: Any) -> Any:
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._receive()
            if "method" in message and "id" in message:
                self._send({"id": message["id"], "result": _answer(message)})
            elif message.get("id") == number and "method" not in message:
                return message.get("result")

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            sys.exit("pyright-langserver ended.")
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        return message


def _answer(message: dict[str, Any]) -> Any:
    """What the server's request is answered with: for its settings, the Python whose packages count."""
    if message["method"] != "workspace/configuration":
        return None
    settings = {"python": {"pythonPath": sys.executable}}
    return [settings.get(each.get("section")) for each in message["params"]["items"]]


def cells_of(notebook: Path) -> list[CodeCell]:
    """The code cells of *notebook*, as if they had run from top to bottom."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return [CodeCell(cell_id=str(at), source=source, count=at + 1) for at, source in enumerate(sources)]


def names_of(text: str) -> list[tuple[int, int]]:
    """The lines (from 1) and columns of the names in a module; of one that does not parse, those before the error."""
    found: list[tuple[int, int]] = []
    try:
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        found.extend(each.start for each in tokens if each.type == tokenize.NAME and not keyword.iskeyword(each.string))
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


def kind_of(ours: list[Found], theirs: list[Found]) -> str:
    """The row of the table."""
    if not ours or not theirs:
        only = "pyright" if theirs else "jedi"
        return f"{only} alone answers" if ours or theirs else "both name nothing"
    if {each[:2] for each in ours} & {each[:2] for each in theirs}:
        return "both name the same line"
    stubs = any(each.file.endswith(".pyi") for each in (*ours, *theirs))
    return "both name the same thing, one in its stub" if stubs and _words(ours) & _words(theirs) else "they differ"


def _words(found: list[Found]) -> set[str]:
    """The names in the lines of *found*."""
    said = {word for each in found for word in each.text.replace("(", " ").replace(":", " ").split()}
    return {word for word in said if word.isidentifier() and word not in {"def", "class", "self", "async"}}


def main() -> int:
    """Print the table."""
    program = sys.argv[1] if len(sys.argv) > 1 else "pyright-langserver"
    pyright, counted = Pyright(program), Counter[str]()
    notebooks = sorted([*(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "tests/notebooks").glob("*.ipynb")])
    services = [_service(cells_of(each)) for each in notebooks]
    places = [(service, place) for service in services for place in names_of(service.module().text)]
    asked = sorted(random.Random(SEED).sample(range(len(places)), min(ASKED, len(places))))
    others = []
    opened: set[Path] = set()
    for service, (line, column) in (places[at] for at in asked):
        module = service.module()
        if service.module_path not in opened:
            opened.add(service.module_path)
            pyright.open(service.module_path, module.text)
        ours = _ours(service, line, column)
        theirs = [_found(service, *each) for each in pyright.definition(service.module_path, line, column)]
        counted[kind := kind_of(ours, theirs)] += 1
        if kind in {"they differ", "pyright alone answers", "jedi alone answers"}:
            others.append(f"{kind}: {module.lines[line - 1].strip()!r}, column {column}: {ours} | {theirs}")
    pyright.close()
    print("\n".join(others))
    print(f"\n{len(asked)} of {len(places)} names")
    for kind, count in counted.most_common():
        print(f"{count:5}  {kind}")
    return 0


def _service(cells: list[CodeCell]) -> CodeService:
    return CodeService(ROOT, cells=lambda: cells)


def _ours(service: CodeService, line: int, column: int) -> list[Found]:
    position = service.module().cell_position(line, column)
    assert position is not None
    place = CodePlace(cell_id=position.cell_id, line=position.line, column=position.column)
    return [
        Found("", service.module().module_position(each.cell_id, each.line, each.column)[0], each.text)
        if each.cell_id is not None
        else Found(each.path or "", each.line, each.text)
        for each in service.definition(place)
        if each.line or each.path
    ]


def _found(service: CodeService, path: Path, line: int) -> Found:
    if path == service.module_path:
        return Found("", line, service.module().lines[line - 1])
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return Found(str(path), line, lines[line - 1] if line <= len(lines) else "")


if __name__ == "__main__":
    sys.exit(main())
