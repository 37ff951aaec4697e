"""The page's requests: begin, follow, stop, and whether the notebook has changed since."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import msgspec
import pytest

from agentnb.plugins.verify.page_jobs import MOST_FOLLOWERS, VerificationState, job_of
from agentnb.plugins.verify.requests import (
    REQUESTS,
    BeginVerificationParams,
    StateParams,
    StopVerificationParams,
    begin,
    state,
    stop,
)
from agentnb.plugins.verify.verifying import check_notebook
from tests.unit.plugins.verify.notebooks import cell, notebook, saved

pytestmark = pytest.mark.slow


async def ended(path: Path) -> list[VerificationState]:
    """Returns every state until the end."""
    states = [await state(StateParams(path=str(path)))]
    while states[-1].status != "ended":
        states.append(await state(StateParams(path=str(path), revision=states[-1].revision)))
    return states


async def test_page_follows_a_verification_until_it_is_stale(
    tmp_path: Path,
) -> None:
    """It shows progress and findings, and that they belong to the text at its start."""
    path = saved(tmp_path, notebook(cell("x = 1", 1), cell("print(z)", 3)))
    first = await begin(BeginVerificationParams(path=str(path)))
    assert first.status == "running"
    again = await begin(BeginVerificationParams(path=str(path)))
    assert again.status == "running"
    states = await ended(path)
    assert {(each.done, each.all) for each in states} >= {(1, 2)}
    last = states[-1]
    assert (last.ok, last.findings[0].kind, last.is_stale) == (False, "deleted-cell", False)
    assert last.time > 0
    assert "cell id c1 (deleted-cell)" in last.task
    again_saved = notebook(cell("x = 1", 1, "", "note"), cell("print(z)", 3))
    again_saved["cells"][0]["metadata"] = {"scrolled": True}
    again_saved["cells"].insert(0, {"cell_type": "markdown", "id": "m", "metadata": {}, "source": "# New"})
    saved(tmp_path, again_saved)
    assert not (await state(StateParams(path=str(path)))).is_stale
    saved(tmp_path, notebook(cell("x = 1", 4), cell("print(z)", 3)))
    assert (await state(StateParams(path=str(path)))).is_stale
    saved(tmp_path, notebook(cell("x = 2", 1), cell("print(z)", 3)))
    assert (await state(StateParams(path=str(path)))).is_stale
    assert msgspec.to_builtins(last)["findings"][0]["cell"]["id"] == "c1"


async def test_every_waiting_page_receives_a_result_at_once(tmp_path: Path) -> None:
    """Windows wait for a verification that none began; those above the limit get an answer, too."""
    path = saved(tmp_path, notebook(cell("print(z)", 3)))
    first = await state(StateParams(path=str(path)))
    follows = StateParams(path=str(path), revision=first.revision)
    windows = [asyncio.ensure_future(state(follows)) for _ in range(MOST_FOLLOWERS + 2)]
    early, _ = await asyncio.wait(windows, return_when=asyncio.FIRST_COMPLETED)
    assert {each.result().status for each in early} == {"none"}
    text = path.read_text()
    begun = time.monotonic()
    result = await asyncio.to_thread(check_notebook, text, tmp_path, path=path, run=False)
    await asyncio.to_thread(job_of(path).take, text, result)
    states = await asyncio.gather(*windows)
    assert sum(each.status == "ended" for each in states) >= MOST_FOLLOWERS
    assert time.monotonic() - begun < 10


async def test_state_is_none_before_any_verification(tmp_path: Path) -> None:
    assert (await state(StateParams(path=str(tmp_path / "nb.ipynb")))).status == "none"
    assert [each.name for each in REQUESTS] == ["verify/begin", "verify/state", "verify/stop"]


async def test_page_text_is_verified_instead_of_the_file(tmp_path: Path) -> None:
    """It has the unsaved changes with their results."""
    path = saved(tmp_path, notebook(cell("print(z)", 3)))
    page_notebook = notebook(cell("print(1)", 1, "2\n"))
    await begin(BeginVerificationParams(path=str(path), text=json.dumps(page_notebook)))
    [finding] = (await ended(path))[-1].findings
    assert (finding.cell and finding.cell.label, "2" in finding.evidence) == ("[1]", True)


async def test_stopped_verification_ends_at_once_without_a_result(tmp_path: Path) -> None:
    """Its cell would run for minutes; the next verification starts anew."""
    path = saved(tmp_path, notebook(cell("import time; time.sleep(100)", 1)))
    states = [await begin(BeginVerificationParams(path=str(path)))]
    while not states[-1].all:
        states.append(await state(StateParams(path=str(path), revision=states[-1].revision)))
    begun = time.monotonic()
    await stop(StopVerificationParams(path=str(path)))
    while states[-1].status == "running":
        states.append(await state(StateParams(path=str(path), revision=states[-1].revision)))
    assert states[-1].status == "none"
    assert time.monotonic() - begun < 10
    saved(tmp_path, notebook(cell("x = 1", 1)))
    await begin(BeginVerificationParams(path=str(path)))
    assert (await ended(path))[-1].ok


async def test_page_receives_the_result_of_a_verified_turn(tmp_path: Path) -> None:
    """The notebook's toolbar shows findings of `until verified` and `%agents verify`."""
    path = saved(tmp_path, notebook(cell("print(z)", 3)))
    text = path.read_text()
    job_of(path).take(text, check_notebook(text, tmp_path, path=path, run=False))
    known = await state(StateParams(path=str(path)))
    assert (known.status, known.ok, known.is_stale, len(known.findings)) == ("ended", False, False, 1)


async def test_verification_of_an_empty_file_reports_it_as_corrupt(tmp_path: Path) -> None:
    """The page does not wait for ever."""
    path = saved(tmp_path, notebook(cell("x = 1", 1)))
    await begin(BeginVerificationParams(path=str(path), fast=True))
    assert (await ended(path))[-1].ok
    path.write_text("")
    await begin(BeginVerificationParams(path=str(path), fast=True))
    assert (await ended(path))[-1].findings[0].kind == "corrupt"
