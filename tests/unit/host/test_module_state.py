"""Modules of ``host`` and ``agent`` hold nothing that others fill: what surrounds them comes through one port."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.conftest import ROOT

PACKAGE = ROOT / "agentnb"
LOWER = ("host", "agent")
FIXED = {
    "frozenset", "re.compile", "get_args", "TypeVar", "logger", "Effect", "ConfirmationOption", "ActionOrigin",
    "ServerAbout", "threading.Lock",
}  # fmt: skip
"""What makes a value that nobody can change, or one that holds no data."""
KEPT = {
    ("agentnb.host.environment", "_CURRENT"): "the port: what kernel, editors and settings provide, connected once",
    ("agentnb.host.host", "_current"): "this process's host, made and replaced by `current_host` alone",
    ("agentnb.host.host", "_pid"): "whose host that is: a forked process makes its own",
    ("agentnb.agent.npm_settings", "_ASKED"): "where npm said its settings are: asked once",
    ("agentnb.agent.guard", "GUARD"): "the processes to end with this one, which `agent` itself adds and takes out",
}
"""All that modules of the two packages hold and that changes, and why."""
CHANGES = {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}


@cache
def trees() -> dict[str, ast.Module]:
    """Every module of the package, parsed, by its dotted name."""
    return {_dotted(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def lower() -> dict[str, ast.Module]:
    """The modules of ``host`` and ``agent``."""
    return {name: tree for name, tree in trees().items() if name.startswith(tuple(f"agentnb.{each}" for each in LOWER))}


def held(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """What a module assigns at its top level: names and values."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from ((each.id, node.value) for each in node.targets if isinstance(each, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value


def changed(tree: ast.Module) -> Iterator[str]:
    """What a module changes: the roots and dotted names of targets, and of what is filled or emptied by a method."""
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign | ast.Delete):
            targets = node.targets
        elif isinstance(node, ast.AugAssign):
            targets = [node.target]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
            yield ast.unparse(node.func.value)
        for each in targets:
            if isinstance(each, ast.Attribute | ast.Subscript):
                yield ast.unparse(each.value)


def imported(tree: ast.Module) -> dict[str, str]:
    """What a module imports from the two packages: the name here, and its dotted name there."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in trees():
            found.update({each.asname or each.name: f"{node.module}.{each.name}" for each in node.names})
        elif isinstance(node, ast.Import):
            found.update({each.asname or each.name: each.name for each in node.names if each.name in trees()})
    names = set(lower())
    return {here: there for here, there in found.items() if there in names or there.rpartition(".")[0] in names}


def test_a_module_when_it_holds_what_can_change_is_named_with_the_reason() -> None:
    """A table is never written to, a value is of a kind that cannot change, and ``global`` is said here."""
    found = set()
    for name, tree in lower().items():
        own = set(changed(tree))
        for held_name, value in held(tree):
            is_table = isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)
            is_object = isinstance(value, ast.Call) and ast.unparse(value.func) not in FIXED
            if is_object or (is_table and held_name in own):
                found.add((name, held_name))
        found |= {(name, each) for node in ast.walk(tree) if isinstance(node, ast.Global) for each in node.names}
    assert found == set(KEPT)


def test_a_module_when_others_import_it_is_changed_by_none_of_them() -> None:
    """No attribute, no entry of a table is set from outside; the guard is the agents' own."""
    found = set()
    for name, tree in trees().items():
        own = set(changed(tree))
        found |= {(name, there) for here, there in imported(tree).items() if here in own}
    assert found == {("agentnb.agent.child", "agentnb.agent.guard.GUARD")}
