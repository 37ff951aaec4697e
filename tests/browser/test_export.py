"""The exported page in a browser: it can do nothing, and on paper nothing is folded away."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser

from agentnb.export.document import Document, Entry
from agentnb.export.page import page as exported
from tests.browser.conftest import FLAGS
from tests.browser.pdf import words
from tests.conftest import ROOT
from tests.unit.export.test_export import HOSTILE

FOLDED = "<details><summary>Read a.csv</summary>\n\n```\nwhat was read\n```\n\n</details>"

SAID = (
    "%agent --permissions allow /plan 3",
    "The plan had 3 steps; all are done.",
    "+The residuals are small.",  # folded away on the screen
    "Hello. I am eliza. What are you working on?",
)


def test_a_page_runs_nothing_and_prints_whole(browser: Browser, tmp_path: Path) -> None:
    """No dialog, no request, no word on the console; folded on the screen, open in print."""
    file = tmp_path / "said.html"
    hostile = tuple(Entry(kind="answer", source=source) for source in HOSTILE)
    file.write_text(exported(Document(title="Said", entries=(*hostile, Entry(kind="answer", source=FOLDED)))), "utf-8")
    context = browser.new_context()
    try:
        page = context.new_page()
        asked: list[str] = []
        page.on("dialog", lambda dialog: asked.append(dialog.message))
        page.on("console", lambda message: asked.append(message.text))
        page.on("pageerror", lambda error: asked.append(error.message))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_load_state("networkidle")
        assert asked == [file.as_uri()]
        inside = page.get_by_text("what was read")
        assert not inside.is_visible()
        page.emulate_media(media="print")
        assert inside.is_visible()
    finally:
        context.close()


def test_the_documented_command_prints_what_was_asked_and_answered(chromium: str, tmp_path: Path) -> None:
    """`agentnb export`, then Chromium alone: the PDF holds prompts, answers, and what is folded on the screen."""
    source = ROOT / "tests/cassettes/eliza.ipynb"
    command = [sys.executable, "-m", "agentnb", "export", str(source), "--to", "html", "--output", "fit.html"]
    subprocess.run(command, cwd=tmp_path, check=True)
    printing = [chromium, *FLAGS, "--headless", "--no-pdf-header-footer", "--print-to-pdf=fit.pdf", "fit.html"]
    subprocess.run(
        [*printing, f"--user-data-dir={tmp_path / 'profile'}"],
        cwd=tmp_path, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    printed = words((tmp_path / "fit.pdf").read_bytes())
    html = (tmp_path / "fit.html").read_text(encoding="utf-8")
    for said in SAID:
        assert said in html
        assert "".join(said.split()) in printed
