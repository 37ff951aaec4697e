"""State, log and comm import nothing that stands above them; imports for type checkers count."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import agentnb

PACKAGE = Path(agentnb.__file__).parent
BASE = {"clock", "credentials", "errors", "events", "folders", "ids", "json_rpc_codes", "safe_json", "state"}
ALLOWED = {
    "state": BASE,
    "log": BASE | {"log"},
    "comm": BASE | {"configuration", "log", "comm", "host", "kernel", "acp", "policy", "agent"},
}


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_when_types_count_lead_down_only(package: str) -> None:
    """Also those below ``TYPE_CHECKING`` and inside of functions."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (PACKAGE / package).glob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    modules |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    ours = {module.split(".")[1] for module in modules if module.startswith("agentnb.")}
    assert ours - ALLOWED[package] == set()
