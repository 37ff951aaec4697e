"""The kinds of events: each is told somewhere as it is described, and the manual has them all."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agentnb.events import kinds
from agentnb.events.kinds import KINDS, Kind
from tests.conftest import ROOT

NAMES = {name: kind for name, kind in vars(kinds).items() if isinstance(kind, Kind)}


def names_in(node: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def told() -> Iterator[tuple[str, set[str]]]:
    """Each place where an event is told: which one, and with which fields."""
    for path in (ROOT / "agentnb").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if ".tell(" in source else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "tell":
                fields = {str(keyword.arg) for keyword in node.keywords}
                yield from ((NAMES[name].name, fields) for name in names_in(node.func.value) & NAMES.keys())


def test_every_kind_is_told_somewhere_and_with_its_fields() -> None:
    """No event is described that never comes, and none says what its description does not."""
    places = list(told())
    assert {name for name, _ in places} == KINDS.keys()
    for kind in KINDS.values():
        said = [fields for name, fields in places if name == kind.name]
        assert set[str]().union(*said) == kind.fields.keys(), kind.name


def test_the_manual_has_every_kind_with_its_fields() -> None:
    """`docs/reference/events.md`, which scripts/gen_events_docs.py writes."""
    page = (ROOT / "docs/reference/events.md").read_text(encoding="utf-8")
    for kind in KINDS.values():
        section = page.partition(f"### `{kind.name}`")[2].partition("###")[0]
        assert kind.about in section, kind.name
        assert [name for name in kind.fields if f"`{name.lstrip('_')}`" not in section] == []
