"""Measure what a user of the chat sees, on a real JupyterLab with a scripted agent.

Exits with an error if a figure is above what is wanted. The sidebar is 420 px wide. What is looked for is named below,
by roles and names where that is possible.

Usage: ``python scripts/measure_ui.py`` in a checkout with its environment (``make measure-ui``); two minutes.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from playwright.sync_api import expect

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.benchmarks.browser import a_lab  # noqa: E402 - the checkout is not on the path before
from tests.browser.axe import serious  # noqa: E402
from tests.browser.lab import PATIENCE_MS, Lab, notebook  # noqa: E402
from tests.browser.side import Side  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from playwright.sync_api import Locator

WIDTH = 420
SOON_MS = 8_000
"""The longest wait before a new user clicks on."""
AGENT = [sys.executable, str(ROOT / "tests/agents/calls_kernel.py")]
TITLE = "Helper"

# Selectors and names in the page: the one place to change when the page changes.
LAUNCHER = ".jp-LauncherCard[data-category='Notebook']"
"""JupyterLab's card that opens a notebook, for a chat that needs one."""
ACCEPT = ".jp-Dialog .jp-mod-accept"
BOX = "textarea"
CARD = ".permission"
"""A permission request in the chat."""
CELL_BAR = ".agentnb-cell-bar"
"""The bar of a changed cell."""
IN_CELLS = "[class*='agentnb'][class*='bar'] button:not(.agentnb-verify *)"
"""Our buttons in the notebook: in the bars of cells, and in the bar above them."""
DECISIONS = ("Accept", "Allow", "Keep")
"""The buttons that accept one change; their name depends on their place."""
BEFORE_ADVANCED = """(panel) => {
  const list = panel.querySelector(".settings-list");
  const end = list.querySelector(".settings-advanced") ?? list.lastElementChild;
  return end.getBoundingClientRect()[end.matches("details") ? "top" : "bottom"]
    - panel.getBoundingClientRect().top + list.scrollTop;
}"""
CONTROLS = """(host) => {
  const controls = "button, a[href], input, select, textarea, summary, [role=tab], [role=menuitem], [role=switch]";
  const inside = (root) => [...root.querySelectorAll("*")].flatMap((one) => [
    ...(one.matches(controls) ? [one] : []), ...(one.shadowRoot ? inside(one.shadowRoot) : [])]);
  const view = host.getBoundingClientRect();
  return inside(host).filter((one) => {
    const box = one.getBoundingClientRect();
    const isThere = one.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    return isThere && box.width > 1 && box.height > 1 && box.bottom > view.top && box.top < view.bottom
      && box.right > view.left && box.left < view.right;
  }).map((one) => (one.ariaLabel || one.textContent || one.placeholder || one.tagName).trim().slice(0, 40));
}"""
"""The names of the controls that are visible now."""

SHELL_LINE = {"toolCallId": "c1", "title": "git push origin main", "kind": "execute"}
ASKS = [{"ask": {**SHELL_LINE, "rawInput": {"command": "git push origin main"}}}]
INSERTS = [{"start": ["insert_cell", {"below": "1", "source": f"b{number} = {number}"}]} for number in range(15)]
END = {"end": 1}
"""The agent waits for the answer to its last call."""
ANSWER = "There are two planets."


class Figure(NamedTuple):
    """One row of the table.

    Attributes:
        most: What is wanted: this or less.
        before: What 0.2 had.
    """

    name: str
    before: str
    most: int
    value: int


class Page:
    """The sidebar beside a notebook, with its figures."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self.side = lab, Side(lab.page)
        self.figures: list[Figure] = []
        self.violations: list[str] = []

    def note(self, name: str, before: str, most: int, value: float) -> None:
        """Write a figure down, and look at the page with axe."""
        self.figures.append(Figure(name, before, most, round(value)))
        self.violations += [f"{violation['id']}: {violation['nodes'][0]}" for violation in serious(self.lab.page)]

    def controls(self, name: str, before: str, most: int) -> None:
        """Count what can be used in the sidebar now."""
        names = self.side.panel.evaluate(CONTROLS)
        self.note(name, before, most, len(names))
        print(f"{name}: {', '.join(names)}", flush=True)

    def say(self, steps: Sequence[object]) -> None:
        """Have the agent of the shown conversation do something."""
        box = self.side.chat.locator(BOX).first
        expect(box).to_be_editable(timeout=PATIENCE_MS)
        box.fill(json.dumps(steps))
        box.press("Enter")

    def first_answer(self) -> None:
        """The way from an empty JupyterLab to an answer: clicks, beside one Enter."""
        page = self.lab.page
        page.goto(f"{self.lab.server.url}/lab/workspaces/empty?token=browser-tests&reset")
        launcher = page.locator(LAUNCHER).first
        expect(launcher).to_be_visible(timeout=PATIENCE_MS)
        panel, clicks = self.side.panel, 1
        self.side.icon.click()
        box = panel.locator(BOX).first
        start = panel.get_by_role("button", name=TITLE)
        for choice in (launcher, start):  # a chat that opens without a box needs a notebook and an agent
            if not comes(box):
                choice.first.click(timeout=PATIENCE_MS)
                clicks += 1
        expect(box).to_be_editable(timeout=PATIENCE_MS)
        box.fill(json.dumps([{"say": ANSWER}]))
        box.press("Enter")
        answer = panel.get_by_text(ANSWER, exact=True)
        dialog = page.locator(ACCEPT)
        expect(answer.or_(dialog).first).to_be_visible(timeout=PATIENCE_MS)
        if dialog.is_visible():
            dialog.click()
            clicks += 1
            expect(answer.first).to_be_visible(timeout=PATIENCE_MS)
        self.note("clicks, and Enter, to the first answer", "5", 2, clicks)

    def chat(self) -> None:
        """Three conversations with one agent: at rest, and while a shell line waits."""
        start = (
            f'import agentnb\nfor title in ("One", "Two", "Three"):\n    agentnb.start(command={AGENT!r}, title=title)'
        )
        self.lab.open("chat.ipynb", notebook(start, kernel="python3"))
        self.lab.run_cells(1)
        self.show()
        self.say([{"say": ANSWER}])
        expect(self.side.chat.get_by_text(ANSWER, exact=True).first).to_be_visible(timeout=PATIENCE_MS)
        expect(self.side.chat.get_by_role("button", name="Stop", exact=True)).to_have_count(0, timeout=PATIENCE_MS)
        self.lab.page.mouse.move(5, 300)
        self.controls("visible controls at rest", "15", 8)
        self.say(ASKS)
        card = self.side.chat.locator(CARD).first
        expect(card).to_be_visible(timeout=PATIENCE_MS)
        expect(card.get_by_role("button").first).not_to_have_attribute("aria-disabled", "true", timeout=PATIENCE_MS)
        self.controls("visible controls while a permission waits", "26", 11)
        self.note("height of the card for a shell line, px", "222", 96, height(card))
        self.lab.picture("measured-permission")

    def settings(self) -> None:
        """The settings before *Advanced*."""
        self.lab.command("agentnb:settings")
        panel = self.side.chat.get_by_role("region", name="Settings", exact=True)
        expect(panel.locator(".settings-list")).to_be_visible(timeout=PATIENCE_MS)
        self.note("height of the settings, px", "5,549", 1_400, panel.evaluate(BEFORE_ADVANCED))
        self.lab.picture("measured-settings")
        self.lab.page.keyboard.press("Escape")

    def cells(self) -> None:
        """One proposed cell, then fifteen."""
        start = f"import agentnb\nsession = agentnb.start(command={AGENT!r}, title='Cells', kernel_tools=True)"
        self.lab.open("cells.ipynb", notebook(start, kernel="python3"))
        self.lab.run_cells(1)
        self.show()
        self.say([*INSERTS[:1], END])
        yes = [self.lab.page.get_by_role("button", name=name, exact=True) for name in DECISIONS]
        expect(yes[0].or_(yes[1]).or_(yes[2]).first).to_be_visible(timeout=PATIENCE_MS)
        settle(self.lab)
        decisions = sum(seen(one) for one in yes)
        answer(self.lab, yes)
        settle(self.lab)
        again = sum(seen(one) for one in yes)
        self.note("decisions asked for one cell edit", "2-3", 1, decisions + again)
        self.lab.open("cells-15.ipynb", notebook(start, kernel="python3"))
        self.lab.run_cells(1)
        self.show()
        self.say([*INSERTS, END])
        expect(self.lab.panel.locator(CELL_BAR)).to_have_count(15, timeout=PATIENCE_MS)
        settle(self.lab)
        buttons = seen(self.lab.panel.locator(IN_CELLS)) + seen(self.side.chat.locator(f"{CARD} button"))
        self.note("buttons for 15 changed cells", "90", 34, buttons)
        self.lab.picture("measured-cells")

    def show(self) -> None:
        """See the chat in a sidebar of the width that is measured."""
        if not self.side.panel.is_visible():
            self.side.open()
        self.side.expect_chat()
        self.side.resize(WIDTH)

    def table(self) -> str:
        """All figures, each beside that of 0.2 and what is wanted."""
        rows = [*self.figures, Figure("axe violations, serious or critical", "0", 0, len(set(self.violations)))]
        lines = [f"{'':<44}{'0.2':>8}{'wanted':>10}{'now':>8}"]
        for name, before, most, value in rows:
            missed = "" if value <= most else "  missed"
            lines.append(f"{name:<44}{before:>8}{f'≤ {most:,}':>10}{f'{value:,}':>8}{missed}")
        return "\n".join([*lines, *sorted(set(self.violations))])

    @property
    def is_missed(self) -> bool:
        """Whether a figure is above its mark."""
        return bool(self.violations) or any(value > most for _, _, most, value in self.figures)


def comes(place: Locator) -> bool:
    """Whether something is shown, or is within a while."""
    try:
        expect(place).to_be_visible(timeout=SOON_MS)
    except AssertionError:
        return False
    return True


def height(place: Locator) -> float:
    """How high something is, in pixels."""
    return float(place.evaluate("(element) => element.getBoundingClientRect().height"))


def seen(places: Locator) -> int:
    """How many of them are shown, wherever one has to scroll to."""
    return sum(one.is_visible() for one in places.all())


def settle(lab: Lab) -> None:
    """Wait until what was drawn last stays as it is."""
    lab.page.evaluate("""async () => {
      const drawn = () => document.querySelectorAll("[class*='agentnb']").length;
      for (let before = -1, same = 0; same < 60; same = drawn() === before ? same + 1 : 0) {
        before = drawn();
        await new Promise(requestAnimationFrame);
      }
    }""")


def answer(lab: Lab, yes: list[Locator]) -> None:
    """Say yes to the one change that waits, at the first place that takes it, and see it gone."""
    choice = next(one for each in yes for one in each.all() if one.is_visible())
    choice.click(timeout=PATIENCE_MS)
    expect(lab.panel.locator(".jp-CodeCell")).to_have_count(2, timeout=PATIENCE_MS)


def main() -> None:
    """Measure, and print the table."""
    with tempfile.TemporaryDirectory() as data:
        os.environ["AGENTNB_DATA_DIR"] = data
        with a_lab() as lab:
            agents = Path(os.environ["JUPYTER_CONFIG_DIR"]) / "agentnb" / "agents"
            agents.mkdir(parents=True)
            (agents / "helper.toml").write_text(f'name = "helper"\ntitle = "{TITLE}"\ncommand = {json.dumps(AGENT)}\n')
            page = Page(lab)
            parts: list[Callable[[], None]] = [page.first_answer, page.chat, page.settings, page.cells]
            for part in parts:
                part()
    print(f"\n{page.table()}")
    sys.exit(page.is_missed)


if __name__ == "__main__":
    main()
