"""Tries side by side in JupyterLab, in the cell and in the chat; the user keeps one or parts of one."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Cell, Lab, notebook
from tests.browser.side import Side, expect_sources
from tests.rehearsal_here import needs_namespaces

pytestmark = needs_namespaces
AGENTS = Path(__file__).parents[1] / "agents"
PROGRAM = [sys.executable, str(AGENTS / "calls_kernel.py")]
SETUP = f"""import agentnb, json, pathlib, pandas as pd
from IPython.display import Image
figure = str(pathlib.Path(agentnb.__file__).parent / "plugins/eliza/chart.png")
score, df = 0.5, pd.DataFrame({{"day": [1, 2, 3], "sales": [4.0, 2.0, None]}})
frames = [df]
pathlib.Path("features.py").write_text("SCALE = 1\\n\\n\\ndef scaled(x):\\n    return SCALE * x\\n")
def agent(name, says, *calls):
    steps = [step for call in calls for step in ({{"start": call}}, {{"end": 1}})] + [{{"say": says}}]
    pathlib.Path(name + ".json").write_text(json.dumps(steps))
    return {{"command": [*{PROGRAM!r}, name + ".json"], "directories": [{str(AGENTS)!r}]}}
EDIT = "text = open('features.py').read().replace('SCALE = 1', 'SCALE = {{}}')\\nopen('features.py', 'w').write(text)"
TELL = "book = json.load(open('NOTEBOOK'))\\nbook['cells'].append({{'id': 'told', 'cell_type': 'markdown', " \
    "'metadata': {{}}, 'source': 'Told.'}})\\njson.dump(book, open('NOTEBOOK', 'w'))"
AGENTS = [
    agent("a", "I scaled the sales.", ["run_code", {{"code": "score = 0.8\\n" + EDIT.format(2)}}]),
    agent("b", "I made the sales a text.\\nThe score is better: <b>0.91</b>.",
          ["run_code", {{"code": "df['sales'] = df['sales'].astype(str)\\nscore = 0.91\\ndisplay(Image(figure))"}}],
          ["run_code", {{"code": EDIT.format(3)}}], ["insert_cell", {{"source": "df.describe()"}}]),
    agent("c", "I could not do it.",
          ["run_code", {{"code": "score = 0.4\\nopen('notes.txt', 'w').write('no gain')\\n" + TELL}}],
          ["replace_cell", {{"cell": "now", "source": "score * 10"}}], ["run_cell", {{"cell": "now"}}],
          ["insert_cell", {{"source": "'nothing'"}}]),
]"""
BEGIN = 'tries = agentnb.branches("Improve the score", agents=AGENTS, measure="score")'
TALKS = f"session = agentnb.start(command={PROGRAM!r}, directories=[{str(AGENTS)!r}])"
FEATURES = "open('features.py').read()[:9]"


def choose(card: Locator, item: str) -> None:
    """Chooses in a try's menu."""
    card.get_by_role("button", name=re.compile("^More for")).click()
    card.get_by_role("menuitem", name=item, exact=True).click()


def begin(lab: Lab, name: str) -> Cell:
    """Opens a notebook whose third cell runs three tries; waits for them."""
    document = notebook(SETUP.replace("NOTEBOOK", name), "score", BEGIN, kernel="ipykernel7")
    document.cells[1].id = "now"
    lab.open(name, document)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    lab.run_cells(3)
    cell = lab.cell(2)
    tries = cell.output.get_by_role("article")
    expect(tries).to_have_count(3, timeout=PATIENCE_MS)
    for index, measure in enumerate(("0.8", "0.91", "0.4")):
        expect(tries.nth(index).locator(".try-measure")).to_have_text(measure, timeout=PATIENCE_MS)
    return cell


def look(lab: Lab, cell: Cell, name: str) -> None:
    """Takes pictures, narrow and wide, light and dark; checks axe and cut-off content."""
    for theme, width in (("Dark", 420), ("Light", 420), ("Light", 1200), ("Dark", 1200)):
        lab.theme(f"JupyterLab {theme}")
        lab.page.set_viewport_size({"width": width + 1000, "height": 1400})  # with both sidebars
        cell.output.evaluate("(output, width) => { output.style.maxWidth = `${width}px`; }", width)
        assert cell.output.locator(".agentnb-branches").evaluate("view => view.scrollWidth <= view.clientWidth")
        assert serious(lab.page) == []
        cell.locator.scroll_into_view_if_needed()
        lab.picture(f"{name}-{theme.lower()}-{width}")


def keep_parts(card: Locator, *parts: str) -> None:
    if not card.get_by_role("checkbox").count():
        choose(card, "Keep parts…")
    for part in parts:
        card.get_by_role("checkbox", name=f"Keep {part}", exact=True).check()
    card.get_by_role("button", name=f"Keep {len(parts)} part{'s' if len(parts) > 1 else ''}", exact=True).click()


def expect_conflict(card: Locator, *words: str) -> None:
    """Waits until the card names the user's changes."""
    for word in words:
        expect(card.get_by_role("alert")).to_contain_text(word, timeout=PATIENCE_MS)
    expect(card.get_by_role("alert")).to_contain_text("Nothing was kept")


def change(lab: Lab, *calls: str) -> None:
    """Makes a user's change through expressions in the kernel."""
    lab.expect_in_kernel(f"[{', '.join(calls)}] and None", None)


def undo(side: Side, card: Locator, title: str) -> None:
    """Goes from a try to the turn that kept it; undoes it."""
    card.get_by_role("button", name="Changes and Undo").click()
    expect(side.chat.get_by_role("tab", selected=True)).to_contain_text(title, timeout=PATIENCE_MS)
    side.chat.get_by_role("button", name="Undo", exact=True).click(timeout=PATIENCE_MS)


def test_kept_try_brings_its_outputs_and_undo_removes_it(lab: Lab) -> None:
    """They are side by side with measures, pictures, data checks and changes; the others vanish."""
    cell = begin(lab, "branches.ipynb")
    tries = cell.output.get_by_role("article")
    second, third = (cell.output.get_by_role("article", name=f"Try {number}") for number in (2, 3))
    expect(second.get_by_text("Best", exact=True)).to_be_visible()
    expect(second).to_contain_text("The score is better: <b>0.91</b>.")
    second.get_by_role("img", name="Output 1 of try 2").wait_for(timeout=PATIENCE_MS)
    expect(second.get_by_role("list", name="Data checks")).to_contain_text("sales became text")
    expect(second.get_by_role("list", name="Changes")).to_contain_text("New cell: df.describe()")
    expect(third.get_by_role("list", name="Changes")).to_contain_text("New cell: Told.")
    expect(third.get_by_role("list", name="Changes")).not_to_contain_text("branches.ipynb")
    expect(cell.output.locator(".agentnb-branches-saved")).to_be_hidden()
    second.get_by_role("button", name=re.compile("features.py")).click()
    expect(second.locator(".line.added")).to_contain_text("SCALE = 3")
    look(lab, cell, "branches")
    lab.cell(1).expect_text("0.5")

    third.get_by_role("button", name="Keep Try 3").click()
    expect(third).to_contain_text("Added to your notebook.", timeout=PATIENCE_MS)
    expect(tries).to_have_count(1)
    lab.picture("branches-kept")
    expect_sources(lab, ["score * 10", BEGIN, "Told.", "'nothing'"])
    lab.cell(1).expect_text("4.0")
    lab.expect_in_kernel(f"[score, open('notes.txt').read(), {FEATURES}]", [0.4, "no gain", "SCALE = 1"])
    side = Side(lab.page)
    undo(side, third, "Keep try 3")
    expect(side.chat.get_by_text("No agent is available here. Continue in another conversation.")).to_be_visible()
    expect(side.box).to_have_count(0)
    expect(lab.page.locator(".agentnb-changed-cell")).to_have_count(0)
    lab.picture("branches-read-only")
    expect_sources(lab, ["score", BEGIN])
    lab.cell(1).expect_text("0.5")
    lab.expect_in_kernel("[score, __import__('os').path.exists('notes.txt')]", [0.5, False])
    lab.picture("branches-undone")


def test_keeping_parts_of_tries_never_overwrites_user_changes(lab: Lab) -> None:
    """A variable, a file, a cell; then the card refuses to overwrite a user's changes."""
    cell = begin(lab, "parts.ipynb")
    side, tries = Side(lab.page), cell.output.get_by_role("article")
    first, second, third = (tries.nth(index) for index in range(3))
    choose(first, "Keep parts…")
    look(lab, cell, "branches-parts")
    keep_parts(first, "score")
    expect(first).to_contain_text("Parts were added to your notebook.", timeout=PATIENCE_MS)
    lab.expect_in_kernel(f"[score, {FEATURES}]", [0.8, "SCALE = 1"])
    keep_parts(second, "df")
    expect(second).to_contain_text("Parts were added to your notebook.", timeout=PATIENCE_MS)
    lab.expect_in_kernel("[frames[0] is df, df['sales'][0], score]", [True, "4.0", 0.8])
    undo(side, second, "Keep try 2")
    lab.expect_in_kernel("[frames[0] is df, df['sales'].tolist()[:2]]", [True, [4.0, 2.0]])
    keep_parts(first, "features.py")
    lab.expect_in_kernel(FEATURES, "SCALE = 2")
    keep_parts(third, "Changed cell: score * 10")
    expect_sources(lab, ["score * 10", BEGIN])
    lab.cell(1).expect_text("4.0")

    change(lab, "__import__('pathlib').Path('features.py').write_text('MINE = 1')", "globals().update(score=0.6)")
    change(lab, "df.loc.__setitem__((0, 'sales'), 9.0)")
    lab.cell(1).write("mine")
    second.get_by_role("button", name="Keep Try 2").click()
    expect_conflict(second, "features.py")
    look(lab, cell, "branches-conflict")
    keep_parts(second, "df", "score")
    expect_conflict(second, "df", "score")
    keep_parts(third, "Changed cell: score * 10", "New cell: 'nothing'")
    expect_conflict(third, "1 cell")
    lab.expect_in_kernel(f"[score, {FEATURES}, df['sales'].tolist()[:2]]", [0.6, "MINE = 1", [9.0, 2.0]])
    expect_sources(lab, ["mine", BEGIN])
    third.get_by_role("button", name="Cancel").click()
    keep_parts(third, "New cell: 'nothing'")
    expect_sources(lab, ["mine", BEGIN, "'nothing'"])


def test_conversation_menu_tries_the_message_three_ways(lab: Lab) -> None:
    """With the conversation's agent; the user stops, inspects and discards them."""
    lab.open("ways.ipynb", notebook("import agentnb", TALKS, kernel="ipykernel7"))
    lab.run_cells(2)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    side.resize(420)
    menu = side.chat.get_by_role("button", name="Conversation", exact=True)
    menu.click()
    side.chat.get_by_role("menuitem", name=re.compile("^Try 3 ways")).click()
    side.chat.get_by_text("Enter what to try in the message box").wait_for(timeout=PATIENCE_MS)
    side.chat.get_by_role("button", name="Close (Escape)").click()
    code = "import time\nfound = 7\nwhile True: time.sleep(0.1)"
    side.box.fill(json.dumps([{"say": "I look."}, {"start": ["run_code", {"code": code}]}, {"end": 1}]))
    menu.click()
    side.chat.get_by_role("menuitem", name=re.compile("^Try 3 ways")).click()
    tries = side.chat.get_by_role("article")
    expect(tries).to_have_count(3, timeout=PATIENCE_MS)
    expect(tries.first).to_contain_text("I look.", timeout=PATIENCE_MS)
    for theme in ("Dark", "Light"):
        lab.theme(f"JupyterLab {theme}")
        assert serious(lab.page) == []
        lab.picture(f"branches-chat-{theme.lower()}")
    for index in range(3):
        tries.nth(index).get_by_role("button", name="Stop").press("Enter")
    keep = tries.nth(1).get_by_role("button", name="Keep Try 2")
    expect(keep).to_be_enabled(timeout=PATIENCE_MS)
    choose(tries.nth(0), "Open the conversation")
    expect(side.chat.get_by_role("tab", selected=True)).to_contain_text("Try 1", timeout=PATIENCE_MS)
    menu.click()
    side.chat.get_by_role("menuitem", name="Tries", exact=True).click()
    expect(tries).to_have_count(3, timeout=PATIENCE_MS)
    choose(tries.nth(0), "Discard")
    expect(tries).to_have_count(2, timeout=PATIENCE_MS)
    choose(tries.nth(0), "Discard all")
    side.chat.get_by_text("All were discarded.").wait_for(timeout=PATIENCE_MS)
    expect(side.chat.get_by_role("tab")).to_have_count(1, timeout=PATIENCE_MS)
