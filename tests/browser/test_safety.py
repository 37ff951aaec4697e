"""An agent's output is text: none of it runs in the page, live or saved."""

from __future__ import annotations

import re

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


def test_scripts_in_an_answer_do_not_run(lab: Lab, kernelspecs: object) -> None:
    """Script, event attributes and script links stay text: live, saved, and reopened."""
    lab.open(
        "hostile.ipynb", notebook("%load_ext agentnb", f"%agent /say {ATTACK}", "%agent /markdown", kernel="ipykernel7")
    )
    lab.run_cells(3)
    cell = lab.cell(1)
    cell.expect_static(re.compile("end of it"))
    expect(cell.output.locator("script, img[onerror], [ontoggle], svg[onload]")).to_have_count(0)
    expect(cell.output.locator("a[href^='javascript:']")).to_have_count(0)
    assert lab.page.evaluate("[window.pwned, window.elizaWasHere]") == [None, None]
    lab.reopen()
    lab.cell(1).expect_static(re.compile("end of it"))
    assert lab.page.evaluate("[window.pwned, window.elizaWasHere]") == [None, None]
