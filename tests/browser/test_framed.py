"""The chat and live answers in a front end with the rules of VS Code and Colab: outputs in sandboxed frames."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import Page, expect

from tests.browser.server import TOKEN

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator

    from tests.browser.server import Server

FRONT_END = Path(__file__).with_name("framed.html")
CHAT = "%load_ext agentnb\nimport agentnb\nsession = agentnb.start('eliza')\nsession"


class Framed:
    """A page with the front end and one kernel."""

    def __init__(self, page: Page, server: Server, kind: str) -> None:
        self.page, self.kind = page, kind
        page.goto(f"{server.url}/nothing")  # the server's 404 page, for its origin; it is otherwise empty
        page.set_content(FRONT_END.read_text(encoding="utf-8"))
        page.evaluate("(given) => begin(given)", {"token": TOKEN, "kind": kind, "name": f"framed-{kind}.ipynb"})

    def run(self, code: str) -> None:
        """Run a cell to its end."""
        self.page.evaluate("(code) => run(code)", code)

    def view(self, index: int) -> Locator:
        """Returns the view of the widget shown at *index*."""
        if self.kind == "webview":
            return self.page.frame_locator("iframe").locator(".view").nth(index)
        return self.page.frame_locator("iframe").nth(index).locator(".view")


def test_chat_and_live_answers_work_in_sandboxed_output_frames(profile: BrowserContext, server: Server) -> None:
    """Prompts, questions, a part loaded on demand, and the saved text; without storage or a notebook."""
    for kind in ("webview", "output"):
        framed = Framed(profile.new_page(), server, kind)
        framed.run(CHAT)
        chat = framed.view(0)
        box = chat.get_by_placeholder("Message Tour…")
        box.fill("/say typed in a frame")
        box.press("Enter")
        expect(chat.get_by_text("typed in a frame", exact=True)).to_be_visible()

        framed.run("%agent --background /ask edit")
        framed.view(1).get_by_role("button", name="Allow once").click()
        texts = framed.page.locator(".output [data-kind=text]")  # remains after the turn's end
        expect(texts).to_contain_text("You chose")

        chat.get_by_role("button", name="Conversation", exact=True).click()
        chat.get_by_role("menuitem", name=re.compile("^History")).click()
        expect(chat.get_by_role("searchbox")).to_be_visible()

        framed.run("%agent /say stays as text")
        expect(texts.last).to_contain_text("stays as text")
        framed.page.close()
    server.end_sessions()
