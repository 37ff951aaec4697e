"""The shipped components, alone and in a session."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import Session, UsageError
from agentnb.components import Component
from agentnb.kernel.code_runner import NotebookCell, NotebookView
from agentnb.plugins.chain.components.listing import listing
from agentnb.plugins.chain.components.shipped_components import (
    LONGEST,
    ContextComponent,
    RulesComponent,
    WireLog,
    outline,
    shipped,
)
from agentnb.plugins.chain.components.walkthrough import Walkthrough
from tests.conftest import ROOT
from tests.unit.api.conftest import PATIENCE

HELLO = [{"type": "text", "text": "hello"}]


async def first_prompt(folder: Path, agent: str = "scripted") -> tuple[str, int]:
    """Returns the first prompt of a session in *folder* as the agent gets it, and the second's number of blocks."""
    rules = RulesComponent()
    await rules.on_initialize({"agentInfo": {"name": agent}})
    await rules.on_opened("s", {"cwd": str(folder)})
    first = await rules.on_prompt("s", HELLO)
    second = await rules.on_prompt("s", HELLO)
    return "\n".join(block["text"] for block in first), len(second)


async def test_rules_are_sent_only_before_the_first_prompt(tmp_path: Path) -> None:
    """An agent that reads the file itself gets none, nor does one without the file."""
    (tmp_path / "AGENTS.md").write_text("Use tabs.", encoding="utf-8")
    prompt, second = await first_prompt(tmp_path)
    assert prompt == "The rules of this workspace, from its AGENTS.md:\n\nUse tabs.\nhello"
    assert second == 1
    assert await first_prompt(tmp_path, "OpenCode") == ("hello", 1)
    assert await first_prompt(tmp_path / "nowhere") == ("hello", 1)
    assert RulesComponent().tokens(tmp_path) == (0, 2)


async def test_long_rules_are_cut_and_outside_files_ignored(tmp_path: Path) -> None:
    """A link out of the workspace is not followed, a folder of that name is ignored, bad bytes are replaced."""
    inside, outside = tmp_path / "inside", tmp_path / "secret.md"
    inside.mkdir()
    outside.write_text("token", encoding="utf-8")
    (inside / "AGENTS.md").symlink_to(outside)
    assert await first_prompt(inside) == ("hello", 1)
    (inside / "AGENTS.md").unlink()
    (inside / "AGENTS.md").write_bytes(b"\xff" + b"x" * (2 * LONGEST))
    prompt, _ = await first_prompt(inside)
    assert f"(The file goes on; it has {2 * LONGEST + 1} bytes.)" in prompt
    assert len(prompt) < LONGEST + 200


def test_wire_log_contains_each_message_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only its owner may read it; values of secret variables and text like a key are masked."""
    path = tmp_path / "logs" / "wire.log"
    monkeypatch.setenv("AGENTNB_WIRE_LOG", str(path))
    monkeypatch.setenv("SCRIPTED_API_KEY", "open sesame please")
    log = WireLog()
    log.on_message("client", "agent", b'{"method":"session/prompt","params":"open sesame please"}\n')
    log.on_message("agent", "client", b'{"params":"ghp_' + b"a" * 36 + b'"}\n')
    log.close()
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == [
        'client → agent {"method":"session/prompt","params":"***"}',
        'agent → client {"params":"***"}',
    ]
    assert oct(path.stat().st_mode & 0o777) == "0o600"


def test_context_lists_environment_packages_and_notebook() -> None:
    """It names a missing kernel; an outline has headings and the first line of each code cell."""
    text = ContextComponent().surroundings()
    assert f"environment {sys.prefix}" in text
    assert "\n- pytest " in text
    assert text.endswith("Notebook: none")
    cells = (
        NotebookCell(id="a", kind="markdown", source="# Title\ntext\n## Part"),
        NotebookCell(id="b", kind="code", source="\nimport math\nmath.pi", count=3),
    )
    assert outline(NotebookView(name="n.ipynb", path=None, live=True, cells=cells)) == (
        "Notebook: n.ipynb, 2 cells\n- cell 1 a markdown: # Title\n- cell 1 a markdown: ## Part\n"
        "- cell 2 b code[3]: import math"
    )


class Polite(Component):
    async def on_prompt(self, session_id: str, prompt: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [*prompt, {"type": "text", "text": " please"}]


def test_session_applies_its_components_in_order(start: Callable[..., Session], tmp_path: Path) -> None:
    """A shipped one by its name, a class, and a program; the agent gets the prompt as they changed it."""
    (tmp_path / "AGENTS.md").write_text("Use tabs.", encoding="utf-8")
    program = f"{sys.executable} -S {ROOT / 'tests/agents/proxy.py'} shouts sdk"
    session = start("echo", components=["rules", program, Polite])
    answer = session.prompt("hi").wait(timeout=PATIENCE).text
    assert answer == "THE RULES OF THIS WORKSPACE, FROM ITS AGENTS.MD:\n\nUSE TABS.HI please"
    assert session.prompt("hi").wait(timeout=PATIENCE).text == "HI please"


def test_turn_error_names_the_component_that_died(start: Callable[..., Session]) -> None:
    session = start(
        "echo", components=[[sys.executable, str(ROOT / "tests/agents/proxy.py"), "dies_at_session/prompt"]]
    )
    turn = session.prompt("hi")
    turn.wait(timeout=PATIENCE, check=False)
    assert "The component 'proxy.py' stopped unexpectedly (exit code 9)" in str(turn.error)


def test_start_error_names_the_wire_log_once(
    start: Callable[..., Session], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path is relative to the user's home and comes between the error and the agent's last output."""
    monkeypatch.setenv("AGENTNB_WIRE_LOG", str(home / "logs/start.log"))
    turn = start("opens_nothing", components=["log"]).prompt("hi")
    turn.wait(timeout=PATIENCE, check=False)
    assert turn.error is not None
    message = turn.error.message
    assert "code 1). Log: `~/logs/start.log`. Last output:\nnode: cannot find module 'zod'" in message
    assert (message.count("start.log"), message.count("components=")) == (1, 0)
    assert "session/new" in (home / "logs/start.log").read_text(encoding="utf-8")


@pytest.mark.parametrize("components", ["rules", ["unclosed 'quote"], [""], [3], [[]], {"rules": 1}])
def test_invalid_components_are_refused(start: Callable[..., Session], components: Any) -> None:
    with pytest.raises(UsageError, match="component"):
        start("echo", components=components)


def test_setting_with_an_unknown_component_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python writes nothing; the error for a line of the file has its place."""
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path))
    with pytest.raises(
        UsageError, match=r"There is no component and no program called 'sparkle'\. Shipped components: "
    ):
        agentnb.settings().set("components", ["sparkle --fast"])
    assert [*tmp_path.iterdir()] == []
    path = tmp_path / "settings.toml"
    path.write_text('# mine\ncomponents = ["rules", "sparkle"]\n')
    (problem,) = agentnb.settings().problems
    assert problem.startswith(f"{path}, line 2, components: There is no component and no program called 'sparkle'.")


def test_listing_shows_order_cost_and_disabled_components(tmp_path: Path) -> None:
    """The components of the settings come first, in order; a program's cost is not known."""
    (tmp_path / "AGENTS.md").write_text("x" * 400, encoding="utf-8")
    lines = listing(["my-proxy --flag", "rules"], tmp_path).splitlines()
    rows = [line.split()[:2] for line in lines]
    assert rows[:4] == [["component", "tokens"], ["1", "my-proxy"], ["2", "rules"], ["off", "context"]]
    assert rows[-2:] == [["off", "walkthrough"], ["off", "log"]]
    assert lines[1].split(maxsplit=2)[2].split("  ")[0] == "not known"
    assert "0 a turn, 100 once" in lines[2]
    assert all(component.about for component in shipped())


async def walked(walkthrough: Walkthrough, *steps: Any) -> tuple[str, bool]:
    (tool,) = walkthrough.tools
    answer = await tool.call({"title": "How it fits", "steps": list(steps)})
    return answer["content"][0]["text"], answer.get("isError", False)


async def test_walkthrough_is_added_to_the_tool_call_that_shows_it(tmp_path: Path) -> None:
    """Cells by their ids, files by their lines; another call that ends meanwhile gets nothing."""
    (tmp_path / "model.py").write_text("a = 1\nb = 2\n")
    cells = (NotebookCell(id="c1", kind="code", source="fit()", count=3),)
    notebook = NotebookView(name="fit.ipynb", path=None, live=True, cells=cells)

    class Runner:
        def notebook(self, *, outputs: bool, named: str | None = None) -> NotebookView:
            del outputs, named
            return notebook

    walkthrough = Walkthrough(Runner)  # type: ignore[arg-type]
    await walkthrough.on_opened("s", {"cwd": str(tmp_path)})
    call = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "walkthrough_show_walkthrough"}
    other = {"sessionUpdate": "tool_call_update", "toolCallId": "o", "status": "completed"}
    assert walkthrough.on_update("s", call) == call
    steps = ({"text": "First.", "cell": "3"}, {"text": "Then.", "file": "model.py", "line": 2}, {"text": "Done."})
    assert await walked(walkthrough, *steps) == ("The user sees the 3 steps now, one at a time.", False)
    assert walkthrough.on_update("s", other) == other
    ended = walkthrough.on_update("s", {**other, "toolCallId": "t"})
    assert ended is not None
    assert ended["_meta"]["agentnb"]["walkthrough"] == {
        "title": "How it fits",
        "steps": [
            {"text": "First.", "cell": "c1", "place": "fit.ipynb, cell [3]"},
            {"text": "Then.", "file": "model.py", "line": 2, "place": "model.py:2"},
            {"text": "Done."},
        ],
    }


async def test_walkthrough_with_invalid_steps_is_refused(
    tmp_path: Path,
) -> None:
    """No cell without a notebook, file outside the workspace, line behind the end, or step without a text."""
    (tmp_path / "model.py").write_text("a = 1\n")
    walkthrough = Walkthrough()
    await walkthrough.on_opened("s", {"cwd": str(tmp_path)})
    for wrong in (
        {"text": "x", "cell": "c1"},
        {"text": "x", "file": "../other.py"},
        {"text": "x", "file": "gone.py"},
        {"text": "x", "file": "model.py", "line": 2},
        {"text": "x", "file": "model.py", "line": "1"},
        {"text": " "},
        {"text": "x" * 5_000},
        {},
        7,
    ):
        assert (await walked(walkthrough, wrong))[1], wrong
    assert (await walked(walkthrough))[1]
