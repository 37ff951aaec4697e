"""The log of decisions: durable on disk, private, without secrets."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.unit.acp.conftest import Works
from tests.unit.forked import run_script


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the log, not made yet."""
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "made"))
    return tmp_path / "made/audit.jsonl"


def decided(works: Works, log: Path, *commands: str) -> list[dict[str, Any]]:
    """Returns the log's lines after *commands* were denied."""
    works.session.permissions = "deny"
    works.turn(*(("terminal/create", {"command": command}) for command in commands))
    return [json.loads(line) for line in log.read_text().splitlines() if '"kind":"terminal"' in line]


def test_audit_log_is_private_with_one_line_per_decision(works: Works, log: Path) -> None:
    """A large file is moved aside first; one old file is kept."""
    lines = decided(works, log, "ls", "pwd")
    assert [(line["what"], line["outcome"], line["by"]) for line in lines] == [
        ("ls", "deny", "mode"),
        ("pwd", "deny", "mode"),
    ]
    assert 'permissions="deny"' in lines[1]["reason"]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    os.truncate(log, 8 * 1024 * 1024 + 1)
    assert [line["what"] for line in decided(works, log, "id")] == ["id"]
    assert log.with_name("audit.1.jsonl").stat().st_size == 8 * 1024 * 1024 + 1


WITHOUT_LOG = """
import os, sys
import agentnb
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
shell.run_line_magic("load_ext", "agentnb")
session = agentnb.start("eliza", permissions="deny")
session.prompt("/run ls").wait()
print(repr(shell.run_line_magic("agents", "policy")))
os.unlink(sys.argv[1])
session.prompt("/run ls").wait()
print("now", repr(shell.run_line_magic("agents", "policy")))
session.close()
"""


def test_audit_log_reports_a_failed_write_without_raising(tmp_path: Path) -> None:
    """The decision is listed all the same; the warning disappears once writing works again."""
    (tmp_path / "file").write_text("")
    ended = run_script(WITHOUT_LOG, str(tmp_path / "file"), cwd=tmp_path, AGENTNB_DATA_DIR=str(tmp_path / "file/data"))
    before, after = ended.stdout.split("\nnow ")
    assert (f"{tmp_path}/file/data/audit.jsonl could not be written" in before, "execute ls" in before) == (True, True)
    assert "could not be written" not in after


SECRET = "s3cr3t-Value-12345"
COMMANDS = [
    f"API_KEY={SECRET} run",
    f"export AWS_SECRET_ACCESS_KEY='{SECRET}'",
    f'curl -H "Authorization: Bearer {SECRET}" https://x',
    f"curl -H 'X-Api-Key: {SECRET}' https://x",
    f"curl -u ada:{SECRET} https://x",
    f"git clone https://ada:{SECRET}@host/x.git",
    f"tool --password {SECRET}",
    f"tool --password={SECRET}",
    f"tool --token={SECRET} --verbose",
    f"mysql -p{SECRET} db",
    f'curl -d \'{{"password": "{SECRET}"}}\' https://x',
    "tool sk-abcdefghijklmnop",
    "tool ghp_abcdefghijklmnopqrstuvwxyz",
    "tool AKIAABCDEFGHIJKLMNOP",
]


def test_audit_log_hides_secrets(works: Works, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By their names, by their form, and by the values of the environment's variables; also in rules and reasons."""
    commands = [*COMMANDS, f"echo {SECRET} | tool"]
    lines = decided(works, log, *COMMANDS)
    monkeypatch.setenv("MY_TOKEN", SECRET)
    lines = decided(works, log, commands[-1])
    assert (len(lines), [line["what"] for line in lines if "***" not in line["what"]]) == (len(commands), [])
    assert [words for words in (SECRET, "abcdefghij", "ABCDEFGHIJ") if words in log.read_text()] == []


def test_harmless_command_is_logged_unchanged(
    works: Works, log: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log must stay readable; ``PWD`` looks like a password's variable."""
    for name, value in {"PWD": str(workspace), "OLDPWD": "/home", "SSH_AUTH_SOCK": "/run/x/agent"}.items():
        monkeypatch.setenv(name, value)
    commands = ["ls -la", "git commit -m 'keys'", "pytest tests/test_token.py", "mkdir -p build"]
    commands.append(f"cat {workspace}/a.txt")
    assert [line["what"] for line in decided(works, log, *commands)] == commands
