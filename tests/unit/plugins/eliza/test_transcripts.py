"""All output of eliza, byte by byte: for each command and method, wrong parameters, and stray lines."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.api.conftest import PATIENCE
from tests.unit.plugins.eliza.transcripts import TRANSCRIPTS, lines_of, started

EXIT_CODES = {"conversation": 3}  # it ends with /crash


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
