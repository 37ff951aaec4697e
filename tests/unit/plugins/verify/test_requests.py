"""What a page asks: begin, follow, and whether the notebook has been changed since."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from agentnb.plugins.verify.requests import REQUESTS, BeginParams, StateParams, VerificationState, begin, state
from tests.unit.plugins.verify.notebooks import cell, notebook, saved

pytestmark = pytest.mark.slow


async def ended(path: Path) -> list[VerificationState]:
    """Every state until the end."""
    states = [await state(StateParams(path=str(path)))]
    while states[-1].status != "ended":
        states.append(await state(StateParams(path=str(path), revision=states[-1].revision)))
    return states


async def test_verification_of_a_page_is_followed_to_its_end_and_stale_once_the_notebook_is_changed(
    tmp_path: Path,
) -> None:
    """4 of 12, the findings, and that they belong to the text that it began with."""
    path = saved(tmp_path, notebook(cell("x = 1", 1), cell("print(z)", 3)))
    first = await begin(BeginParams(path=str(path)))
    assert first.status == "running"
    again = await begin(BeginParams(path=str(path)))
    assert again.status == "running"
    states = await ended(path)
    assert {(each.done, each.all) for each in states} >= {(1, 2)}
    last = states[-1]
    assert (last.ok, last.findings[0].kind, last.is_stale) == (False, "deleted-cell", False)
    assert last.time > 0
    saved(tmp_path, notebook(cell("x = 2", 1)))
    assert (await state(StateParams(path=str(path)))).is_stale
    assert msgspec.to_builtins(last)["findings"][0]["cell"]["id"] == "c1"


async def test_state_of_what_nobody_verified_is_none(tmp_path: Path) -> None:
    """The page shows nothing then."""
    assert (await state(StateParams(path=str(tmp_path / "nb.ipynb")))).status == "none"
    assert [each.name for each in REQUESTS] == ["verify/begin", "verify/state"]


async def test_verification_of_a_file_that_is_gone_ends_with_an_error(tmp_path: Path) -> None:
    """The page is not left waiting."""
    path = saved(tmp_path, notebook(cell("x = 1", 1)))
    await begin(BeginParams(path=str(path), fast=True))
    assert (await ended(path))[-1].ok
    path.write_text("")
    await begin(BeginParams(path=str(path), fast=True))
    assert (await ended(path))[-1].findings[0].kind == "corrupt"
