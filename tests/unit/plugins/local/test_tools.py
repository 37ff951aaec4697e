"""The tools of `agentnb local`: each goes through the policy, and the model gets the real result."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from agentnb import Session, Turn
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.plugins.local.conftest import Chat, Models

WRITE: list[Any] = ["write_file", {"path": "new/notes.txt", "content": "Remember.\n"}]
EDIT: list[Any] = ["edit_file", {"path": "fit.py", "old_text": "step = 1.0", "new_text": "step = 0.5"}]


def steps(*calls: list[Any]) -> str:
    """Returns a prompt that makes the scripted model call *calls* one by one, then repeat the results."""
    return json.dumps([{"calls": [call]} for call in calls])


def results(turn: Turn) -> list[str]:
    """Returns the model's results of its calls."""
    texts: list[str] = json.loads(turn.wait(PATIENCE).text)
    return texts


def workspace(tmp_path: Path) -> Path:
    """Makes a workspace with a few files, and a file beside it."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "fit.py").write_text("def fit(x):\n    step = 1.0\n    return step * x\n", encoding="utf-8")
    (folder / "data.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    (folder / ".env").write_text("KEY=step\n", encoding="utf-8")
    (tmp_path / "outside.txt").write_text("step outside\n", encoding="utf-8")
    (folder / "link").symlink_to(tmp_path)
    return folder


@pytest.fixture(scope="module")
def session(chat: Chat, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Returns a session that allows all that the policy may allow, in a workspace that tests do not change."""
    return chat("scripted", cwd=workspace(tmp_path_factory.mktemp("shared")), permissions="allow")


def test_read_tools_return_files_lines_and_matches(session: Session) -> None:
    """Names, lines, and hits with their places; hidden files and files behind a link are left out."""
    turn = session.prompt(
        steps(
            ["list_files", {}],
            ["read_file", {"path": "fit.py", "first_line": 2, "lines": 1}],
            ["search", {"text": "STEP"}],
            ["search", {"text": "step", "pattern": "*.csv"}],
        )
    )
    assert results(turn) == [
        "data.csv\nfit.py",
        "    step = 1.0\n",
        "fit.py:2: step = 1.0\nfit.py:3: return step * x",
        "Nothing found.",
    ]
    kinds = [call.kind for call in turn.tool_calls if call.kind != "think"]
    assert kinds == ["search", "read", "search", "search"]


def test_edit_tools_change_files(chat: Chat, tmp_path: Path) -> None:
    """The tool call shows the change of the file; the turn's changes can be undone."""
    work = workspace(tmp_path)
    session = chat("scripted", cwd=work, permissions="allow")
    turn = session.prompt(steps(EDIT, WRITE))
    assert results(turn) == ["Done.", "Done."]
    assert "step = 0.5" in (work / "fit.py").read_text(encoding="utf-8")
    assert (work / "new/notes.txt").read_text(encoding="utf-8") == "Remember.\n"
    assert sorted(change.path for change in turn.files) == ["fit.py", "new/notes.txt"]


def test_command_returns_its_output_and_exit_code(session: Session) -> None:
    turn = session.prompt(steps(["run_command", {"command": "echo hello; exit 3"}]))
    assert results(turn) == ["It ended with exit code 3.\nhello\n"]
    assert [call.exit_code for call in turn.tool_calls if call.kind == "execute"] == [3]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["read_file", {"path": "../outside.txt"}], "outside"),
        (["list_files", {"folder": ".."}], "outside the working folder"),
        (["list_files", {"folder": "link"}], "outside the working folder"),
        (["edit_file", {**EDIT[1], "old_text": "step"}], "occurs 2 times in the file"),
        (["edit_file", {**EDIT[1], "old_text": "nowhere"}], "occurs 0 times in the file"),
        (["search", {"text": " "}], "is empty"),
        (["search", {"text": 5}], "must be of type string"),
        (["read_file", {}], "The argument 'path' is missing"),
        (["read_file", '{"path": '], "The arguments are not JSON"),
        (["read_file", "[1]"], "must be a JSON object"),
        (["format_disk", {}], "There is no tool 'format_disk'"),
    ],
)
def test_failed_tool_call_is_reported_to_the_model(session: Session, call: list[Any], message: str) -> None:
    """The call fails in the chat, too, and the turn continues."""
    turn = session.prompt(steps(call))
    [result] = results(turn)
    assert result.startswith("Failed: ")
    assert message in result
    assert [each.status for each in turn.tool_calls if each.kind != "think"] == ["failed"]


def test_wrong_tool_call_shows_the_user_only_a_short_title(session: Session) -> None:
    """The chat's own words say that the tool is missing or its arguments are wrong."""
    turn = session.prompt(steps(["format_disk", {}], ["read_file", {}]))
    assert len(results(turn)) == 2
    calls = [each for each in turn.tool_calls if each.kind != "think"]
    assert [each.title for each in calls] == ["Tool not available", "read_file: wrong arguments"]
    assert [each.text for each in calls] == ["", ""]


def test_denied_tool_call_does_nothing_and_is_reported(chat: Chat, tmp_path: Path) -> None:
    """The policy decides about edits and commands; the model learns of the refusal."""
    work = workspace(tmp_path)
    session = chat("scripted", cwd=work, permissions="deny")
    turn = session.prompt(steps(EDIT, WRITE, ["run_command", {"command": "touch owned"}]))
    assert ['permissions="deny"' in result for result in results(turn)] == [True] * 3
    assert sorted(path.name for path in work.iterdir()) == [".env", "data.csv", "fit.py", "link"]
    assert "step = 1.0" in (work / "fit.py").read_text(encoding="utf-8")


def test_two_tool_calls_of_one_answer_both_run(session: Session) -> None:
    """The results keep the order."""
    calls = [["read_file", {"path": "data.csv", "lines": 1}], ["list_files", {"pattern": "*.py"}]]
    assert results(session.prompt(json.dumps([{"calls": calls}]))) == ["x,y\n", "fit.py"]


def test_cancel_ends_a_running_command(chat: Chat, models: Models, tmp_path: Path) -> None:
    """The next prompt tells the model that the call did not finish."""
    work = workspace(tmp_path)
    session = chat("scripted", cwd=work, permissions="allow")
    os.mkfifo(work / "begun")
    turn = session.prompt(steps(["run_command", {"command": "echo > begun; sleep 600"}]))
    (work / "begun").read_text()  # until the command writes
    turn.cancel()
    assert turn.wait(PATIENCE).stop_reason == "cancelled"
    assert session.prompt(json.dumps([{"say": "Well."}])).wait(PATIENCE).text == "Well."
    sent = models.seen("Well.")[-1]["messages"]
    tool_results = [each["content"] for each in sent if each["role"] == "tool"]
    assert tool_results == ["Not run: the turn was interrupted."]


@pytest.mark.parametrize(
    ("permissions", "result", "status"),
    [("allow", "Failed: it did not work", "failed"), ("deny", "Failed: The user did not allow it.", "cancelled")],
)
def test_tool_of_a_user_mcp_server_needs_permission(chat: Chat, permissions: str, result: str, status: str) -> None:
    """A user's server gets a call only with permission; one that cannot start is named."""
    server = {"name": "my files", "command": sys.executable, "args": [str(AGENTS / "mcp_server.py")]}
    gone = {"name": "gone", "command": sys.executable, "args": ["-c", ""]}
    session = chat("scripted", permissions=permissions, mcp_servers=[server, gone])
    turn = session.prompt(steps(["my_files_fail", {}])).wait(PATIENCE)
    notice, _, answer = turn.text.partition("\n\n")
    assert notice == "> The MCP server gone cannot be used: it ended with exit code 0."
    assert json.loads(answer) == [result]
    assert [call.status for call in turn.tool_calls if call.title == "my_files_fail"] == [status]
