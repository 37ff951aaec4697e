"""Verifications as JSON and as JUnit's XML, for CI."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.plugins.verify.result import Finding, Verification

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_json(results: Sequence[tuple[str, Verification]]) -> list[dict[str, Any]]:
    """The verifications as builtin values, each with the path that was given."""
    return [{"path": path, **msgspec.to_builtins(result)} for path, result in results]


def as_junit(results: Sequence[tuple[str, Verification]]) -> str:
    """The verifications as JUnit's XML: a test case for each notebook."""
    failed = sum(not result.ok for _, result in results)
    seconds = sum(result.seconds for _, result in results)
    cases = "".join(_case(path, result) for path, result in results)
    head = f'tests="{len(results)}" failures="{failed}" time="{seconds:.3f}"'
    suite = f'<testsuite name="agentnb verify" {head}>{cases}</testsuite>'
    return f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites {head}>{suite}</testsuites>\n'


def _case(path: str, result: Verification) -> str:
    failures = "".join(map(_failure, result.findings))
    notes = f"<system-out>{_text('; '.join(result.not_checked))}</system-out>" if result.not_checked else ""
    name = quoteattr(_FORBIDDEN.sub("?", Path(path).name))
    folder = quoteattr(_FORBIDDEN.sub("?", str(Path(path).parent)))
    return f'<testcase name={name} classname={folder} time="{result.seconds:.3f}">{failures}{notes}</testcase>'


def _failure(finding: Finding) -> str:
    message = quoteattr(_FORBIDDEN.sub("?", finding.cause))
    return f"<failure type={quoteattr(finding.kind)} message={message}>{_text(str(finding))}</failure>"


def _text(text: str) -> str:
    return escape(_FORBIDDEN.sub("?", text))
