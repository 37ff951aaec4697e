"""The import graph: no circle, and no arrow that runs back up the layers; imports for type checking count, too."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

from tests.conftest import ROOT

PACKAGE = ROOT / "agentnb"
TOP = {"agentnb", "agentnb.__main__", "agentnb.ports"}
"""The modules above all layers: they load what is asked for, or name types of every layer."""


@cache
def modules() -> dict[str, bool]:
    """Every module of the package, and whether it is a package itself."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        found[".".join(parts[:-1] if is_package else parts)] = is_package
    return found


def imports(module: str) -> Iterator[str]:
    """The modules of the package that *module* imports, wherever in it and for whatever."""
    path = ROOT.joinpath(*module.split("."))
    source = (path / "__init__.py" if modules()[module] else path.with_suffix(".py")).read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module in modules():
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules() else str(node.module) for name in inner)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "import_module":
            named = [each.value for each in node.args if isinstance(each, ast.Constant)]
            yield from (name for name in named if name in modules())
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and modules().get(node.value) is False:
            yield node.value  # whatever loads it; a package's name is also that of a logger


@cache
def graph() -> dict[str, frozenset[str]]:
    """What each module imports; a package only holds its modules, so the root of all is left out.

    The ports are left out as well: they name the types of what every layer hands a plug-in, and run nothing of it.
    """
    return {
        name: frozenset(imports(name)) - {name, "agentnb"} if name not in TOP else frozenset() for name in modules()
    }


def circles(edges: dict[str, frozenset[str]]) -> set[frozenset[str]]:
    """The strongly connected components of more than one module (Tarjan, without recursion)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: set[frozenset[str]] = set()
    for root, first in edges.items():
        work = [(root, iter(sorted(first)))] if root not in order else []
        if work:
            order[root] = low[root] = len(order)
            stack.append(root)
        while work:
            name, rest = work[-1]
            for other in rest:
                if other not in order:
                    order[other] = low[other] = len(order)
                    stack.append(other)
                    work.append((other, iter(sorted(edges[other]))))
                    break
                if other in stack:
                    low[name] = min(low[name], order[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == order[name]:
                    component = stack[stack.index(name) :]
                    del stack[stack.index(name) :]
                    found |= {frozenset(component)} if len(component) > 1 else set()
    return found


@cache
def layers() -> dict[str, int]:
    """The height of each package, as the contract in pyproject.toml has it; 0 is the lowest."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    contract = next(each for each in settings["contracts"] if each["type"] == "layers")
    rows = [[name.strip(" ()") for name in row.split(":")] for row in reversed(contract["layers"])]
    return {f"agentnb.{name}": height for height, row in enumerate(rows) for name in row}


def height(module: str) -> int | None:
    """The height of the layer that *module* is in; None where it is in none."""
    return layers().get(".".join(module.split(".")[:2]))


def test_the_import_graph_when_type_checking_counts_has_no_circle() -> None:
    """A module can be understood with those below it alone."""
    assert sorted(map(sorted, circles(graph()))) == []


def test_an_import_when_layers_are_drawn_never_runs_back_up() -> None:
    """Not by a string that names a module either."""
    upwards = {
        (name, other)
        for name, others in graph().items()
        for other in others
        if name not in TOP
        and (here := height(name)) is not None
        and (there := height(other)) is not None
        and there > here
    }
    assert sorted(upwards) == []


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ({"a": "b", "b": "c", "c": "a", "d": "a"}, {"a", "b", "c"}),
        ({"a": "b", "b": "a", "c": "b", "d": "c"}, {"a", "b"}),
    ],
)
def test_circles_when_there_is_one_are_found(edges: dict[str, str], expected: set[str]) -> None:
    """The search itself sees a circle, and only what is in it."""
    assert circles({name: frozenset({other}) for name, other in edges.items()}) == {frozenset(expected)}
