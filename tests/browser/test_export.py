"""The exported page in a browser: it can do nothing, and on paper nothing is folded away."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser

from agentnb.export.document import Document, Entry
from agentnb.export.page import page as exported
from tests.unit.export.test_export import HOSTILE

FOLDED = "<details><summary>Read a.csv</summary>\n\n```\nwhat was read\n```\n\n</details>"


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
