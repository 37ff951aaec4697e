"""What a session's agent is given besides the conversation, as clients see it (AHP customizations)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentnb.agent.catalog import find
from agentnb.agent.mcp import mcp_servers
from agentnb.api.session import Session
from agentnb.host import Host
from agentnb.host.agents.customizations import customizations
from agentnb.host.environment import Environment
from agentnb.host.session_options import configuration
from tests.unit.host.conftest import hosted, until

SECRET = "sk-0123456789abcdefghij0123456789"


def given(folder: Path, **options: Any) -> tuple[dict[str, Any], ...]:
    return customizations(configuration(find("eliza"), folder, **options), Environment())


def test_customizations_name_components_tools_servers_and_skills_and_no_secret(tmp_path: Path) -> None:
    """In the order from the user to the agent; commands and addresses, which can hold keys, are not among them."""
    servers = mcp_servers({"docs": {"url": f"https://example.org/mcp?key={SECRET}"}})
    chain = ["rules", f"proxy --token {SECRET}"]
    (tmp_path / "AGENTS.md").write_text("x" * 400)
    told = given(tmp_path, components=servers, chain=chain, kernel_tools=True)
    assert [(each["type"], each["name"].partition(" ")[0]) for each in told] == [
        ("plugin", "rules"),
        ("plugin", "proxy"),
        ("mcpServer", "kernel"),
        ("mcpServer", "docs"),
        ("plugin", "jupyter-agentnb"),
    ]
    assert told[0]["_meta"]["agentnb"]["tokensOnce"] == 100
    assert [each["name"] for each in told[4]["children"]] == ["agentnb"]
    assert SECRET not in json.dumps(told)


def test_customizations_have_the_form_that_ahp_gives_them(tmp_path: Path) -> None:
    """Each has what AHP wants of its type, and an address (AHP ``Customization``)."""
    required = {
        "plugin": {"id", "uri", "name", "enabled", "type"},
        "mcpServer": {"id", "uri", "name", "type", "enabled", "state"},
        "skill": {"id", "uri", "name", "type"},
    }
    for each in given(tmp_path, chain=["rules"], kernel_tools=True):
        for one in (each, *each.get("children", ())):
            assert required[one["type"]] <= one.keys()
            assert ":/" in one["uri"]


def test_a_session_tells_its_clients_of_its_components_and_of_a_session_without_any_nothing(
    host: Host, tmp_path: Path
) -> None:
    """Once its agent is there; what changes nothing is not told again."""

    def opened(*chain: str) -> Session:
        return Session(host.loop.call(lambda: host.open(find("eliza"), cwd=tmp_path, chain=chain)))

    session, plain = opened("rules", "log"), opened()
    session.prompt("Hello").wait(30)
    state = hosted(host, session).session
    until(host, session, lambda: state.state.customizations)
    assert [each["name"] for each in state.state.customizations or ()] == ["rules", "log"]
    plain.prompt("Hello").wait(30)
    assert hosted(host, plain).session.state.customizations is None
