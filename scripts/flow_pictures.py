"""Take pictures of each flow in the notebook: light and dark, with a sidebar of 420 px and of 1,200 px.

They are for looking, after a change of what is shown; no document has them.

Usage: ``python scripts/flow_pictures.py FOLDER``
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import expect

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.benchmarks.browser import a_lab  # noqa: E402 - the checkout is not on the path before
from tests.browser.lab import Lab, notebook  # noqa: E402
from tests.browser.side import Side  # noqa: E402
from tests.mcp_client import McpClient  # noqa: E402

THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
WIDTHS = {420: 1100, 1200: 1800}
"""How wide the sidebar is, and the page with it."""
HEIGHT = 900
LAID_OUT = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(null))))"
AGENTS = ROOT / "tests/agents"
SETUP = f"""import sys, agentnb
helper = [sys.executable, {str(AGENTS / "assistant.py")!r}]
steps = [sys.executable, {str(AGENTS / "calls_kernel.py")!r}]"""
TABLE = """import pandas as pd
petals = pd.DataFrame({"length": [1.4, 4.7], "species": ["setosa", "versicolor"]})
petals"""
FAILING = "south, east = 30, 0\nshare = south / east"
START = "session = agentnb.start(command={}, title={!r}, kernel_tools=True)"
FORMULAS = r"""/say The slope is $\hat\beta = \frac{\sum_i x_i y_i}{\sum_i x_i^2}$, and costs \$5:

$$
\operatorname{Var}(\hat\beta)
- \frac{\sigma^2}{\sum_i x_i^2} = \begin{pmatrix} a & b \\ c & d \end{pmatrix} \int_0^\infty e^{-x^2}\,dx
$$

1. In a list: \(a_1 \ne b\)
2. Wrong: $\frobnicate{x}$"""
RUN = "import time\nfor step in range(3):\n    print(f'\\x1b[32mstep {step}\\x1b[0m done')\n1 / 0"


class Flows:
    """Takes the pictures of one page.

    Args:
        lab: The page.
        folder: Where they go.
    """

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, self.folder, self.side = lab, folder, Side(lab.page)

    def take(self, name: str) -> None:
        """The page as it is now, in each theme and width."""
        for theme, named in THEMES.items():
            self.lab.theme(named)
            for width, page in WIDTHS.items():
                self.lab.page.set_viewport_size({"width": page, "height": HEIGHT})
                self.lab.page.evaluate(LAID_OUT)
                self.side.resize(width)
                self.lab.page.screenshot(path=self.folder / f"{name}-{theme}-{width}.png", animations="disabled")
        self.lab.theme(THEMES["light"])

    def run(self, *indices: int) -> None:
        """Run cells, one after the other."""
        for index in indices:
            self.lab.cell(index).run()
            self.lab.cell(index).expect_done()

    def start_page(self) -> None:
        """The box, the list of its agent pill, and the examples."""
        self.run(0, 1, 2)
        self.side.open()
        self.side.expect_chat()
        self.take("01-box")
        self.side.pill.click()
        expect(self.side.agents.get_by_role("button", name="Tour")).to_be_visible()
        self.take("01-pill")
        self.lab.page.keyboard.press("Escape")
        self.side.start()
        expect(self.side.chat.get_by_role("group", name="Examples")).to_be_visible()
        self.take("02-empty-chat")

    def chips(self) -> None:
        """Selected code and a table are added to the chat."""
        self.lab.cell(1).focus()
        self.lab.page.keyboard.press("Control+a")
        self.lab.page.keyboard.press("Control+Alt+g")
        expect(self.side.box).to_have_value("@selection:1 ")
        self.side.box.press_sequentially("@petals @output:2 ")
        chips = self.side.chat.get_by_role("list", name="Attached by mentions").get_by_role("button")
        expect(chips.nth(2)).to_be_visible()
        self.take("03-chips")
        chips.nth(0).click()
        expect(self.side.chat.locator(".mention-preview")).to_be_visible()
        self.take("04-chip-opened")
        self.side.box.fill("")

    def formulas(self) -> None:
        """Formulas as they are drawn, and one that cannot be."""
        self.side.say(FORMULAS)
        expect(self.side.chat.locator("math").nth(2)).to_be_visible()
        self.take("05-formulas")

    def fix(self) -> None:
        """An error is explained and fixed, the edit is reviewed in its cell."""
        self.run(3)
        self.side.chat.get_by_role("tab", name="Sales").click()
        bars = self.lab.panel.locator(".agentnb-cell-bar")
        self.lab.cell(2).button("Fix with agent").click()
        expect(self.lab.cell(2).locator.locator(".agentnb-new-lines")).to_be_visible()
        expect(bars).to_have_attribute("data-armed", "true")
        self.take("06-fix-review")
        bars.get_by_role("button", name="Accept", exact=True).click()
        expect(self.side.chat.locator(".turn-end").last).to_be_attached()
        self.take("07-fixed-follow-ups")
        self.lab.cell(2).button("Explain").click()
        expect(self.side.chat.locator("math").first).to_be_visible()
        self.take("08-explained")

    def after(self) -> None:
        """Changes that are applied first and reviewed afterwards."""
        self.side.say("Load the sales")
        bars = self.lab.panel.locator(".agentnb-cell-bar")
        expect(bars).to_have_attribute("data-armed", "true")
        self.take("09-new-cell")
        bars.get_by_role("button", name="Accept", exact=True).click()
        self.side.say("Plot them")
        expect(self.side.chat.locator(".permission")).to_be_visible()
        self.take("10-run-asked")
        self.side.allow()
        expect(self.side.chat.locator(".permission")).to_have_count(0)

    def steps(self) -> None:
        """Folded calls, code that runs and fails, cells that are moved and deleted, a question that waits."""
        self.run(4)
        self.side.chat.get_by_role("tab", name="Steps").click()
        reads = [
            {
                "update": {
                    "toolCallId": f"r{number}",
                    "title": f"Read data/part-{number}.csv",
                    "kind": "read",
                    "status": "completed",
                }
            }
            for number in range(12)
        ]
        finds = [
            {
                "update": {
                    "toolCallId": f"s{number}",
                    "title": f"Search for 'species' ({number})",
                    "kind": "search",
                    "status": "completed",
                }
            }
            for number in range(3)
        ]
        self.side.say(
            json.dumps(
                [
                    *reads,
                    *finds,
                    {"say": "All twelve have the column.\n\n"},
                    {"start": ["run_code", {"code": RUN}]},
                    {"end": 1},
                ]
            )
        )
        self.side.allow()
        expect(self.side.chat.locator(".turn-end").last).to_be_attached()
        self.take("11-folded-calls")
        self.side.chat.get_by_role("button", name=re.compile("Read 12 files")).first.click()
        self.take("12-folded-calls-opened")
        moves = [
            {"start": ["move_cell", {"cell": "2", "below": "1"}]},
            {"end": 1},
        ]
        self.side.say(
            json.dumps(
                [
                    {"say": "One after the other.\n\n" * 30},
                    {"start": ["delete_cell", {"cell": "2"}]},
                    {"end": 1},
                    *moves,
                ]
            )
        )
        bars = self.lab.panel.locator(".agentnb-cell-bar")
        expect(bars).to_have_attribute("data-armed", "true")
        self.take("13-delete-asked")
        transcript = self.side.chat.locator(".transcript")
        transcript.hover()
        self.lab.page.mouse.wheel(0, -20000)
        expect(self.side.chat.locator(".waiting-question")).to_be_visible()
        self.take("14-waiting-question")
        self.side.chat.get_by_role("tab").first.click()
        expect(self.side.chat.locator(".waiting-question")).to_be_visible()
        self.take("15-waiting-in-another-tab")

    def freedom(self) -> None:
        """How freely the agent works, the settings and the history."""
        self.side.freedom.click()
        expect(self.side.chat.get_by_role("menuitem", name="Custom")).to_be_visible()
        self.take("20-freedom")
        self.lab.page.keyboard.press("Escape")
        for name, number in (("Settings", 21), ("History", 22)):
            self.side.chat.get_by_role("button", name="Conversation", exact=True).click()
            self.side.chat.get_by_role("menuitem", name=re.compile(f"^{name}")).click()
            panel = self.side.chat.get_by_role("searchbox").first
            expect(panel).to_be_visible()
            self.take(f"{number}-{name.lower()}")
            self.lab.page.keyboard.press("Escape")

    def pair(self) -> None:
        """The menu with the switch, a paired kernel, and a program that is connected and asks."""
        self.side.chat.get_by_role("button", name="Conversation", exact=True).click()
        expect(self.side.chat.get_by_role("menuitem", name="Pair a terminal agent")).to_be_visible()
        self.take("16-pair-menu")
        self.side.chat.get_by_role("menuitem", name="Pair a terminal agent").click()
        self.side.chat.get_by_role("button", name="Pair", exact=True).click()
        expect(self.side.chat.get_by_role("button", name="Unpair")).to_be_visible()
        self.take("17-paired")
        with McpClient(cwd=self.lab.server.folder) as client:
            client.call("variables")
            running = client.begin_call("run_code", code="petals.describe()")
            expect(self.side.chat.get_by_text("Paired: Claude Code (terminal)")).to_be_visible()
            self.side.chat.get_by_role("tab", name="Claude Code").click()
            expect(self.side.chat.locator(".permission")).to_be_visible()
            self.take("18-pair-asks")
            self.side.allow()
            running.result(60)
            self.take("19-pair-ran")


def main(folder: Path) -> None:
    """Take every picture."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data:
        os.environ["AGENTNB_DATA_DIR"] = data  # of the kernel and of the program in a terminal
        _take_all(folder)


def _take_all(folder: Path) -> None:
    cells = [SETUP, TABLE, FAILING, START.format("helper", "Sales"), START.format("steps", "Steps")]
    with a_lab() as lab:
        lab.open("flows.ipynb", notebook(*cells, kernel="python3"))
        lab.page.keyboard.press("Control+b")  # the file browser goes away
        flows = Flows(lab, folder)
        for part in (
            flows.start_page,
            flows.chips,
            flows.formulas,
            flows.fix,
            flows.after,
            flows.freedom,
            flows.steps,
            flows.pair,
        ):
            part()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
