"""What an agent says is text: nothing of it runs in the page, live or kept."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.lab import Lab, notebook

ATTACK = " ".join(
    [
        "<script>window.pwned = 'script'</script>",
        "<img src=x onerror=\"window.pwned = 'onerror'\">",
        "<details open ontoggle=\"window.pwned = 'ontoggle'\"><summary>s</summary></details>",
        "[link](javascript:window.pwned='link')",
        "<svg onload=\"window.pwned = 'svg'\"></svg>",
        "end of it",
    ]
)


@pytest.fixture(params=["ipykernel7"])
def kernel(request: pytest.FixtureRequest, kernelspecs: object) -> str:
    """One kernel is enough: what runs is the page."""
    return str(request.param)


def test_a_hostile_answer_runs_nothing(lab: Lab, kernel: str) -> None:
    """Script, event attributes and script links stay text: while it streams, when it is kept, and when reopened."""
    lab.open("hostile.ipynb", notebook("%load_ext agentnb", f"%agent /say {ATTACK}", "%agent /markdown", kernel=kernel))
    lab.run_cells(3)
    cell = lab.cell(1)
    cell.expect_static(re.compile("end of it"))
    expect(cell.output.locator("script, img[onerror], [ontoggle], svg[onload]")).to_have_count(0)
    expect(cell.output.locator("a[href^='javascript:']")).to_have_count(0)
    assert lab.page.evaluate("[window.pwned, window.elizaWasHere]") == [None, None]
    lab.reopen()
    lab.cell(1).expect_static(re.compile("end of it"))
    assert lab.page.evaluate("[window.pwned, window.elizaWasHere]") == [None, None]


def test_a_hostile_answer_runs_nothing_in_the_chat(lab: Lab, kernel: str) -> None:
    """The chat view, which stays live, shows the marks as text too."""
    source = (
        f"import agentnb\nsession = agentnb.start()\nawait session.prompt({'/say ' + ATTACK!r})\nagentnb.chat(session)"
    )
    lab.open("hostile-chat.ipynb", notebook(source, kernel=kernel))
    cell = lab.cell(0)
    cell.run()
    cell.expect_done(1)
    cell.expect_text(re.compile("end of it"))
    expect(cell.output.locator("script, img[onerror], [ontoggle], svg[onload]")).to_have_count(0)
    assert lab.page.evaluate("window.pwned") is None
