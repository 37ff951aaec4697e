"""ACP ends at ``agentnb.acp``: the host knows neither its fields nor its messages by name, but for five words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import acp.meta
import acp.schema
from pydantic import BaseModel

from tests.conftest import ROOT

HOST = ROOT / "agentnb/host"
KEPT = {
    ("changes", "toolCall"): "AHP's word for what a change is by",
    ("permissions", "exitCode"): "what tools of agents say in their own results, which ACP leaves to them",
    ("permissions", "allow_once"): "a value of the state's `option_kind`, which pages and programs read",
    ("permissions", "reject_once"): "the same",
    ("turns", "end_turn"): "a value of the state's `stop_reason`, which pages and programs read",
}
"""Words that ACP has as well, by the folder of the host in which they stand, and why they do."""


def acp_words() -> frozenset[str]:
    """The fields and kinds that only ACP writes so, and its methods, as the official SDK has them."""
    models = [each for each in vars(acp.schema).values() if isinstance(each, type) and issubclass(each, BaseModel)]
    fields = [field for each in models for field in each.model_fields.values()]
    aliases = {field.alias for field in fields if field.alias and re.search("[a-z][A-Z]", field.alias)}
    kinds = {each for field in fields for each in _literals(field.annotation) if "_" in each}
    methods = {*acp.meta.AGENT_METHODS.values(), *acp.meta.CLIENT_METHODS.values()}
    return frozenset(aliases | kinds | {each for each in methods if "/" in each})


def _literals(annotation: object) -> Iterator[str]:
    for each in getattr(annotation, "__args__", ()):
        if isinstance(each, str):
            yield each
        else:
            yield from _literals(each)


def strings(source: str) -> Iterator[str]:
    """The strings of a module that are no documentation."""
    tree = ast.parse(source)
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value


def test_words_of_acp_when_the_sdk_is_read_are_those_of_its_messages() -> None:
    """What is looked for below is really there to be found."""
    assert {"sessionUpdate", "toolCallId", "optionId", "rawInput", "stopReason"} <= acp_words()
    assert {"agent_message_chunk", "tool_call_update", "session/prompt"} <= acp_words()
    assert "sessionUpdate" in set(strings((ROOT / "agentnb/acp/mapper.py").read_text(encoding="utf-8")))


def test_host_when_it_reads_and_writes_uses_no_word_of_acp() -> None:
    """Another version of the protocol is another mapper in ``agentnb.acp``, and no change of the host."""
    words = acp_words()
    found = {
        (path.relative_to(HOST).parts[0], text)
        for path in sorted(HOST.rglob("*.py"))
        for text in strings(path.read_text(encoding="utf-8"))
        if text in words
    }
    assert found - set(KEPT) == set()
    assert set(KEPT) - found == set()
