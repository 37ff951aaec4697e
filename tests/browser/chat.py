"""The chat of one output, as a page object: its exact text and its state."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from tests.browser.lab import PATIENCE_MS

COPIED = """async (button) => {
  const copied = new Promise((resolve) => {
    navigator.clipboard.writeText = async (text) => resolve(text);
  });
  button.click();
  return copied;
}"""


def counted(words: int) -> str:
    """Returns the exact answer of `/slow` and `/flood`."""
    return "".join(f"{number} " for number in range(1, words + 1))


class Chat:
    def __init__(self, place: Locator) -> None:
        self.root = place.locator(".root.chat").first
        self.box = self.root.get_by_role("textbox").first
        self.banner = self.root.locator(".banner")
        self.copy = self.root.get_by_role("button", name="Copy answer", exact=True, include_hidden=True)

    def say(self, text: str) -> None:
        """Type a prompt and press Enter."""
        expect(self.box).to_be_editable(timeout=PATIENCE_MS)
        self.box.fill(text)
        self.box.press("Enter")

    def count_slowly(self, words: int = 100, milliseconds: int = 20) -> str:
        """Starts a counting answer, waits for its beginning; returns the whole."""
        self.say(f"/slow {words} {milliseconds}")
        self.expect_text("5 6 7")
        return counted(words)

    def expect_text(self, text: str | re.Pattern[str]) -> None:
        self.root.get_by_text(text).last.wait_for(timeout=PATIENCE_MS)

    def expect_banner(self, text: str | re.Pattern[str]) -> None:
        """Waits for a connection message."""
        self.banner.get_by_text(text).wait_for(timeout=PATIENCE_MS)

    def answer(self, turns: int = 1) -> str:
        """Returns the exact last answer, after *turns* turns."""
        expect(self.copy).to_have_count(turns, timeout=PATIENCE_MS)
        text: str = self.copy.last.evaluate(COPIED)
        return text
