"""Notifications for a user who looks elsewhere: real ones on a real desktop, from a browser that shows them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.browser.conftest import FLAGS, PICTURES, VIEWPORT
from tests.browser.desktop import Desktop
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.server import Server
from tests.browser.side import Side

SECRET = "sk-ant-api03-kx81hq2mz0pl44"
BEGIN = f"""import agentnb
unseen = agentnb.start("eliza", title="Unseen")
seen = agentnb.start("eliza", title="<b>{SECRET}</b>")
last = agentnb.start("eliza", title="Last")"""
ASKS = "seen.prompt('/ask execute')"
ANSWERED = "[question.allow() for question in seen.questions]"
HAS_FOCUS = "document.hasFocus()"
IN_KERNEL = """async ([path, expression]) => {
  const widget = [...window.jupyterapp.shell.widgets("main")].find((one) => one.context?.path === path);
  const content = { code: "", silent: true, store_history: false, user_expressions: { value: expression } };
  const { kernel } = widget.sessionContext.session;
  return (await kernel.requestExecute(content).done).content.user_expressions.value.status;
}"""
"""Evaluates a Python expression once, in the kernel of any open notebook."""
OUT_OF_SIGHT = """(chat) => new Promise((resolve) => {
  new IntersectionObserver((entries) => entries.at(-1).isIntersecting || resolve()).observe(chat);
})"""
"""Resolves once the page reports that the chat is hidden; the chat's own observer runs first."""


@pytest.fixture
def desktop(tmp_path: Path) -> Iterator[Desktop]:
    daemon = shutil.which("dbus-daemon")
    if daemon is None:
        pytest.skip("no dbus-daemon: nothing outside of the browser sees its notifications")
    with Desktop(tmp_path, daemon) as desktop:
        yield desktop


@pytest.fixture
def context(browser: Browser, chromium: str, desktop: Desktop) -> Iterator[BrowserContext]:
    """A browser on this desktop without any permission from its user."""
    context = browser.browser_type.launch_persistent_context(
        "",
        executable_path=chromium,
        args=FLAGS,
        viewport=VIEWPORT,
        env={**os.environ, "DBUS_SESSION_BUS_ADDRESS": desktop.address},
    )
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


class Away:
    """A user with a conversation that will ask, and with other pages."""

    def __init__(self, context: BrowserContext, lab: Lab) -> None:
        self.context, self.lab, self.page = context, lab, lab.page
        self.side = Side(lab.page)
        self.mark = self.page.locator(".lm-DockPanel-tabBar [data-agentnb='waits']", has_text="waits.ipynb")
        self.chat = self.page.locator(".agentnb-view", has_text=SECRET)
        self.switch = self.side.chat.get_by_role("checkbox", name="Notifications", exact=True)
        self.stop = self.side.chat.get_by_role("button", name="Stop", exact=True)

    def in_kernel(self, expression: str) -> None:
        assert self.page.evaluate(IN_KERNEL, ["waits.ipynb", expression]) == "ok"

    def allow(self) -> None:
        """Allow, and wait for the turn's end."""
        button = self.side.chat.get_by_role("button", name="Allow once", exact=True)
        button.click()
        expect(button).to_have_count(0)
        expect(self.stop).to_have_count(0)

    def leave(self) -> None:
        """Bring another page to the front."""
        self.context.new_page().bring_to_front()
        self.page.wait_for_function(f"!{HAS_FOCUS}", polling=50)  # a background page draws no frames

    def expect_conversation(self, title: str) -> None:
        """Waits for the notifying conversation, without marks."""
        expect(self.side.head).to_have_text("waits.ipynb")
        expect(self.side.chat.get_by_role("tab", selected=True)).to_contain_text(title)
        expect(self.mark).to_have_count(0)
        expect(self.side.icon).to_have_attribute("title", "Agent chat")
        expect(self.page).to_have_title(re.compile("^waits"))


@pytest.fixture
def away(context: BrowserContext, server: Server) -> Iterator[Away]:
    """The page, which notices another page in front, as users' pages do."""
    lab = Lab(context.pages[0], server, PICTURES)
    lab.open("waits.ipynb", notebook(BEGIN, kernel="ipykernel7"))
    # Playwright emulates focus for each page, again at each document that loads.
    context.new_cdp_session(lab.page).send("Emulation.setFocusEmulationEnabled", {"enabled": False})
    yield Away(context, lab)
    server.end_sessions()


def test_hidden_chat_notifies_and_a_click_opens_the_conversation(away: Away, desktop: Desktop) -> None:
    """After opt-in and the browser's permission; each question once, until its answer, in fixed text."""
    away.lab.cell(0).run()
    away.lab.cell(0).expect_done()
    away.side.open()
    away.side.expect_chat()
    switch_on(away)
    away.side.chat.get_by_role("tab", name=SECRET).click()
    away.in_kernel(ASKS)
    away.allow()  # visible, so there is no notification
    call_from_another_page(away, desktop)
    call_from_another_tab(away, desktop)
    away.lab.command("agentnb:settings")
    away.switch.click()
    expect(away.switch).not_to_be_checked()
    away.page.keyboard.press("Escape")
    away.leave()
    away.in_kernel(ASKS)
    expect(away.page).to_have_title(re.compile(r"^\(1\) waits"))
    away.in_kernel(ANSWERED)
    expect(away.stop).to_have_count(0)
    assert [one.title for one in desktop.notifications] == [
        "Tour needs your answer",
        "Tour needs your answer",
        "Tour has finished",
    ]
    assert not any(SECRET in one.title + one.text or "<" in one.title + one.text for one in desktop.notifications)


def switch_on(away: Away) -> None:
    """In the settings, by a click that asks the browser: its first refusal is shown."""
    away.lab.command("agentnb:settings")
    expect(away.switch).not_to_be_checked()
    assert away.page.evaluate("Notification.permission") == "default"
    away.switch.click()
    refused = "The browser blocks notifications from this page."
    expect(away.side.chat.get_by_role("alert")).to_contain_text(refused)
    expect(away.switch).not_to_be_checked()
    away.context.grant_permissions(["notifications"])
    away.switch.click()
    expect(away.switch).to_be_checked()
    expect(away.side.chat.get_by_text(refused)).to_have_count(0)
    away.lab.picture("notifications-setting")
    away.page.keyboard.press("Escape")


def call_from_another_page(away: Away, desktop: Desktop) -> None:
    """The sidebar is closed, and another notebook is in front; the title and both marks show it."""
    away.side.chat.get_by_role("tab", name="Last").click()
    away.side.icon.click()
    expect(away.side.panel).to_be_hidden()
    away.lab.open_too("another.ipynb", notebook("1", kernel="ipykernel7"))
    away.leave()
    away.in_kernel(ASKS)
    notification = desktop.wait_shown(1)
    assert notification.text.endswith("\n\nGo to the chat in the notebook.")
    expect(away.page).to_have_title(re.compile(r"^\(1\) another"))
    expect(away.mark).to_have_count(1)
    expect(away.side.icon).to_have_attribute("title", "Agent chat: an agent needs you")
    away.lab.picture("notifications-marks")
    desktop.click(notification.number)
    away.page.wait_for_function(HAS_FOCUS, polling=50)
    away.expect_conversation(SECRET)
    away.lab.picture("notifications-clicked")
    away.allow()


def call_from_another_tab(away: Away, desktop: Desktop) -> None:
    """The page is in front, with another notebook; an answer from Python closes the notification."""
    away.lab.command("docmanager:open", path="another.ipynb")
    away.chat.evaluate(OUT_OF_SIGHT)
    assert away.page.evaluate(HAS_FOCUS)
    away.in_kernel("unseen.prompt('/ask execute')")
    notification = desktop.wait_shown(2)
    away.in_kernel("[question.allow() for question in unseen.questions]")
    desktop.wait_closed(notification.number)
    finished = desktop.wait_shown(3)
    expect(away.side.icon).to_have_attribute("title", "Agent chat: an agent has finished")
    expect(away.page.locator(".lm-DockPanel-tabBar [data-agentnb='ended']", has_text="waits.ipynb")).to_have_count(1)
    away.lab.picture("notifications-finished")
    desktop.click(finished.number)
    away.expect_conversation("Unseen")
