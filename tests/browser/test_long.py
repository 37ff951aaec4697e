"""Large content and long chats: what is not in the page at once, and how it gets there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

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


def test_large_output_is_shown_in_part_and_whole_on_demand(lab: Lab, kernel_name: str) -> None:
    """The last line is there after "Show all"; the change is compared; the picture has its pixels."""
    lab.open(f"large-{kernel_name}.ipynb", notebook(SESSION, kernel=kernel_name))
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
    expect(picture).to_be_visible(timeout=PATIENCE_MS)
    assert (
        picture.evaluate("(image) => image.decode().then(() => [image.naturalWidth, image.naturalHeight])") == [180] * 2
    )
    for _ in range(2):
        cell.output.get_by_role("button", name=re.compile("Show all")).first.click()
    expect(cell.output.get_by_text("value 8000")).to_be_visible(timeout=PATIENCE_MS)
    lab.picture(f"large-content-{kernel_name}")


def test_a_long_chat_opens_with_its_latest_turns_after_a_reload(lab: Lab) -> None:
    """The others come when they are wanted, once each, in order."""
    name = "long-chat.ipynb"
    lab.open(name, notebook(MANY, "session", kernel="ipykernel7"))
    first = lab.cell(0)
    first.run()
    first.expect_done(1)
    lab.save()
    lab.page.reload()
    lab.open(name)
    cell = lab.cell(1)
    cell.run()
    cell.expect_text("answer 63")
    more = cell.output.get_by_role("button", name=re.compile("earlier turn"))
    expect(more).to_have_text("Show 44 earlier turns")
    more.click()
    cell.expect_text(re.compile("^answer 0$"))
    expect(more).to_have_count(0)
    answers = cell.output.locator(".answer .md")
    expect(answers).to_have_text([f"answer {number}" for number in range(64)])


def test_a_new_kernel_offers_what_the_notebook_had_open(lab: Lab) -> None:
    """A click brings the conversation back, with its transcript, and it is gone on with."""
    first = "import agentnb\nsession = agentnb.start()\nsession.prompt('/say remember me').wait()\nsession"
    lab.open("again.ipynb", notebook(first, "import agentnb\nagentnb.chat()", kernel="ipykernel7"))
    lab.cell(0).run()
    lab.cell(0).expect_done(1)
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


HOSTILE = {
    "stars": "*",
    "brackets": "[",
    "one long line": "a",
    "words": "some words here ",
    "lines": "a\n",
    "a list": "- a\n",
    "quotes": "> - a\nb\n",
    "a table": "|a|b|\n|-|-|\n",
    "paragraphs": "Some **bold** text with `code`, and [a link](https://example.org).\n\n",
    "code": "```python\nx = [i for i in y]\n```\n\n",
    "marks": "*a_b `c` [d](e) <f> &g; ",
    "colours": "\x1b[31mred\x1b[0m \x1b[1mbold\n",
    "overwritten": "\r50%",
}
"""What is repeated to a document of up to 2 MB."""
MESSAGES = [("message", name) for name in HOSTILE]
FIELDS = [("thought", "stars"), ("notification", "words"), ("plan", "stars"), ("title", "stars"), ("user", "words")]
OUTPUTS = [("output", name) for name in ("stars", "lines", "colours", "overwritten")]
TOOLS = [*OUTPUTS, ("change", "lines"), ("rewrite", "one long line"), ("json", "brackets"), ("result", "marks")]
PAGE = """<!doctype html><meta charset="utf-8">
<main style="--agentnb-height: 700px"></main><script type="module">%s</script>"""
BUNDLE = """
import {build} from 'esbuild';
import {options} from './build.mjs';
const made = await build({...options, metafile: false, entryPoints: ['dev/long-text.ts'], write: false});
process.stdout.write(made.outputFiles[0].text)
"""
SHORT, LONG = 100_000, 2_000_000
MOST = 3.0
"""The longest task grows at most this much while the text grows twentyfold."""
NOISE_MS = 100.0


@pytest.fixture(scope="module")
def long_text_page(browser: Browser) -> Iterator[Page]:
    """A page with the real view and a function that puts text into one of its fields."""
    command = ["node", "--input-type=module", "-e", BUNDLE]
    script = subprocess.run(command, cwd=ROOT / "js", check=True, capture_output=True, text=True).stdout
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    body = PAGE % script.replace("</script", "<\\/script")
    page.route("**/*", lambda route: route.fulfill(body=body, content_type="text/html"))
    page.goto("http://page.invalid/")
    yield page
    page.close()


def longest_task(page: Page, field: str, text: str, pieces: int = 1) -> float:
    """The main thread's longest task, in milliseconds, while *text* is drawn, shown whole and scrolled through."""
    return float(page.evaluate("([field, text, pieces]) => show(field, text, pieces)", [field, text, pieces]))


@pytest.mark.parametrize(("field", "name"), [*MESSAGES, *FIELDS, *TOOLS])
def test_the_longest_task_when_a_text_grows_to_2_mb_does_not_grow_with_it(
    long_text_page: Page, field: str, name: str
) -> None:
    """Twenty times the text takes more tasks, not longer ones: the page answers meanwhile."""
    unit = HOSTILE[name]
    short = longest_task(long_text_page, field, unit * (SHORT // len(unit)))
    long = longest_task(long_text_page, field, unit * (LONG // len(unit)))
    assert long <= MOST * max(short, NOISE_MS), f"{short:.0f} ms for 100 KB, {long:.0f} ms for 2 MB"


@pytest.mark.parametrize("name", ["stars", "paragraphs", "a list"])
def test_the_longest_task_when_a_long_text_streams_does_not_grow_with_it(long_text_page: Page, name: str) -> None:
    """The last block stays short however much came before."""
    unit = HOSTILE[name]
    short = longest_task(long_text_page, "message", unit * (10_000 // len(unit)), 50)
    long = longest_task(long_text_page, "message", unit * (200_000 // len(unit)), 200)
    assert long <= MOST * max(short, NOISE_MS), f"{short:.0f} ms for 10 KB, {long:.0f} ms for 200 KB"
