"""The table of conformance in the docs: each row names a test that exists."""

from __future__ import annotations

import re

import pytest

from agentnb.plugins.chain.conductor.mcp_bridge import declared
from tests.conftest import ROOT


def test_each_row_of_the_conformance_table_names_a_test() -> None:
    """No row without a test, no test that is gone."""
    page = (ROOT / "docs/reference/conductor.md").read_text(encoding="utf-8").partition("## Conformance")[2]
    rows = [line for line in page.splitlines() if line.startswith("| ")][2:]
    sources = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests/unit/plugins/chain").glob("test_*.py")
    )
    assert len(rows) >= 19
    for row in rows:
        (named,) = re.findall(r"`(test_\w+)` \|$", row)
        assert f"def {named}(" in sources


@pytest.mark.parametrize(
    ("server", "params"),
    [
        ({"type": "acp", "name": "a", "id": "1"}, {"acpId": "1"}),
        ({"type": "acp", "name": "a", "serverId": "2"}, {"serverId": "2"}),
        ({"type": "acp", "name": "a", "id": "1", "serverId": "2"}, {"acpId": "1", "serverId": "2"}),
        ({"type": "http", "name": "a", "url": "acp:3", "headers": []}, {"acp_url": "acp:3"}),
        ({"type": "http", "name": "a", "url": "http://localhost"}, None),
        ({"name": "a", "command": "x"}, None),
        ({}, None),
    ],
)
def test_server_over_acp_is_recognized_in_each_form(server: dict[str, object], params: dict[str, str] | None) -> None:
    """The text's, the schema's and the older one; other servers are left as they are."""
    found = declared(server)
    assert (None if found is None else found.params) == params
