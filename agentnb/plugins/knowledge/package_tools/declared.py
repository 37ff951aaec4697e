"""A tool that a package declares: a function that an entry point names, read from its source and not imported."""

from __future__ import annotations

import ast
import hashlib
import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.distributions import read_entry_points
from agentnb.plugins.knowledge.skills.skill_files import read_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ENTRY_POINTS = "agentnb.tools"
MOST_TOOLS = 100
"""Tools of one package; others are left out."""
MOST_FILES = 5_000
LONGEST_DESCRIPTION = 1_024
_COMPILED = (".so", ".pyd", ".dll", ".dylib")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}


class ToolEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry point: the name of a tool, and the function that it is."""

    name: str
    module: str
    function: str

    @property
    def target(self) -> str:
        """Returns the function as entry points name it."""
        return f"{self.module}:{self.function}"


class DeclaredTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as its source declares it."""

    entry: ToolEntry
    path: Path
    signature: str
    description: str
    source: str
    parameters: dict[str, Any]
    is_async: bool = False


def read_entries(text: str) -> list[ToolEntry]:
    """Returns the tools that a distribution's ``entry_points.txt`` names; for a duplicate name the first counts."""
    entries: dict[str, ToolEntry] = {}
    for name, target in read_entry_points(text, ENTRY_POINTS):
        module, _, function = target.partition(":")
        parts = [*module.split("."), function]
        if all(each.isidentifier() for each in parts) and name.replace("-", "_").isidentifier():
            entries.setdefault(name, ToolEntry(name=name, module=module, function=function))
    return [*entries.values()][:MOST_TOOLS]


def read_tool(site: Path, entry: ToolEntry) -> DeclaredTool:
    """The tool of *entry*, whose package is in the folder *site*."""
    path = module_file(site, entry.module)
    if path is None:
        raise UsageError(f"{entry.target} is not a readable Python file.")
    text = read_file(path.parent, path.name)
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError(f"{path} is not Python that can be read.") from None
    functions = [each for each in body if isinstance(each, _FUNCTIONS) and each.name == entry.function]
    if not functions:
        raise UsageError(f"{path} defines no function {entry.function!r} of its own.")
    function = functions[-1]
    description = " ".join((ast.get_docstring(function) or "").split())
    if not 0 < len(description) <= LONGEST_DESCRIPTION:
        raise UsageError(f"The docstring of {entry.target} has 1 to {LONGEST_DESCRIPTION:,} characters, for agents.")
    return DeclaredTool(
        entry=entry,
        path=path,
        signature=f"{entry.name}({ast.unparse(function.args)})",
        description=description,
        source=ast.get_source_segment(text, function) or "",
        parameters=_parameters(function),
        is_async=isinstance(function, ast.AsyncFunctionDef),
    )


def module_file(site: Path, module: str) -> Path | None:
    """The file of a module, in the folder *site* and nowhere else."""
    base = site.joinpath(*module.split("."))
    for path in (base / "__init__.py", base.with_name(f"{base.name}.py")):
        if path.is_file() and site.resolve() in path.resolve().parents:
            return path
    return None


def digest_of_tool(site: Path, entry: ToolEntry) -> str:
    """Returns a digest of what a call can run: the package's Python files, and sizes and times of compiled ones."""
    top = site / entry.module.split(".")[0]
    states = tuple(_states(top if top.is_dir() else top.with_suffix(".py")))
    return _digest(entry.target, states)


def _states(top: Path) -> Iterator[tuple[str, int, int]]:
    left = MOST_FILES
    places: Iterable[tuple[str, list[str], list[str]]]
    places = os.walk(top) if top.is_dir() else [(str(top.parent), [], [top.name])]
    for folder, folders, files in places:
        folders[:] = sorted(each for each in folders if each != "__pycache__")
        for name in sorted(files):
            if name.endswith((".py", *_COMPILED)):
                path = Path(folder, name)
                status = path.stat()
                yield str(path), status.st_size, status.st_mtime_ns
                left -= 1
                if left <= 0:
                    raise UsageError(f"{top} has more than {MOST_FILES:,} files of code; nobody can look at them.")


@lru_cache(maxsize=256)
def _digest(target: str, states: tuple[tuple[str, int, int], ...]) -> str:
    digest = hashlib.sha256(target.encode())
    for path, size, time in states:
        digest.update(f"{len(path)} {path} {size} ".encode("utf-8", "surrogateescape"))
        digest.update(Path(path).read_bytes() if path.endswith(".py") else str(time).encode())
    return digest.hexdigest()


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, Any]:
    """The JSON schema of a function's arguments, by their annotations."""
    arguments = function.args
    if arguments.vararg or arguments.kwarg or arguments.posonlyargs:
        raise UsageError(f"{function.name} takes arguments without names (*, ** or /), which a tool cannot have.")
    required = arguments.args[: len(arguments.args) - len(arguments.defaults)]
    required += [
        each for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None
    ]
    properties = {each.arg: _schema(function.name, each) for each in (*arguments.args, *arguments.kwonlyargs)}
    return {
        "type": "object",
        "properties": properties,
        "required": [each.arg for each in required],
        "additionalProperties": False,
    }


def _schema(function: str, argument: ast.arg) -> dict[str, Any]:
    schema = _of(argument.annotation)
    if schema is None:
        problem = "has no type" if argument.annotation is None else f"has the type {ast.unparse(argument.annotation)}"
        hint = (
            "An argument of a tool can be str, int, float, bool, a list of these, a Literal of strings, or "
            "one of these or None."
        )
        raise UsageError(f"The argument {argument.arg!r} of {function} {problem}. {hint}")
    return schema


def _of(annotation: ast.expr | None) -> dict[str, Any] | None:
    match annotation:
        case ast.Constant(value=str() as text):
            try:
                return _of(ast.parse(text, mode="eval").body)
            except (SyntaxError, ValueError, RecursionError):
                return None
        case ast.Name(id=name) if name in _TYPES:
            return {"type": _TYPES[name]}
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _of(left)
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return _of(inner)
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            items = _of(inner)
            return None if items is None or items["type"] == "array" else {"type": "array", "items": items}
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            values = [*inner.elts] if isinstance(inner, ast.Tuple) else [inner]
            texts = [each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            return {"type": "string", "enum": texts} if texts and len(texts) == len(values) else None
    return None
