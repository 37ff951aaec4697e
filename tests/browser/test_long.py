"""Large content and long chats: parts that the page loads later, and how they load."""

from __future__ import annotations

import re
import sys

from playwright.sync_api import expect

from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.conftest import ROOT

LARGE = ROOT / "tests/agents/large.py"
SESSION = f"""import agentnb
session = agentnb.start(command=[{sys.executable!r}, {str(LARGE)!r}])
agentnb.chat(session)"""
MANY = """import agentnb
session = agentnb.start()
for n in range(64):
    session.prompt(f"/say answer {n}").wait()
session"""


def test_large_output_is_cut_and_shows_all_on_demand(lab: Lab, kernelspecs: object) -> None:
    """The last line loads with "Show all"; the change is compared; the picture has its pixels."""
    lab.open("large.ipynb", notebook(SESSION, kernel="ipykernel7"))
    cell = lab.cell(0)
    cell.run()
    cell.expect_done(1)
    box = cell.output.get_by_role("textbox").first
    box.fill("go")
    box.press("Enter")
    cell.expect_text("Read it.")
    output = cell.output.locator(".tool .output").first
    expect(output).to_contain_text("line 0")
    expect(output).not_to_contain_text("the very last line")
    whole = cell.output.get_by_role("button", name=re.compile(r"Show all \(2\d\d KB\)"))
    whole.click()
    expect(output).to_contain_text("the very last line", timeout=PATIENCE_MS)
    expect(whole).to_have_count(0)
    picture = cell.output.locator("img.picture")
    picture.wait_for(timeout=PATIENCE_MS)
    assert (
        picture.evaluate("(image) => image.decode().then(() => [image.naturalWidth, image.naturalHeight])") == [180] * 2
    )
    rest = cell.output.get_by_role("button", name=re.compile("Show all"))
    for left in (1, 0):
        rest.first.click()
        expect(rest).to_have_count(left, timeout=PATIENCE_MS)
    cell.output.get_by_text("value 8000").wait_for(timeout=PATIENCE_MS)
    lab.picture("large-content")


def test_long_chat_opens_with_its_latest_turns_after_a_reload(lab: Lab) -> None:
    """The others load on demand, once each, in order."""
    lab.open("long-chat.ipynb", notebook(MANY, "session", kernel="ipykernel7"))
    first = lab.cell(0)
    first.run()
    first.expect_done(1)
    lab.save()
    lab.load_again()
    cell = lab.cell(1)
    cell.run()
    cell.expect_text("answer 63")
    more = cell.output.get_by_role("button", name=re.compile("earlier turn"))
    expect(more).to_have_text("Show 44 earlier turns")
    more.focus()  # the chat returns to its end unless the user scrolls; scrolling by a test does not count
    more.click()
    cell.expect_text(re.compile("^answer 0$"))
    expect(more).to_have_count(0)
    answers = cell.output.locator(".answer .md")
    expect(answers).to_have_text([f"answer {number}" for number in range(64)])


def test_new_kernel_offers_the_earlier_conversation(lab: Lab) -> None:
    """A click restores the conversation with its transcript, and the user continues it."""
    first = "import agentnb\nsession = agentnb.start()\nsession.prompt('/say remember me').wait()\nsession"
    lab.open("again.ipynb", notebook(first, "import agentnb\nagentnb.chat()", kernel="ipykernel7"))
    lab.run_cells(1)
    lab.restart()
    cell = lab.cell(1)
    cell.run()
    cell.expect_text("Earlier in this notebook")
    lab.picture("earlier-in-this-notebook")
    cell.output.get_by_role("button", name=re.compile("remember me")).click()
    cell.expect_text(re.compile("^remember me$"))
    box = cell.output.get_by_role("textbox").first
    box.fill("/say and on we go")
    box.press("Enter")
    cell.expect_text(re.compile("^and on we go$"))
