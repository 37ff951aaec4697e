"""Take pictures of each flow in the notebook: light and dark, with a sidebar of 300 px, 420 px and 1,200 px.

They are for looking, after a change of what is shown; no document has them.

Usage: ``python scripts/flow_pictures.py FOLDER [PART …]``; the part ``box_and_pill`` comes first.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import expect

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.benchmarks.browser import a_lab  # noqa: E402 - the checkout is not on the path before
from tests.browser.lab import PATIENCE_MS, Lab, notebook  # noqa: E402
from tests.browser.side import Side  # noqa: E402
from tests.mcp_client import McpClient  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
WIDTHS = {300: 1000, 420: 1100, 1200: 1800}
"""Widths of the sidebar, each with the page's width, in pixels."""
HEIGHT = 900
LAID_OUT = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(null))))"
AGENTS = ROOT / "tests/agents"
PLAN = "plan.json"
"""Holds the agent's steps: the messages in the pictures are a user's."""
TABLE = """import pandas as pd
petals = pd.DataFrame({"length": [1.4, 4.7], "species": ["setosa", "versicolor"]})
petals"""
FAILING = "south, east = 30, 0\nshare = south / east"
OLD = "petals.plot()"
FIT = "".join(f"x_{number} = read({number})\n" for number in range(24))
FIT_NEW = FIT.replace("x_3 = read(3)", "x_3 = read(3, header=True)\ncheck(x_3)").replace("x_20 = read(20)\n", "")
RUN = """import threading
for step in range(3):
    print(f'step {step} done')
threading.Event().wait()"""
READ = {"kind": "read", "status": "completed"}
QUESTIONS = {
    "permission": {
        "toolCallId": "push",
        "title": "git push origin main",
        "kind": "execute",
        "rawInput": {"command": "git push origin main"},
    },
    "permission-long": {
        "toolCallId": "script",
        "title": "Run a script",
        "kind": "execute",
        "rawInput": {"command": "python - <<'E'\nimport shutil\nshutil.rmtree('results/old')\nE"},
    },
}
JOINED = """customers = pd.DataFrame({"id": [*range(400), 7, 8, 9], "segment": "home"})
orders = pd.DataFrame({"order": range(10_412), "id": [n % 400 for n in range(10_412)]})"""
JOIN = 'orders = orders.merge(customers, on="id")'
CLOSE_REVIEW = """() => {
  for (const widget of [...window.jupyterapp.shell.widgets("main")])
    if (widget.id.startsWith("agentnb-review")) widget.close();
}"""


class Flows:
    """Takes the pictures of one page.

    Args:
        lab: The page.
        folder: Where they go.
    """

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, self.folder, self.side = lab, folder, Side(lab.page)

    def take(self, name: str, show: Callable[[], object] = lambda: None) -> None:
        """The page as it is now, in each theme and width; *show* brings back what goes with the pointer."""
        for theme, named in THEMES.items():
            self.lab.theme(named)
            for width, page in WIDTHS.items():
                self.lab.page.set_viewport_size({"width": page, "height": HEIGHT})
                self.lab.page.evaluate(LAID_OUT)
                self.side.resize(width)
                show()
                self.lab.page.screenshot(path=self.folder / f"{name}-{theme}-{width}.png", animations="disabled")
        self.lab.theme(THEMES["light"])

    def run(self, *indices: int) -> None:
        """Run cells, one after the other."""
        for index in indices:
            self.lab.cell(index).run()
            self.lab.cell(index).expect_done()

    def ask(self, *steps: object, message: str = "Analyse the measurements") -> None:
        """Have the agent of the shown conversation do *steps*; the message says something else."""
        (self.folder / PLAN).write_text(json.dumps(steps))
        self.side.say(message)

    def ended(self) -> None:
        """See the last turn end."""
        expect(self.side.chat.get_by_role("button", name="Stop", exact=True)).to_have_count(0, timeout=PATIENCE_MS)
        expect(self.side.chat.locator(".turn-end").last).to_be_attached()
        self.lab.page.mouse.move(5, 5)

    def choose(self, name: str) -> None:
        """Choose in the menu of the conversation."""
        self.side.chat.get_by_role("button", name="Conversation", exact=True).click()
        self.side.chat.get_by_role("menuitem", name=re.compile(f"^{name}")).click()

    def box_and_pill(self) -> None:
        """The box at rest, and the list of its agent pill."""
        self.run(0, 1, 2)
        self.side.open()
        self.side.expect_chat()
        self.take("01-box")
        self.side.pill.click()
        expect(self.side.agents.get_by_role("button", name="Helper").first).to_be_visible()
        self.take("02-pill")
        self.side.agents.get_by_role("button", name="Choosy").first.click()
        expect(self.side.pill).to_contain_text("One", timeout=PATIENCE_MS)
        self.side.pill.click()
        expect(self.side.agents.get_by_role("button", name="Helper").first).to_be_visible()
        self.take("02-pill-options")
        self.side.agents.get_by_role("button", name="Helper").first.click()
        self.lab.page.keyboard.press("Escape")

    def working(self) -> None:
        """The agent thinks, has read, and runs code that takes long."""
        thought = {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "Three files, then."}}
        self.side.choose_freedom("Ask")
        self.ask(
            {"update": thought},
            *({"update": READ | {"toolCallId": f"r{at}", "title": f"Read part-{at}.csv"}} for at in range(3)),
            {"say": "The three files have the same columns. I fit the slope in your kernel.\n\n"},
            {"start": ["run_code", {"code": RUN}]},
            {"end": 1},
        )
        expect(self.side.chat.locator(".permission")).to_be_visible(timeout=PATIENCE_MS)
        self.side.allow()
        expect(self.side.chat.get_by_text("step 2 done")).to_be_visible(timeout=PATIENCE_MS)
        self.take("03-working")
        self.side.chat.get_by_role("button", name="Stop this code").click()
        self.ended()
        self.take("03-stopped")

    def permission(self) -> None:
        """A shell line waits, and code of several lines."""
        for name, call in QUESTIONS.items():
            self.ask({"ask": call}, message="Publish it")
            card = self.side.chat.locator(".permission")
            expect(card.locator("[data-armed=true]")).to_be_visible(timeout=PATIENCE_MS)
            self.take(f"04-{name}")
            card.get_by_role("button", name="Reject").first.click()
            self.ended()

    def cells(self) -> None:
        """Cells change: asked before, and reviewed afterwards."""
        changes = [
            ["replace_cell", {"cell": "1", "source": TABLE.replace("4.7", "4.9")}],
            ["insert_cell", {"below": "1", "source": "petals.describe()"}],
            ["delete_cell", {"cell": "2"}],
        ]
        steps = [*({"start": each} for each in changes), {"end": 3}]
        self.ask(*steps, message="Clean the notebook up")
        bars = self.lab.panel.locator(".agentnb-cell-bar[data-armed=true]")
        expect(bars).to_have_count(3, timeout=PATIENCE_MS)
        self.take("05-cells-asked")
        self.lab.panel.get_by_role("button", name="Reject all").click()
        self.ended()
        self.side.choose_freedom("Edit")
        self.ask(*steps, message="Clean the notebook up, please")
        self.ended()
        expect(bars).to_have_count(3, timeout=PATIENCE_MS)
        self.take("05-cells-changed")
        self.lab.panel.get_by_role("button", name="Keep all").click()

    def changes(self) -> None:
        """A finished turn, and the review of its files."""
        self.ask(
            {"write": ["fit.py", FIT_NEW]},
            *({"write": [f"report-{number}.md", f"# Report {number}\n"]} for number in range(3)),
            {"start": ["insert_cell", {"below": "1", "source": "slope = 3"}]},
            {"end": 1},
            {"say": "I split the fit from the reports, and read the data once only."},
            message="Split the script",
        )
        self.ended()
        review = self.side.chat.get_by_role("button", name="Review", exact=True).last
        expect(review).to_be_visible(timeout=PATIENCE_MS)
        self.take("07-finished")
        self.side.chat.locator(".turn").last.hover()
        self.take("07-finished-hover")
        review.click()
        expect(self.lab.page.locator(".agentnb-hunk-bar").first).to_be_visible(timeout=PATIENCE_MS)
        self.take("06-files")
        self.lab.page.evaluate(CLOSE_REVIEW)
        review.click()

    def rewind(self) -> None:
        """Going back, and editing a message."""
        turn = self.side.chat.locator(".turn").last
        for picture, name in (("back", "Go back to before this message"), ("edit", "Edit and send again")):
            turn.hover()
            turn.get_by_role("button", name="Turn", exact=True).click()
            turn.get_by_role("menuitem", name=name).hover()
            self.take("11-turn-menu")
            turn.get_by_role("menuitem", name=name).click()
            expect(self.side.chat.get_by_role("button", name="Cancel")).to_be_visible(timeout=PATIENCE_MS)
            self.take(f"11-rewind-{picture}")
            self.side.chat.get_by_role("button", name="Cancel").click()

    def failures(self) -> None:
        """Calls and a turn that fail, and an agent that cannot start."""
        call: dict[str, object] = {
            "toolCallId": "f",
            "title": "Query the warehouse",
            "kind": "fetch",
            "status": "failed",
        }
        text = "Connection refused\n" + "  at socket.c\n" * 20
        call["content"] = [{"type": "content", "content": {"type": "text", "text": text}}]
        self.ask({"update": call}, {"say": "The warehouse does not answer."}, message="Query it")
        self.ended()
        self.take("08-failed-call")
        self.ask({"fail": "The model is overloaded (529). Try again in a minute."}, message="And now?")
        expect(self.side.chat.get_by_role("button", name="Send again")).to_be_visible(timeout=PATIENCE_MS)
        self.take("08-failed-turn")
        self.side.chat.get_by_role("button", name="New conversation").click()
        self.side.pill.click()
        self.side.agents.get_by_role("button", name="Broken").first.click()
        self.side.say("Hello")
        expect(self.side.chat.get_by_text("stopped while starting")).to_be_visible(timeout=PATIENCE_MS)
        self.take("08-cannot-start")

    def panels(self) -> None:
        """How freely the agent works, the settings, the history and what it needs."""
        self.side.chat.get_by_role("tab").first.click()
        self.side.freedom.click()
        expect(self.side.chat.get_by_role("menuitem", name="Custom")).to_be_visible()
        self.take("10-freedom")
        self.lab.page.keyboard.press("Escape")
        self.side.custom()
        self.take("10-custom")
        self.lab.page.keyboard.press("Escape")
        self.side.chat.get_by_role("button", name="Conversation", exact=True).click()
        self.take("10-menu")
        self.lab.page.keyboard.press("Escape")
        for name, number in (("Settings", "09"), ("History", "10")):
            self.choose(name)
            expect(self.side.chat.get_by_role("searchbox").first).to_be_visible()
            self.take(f"{number}-{name.lower()}")
            if name == "Settings":
                self.side.chat.locator("summary", has_text="Advanced").click()
                self.take("09-settings-advanced")
                self.side.chat.get_by_text("Rules and approvals").click()
                self.take("09-settings-rules")
            else:
                self.side.chat.get_by_role("button", name="More", exact=True).click()
                self.side.chat.get_by_role("menuitem", name="Storage").click()
                self.take("10-storage")
            self.lab.page.keyboard.press("Escape")

    def chips(self) -> None:
        """Selected code and a table are added to the chat."""
        self.side.chat.get_by_role("tab").first.click()
        self.lab.cell(1).focus()
        self.lab.page.keyboard.press("Control+a")
        self.lab.page.keyboard.press("Control+Alt+g")
        expect(self.side.box).to_have_value("@selection:1 ")
        self.side.box.press_sequentially("@petals @output:1 ")
        chips = self.side.chat.get_by_role("list", name="Attached by mentions").get_by_role("button")
        expect(chips.nth(2)).to_be_visible()
        chips.nth(0).click()
        expect(self.side.chat.locator(".mention-preview")).to_be_visible()
        self.take("13-chips")
        self.side.box.fill("")

    def provenance(self) -> None:
        """Marks of who wrote a cell, and what one says."""
        self.side.choose_freedom("Auto")
        changed = TABLE.replace("petals\n", "petals.dtypes\n").replace("4.7", "5.1")
        steps = [
            ["cells", {}],
            ["replace_cell", {"cell": "1", "source": f"{changed}\npetals.mean(numeric_only=True)"}],
            ["insert_cell", {"below": "1", "source": "petals.plot.bar(x='species')"}],
        ]
        self.ask(*(step for each in steps for step in ({"start": each}, {"end": 1})), message="Show the means")
        self.ended()
        expect(self.lab.panel.locator(".agentnb-cell-bar").nth(1)).to_be_visible(timeout=PATIENCE_MS)
        expect(self.lab.panel.locator(".agentnb-cell-bar[data-armed=false]")).to_have_count(0)  # they take no press yet
        self.lab.panel.get_by_role("button", name="Keep all").click()
        mark = self.lab.panel.locator(".agentnb-author").first
        expect(mark).to_be_visible(timeout=PATIENCE_MS)
        self.take("14-provenance", mark.hover)

    def checks(self) -> None:
        """Data checks on a preview, below the turn, and opened."""
        self.side.choose_freedom("Ask")
        self.lab.command("agentnb:run", source=JOINED)
        self.lab.expect_in_kernel("len(orders)", 10_412)
        self.ask({"start": ["run_code", {"code": JOIN}]}, {"end": 1}, message="Join the customers")
        self.side.chat.get_by_role("button", name="Preview", exact=True).click()
        expect(self.side.chat.locator(".preview-check").first).to_be_visible(timeout=PATIENCE_MS)
        self.take("15-checks-preview")
        self.side.allow()
        line = self.side.chat.locator(".data-check-line").last
        expect(line).to_be_visible(timeout=PATIENCE_MS)
        self.ended()
        self.take("15-checks", line.scroll_into_view_if_needed)
        line.click()
        self.take("15-checks-open", line.scroll_into_view_if_needed)

    def verify(self) -> None:
        """A verification that finds something, one that passes, and one that is stale."""
        mark = self.lab.panel.locator(".jp-NotebookPanel-toolbar .agentnb-verify-main")
        mark.click()
        expect(mark).to_contain_text("(1 of ", timeout=PATIENCE_MS)
        self.take("20-verify-finding")
        self.lab.open_too("verified.ipynb", notebook("x = 40", "x + 2", kernel="python3"))
        self.side.expect_chat()
        self.run(0, 1)
        mark.click()
        expect(mark).to_have_text(re.compile(r"^Verified \d\d:\d\d$"), timeout=PATIENCE_MS)
        self.take("20-verified")
        self.lab.cell(1).write("x + 3")
        expect(mark).to_contain_text("changed since")
        self.take("20-verify-stale")

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


PARTS = (
    *("box_and_pill", "working", "permission", "cells", "changes", "rewind", "failures", "panels", "chips"),
    *("provenance", "checks", "verify", "pair"),
)
"""The other parts need the first one."""


def main(folder: Path, parts: Sequence[str]) -> None:
    """Take the pictures of some parts, or all."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data:
        os.environ["AGENTNB_DATA_DIR"] = data  # for the kernel and for the program in a terminal
        with a_lab() as lab:
            write_agents(folder.resolve())
            (lab.server.folder / "fit.py").write_text(FIT)
            lab.open("flows.ipynb", notebook(TABLE, "length = 4", FAILING, OLD, kernel="python3"))
            lab.page.keyboard.press("Control+b")  # hides the file browser
            flows = Flows(lab, folder)
            try:
                for part in parts or PARTS:
                    getattr(flows, part)()
            except Exception:
                lab.page.screenshot(path=folder / "failed.png")
                raise


def write_agents(folder: Path) -> None:
    """Agents for the list of the pill."""
    agents = Path(os.environ["JUPYTER_CONFIG_DIR"]) / "agentnb" / "agents"
    agents.mkdir(parents=True)
    commands = {
        "Helper": ["calls_kernel.py", str(folder / PLAN)],
        "Choosy": ["settings.py", "both"],
        "Broken": ["dies_at_start.py"],
    }
    for title, (script, *more) in commands.items():
        command = json.dumps([sys.executable, str(AGENTS / script), *more])
        text = f'name = "{title.lower()}"\ntitle = "{title}"\ncommand = {command}\n'
        (agents / f"{title.lower()}.toml").write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
