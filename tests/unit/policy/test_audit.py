"""The log of decisions: bounded in memory, durable on disk, without secrets."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from agentnb.credentials import Credentials
from agentnb.policy.audit import KEPT, AuditLog, Record


def record(**fields: Any) -> Record:
    details: dict[str, Any] = {"what": "ls", "outcome": "allow", "by": "user", **fields}
    common: dict[str, Any] = {
        "time": "2026-01-01T00:00:00.000+00:00",
        "agent": "claude",
        "session": "claude:/1",
        "tab": "t",
        "turn": "1",
    }
    return Record(**common, kind="terminal", tool="execute", **details)


def test_audit_log_is_private_with_one_line_per_decision(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "made" / "audit.jsonl")
    log.add(record(rule="allow ls", source="user", scope="session"), {})
    log.add(record(what="pwd", outcome="deny", by="nobody", reason="no front end"), {})
    lines = [json.loads(line) for line in log.path.read_text().splitlines()]
    assert [line["what"] for line in lines] == ["ls", "pwd"]
    assert (lines[0]["rule"], lines[0]["scope"], lines[1]["reason"]) == ("allow ls", "session", "no front end")
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


def test_audit_log_keeps_only_the_last_decisions_in_memory(tmp_path: Path) -> None:
    """All are on disk."""
    log = AuditLog(tmp_path / "audit.jsonl")
    for number in range(KEPT + 3):
        log.add(record(what=str(number)), {})
    assert (log.records[0].what, len(log.records)) == ("3", KEPT)
    assert len(log.path.read_text().splitlines()) == KEPT + 3


def test_audit_log_moves_a_large_file_aside(tmp_path: Path) -> None:
    """One old file is kept."""
    log = AuditLog(tmp_path / "audit.jsonl")
    log.path.write_bytes(b"x" * (8 * 1024 * 1024 + 1))
    log.add(record(), {})
    assert (len(log.path.read_text().splitlines()), (tmp_path / "audit.1.jsonl").exists()) == (1, True)


def test_audit_log_reports_a_failed_write_without_raising(tmp_path: Path) -> None:
    """The decision stays in memory; the warning disappears once writing works again."""
    (tmp_path / "file").write_text("")
    log = AuditLog(tmp_path / "file" / "audit.jsonl")
    log.add(record(), {})
    assert (len(log.records), log.problem is not None and str(log.path) in log.problem) == (1, True)
    (tmp_path / "file").unlink()
    log.add(record(), {})
    assert log.problem is None


SECRET = "s3cr3t-Value-12345"


@pytest.mark.parametrize(
    "command",
    [
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
        f"echo {SECRET} | tool",
        f'curl -d \'{{"password": "{SECRET}"}}\' https://x',
        "tool sk-abcdefghijklmnop",
        "tool ghp_abcdefghijklmnopqrstuvwxyz",
        "tool AKIAABCDEFGHIJKLMNOP",
    ],
)
def test_audit_log_hides_secrets(tmp_path: Path, command: str) -> None:
    """By their names, by their form, and by the values of the environment's variables."""
    log = AuditLog(tmp_path / "audit.jsonl")
    environment = {"MY_TOKEN": SECRET} if command.startswith("echo") else {}
    log.add(record(what=command, edited=command, rule=command, reason=command), environment)
    written = log.path.read_text()
    assert not any(words in written for words in (SECRET, "abcdefghij", "ABCDEFGHIJ"))
    assert "***" in written


@pytest.mark.parametrize("command", ["ls -la", "git commit -m 'keys'", "pytest tests/test_token.py", "mkdir -p build"])
def test_harmless_command_is_logged_unchanged(command: str) -> None:
    """The log must stay readable."""
    environment = {"PATH": "/bin", "PWD": "/home/ada/build", "SSH_AUTH_SOCK": "/run/x/agent"}
    assert Credentials(environment).hidden_in_command(command) == command


def test_working_folder_is_not_hidden_as_a_secret() -> None:
    """Its variable ``PWD`` looks like a password's."""
    credentials = Credentials({"PWD": "/home/ada/work", "OLDPWD": "/home"})
    assert credentials.hidden_in_command("cat /home/ada/work/a.txt") == "cat /home/ada/work/a.txt"
