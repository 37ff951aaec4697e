"""The doctor's findings, each from a real process."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentnb.acp.doctor import examine, examine_all
from agentnb.agent import AgentSpec
from agentnb.agent.catalog import find, known, root_hint
from agentnb.api.agents import checkups
from tests.unit.acp.recording_listener import AGENTS, scripted


async def test_built_in_agent_is_ready() -> None:
    checkup = await examine(find("eliza"))
    assert (checkup.state, checkup.todo) == ("ready", None)
    assert checkup.version


@pytest.mark.parametrize(
    ("spec", "state", "message", "todo"),
    [
        (AgentSpec(name="x", title="X", command=("no-such",), install="get x"), "missing", "'no-such'", "get x"),
        (scripted("needs_login", login="x login"), "login", "Sign in to", "x login"),
        (scripted("dies_at_start"), "broken", "exit code 3", None),
        (scripted("silent", initialize_timeout=0.5), "broken", "did not answer", None),
        (scripted("echo", min_version="1.1", install="get x"), "old", "1.0 is too old: agentnb needs 1.1", "get x"),
        (scripted("echo", min_version="1"), "ready", "answers", None),
    ],
    ids=lambda value: value.name if isinstance(value, AgentSpec) else None,
)
async def test_doctor_reports_what_is_wrong_and_what_to_type(
    spec: AgentSpec, state: str, message: str, todo: str | None
) -> None:
    checkup = await examine(spec)
    assert (checkup.state, checkup.todo) == (state, todo)
    assert message in checkup.message


async def test_terminal_login_gives_the_command_to_type() -> None:
    """The agent's own, if the catalogue has none."""
    spec = scripted("wants_login")
    checkup = await examine(replace(spec, command=(*spec.command, "session")))
    assert (checkup.state, str(checkup.todo).endswith("--login")) == ("login", True)


async def test_several_agents_are_examined_in_order() -> None:
    """A failure does not affect the others."""
    results = await examine_all([scripted("dies_at_start"), scripted("echo")])
    assert [each.state for each in results] == ["broken", "ready"]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The outdated agent as a program."""
    return made(tmp_path, "scripted-agent")


@pytest.fixture
def mute(tmp_path: Path) -> Path:
    """The same, without a version."""
    return made(tmp_path, "mute-agent", "mute")


def made(folder: Path, name: str, *words: str) -> Path:
    """Returns a program that runs ``too_old.py`` with *words* before its arguments."""
    path = folder / name
    run = shlex.join([sys.executable, str(AGENTS / "too_old.py"), *words])
    path.write_text(f'#!/bin/sh\nexec {run} "$@"\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("word", "least", "expected"),
    [
        ("--acp", "0.10", ("old", "0.9.1", "upgrade x")),
        ("speaks", "0.10", ("old", "0.9.1", "upgrade x")),
        ("--acp", "0.9", ("broken", None, None)),
        ("speaks", "0.9.1", ("ready", "0.9.1", None)),
        ("--acp", None, ("broken", None, None)),
    ],
    ids=["cannot speak", "speaks", "broken all the same", "new enough", "unknown"],
)
async def test_outdated_agent_is_reported_with_its_upgrade_command(
    program: Path, word: str, least: str | None, expected: tuple[str | None, ...]
) -> None:
    """The agent gives its version in ACP, or only with ``--version`` if it is too old for ACP."""
    spec = AgentSpec(
        name="x",
        title="X",
        command=(str(program), word),
        install="get x",
        upgrade="upgrade x",
        min_version=least,
        initialize_timeout=30,
    )
    checkup = await examine(spec)
    assert (checkup.state, checkup.version, checkup.todo) == expected
    if checkup.state == "old":
        assert checkup.message == "Version 0.9.1 is too old: agentnb needs 0.10 or later."


async def test_agent_without_a_version_is_broken_and_not_outdated(mute: Path) -> None:
    """It is broken, and its output is shown."""
    spec = AgentSpec(name="x", title="X", command=(str(mute), "--acp"), min_version="9", install="get x")
    checkup = await examine(spec)
    assert (checkup.state, checkup.todo) == ("broken", None)
    assert "unknown option --acp" in checkup.message


async def test_login_inside_the_agent_gives_a_line_of_python() -> None:
    """There is no command to type: Codex's ACP package does not install `codex login`."""
    checkup = await examine(scripted("needs_login"))
    assert (checkup.state, checkup.todo) == ("login", 'agentnb.start("needs_login").login()')


async def test_table_shows_a_reason_of_several_lines_in_full() -> None:
    """The reason is in the last lines of stderr."""
    checkup = await examine(scripted("dies_at_start"))
    table = checkups([checkup])
    assert [line for line in checkup.message.splitlines() if line.strip() not in table] == []
    assert "fatal: no configuration found" in table


def test_install_commands_name_what_they_need() -> None:
    """`uv tool install` needs a Python version, as its default may be too old; archived packages are gone."""
    specs = {spec.name: spec for spec in known() if spec.origin == "built in"}
    uv = [spec for spec in specs.values() if (spec.install or "").startswith("uv tool install")]
    assert uv
    assert [spec.name for spec in uv if "--python 3." not in (spec.install or "") or not spec.requires] == []
    assert specs["kimi"].install == "npm install -g @moonshot-ai/kimi-code@2.1.0"
    assert specs["codex"].login is None
    assert str(specs["claude"].login).split()[0] == specs["claude"].command[0]


def test_root_gets_a_hint_about_the_variable_an_agent_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only root, while the variable is not set."""
    spec = scripted("echo", root_env={"SCRIPTED_SANDBOX": "1"})
    hint = root_hint(spec) or ""
    assert ("SCRIPTED_SANDBOX=1" in hint) == (os.geteuid() == 0)
    assert root_hint(scripted("echo")) is None
    monkeypatch.setenv("SCRIPTED_SANDBOX", "1")
    assert root_hint(spec) is None
