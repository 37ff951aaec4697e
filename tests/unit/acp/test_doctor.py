"""The doctor's findings, each from a real process."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import agentnb
from tests.unit.acp.conftest import Describe
from tests.unit.api.conftest import AGENTS
from tests.unit.forked import run_agentnb


def test_built_in_agent_is_ready() -> None:
    (checkup,) = agentnb.doctor("eliza")
    assert (checkup.state, checkup.todo, bool(checkup.version)) == ("ready", None, True)


@pytest.mark.parametrize(
    ("script", "words", "fields", "state", "message", "todo"),
    [
        ("echo", (), {"command": ["no-such"], "install": "get x"}, "missing", "'no-such'", "get x"),
        ("needs_login", (), {"login": "x login"}, "login", "Sign in to", "x login"),
        ("needs_login", (), {}, "login", "Sign in to", 'agentnb.start("needs_login").login()'),
        ("wants_login", ("session",), {}, "login", "Sign in to", "--login"),
        ("silent", (), {"initialize_timeout": 0.5}, "broken", "did not answer", None),
        ("echo", (), {"min_version": "1.1", "install": "get"}, "old", "1.0 is too old: agentnb needs 1.1", "get"),
        ("echo", (), {"min_version": "1"}, "ready", "answers", None),
    ],
    ids=["missing", "login by command", "login inside the agent", "its own login", "silent", "old", "new enough"],
)
def test_doctor_reports_what_is_wrong_and_what_to_type(
    *,
    describe: Describe,
    script: str,
    words: tuple[str, ...],
    fields: dict[str, Any],
    state: str,
    message: str,
    todo: str | None,
) -> None:
    """A terminal login is the agent's own command, if its description has none."""
    (checkup,) = agentnb.doctor(describe(script, *words, **fields))
    assert (checkup.state, (checkup.todo or "").endswith(todo or "")) == (state, True)
    assert ((checkup.todo is None) == (todo is None), message in checkup.message) == (True, True)


def test_doctor_shows_a_reason_of_several_lines_in_full(describe: Describe) -> None:
    """The reason is in the last lines of stderr; a failure does not affect the next agent."""
    ended = run_agentnb("doctor", describe("dies_at_start"), describe("echo"))
    head, first, *reason, last = ended.stdout.splitlines()
    assert (head.split()[0], first.split()[:2], last.split()[:2]) == (
        "NAME",
        ["dies_at_start", "broken"],
        ["echo", "ready"],
    )
    assert ("exit code 3" in first, "fatal: no configuration found" in "\n".join(reason)) == (True, True)


def program(folder: Path, *words: str) -> str:
    """Returns a program that runs ``too_old.py`` with *words* before its arguments."""
    path = folder / "scripted-agent"
    run = shlex.join([sys.executable, str(AGENTS / "too_old.py"), *words])
    path.write_text(f'#!/bin/sh\nexec {run} "$@"\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("before", "word", "least", "expected"),
    [
        ((), "--acp", "0.10", ("old", "0.9.1", "upgrade x")),
        ((), "speaks", "0.10", ("old", "0.9.1", "upgrade x")),
        ((), "--acp", "0.9", ("broken", None, None)),
        ((), "speaks", "0.9.1", ("ready", "0.9.1", None)),
        (("mute",), "--acp", "9", ("broken", None, None)),
    ],
    ids=["cannot speak", "speaks", "broken all the same", "new enough", "without a version"],
)
def test_outdated_agent_is_reported_with_its_upgrade_command(
    *,
    describe: Describe,
    tmp_path: Path,
    before: tuple[str, ...],
    word: str,
    least: str,
    expected: tuple[str | None, ...],
) -> None:
    """The agent gives its version in ACP, or only with ``--version`` if it is too old for ACP."""
    command = [program(tmp_path, *before), word]
    name = describe("too_old", command=command, install="get x", upgrade="upgrade x", min_version=least)
    (checkup,) = agentnb.doctor(name)
    assert (checkup.state, checkup.version, checkup.todo) == expected
    if checkup.state == "old":
        assert checkup.message == "Version 0.9.1 is too old: agentnb needs 0.10 or later."
    elif checkup.state == "broken":
        assert "unknown option --acp" in checkup.message


def test_install_commands_name_what_they_need() -> None:
    """`uv tool install` needs a Python version, as its default may be too old; archived packages are gone."""
    rows = {row["name"]: row for row in json.loads(run_agentnb("agents", "--json").stdout)}
    uv = [row for row in rows.values() if (row["install"] or "").startswith("uv tool install")]
    assert uv
    assert [row["name"] for row in uv if "--python 3." not in row["install"] or not row["requires"]] == []
    assert rows["kimi"]["install"] == "npm install -g @moonshot-ai/kimi-code@2.1.0"
    assert rows["codex"]["login"] is None
    assert rows["claude"]["login"].split()[0] == rows["claude"]["command"][0]


def test_root_gets_a_hint_about_the_variable_an_agent_needs(
    describe: Describe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only root, while the variable is not set."""
    name = describe("echo", root_env={"SCRIPTED_SANDBOX": "1"})
    assert ("SCRIPTED_SANDBOX=1" in agentnb.doctor(name)[0].message) == (os.geteuid() == 0)
    monkeypatch.setenv("SCRIPTED_SANDBOX", "1")
    assert agentnb.doctor(name)[0].message == "It answers."
