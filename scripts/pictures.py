"""Take the pictures of the manual from the running product: a real JupyterLab, the built-in agent, a real Chromium.

Usage: ``python scripts/pictures.py [FOLDER]``; by default ``docs/pictures``.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Locator, expect

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.benchmarks.browser import a_lab  # noqa: E402 - the checkout is not on the path before
from tests.browser.lab import PATIENCE_MS, Cell, Lab, notebook  # noqa: E402
from tests.browser.side import Side  # noqa: E402

THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark", "contrast": "JupyterLab Dark High Contrast"}
CELLS = [
    "%load_ext agentnb\nimport agentnb",
    "%agent /ask edit",
    "session = agentnb.start(title='Residuals')\nresiduals = [0.2, -0.1, 0.4]\nagentnb.chat(session)",
]
ANALYSIS = (
    'masses = {\n    "Adélie": ["3750", "3800", "n/a", "3450"],\n    "Gentoo": ["5000", "5700", "4925", "5400"],\n}',
    """def mean(values):
    return sum(map(float, values)) / len(values)


{species: mean(found) for species, found in masses.items()}""",
)
TALK = (
    "/plan 3",
    "/think The noise grows with x, so the weights matter.",
    "/tool search",
    "/diff",
)

FIT = """import numpy as np


def fit(x, y):
    slope = np.sum(x * y) / np.sum(x * x)
    return slope
"""
CHANGE = (
    "/run sed -i 's/np.sum(x \\* /np.sum(w * x * /g; s/(x, y)/(x, y, w=1.0)/' fit.py"
    " && printf '# Residuals\\n\\nThey grow with x.\\n' > report.md"
)


def main(folder: Path) -> None:
    """Take every picture."""
    folder.mkdir(parents=True, exist_ok=True)
    # The pictures show the paths in permission requests: a plain name, not this machine's.
    workspace = Path(tempfile.gettempdir(), "project")
    try:
        with a_lab(workspace) as lab:
            lab.page.set_viewport_size({"width": 1280, "height": 860})
            lab.open("pictures.ipynb", notebook(*CELLS, kernel="python3"))
            lab.page.keyboard.press("Control+b")  # hides the file browser
            _cell(lab, folder)
            _chat(lab, folder)
            _sidebar(lab, folder)
            _changes(lab, folder)
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def _cell(lab: Lab, folder: Path) -> None:
    first, cell = lab.cell(0), lab.cell(1)
    first.run()
    first.expect_done(1)
    cell.run()
    expect(cell.button("Allow once")).to_be_enabled(timeout=PATIENCE_MS)
    lab.page.screenshot(path=folder / "permission-in-a-cell.png")
    cell.button("Allow once").click()
    cell.expect_done(2)


def _chat(lab: Lab, folder: Path) -> None:
    cell = lab.cell(2)
    cell.run()
    cell.expect_done(3)
    for text in TALK:
        _say(cell, text)
    cell.output.locator(".tool .fold-head").last.click()  # shows the difference
    view = cell.output.locator(".agentnb-view")
    for name, theme in THEMES.items():
        lab.theme(theme)
        _take(view, folder / f"chat-{name}.png")
    lab.theme(THEMES["light"])
    _box(cell).press_sequentially("What of @res")
    expect(cell.output.get_by_role("listbox", name="Completions")).to_be_visible(timeout=PATIENCE_MS)
    _take(view, folder / "completion.png")
    _box(cell).press("Escape")
    _box(cell).fill("/ask edit")
    _box(cell).press("Enter")
    expect(cell.button("Allow once")).to_be_enabled(timeout=PATIENCE_MS)
    view.evaluate("element => { element.style.width = '300px' }")
    _take(view, folder / "chat-narrow.png")


def _sidebar(lab: Lab, folder: Path) -> None:
    """A plot in the chat, and a cell that failed with the agent's change of it to be reviewed."""
    agent = lab.server.folder.parent / "Analyst"
    agent.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT / "tests/agents/analyst.py"}"\n', encoding="utf-8")
    agent.chmod(0o755)
    start = f"import agentnb\nagentnb.start(command=[{str(agent)!r}], title='Penguins', kernel_tools=True)"
    lab.open_too("analysis.ipynb", notebook(start, *ANALYSIS, kernel="python3"))
    for index in range(2):
        lab.cell(index).run()
        lab.cell(index).expect_done(index + 1)
    lab.cell(0).focus()
    lab.command("notebook:delete-cell")
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    side.resize(480)
    side.say("Plot the masses by species")
    side.allow()
    answer = side.chat.locator(".answer").last
    expect(answer).to_contain_text("hardly overlap", timeout=PATIENCE_MS)
    lab.cell(1).run()
    lab.cell(1).button("Fix with agent").click()
    expect(lab.cell(1).locator.locator(".agentnb-new-lines")).to_contain_text("known", timeout=PATIENCE_MS)
    expect(lab.panel.locator(".agentnb-cell-bar")).to_have_attribute("data-armed", "true", timeout=PATIENCE_MS)
    expect(answer.locator("math").first).to_be_visible(timeout=PATIENCE_MS)
    for name in ("light", "dark"):
        lab.theme(THEMES[name])
        lab.page.screenshot(path=folder / f"sidebar-{name}.png", animations="disabled")


def _changes(lab: Lab, folder: Path) -> None:
    file = lab.server.folder / "residuals" / "fit.py"
    file.parent.mkdir()
    file.write_text(FIT, encoding="utf-8")
    start = "import agentnb\nsession = agentnb.start(title='Weights', cwd='residuals', permissions='allow')"
    lab.open_too("fit.ipynb", notebook(start, kernel="python3"))
    lab.cell(0).run()
    lab.cell(0).expect_done(1)
    side = Side(lab.page)
    if not side.panel.is_visible():
        side.open()
    side.expect_chat()
    side.resize(480)
    side.say(CHANGE)
    side.session.get_by_role("button", name="Review", exact=True).click(timeout=PATIENCE_MS)
    expect(lab.page.locator(".agentnb-review:visible .cm-merge-b")).to_contain_text("w=1.0", timeout=PATIENCE_MS)
    for name in ("light", "dark"):
        lab.theme(THEMES[name])
        lab.page.screenshot(path=folder / f"changes-{name}.png", animations="disabled")
    lab.theme(THEMES["light"])
    file.write_text(file.read_text(encoding="utf-8").replace("w=1.0", "w=0.5"), encoding="utf-8")
    side.session.get_by_role("button", name="Undo fit.py", exact=True).click()
    expect(side.chat.locator(".conflicts")).to_be_visible(timeout=PATIENCE_MS)
    _take(side.chat.locator(".conflicts"), folder / "changes-conflict.png")


def _box(cell: Cell) -> Locator:
    return cell.output.locator(".prompt textarea")


def _say(cell: Cell, text: str) -> None:
    _box(cell).fill(text)
    _box(cell).press("Enter")
    expect(cell.button("Stop")).to_have_count(0, timeout=PATIENCE_MS)
    expect(cell.output.locator(".working")).to_have_count(0, timeout=PATIENCE_MS)


def _take(view: Locator, path: Path) -> None:
    view.scroll_into_view_if_needed()
    view.screenshot(path=path, animations="disabled")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures")
