"""What a module loads while it is loaded: no two threads that import agentnb ever wait for each other.

A module waits for the packages that it is in, and for what it imports; where that is no circle, no order of two
threads' imports makes one of them see a module that is half there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from tests.conftest import ROOT
from tests.unit.test_import_graph import circles, modules


def loaded_statements(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run when a module is loaded: not those of functions, not those for type checkers."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and is_for_type_checkers(node):
            yield from loaded_statements(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for name in ("body", "orelse", "finalbody"):
                yield from loaded_statements(getattr(node, name, []))
            for each in getattr(node, "handlers", []):
                yield from loaded_statements(each.body)


def is_for_type_checkers(node: ast.If) -> bool:
    """Whether it is `if TYPE_CHECKING:`."""
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


@cache
def tree(module: str) -> ast.Module:
    """The module's syntax tree."""
    path = ROOT.joinpath(*module.split("."))
    source = (path / "__init__.py" if modules()[module] else path.with_suffix(".py")).read_text(encoding="utf-8")
    return ast.parse(source)


@cache
def lazy_names(package: str) -> dict[str, str]:
    """The module of each name that a package's `__init__` declares for type checkers; `*` where it declares all."""
    blocks = [node for node in tree(package).body if isinstance(node, ast.If) and is_for_type_checkers(node)]
    statements = [each for block in blocks for each in block.body if isinstance(each, ast.ImportFrom)]
    return {alias.name: str(each.module) for each in statements for alias in each.names}


def loaded_by(module: str) -> Iterator[str]:
    """The modules of agentnb that must be loaded before *module* is."""
    parts = module.split(".")
    yield from (".".join(parts[:length]) for length in range(1, len(parts)))
    for node in loaded_statements(tree(module).body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
            continue
        package = str(node.module)
        yield package
        for name in (alias.name for alias in node.names):
            inner = f"{package}.{name}"
            lazy = lazy_names(package) if modules().get(package) else {}
            yield inner if inner in modules() else lazy.get(name, lazy.get("*", package))


@cache
def edges() -> dict[str, frozenset[str]]:
    """What each module loads before it is loaded itself."""
    return {name: frozenset({*loaded_by(name)} & modules().keys()) - {name} for name in modules()}


def test_loading_when_each_module_waits_for_its_packages_too_has_no_circle() -> None:
    """Two threads that import at the same moment never wait for each other."""
    assert sorted(map(sorted, circles(edges()))) == []


def test_a_package_when_it_is_loaded_loads_no_module_of_its_own() -> None:
    """Its modules wait for it: that would be such a circle."""
    own = {
        (package, other)
        for package, others in edges().items()
        for other in others
        if modules()[package] and other.startswith(f"{package}.")
    }
    assert sorted(own) == []


def test_a_name_that_comes_at_its_first_use_is_no_module_of_its_package() -> None:
    """Importing that module would put it in the name's place."""
    shadowed = [f"{package}.{name}" for package in modules() if modules()[package] for name in lazy_names(package)]
    allowed = {"agentnb.errors", "agentnb.testing"}  # these are the modules themselves
    assert [name for name in shadowed if name in modules() and name not in allowed] == []
