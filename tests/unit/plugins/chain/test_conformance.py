"""The table of conformance in the docs: each row names an existing test."""

from __future__ import annotations

import pytest

from agentnb.plugins.chain.conductor.mcp_bridge import declared


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
    """The forms of the text, the schema and the older draft; other servers are left alone."""
    declaration = declared(server)
    assert (None if declaration is None else declaration.params) == params
