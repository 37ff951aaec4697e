"""The shipped components in a session, and the command that lists them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import Session, UsageError
from agentnb.state import ToolCallResponsePart
from tests.unit.api.conftest import PATIENCE
from tests.unit.forked import run_agentnb
from tests.unit.host.conftest import kernel
from tests.unit.host.kernels import Kernel
from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import Tools
from tests.unit.plugins.chain.conducted import PROXY, PYTHON, Named, Polite

__all__ = ["kernel"]  # the fixture

Start = Callable[..., Session]
RULES = "The rules of this workspace, from its AGENTS.md:\n\n"


def said(session: Session, prompt: str = "hello") -> str:
    return session.prompt(prompt).wait(PATIENCE).text


def test_session_applies_its_components_in_order(start: Start, tmp_path: Path) -> None:
    """A shipped one by its name, a class, and a program; the agent gets the prompt as they changed it.

    The rules of the workspace come before the first prompt only.
    """
    (tmp_path / "AGENTS.md").write_text("Use tabs.", encoding="utf-8")
    session = start("echo", components=["rules", f"{PYTHON} {PROXY} shouts sdk", Polite])
    assert said(session) == f"<{RULES.upper()}USE TABS.><HELLO>< please>"
    assert said(session) == "<HELLO>< please>"


def test_rules_are_not_sent_to_an_agent_that_reads_them(start: Start, tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.", encoding="utf-8")
    assert said(start("echo", components=["rules", Named])) == "hello"


def test_long_rules_are_cut_and_outside_files_ignored(start: Start, tmp_path: Path) -> None:
    """A link out of the workspace is not followed, bad bytes are replaced."""
    rules, outside = tmp_path / "AGENTS.md", tmp_path.parent / "secret.md"
    outside.write_text("token", encoding="utf-8")
    rules.symlink_to(outside)
    assert said(start("echo", components=["rules"])) == "hello"
    rules.unlink()
    rules.write_bytes(b"\xff" + b"x" * 65_536)
    text = said(start("echo", components=["rules"]))
    assert "(The file goes on; it has 65537 bytes.)" in text
    assert len(text) < 33_000


def test_wire_log_contains_each_message_without_secrets(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its owner may read it; values of secret variables and text like a key are masked."""
    path = tmp_path / "logs" / "wire.log"
    monkeypatch.setenv("AGENTNB_WIRE_LOG", str(path))
    monkeypatch.setenv("SCRIPTED_API_KEY", "open sesame please")
    session = start("echo", components=["log"])
    for prompt in ("open sesame please", f"ghp_{'a' * 36}"):
        assert said(session, prompt) == prompt
    session.close()
    text = path.read_text(encoding="utf-8")
    assert text.count('"method":"session/prompt"') == 2
    assert text.replace('": "', '":"').count('"text":"***"') == 4
    assert "sesame" not in text
    assert "ghp_" not in text
    assert oct(path.stat().st_mode & 0o777) == "0o600"


@pytest.fixture
def page(host: Any, tools: Tools) -> Any:
    """Returns the page of a notebook in the kernel of the host."""
    host.environment.connect(shell=tools)
    made = NotebookPage("fit.ipynb", {"a": "# Title\ntext\n## Part", "c1": "\nimport math\nfit()"})
    made.cells[0]["kind"] = "markdown"
    made.cells[1]["count"] = 3
    made.tell()
    yield made
    made.close()


def test_context_lists_environment_packages_and_notebook(start: Start, kernel: Kernel, page: NotebookPage) -> None:
    """It names a missing kernel; an outline has headings and the first line of each code cell."""

    def surroundings(session: Session) -> str:
        return str(json.loads(said(session, "context surroundings {}"))["content"][0]["text"])

    text = surroundings(start("starts_mcp", components=["context"]))
    assert f"environment {sys.prefix}" in text
    assert "\n- pytest " in text
    assert text.endswith("Notebook: none")
    text = surroundings(kernel.start("starts_mcp", chain=("context",)))
    assert text.endswith(
        "Notebook: fit.ipynb, 2 cells\n- cell 1 a markdown: # Title\n- cell 1 a markdown: ## Part\n"
        "- cell 2 c1 code[3]: import math"
    )


def steps_shown(*steps: Any) -> dict[str, Any]:
    """Returns the agent's call that shows a walkthrough of *steps*."""
    return {"start": ["show_walkthrough", {"title": "How it fits", "steps": list(steps)}]}


def updated(call: str, **fields: Any) -> dict[str, Any]:
    return {"update": {"toolCallId": call, **fields}}


def test_walkthrough_is_added_to_the_tool_call_that_shows_it(
    kernel: Kernel, page: NotebookPage, tmp_path: Path
) -> None:
    """Cells by their ids, files by their lines; another call that ends meanwhile gets nothing."""
    (tmp_path / "model.py").write_text("a = 1\nb = 2\n")
    steps = ({"text": "First.", "cell": "3"}, {"text": "Then.", "file": "model.py", "line": 2}, {"text": "Done."})
    does = [
        updated("shows", title="walkthrough_show_walkthrough"),
        updated("other", title="Other"),
        *(steps_shown(*steps), {"end": 1}),
        *(updated(call, sessionUpdate="tool_call_update", status="completed") for call in ("other", "shows")),
    ]
    turn = kernel.start("calls_kernel", chain=("walkthrough",)).prompt(json.dumps(does)).wait(PATIENCE)
    assert turn.snapshot is not None
    calls = [each.tool_call for each in turn.snapshot.response_parts if isinstance(each, ToolCallResponsePart)]
    assert {call.tool_call_id: call.meta for call in calls} == {
        "shows": {
            "agentnb": {
                "walkthrough": {
                    "title": "How it fits",
                    "steps": [
                        {"text": "First.", "cell": "c1", "place": "fit.ipynb, cell [3]"},
                        {"text": "Then.", "file": "model.py", "line": 2, "place": "model.py:2"},
                        {"text": "Done."},
                    ],
                }
            }
        },
        "other": None,
    }


def test_walkthrough_with_invalid_steps_is_refused(start: Start, tmp_path: Path) -> None:
    """No cell without a notebook, file outside the workspace, line behind the end, or step without a text."""
    (tmp_path / "model.py").write_text("a = 1\n")
    wrong: list[list[Any]] = [
        [{"text": "x", "cell": "c1"}],
        [{"text": "x", "file": "../other.py"}],
        [{"text": "x", "file": "gone.py"}],
        [{"text": "x", "file": "model.py", "line": 2}],
        [{"text": "x", "file": "model.py", "line": "1"}],
        [{"text": " "}],
        [{"text": "x" * 5_000}],
        [{}],
        [7],
        [],
    ]
    does = [each for steps in wrong for each in (steps_shown(*steps), {"end": 1})]
    turn = start("calls_kernel", components=["walkthrough"]).prompt(json.dumps(does)).wait(PATIENCE)
    assert turn.text.split() == ["false"] * len(wrong)


@pytest.mark.parametrize("point", ["initialize", "session/prompt"])
def test_turn_error_names_the_component_that_died(start: Start, point: str) -> None:
    """At the start of the agent as in its turn."""
    session = start("echo", components=[[sys.executable, str(PROXY), f"dies_at_{point}"]])
    turn = session.prompt("hi").wait(PATIENCE, check=False)
    assert "The component 'proxy.py' stopped unexpectedly (exit code 9)" in str(turn.error)


def test_start_error_names_the_wire_log_once(start: Start, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path is relative to the user's home and comes between the error and the agent's last output."""
    monkeypatch.setenv("AGENTNB_WIRE_LOG", str(home / "logs/start.log"))
    turn = start("opens_nothing", components=["log"]).prompt("hi").wait(PATIENCE, check=False)
    assert turn.error is not None
    message = turn.error.message
    assert "code 1). Log: `~/logs/start.log`. Last output:\nnode: cannot find module 'zod'" in message
    assert (message.count("start.log"), message.count("components=")) == (1, 0)
    assert "session/new" in (home / "logs/start.log").read_text(encoding="utf-8")


@pytest.mark.parametrize("components", ["rules", ["unclosed 'quote"], [""], [3], [[]], {"rules": 1}])
def test_invalid_components_are_refused(start: Start, components: Any) -> None:
    with pytest.raises(UsageError, match="component"):
        start("echo", components=components)


def test_setting_with_an_unknown_component_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python writes nothing; the error for a line of the file has its place."""
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path))
    unknown = r"There is no component and no program called 'sparkle'\. Shipped components: "
    with pytest.raises(UsageError, match=unknown):
        agentnb.settings().set("components", ["sparkle --fast"])
    assert [*tmp_path.iterdir()] == []
    path = tmp_path / "settings.toml"
    path.write_text('# mine\ncomponents = ["rules", "sparkle"]\n')
    (problem,) = agentnb.settings().problems
    assert problem.startswith(f"{path}, line 2, components: There is no component and no program called 'sparkle'.")


def test_components_command_shows_order_and_cost(tmp_path: Path) -> None:
    """The components of the settings come first, in order; a program's cost is not known."""
    (tmp_path / "AGENTS.md").write_text("x" * 400, encoding="utf-8")
    done = run_agentnb("components", "cat --flag", "rules", cwd=tmp_path, AGENTNB_CONFIG_DIR=str(tmp_path / "config"))
    written, *lines = done.stdout.splitlines()
    assert written.startswith("Written to ")
    assert [line.split()[:2] for line in lines[:4]] == [
        ["component", "tokens"],
        ["1", "cat"],
        ["2", "rules"],
        ["off", "context"],
    ]
    assert [line.split()[:2] for line in lines[-2:]] == [["off", "walkthrough"], ["off", "log"]]
    assert "not known" in lines[1]
    assert "0 a turn, 100 once" in lines[2]
