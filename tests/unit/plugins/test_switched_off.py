"""With plug-ins switched off, everything else works."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.unit.forked import run_script

ANSWERED = """
import agentnb, sys
turn = agentnb.start("eliza").prompt("Hello").wait(60)
print(turn.text)
print(turn.session.health())
"""


def run(folder: Path, code: str, plugins: str) -> subprocess.CompletedProcess[str]:
    """Runs *code* with only *plugins* switched on and with separate settings."""
    own = {name: str(folder / name) for name in ("AGENTNB_CONFIG_DIR", "AGENTNB_DATA_DIR")}
    return run_script(code, cwd=folder, AGENTNB_PLUGINS=plugins, **own)


def test_agent_without_a_sandbox_plugin_is_not_confined(tmp_path: Path) -> None:
    """It starts, as on a system that can confine nothing."""
    done = run(tmp_path, ANSWERED, "")
    assert done.stdout.startswith("Hello. I am eliza."), done.stderr
    assert "It cannot be confined here: no plug-in that confines agents is loaded" in done.stdout


@pytest.mark.parametrize("how", ["setting", "argument"])
def test_agent_to_confine_does_not_start_without_a_sandbox_plugin(tmp_path: Path, how: str) -> None:
    """It never runs unconfined silently."""
    code = ANSWERED.replace('"eliza"', '"eliza", confine=True') if how == "argument" else ANSWERED
    if how == "setting":
        settings = tmp_path / "AGENTNB_CONFIG_DIR/settings.toml"
        settings.parent.mkdir()
        settings.write_text('confine = "on"')
    done = run(tmp_path, code, "eliza, local")
    assert "Hello" not in done.stdout
    assert "The agent cannot be confined: no plug-in that confines agents is loaded" in done.stderr


def test_rehearse_without_its_plugin_reports_no_preview(tmp_path: Path) -> None:
    """It answers as on a system without confinement."""
    done = run(tmp_path, "import agentnb; print(agentnb.rehearse('x = 1')); print(agentnb.rehearse(command='ls'))", "")
    assert done.stdout.splitlines()[0].startswith("No preview: No plug-in that rehearses is loaded"), done.stderr
    assert len(done.stdout.splitlines()) == 2


def test_components_without_their_plugin_are_rejected(tmp_path: Path) -> None:
    """An agent never starts without its components."""
    done = run(tmp_path, "import agentnb; agentnb.start('eliza', components=['rules'])", "sandbox")
    assert "No plug-in that starts agents behind components is loaded" in done.stderr


@pytest.mark.parametrize(("plugins", "offered"), [("", False), ("knowledge", True)])
def test_kernel_tools_exclude_those_of_switched_off_plugins(tmp_path: Path, plugins: str, *, offered: bool) -> None:
    """Agents hear only of tools that exist."""
    done = run(tmp_path, "from agentnb.kernel.tools import kernel_tools; print(*kernel_tools())", plugins)
    names = set(done.stdout.split())
    assert {"run_code", "cells"} < names, done.stderr
    assert ({"look_up_code", "read_skill", "research"} <= names) is offered


def test_map_without_its_plugin_is_sent_as_a_prompt(tmp_path: Path) -> None:
    """The agent gets the text unchanged."""
    code = """
from IPython.testing.globalipapp import start_ipython
shell = start_ipython()
shell.run_line_magic("load_ext", "agentnb")
print(type(shell.run_cell_magic("agent", "-a eliza", "map rows\\nSay {value}")).__name__)
"""
    assert run(tmp_path, code, "").stdout.splitlines()[-1:] == ["Turn"]
