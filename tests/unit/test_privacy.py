"""Tests use public names only: no test reads or sets a private attribute of the code that it tests."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALLOWED = {
    "os._exit": "Python documents it: a process that ends at once, as a crash does.",
    "sys._current_frames": "Python documents it: what each thread is at.",
    "found._replace": "Python documents it: the copy of a named tuple.",
    "fit._hidden": "The test is that the kernel refuses to show it.",
    "re._parser": "Python has no public parser of regular expressions; it says how a text that matches begins.",
}
"""What looks private and may be used, with the reason; ten at most."""

PRIVATE = re.compile(r"_[A-Za-z]\w*(?<!_)")  # `_repr_html_` and its like are names of IPython's display protocol
IN_TEXT = re.compile(r"(\w+|[)\]]|^)\.(_[A-Za-z]\w*)\b(?<!_)")
IMPORT_IN_TEXT = re.compile(r"^\s*from (agentnb[\w.]*) import .*?\b(_[A-Za-z]\w*)\b(?<!_)", re.MULTILINE)
ANY = re.compile(r"(?<!\w)_[A-Za-z]")
BY_NAME = {"getattr", "setattr", "hasattr", "delattr", "attrgetter", "methodcaller"}
UNTYPED = re.compile(r"\bas any\b|<any>|@ts-(?:ignore|expect-error|nocheck)\b|[\w)\]]\[[\"'`][_#]")


def reached(tree: ast.AST) -> Iterator[str]:
    """The private names of others that a module reaches: by attribute, by import, by name, in code that it holds."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=owner, attr=name) if PRIVATE.fullmatch(name) and not _is_own(owner):
                yield f"{ast.unparse(owner)}.{name}"
            case ast.Import(names=names):
                yield from (each.name for each in names if _has_private(each.name))
            case ast.ImportFrom(module=module, names=names):
                paths = (f"{module or ''}.{each.name}" for each in names)
                yield from (path for path in paths if _has_private(path))
            case ast.Call(func=function, args=args) if _last(function) in BY_NAME:
                texts = [each.value for each in args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
                yield from (text for text in texts if PRIVATE.fullmatch(text))
            case ast.Subscript(value=owner, slice=ast.Constant(value=str(name))) if PRIVATE.fullmatch(name):
                if ast.unparse(owner).startswith("vars(") or ast.unparse(owner).endswith(".__dict__"):
                    yield name
            case ast.Constant(value=str(text)):
                yield from reached_in_text(text)


def reached_in_text(code: str) -> Iterator[str]:
    """The same for code in a text, such as what a test has a kernel run."""
    for owner, name in [*IN_TEXT.findall(code), *IMPORT_IN_TEXT.findall(code)]:
        if owner not in {"self", "cls"}:
            yield f"{owner}.{name}"


def _is_own(owner: ast.expr) -> bool:
    return isinstance(owner, ast.Name) and owner.id in {"self", "cls"}


def _has_private(path: str) -> bool:
    return any(PRIVATE.fullmatch(part) for part in path.split("."))


def _last(function: ast.expr) -> str:
    return ast.unparse(function).rpartition(".")[2]


def sources() -> Iterator[tuple[str, str]]:
    """Every Python test and every notebook that tests run: where, and its code."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if path != Path(__file__) and ANY.search(code := path.read_text(encoding="utf-8")):
            yield path.relative_to(ROOT).as_posix(), code
    for path in sorted([*(ROOT / "tests").rglob("*.ipynb"), *(ROOT / "notebooks").glob("*.ipynb")]):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "".join("".join(cell["source"]) + "\n" for cell in cells if cell["cell_type"] == "code")
        yield path.relative_to(ROOT).as_posix(), f"CELLS = {code!r}"


def test_no_test_uses_a_private_name() -> None:
    """Neither in its own code nor in code that it runs in kernels and notebooks; each exception is used."""
    found = [(where, name) for where, code in sources() for name in reached(ast.parse(code))]
    assert [f"{where}: {name}" for where, name in found if name not in ALLOWED] == []
    assert {name for _, name in found} == set(ALLOWED)
    assert len(ALLOWED) <= 10


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("session._conversation.agent", "session._conversation"),
        ("frontend().delivery._clients.clear()", "frontend().delivery._clients"),
        ("self.session._turn", "self.session._turn"),
        ("from agentnb.credentials import _SHAPES", "agentnb.credentials._SHAPES"),
        ("import agentnb._private", "agentnb._private"),
        ("getattr(session, '_conversation')", "_conversation"),
        ("operator.attrgetter('host._closed')", "host._closed"),
        ('kernel.run("print(session._conversation.host)")', "session._conversation"),
        ("vars(session)['_conversation']", "_conversation"),
        ("session.__dict__['_conversation']", "_conversation"),
        ("monkeypatch.setattr(session, '_conversation', None)", "_conversation"),
        ('kernel.run(f"{name}._conversation")', "._conversation"),
        ('kernel.run("from agentnb.host.host import ROOT, _lock")', "agentnb.host.host._lock"),
        ('kernel.run(f"{session}\\nhost.loop()._tasks")', ")._tasks"),
    ],
)
def test_a_private_name_in_a_test_is_found(code: str, name: str) -> None:
    """By attribute, import, `getattr`, and in code that a kernel runs."""
    assert list(reached(ast.parse(code))) == [name]


@pytest.mark.parametrize("code", ["self._own", "cls._own", "turn._repr_html_()", "x.__class__", "a = '1._2 ._ x_.y'"])
def test_own_and_public_names_are_not_found(code: str) -> None:
    """Attributes of `self` and `cls`, names with two underscores, names of IPython's display protocol."""
    assert list(reached(ast.parse(code))) == []


def test_no_typescript_test_casts_types_away() -> None:
    """Private fields of the front end begin with ``#``: only code without types could try to read one."""
    files = sorted((ROOT / "js/test").rglob("*.ts*"))
    found = [f"{path.name}: {hit}" for path in files for hit in UNTYPED.findall(path.read_text(encoding="utf-8"))]
    assert (found, len(files) > 20) == ([], True)
