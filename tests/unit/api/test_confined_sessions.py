"""Sessions with a confined agent: commands that it runs through agentnb have its limits, too, and the user is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import agentnb
from agentnb import Session
from agentnb.agent.confinement import way_here
from agentnb.errors import UsageError
from tests.unit.api.conftest import PATIENCE

Start = Callable[..., Session]
WAY, WHY = way_here()
can_confine = pytest.mark.skipif(WAY is None, reason=WHY)


@can_confine
def test_start_with_confine_limits_the_agents_commands_and_says_so(start: Start, tmp_path: Path) -> None:
    """A script that the user allows writes in the workspace and not beside it; the first turn and health say why."""
    beside = tmp_path.parent / "beside.txt"
    (tmp_path / "work.sh").write_text(f"echo out > {beside} || echo refused > inside.txt; cat ~/.netrc")
    session = start(permissions="allow", confine=True)
    turn = session.prompt("/run sh work.sh").wait(PATIENCE)
    assert (tmp_path / "inside.txt").read_text() == "refused\n"
    assert not beside.exists()
    assert "ELIZA is confined by" in str(turn.snapshot)
    assert session.health().confined.startswith(f"by {WAY}: it writes only in ")
    assert f"ELIZA was kept from writing {beside}: it is confined. Give the folder in directories" in str(turn.snapshot)
    assert session.health().refused.startswith(f"writing {beside}")


def test_start_without_confine_says_that_it_is_not_confined(start: Start) -> None:
    """What the settings say counts, and that is off by default."""
    session = start()
    session.prompt("Hello").wait(PATIENCE)
    assert session.health().confined == "no"


def test_start_with_confine_that_makes_no_sense_raises(tmp_path: Path) -> None:
    """The error says which argument."""
    with pytest.raises(UsageError, match="confine is True or False"):
        agentnb.start(cwd=tmp_path, confine="yes")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match='network is "all" or "none"'):
        agentnb.start(cwd=tmp_path, confine=True, network=["example.org"])  # type: ignore[arg-type]
