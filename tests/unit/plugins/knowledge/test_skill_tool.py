"""The tool that lists and reads skills, as an agent calls it."""

from __future__ import annotations

from tests.unit.kernel.shell_tools import Tools


def test_agent_lists_skills_and_reads_one(tools: Tools) -> None:
    """The skill of agentnb is always listed; a skill that is not trusted is not."""
    listed = tools.text("read_skill")
    assert "jupyter-agentnb/agentnb (jupyter-agentnb" in listed
    assert "Look before you run" not in listed
    assert "Look before you run" in tools.text("read_skill", skill="jupyter-agentnb/agentnb")
    assert tools.call("read_skill", skill="jupyter-agentnb/agentnb", file="../agentnb/../../../command.py")["isError"]
    assert tools.call("read_skill", skill="nope")["isError"]
    assert {request.kind for request in tools.requests} == {"read"}
