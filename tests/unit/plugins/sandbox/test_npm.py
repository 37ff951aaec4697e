"""npm works in a confined agent."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from agentnb.agent.catalog import find
from agentnb.agent.confinement import Confine
from agentnb.agent.process import SpawnedAgent
from tests.unit.agent.test_installation import needs_npm
from tests.unit.plugins.sandbox.test_confinement import needs_landlock


@needs_npm
@needs_landlock
async def test_confined_npm_uses_the_mirror_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real npm runs confined; it cannot read the file with the login."""
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / ".npmrc").write_text("registry=https://mirror.example.org/npm/\n", encoding="utf-8")
    for name in [each for each in os.environ if each.lower().startswith("npm_config_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    spec = find("eliza").__class__(name="n", title="N", command=("npm", "config", "get", "registry"))
    output, ended = bytearray(), asyncio.Event()
    process = await SpawnedAgent.spawn(spec, work, confine=Confine(), on_output=output.extend, on_end=ended.set)
    await asyncio.wait_for(ended.wait(), 60)
    await process.stop()
    assert output.decode().strip() == "https://mirror.example.org/npm/"
