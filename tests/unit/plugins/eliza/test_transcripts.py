"""All output of eliza, byte by byte: for each command and method, wrong parameters, and stray lines."""

from __future__ import annotations

import asyncio
import re

import pytest

from agentnb.plugins.eliza.commands.every_command import COMMANDS
from tests.unit.api.conftest import PATIENCE
from tests.unit.plugins.eliza.transcripts import FOLDER, started

TRANSCRIPTS = {path.stem: path for path in sorted(FOLDER.glob("*.txt"))}
EXIT_CODES = {"conversation": 3}  # it ends with /crash
METHODS = """
initialize authenticate logout session/new session/load session/resume session/fork session/list session/close
session/delete session/set_mode session/set_config_option session/prompt session/cancel _eliza/echo $/cancel_request
"""


def lines_of(name: str) -> list[str]:
    return TRANSCRIPTS[name].read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", TRANSCRIPTS)
async def test_output_matches_the_recorded_transcripts(name: str) -> None:
    """The order of lines and fields, names, omissions, codes and messages of errors."""
    async with started(name) as eliza:
        for line in lines_of(name):
            if line.startswith("> "):
                eliza.write(line[2:])
            elif line.startswith("< "):
                assert await asyncio.wait_for(eliza.read(), PATIENCE) == line[2:]
        assert await asyncio.wait_for(eliza.end(), PATIENCE) == EXIT_CODES.get(name, 0)


def test_transcripts_contain_each_command_and_method() -> None:
    """`/markdown` is left out: it is one long text."""
    sent = [line[2:] for name in TRANSCRIPTS for line in lines_of(name) if line.startswith("> ")]
    assert {name for name in COMMANDS if not any(f'"text":"/{name}' in line for line in sent)} == {"markdown"}
    methods = {match[1] for line in sent if (match := re.search(r'"method":"([^"]*)"', line))}
    assert set(METHODS.split()) - methods == set()
