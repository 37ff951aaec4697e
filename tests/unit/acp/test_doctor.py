"""The doctor's findings, each from a real process."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agentnb.acp.doctor import examine, examine_all
from agentnb.agent import AgentSpec, find
from tests.unit.acp.ear import scripted


async def test_the_built_in_agent_is_ready() -> None:
    """Nothing to do."""
    found = await examine(find("eliza"))
    assert (found.state, found.todo) == ("ready", None)
    assert found.version


@pytest.mark.parametrize(
    ("spec", "state", "said", "todo"),
    [
        (AgentSpec(name="x", title="X", command=("no-such",), install="get x"), "missing", "'no-such'", "get x"),
        (scripted("needs_login", login="x login"), "login", "wants a login", "x login"),
        (scripted("dies_at_start"), "broken", "ended with status 3", None),
        (scripted("silent", initialize_timeout=0.5), "broken", "did not answer", None),
        (scripted("echo", min_version="1.1", install="get x"), "old", "1.0 is older than 1.1", "get x"),
        (scripted("echo", min_version="1"), "ready", "answers", None),
    ],
    ids=lambda value: value.name if isinstance(value, AgentSpec) else None,
)
async def test_what_is_wrong_is_named_with_what_to_type(
    spec: AgentSpec, state: str, said: str, todo: str | None
) -> None:
    """Missing, not logged in, broken, too old."""
    found = await examine(spec)
    assert (found.state, found.todo) == (state, todo)
    assert said in found.message


async def test_a_terminal_login_is_the_line_to_type() -> None:
    """The agent's own, where the catalogue has none."""
    spec = scripted("wants_login")
    found = await examine(replace(spec, command=(*spec.command, "session")))
    assert (found.state, str(found.todo).endswith("--login")) == ("login", True)


async def test_several_are_examined_in_order() -> None:
    """One that fails does not spoil the others."""
    found = await examine_all([scripted("dies_at_start"), scripted("echo")])
    assert [each.state for each in found] == ["broken", "ready"]
