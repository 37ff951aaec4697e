"""The command line: its output, streams and exit codes."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

import agentnb
from agentnb import __version__
from tests.unit.command_line import run_here
from tests.unit.forked import run_agentnb

COMMANDS = re.findall(r"^ {4}([a-z-]+)(?: |$)", run_here("--help").stdout, re.MULTILINE)


def test_version_option_prints_the_version() -> None:
    done = run_agentnb("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"agentnb {__version__}\n", "")


def test_missing_or_unknown_command_lists_the_commands() -> None:
    """On stderr."""
    assert {"agents", "doctor", "settings", "trust"} <= set(COMMANDS)
    for words in ((), ("frob",)):
        done = run_agentnb(*words)
        assert (done.returncode, done.stdout) == (2, "")
        assert [name for name in (*COMMANDS, *words) if name not in done.stderr] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_has_web_addresses(name: str) -> None:
    """Not files of docs/, which a wheel lacks."""
    done = run_here(name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: agentnb {name}")
    assert [each for each in re.findall(r"\S*docs/\S+", done.stdout) if "https://" not in each] == []


def test_agents_command_lists_every_known_agent() -> None:
    done = run_agentnb("agents")
    assert (done.returncode, done.stderr) == (0, "")
    lines = {line.split()[0]: line for line in done.stdout.splitlines()[1:]}
    rows = {row["name"]: row for row in json.loads(run_agentnb("agents", "--json").stdout)}
    assert [*lines] == [*rows] == [row.name for row in agentnb.agents()]
    assert lines["eliza"].split() == ["eliza", "Tour", "installed", "%agent", "-a", "eliza"]
    assert rows["eliza"]["command"] == [sys.executable, "-m", "agentnb.plugins.eliza"]
    assert rows["eliza"]["installed"] is True
    fields = {"name", "title", "installed", "path", "command", "install", "requires", "login"}
    assert set(rows["eliza"]) == {*fields, "runner", "runs", "needs"}


def test_trust_command_adds_and_removes_a_folder(tmp_path: Path) -> None:
    """It refuses a missing folder, and one in a trusted folder."""
    policy, work = tmp_path / "policy.toml", str(tmp_path)
    done = run_agentnb("trust", work, AGENTNB_CONFIG_DIR=work)
    assert (done.returncode, done.stdout) == (0, f"{work} is trusted now ({policy}).\n")
    assert f'folders = ["{work}"]' in policy.read_text()
    assert run_agentnb("trust", f"{work}/none", AGENTNB_CONFIG_DIR=work).returncode == 1
    assert run_agentnb("trust", work, AGENTNB_CONFIG_DIR=work).stderr == ""
    policy.write_text(f'[trust]\nfolders = ["{tmp_path.parent}", "{work}"]\n')
    refused = run_agentnb("trust", "--remove", work, AGENTNB_CONFIG_DIR=work)
    assert (refused.returncode, "which is trusted" in refused.stderr) == (1, True)
    assert run_agentnb("trust", "--remove", str(tmp_path.parent), work, AGENTNB_CONFIG_DIR=work).returncode == 0
    assert work not in policy.read_text()


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


def test_json_output_accepts_a_path_that_is_not_utf_8(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 are replaced."""
    folder = tmp_path / os.fsdecode(b"a\x80")
    folder.mkdir()
    (folder / "settings.toml").write_text('agent = "eliza"\n')
    rows = json.loads(run_agentnb("settings", "--json", AGENTNB_CONFIG_DIR=str(folder)).stdout)
    assert str(tmp_path / "a\ufffd/settings.toml") in [row["where"] for row in rows]
