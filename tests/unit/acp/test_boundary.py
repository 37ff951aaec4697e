"""ACP ends in `agentnb/acp`: above it there is no method and no key of the protocol, and no message as a dictionary."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

ABOVE = ("host", "comm", "api", "ipython", "kernel")
METHOD = re.compile(r"(session|fs|terminal|elicitation|mcp)/[a-z_]+|\$/cancel_request|initialize|authenticate")
KEYS = {
    *("sessionUpdate", "sessionId", "toolCall", "toolCallId", "toolCallUpdate", "optionId", "configId", "modeId"),
    *(
        "currentModeId",
        "configOptions",
        "mcpServers",
        "serverId",
        "stopReason",
        "promptCapabilities",
        "mcpCapabilities",
    ),
    *("embeddedContext", "additionalDirectories", "requestedSchema", "elicitationId", "rawInput", "rawOutput"),
    *("agentCapabilities", "clientCapabilities", "authMethods", "terminalId", "methodId", "agentInfo", "mimeType"),
}
"""Names that only ACP's messages have."""
OWN = {
    "host/agents/extensions.py",  # what the protocol leaves to the two sides: the user's own JSON
    "host/changes/notebook_cells.py",  # a notebook's JSON
    "host/changes/open_notebook.py",  # as well
    "host/conversation.py",
}

OURS = {"host/changes/attribution.py", "host/changes/items.py", "host/changes/records.py"}
"""Where ``toolCall`` is a word of change sets: who made a change."""


def sources(*packages: str) -> Iterator[tuple[str, ast.Module]]:
    """The modules of *packages*, by path."""
    for package in packages:
        for path in sorted((ROOT / "agentnb" / package).rglob("*.py")):
            yield path.relative_to(ROOT / "agentnb").as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def docstrings(tree: ast.Module) -> set[int]:
    """The constants that are documentation."""
    return {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def words(tree: ast.Module) -> set[str]:
    """Every text in the code of a module."""
    said = docstrings(tree)
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in said)
    return {node.value for node in constants if isinstance(node.value, str)}


@pytest.mark.parametrize("package", ["host"])
def test_the_host_when_it_is_read_has_no_word_of_acp(package: str) -> None:
    """No method, no key: another version of the protocol is another mapper."""
    found = {
        (path, word)
        for path, tree in sources(package)
        for word in words(tree)
        if (word in KEYS or METHOD.fullmatch(word)) and not (path in OURS and word == "toolCall")
    }
    assert found == set()


def test_the_host_when_it_is_read_takes_no_message_as_a_dictionary() -> None:
    """What enters it are structs; only what users exchange with agents themselves is JSON."""
    found = set()
    for path, tree in sources("host"):
        arguments = (
            each
            for node in ast.walk(tree)
            if isinstance(node, ast.arguments)
            for each in [*node.args, *node.kwonlyargs]
        )
        annotated = {ast.unparse(each.annotation) for each in arguments if each.annotation is not None}
        if path not in OWN and any(re.search(r"dict\[str, Any\]", each) for each in annotated):
            found.add(path)
    assert found == set()


def test_the_host_when_it_is_read_never_calls_the_mapper() -> None:
    """What an agent says is mapped in `acp/`; the host gets actions."""
    found = {
        path
        for path, tree in sources(*ABOVE)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module in {"agentnb.acp.mapper", "agentnb.acp.session_words", "agentnb.acp.tool_calls"}
    }
    assert found == set()


def test_the_search_when_a_module_has_words_of_acp_finds_them(tmp_path: Path) -> None:
    """It would see them."""
    tree = ast.parse('"""session/new"""\nx = {"sessionUpdate": "session/new"}\n')
    assert {word for word in words(tree) if word in KEYS or METHOD.fullmatch(word)} == {"sessionUpdate", "session/new"}
