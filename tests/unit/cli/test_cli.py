"""The command line: its output, streams and exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from agentnb import __version__
from agentnb.agent.catalog import known
from agentnb.cli.command_line import COMMANDS
from agentnb.command import write_json
from agentnb.policy.store import PolicyFiles
from tests.unit.forked import run_agentnb


def test_version_option_prints_the_version() -> None:
    done = run_agentnb("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"agentnb {__version__}\n", "")


def test_agentnb_without_a_command_prints_help() -> None:
    """The help goes to stderr."""
    done = run_agentnb()
    assert (done.returncode, done.stdout) == (2, "")
    assert all(name in done.stderr for name in COMMANDS)


def test_unknown_command_is_an_error() -> None:
    """The error lists the known commands."""
    done = run_agentnb("frob")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'frob'" in done.stderr
    assert "doctor" in done.stderr


@pytest.mark.parametrize("name", list(COMMANDS))
def test_help_option_prints_the_command_summary(name: str) -> None:
    done = run_agentnb(name, "--help")
    assert done.returncode == 0
    assert COMMANDS[name].summary.split(".")[0] in " ".join(done.stdout.split())


def test_agents_command_lists_every_known_agent() -> None:
    done = run_agentnb("agents")
    assert (done.returncode, done.stderr) == (0, "")
    lines = {line.split()[0]: line for line in done.stdout.splitlines()[1:]}
    assert list(lines) == [spec.name for spec in known()]
    assert lines["eliza"].split() == ["eliza", "Tour", "installed", "%agent", "-a", "eliza"]


def test_agents_command_prints_json() -> None:
    rows = {row["name"]: row for row in json.loads(run_agentnb("agents", "--json").stdout)}
    assert rows["eliza"]["command"] == [sys.executable, "-m", "agentnb.plugins.eliza"]
    assert rows["eliza"]["installed"] is True
    fields = {"name", "title", "installed", "path", "command", "install", "requires", "login"}
    assert set(rows["eliza"]) == {*fields, "runner", "runs", "needs"}


def test_trust_command_adds_and_removes_a_folder(tmp_path: Path) -> None:
    """Adds and removes trust in a folder; refuses a missing folder."""
    policy, work = tmp_path / "policy.toml", str(tmp_path)
    done = run_agentnb("trust", work, AGENTNB_CONFIG_DIR=work)
    assert (done.returncode, done.stdout) == (0, f"{work} is trusted now ({policy}).\n")
    assert f'folders = ["{work}"]' in policy.read_text()
    assert (
        run_agentnb("trust", f"{work}/none", AGENTNB_CONFIG_DIR=work).returncode,
        run_agentnb("trust", work, AGENTNB_CONFIG_DIR=work).stderr,
    ) == (
        1,
        "",
    )
    policy.write_text(f'[trust]\nfolders = ["{tmp_path.parent}", "{work}"]\n')
    refused = run_agentnb("trust", "--remove", work, AGENTNB_CONFIG_DIR=work)
    assert (refused.returncode, "which is trusted" in refused.stderr) == (1, True)
    assert run_agentnb("trust", "--remove", str(tmp_path.parent), work, AGENTNB_CONFIG_DIR=work).returncode == 0
    assert PolicyFiles(policy).user.trusted == ()


def test_agents_update_accepts_a_valid_registry_file_only(tmp_path: Path) -> None:
    """A good file is kept for the user; a broken one changes nothing."""
    settings = str(tmp_path / "settings")
    file = tmp_path / "registry.json"
    agent = {"id": "sage", "name": "Sage", "version": "1.2.3", "description": "", "distribution": {}}
    file.write_text(json.dumps({"version": "1.0.0", "agents": [agent]}))
    done = run_agentnb("agents", "--update", str(file), AGENTNB_CONFIG_DIR=settings)
    kept = tmp_path / "settings/registry.json"
    assert (done.returncode, done.stdout) == (0, f"{kept} has 1 agent now.\n  sage 1.2.3\n")
    file.write_text("{")
    done = run_agentnb("agents", "--update", str(file), AGENTNB_CONFIG_DIR=settings)
    assert (done.returncode, done.stdout, kept.read_text()[:1]) == (1, "", "{")
    assert "This is not a registry that can be used" in done.stderr


def test_json_output_accepts_a_path_that_is_not_utf_8(capfd: pytest.CaptureFixture[str]) -> None:
    """Bytes that are not UTF-8 are replaced."""
    assert write_json([{"cwd": "/home/\udc80", "size": Path("/x")}]) == 0
    assert json.loads(capfd.readouterr().out) == [{"cwd": "/home/\ufffd", "size": "/x"}]
