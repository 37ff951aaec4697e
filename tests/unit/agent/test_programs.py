"""Where programs are: how often they are looked for."""

from __future__ import annotations

import sys
from pathlib import Path

from agentnb.agent.programs import each_found_once, find_on_path


def test_a_program_when_many_agents_need_it_is_looked_for_once(tmp_path: Path) -> None:
    """What was found counts until all of them were looked at, and no longer."""
    program = tmp_path / ("known.exe" if sys.platform == "win32" else "known")
    program.touch(mode=0o755)
    find, folder = each_found_once(), str(tmp_path)
    assert (find("known", folder), find("unknown", folder)) == (str(program), None)
    program.rename(program.with_stem("unknown"))
    assert (find("known", folder), find("unknown", folder)) == (str(program), None)
    assert find_on_path("known", str(tmp_path)) is None
