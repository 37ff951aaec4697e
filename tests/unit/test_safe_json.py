"""The inside: every reader of foreign JSON in the package survives it."""

from __future__ import annotations

import ast
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import agentnb
from agentnb.agent.catalog import read as read_agent
from agentnb.agent.mcp import mcp_servers
from agentnb.cassette.file import read as read_cassette
from agentnb.checkup.examination import disabled
from agentnb.errors import AgentnbError
from agentnb.host.changes.records import read_record as read_conversation_record
from agentnb.ipython.shell_code_runner import read_cells
from agentnb.plugins.export.sources import of_notebook
from agentnb.plugins.knowledge.skills.offers import SkillTrust
from agentnb.policy.settings import load
from agentnb.rpc import ACP, Connection
from agentnb.safe_json import read_json, read_record
from tests.unit.hostile_lines import hostile_lines

PACKAGE = Path(agentnb.__file__).parent


@given(hostile_lines())
def test_read_json_returns_a_value_or_raises_value_error(line: bytes) -> None:
    """The value can be encoded again."""
    try:
        value = read_json(line)
    except ValueError:
        return
    assert isinstance(str(value).encode(), bytes)


def test_only_safe_json_calls_json_loads() -> None:
    """`json.loads` raises RecursionError; only `safe_json` may call it."""
    calls = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if "json" in (source := path.read_text(encoding="utf-8")).lower()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and node.attr in {"loads", "load", "raw_decode"}
        and isinstance(node.value, (ast.Name, ast.Call))
        and "json" in ast.unparse(node.value).lower()
    ]
    alone = "plugins/evaluate/check_program.py"  # runs without agentnb: it reads only what agentnb wrote for it
    assert set(calls) == {"safe_json.py", alone}


def test_only_toml_file_reads_toml_from_users() -> None:
    """`msgspec` and `tomllib` raise RecursionError and UnicodeDecodeError, too."""
    sources = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    calls = {
        (name, ast.unparse(node.func))
        for name, source in sources.items()
        if "tomllib.loads" in source or "msgspec.json.decode" in source
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and (
            ast.unparse(node.func) == "tomllib.loads"
            or (ast.unparse(node.func) == "msgspec.json.decode" and ".read" in ast.unparse(node.args[0]))
        )
    }
    ours = {
        ("policy/commands/table.py", "tomllib.loads"),
        ("plugins/eliza/doctor.py", "tomllib.loads"),
    }  # the package's own files
    assert calls == ours | {("toml_file.py", "tomllib.loads")}


READERS: dict[str, Callable[[Path], Any]] = {
    "cassette": read_cassette,
    "notebook to export": of_notebook,
    "cells of a notebook": lambda path: read_cells(str(path), outputs=True),
    "MCP servers": mcp_servers,
    "trust in skills": lambda path: SkillTrust(path).trusted(),
}
"""Functions that read JSON files of users or programs and raise agentnb's errors."""


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 3_000, '{"a":' * 3_000 + "1" + "}" * 3_000, "\udcff", "\0"])
def test_unreadable_file_error_names_the_file(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape") + b"\n")
    with pytest.raises(AgentnbError, match=r"file\.json"):
        READERS[name](path)


def test_unreadable_page_config_disables_nothing(tmp_path: Path) -> None:
    """JupyterLab ignores them, too."""
    path = tmp_path / "page_config.json"
    path.write_text("[" * 100_000)
    assert [*disabled([path])] == []


def test_too_deep_policy_file_is_reported(tmp_path: Path) -> None:
    """TOML nests too; an agent's description fails the same way."""
    path = tmp_path / "policy.toml"
    path.write_text("a = " + "[" * 50_000)
    problem = load(path, "user").problem
    assert problem is not None
    assert "policy.toml" in problem
    with pytest.raises(AgentnbError):
        read_agent("a = " + "[" * 50_000)


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 3_000 + b"1" + b"}" * 3_000, b"\xff", b"9" * 5_000])
def test_damaged_record_counts_as_missing(content: bytes, tmp_path: Path) -> None:
    """A kernel can do without its stored records."""
    path = tmp_path / "record.json"
    path.write_bytes(content)
    assert read_conversation_record(path) is None
    with pytest.raises(ValueError, match=r"\S"):
        read_record(content, dict[str, str])


@pytest.mark.parametrize("number", ["9" * 5_000, "-" + "1" * 6_000])
def test_too_long_number_in_a_policy_file_is_reported(number: str, tmp_path: Path) -> None:
    """Python raises another error for it than for a syntax error."""
    path = tmp_path / "policy.toml"
    path.write_text(f"a = {number}\n")
    problem = load(path, "project").problem
    assert problem is not None
    assert "too many digits" in problem
    with pytest.raises(AgentnbError, match="too many digits"):
        read_agent(f"name = {number}")


def test_invalid_line_is_logged_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    """It may contain a secret."""
    with caplog.at_level(logging.DEBUG, "agentnb"):
        Connection(lambda _: None, ACP).receive(b'{"token": "sk-very-secret", "deep":' + b"[" * 1_000)
    assert "bytes is not a message" in caplog.text
    assert "very-secret" not in caplog.text
