"""The reference pages are what the registries say."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agentnb.plugins.eliza.commands.every_command import COMMANDS
from tests.unit.eliza.patient import ROOT


@pytest.mark.parametrize("script", ["gen_eliza_docs.py", "gen_cli_docs.py"])
def test_pages_are_fresh(script: str) -> None:
    """A generated page is not stale."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / script, "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", list(COMMANDS))
def test_commands_on_the_page(name: str) -> None:
    """The page tells usage help and example of each command."""
    page = (ROOT / "docs/reference/eliza.md").read_text(encoding="utf-8")
    command = COMMANDS[name]
    assert f"#### `{command.usage}`\n\n{command.help}\n\n```\n{command.example}\n```" in page
