"""The components of the plug-in `chain` that give an agent a tool of the plug-in `knowledge`.

The inside: only a program that serves another client, such as an editor, has them without a conversation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb.plugins.chain.components.shipped_components import shipped
from tests.unit.api.conftest import PATIENCE
from tests.unit.plugins.knowledge.test_research import Led, led, tell

__all__ = ["led"]


async def test_tool_components_answer_without_a_kernel(tmp_path: Path) -> None:
    """They use the kernel tools' own words; a sentence explains what they cannot do."""
    tools = {each.name: each for component in shipped() for each in component.tools}
    (tmp_path / "model.py").write_text("def fit(data):\n    return data\n")
    for component in shipped():
        await component.on_opened("s", {"cwd": str(tmp_path)})

    async def call_tool(name: str, **arguments: Any) -> tuple[str, bool]:
        answer = await tools[name].call(arguments)
        return answer["content"][0]["text"], answer.get("isError", False)

    assert {"read_skill", "look_up_code", "research"} < tools.keys()
    assert "Work well" in (await call_tool("read_skill"))[0] or "jupyter-agentnb" in (await call_tool("read_skill"))[0]
    assert "model.py" in (await call_tool("look_up_code", question="definition", file="model.py", symbol="fit"))[0]
    outside = await call_tool("look_up_code", question="definition", file="/etc/passwd", symbol="fit")
    assert "outside the workspace" in outside[0]
    assert (await call_tool("research", question="How?", package="json"))[0].startswith(
        "This program cannot have a conversation"
    )
    assert (await call_tool("research", question="How?"))[0].startswith("research wants 'package'.")


def test_cancelling_a_turn_cancels_its_research(led: Led, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    with agentnb.start(command=led.command, components=["research"], cwd=tmp_path) as session:
        turn = session.prompt("ask Why?")
        question, lines = led.next()
        assert question == "Why?"
        tell(lines, "hang")
        turn.cancel()
        assert lines.readline() == "cancelled\n"
        turn.wait(timeout=PATIENCE, check=False)
        assert turn.stop_reason == "cancelled"
