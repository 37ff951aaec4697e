"""Answers from the phone: a code in the chat, a page on a phone's screen, and their end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from agentnb.host.loop import HostLoop
from tests.browser.axe import SCRIPT
from tests.browser.conftest import PICTURES
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side
from tests.unit.server.websocket.relay import Relay

BEGIN = "import agentnb\nsession = agentnb.start('eliza', title='<b>Fit</b>')"
ANSWERED_BY = "__import__('agentnb.api.settings', fromlist=['x']).policy(session).records[-1].by"
COPIED = """async (button) => {
  const copied = new Promise((resolve) => {
    Object.defineProperty(navigator, "clipboard", {
      configurable: true, value: { writeText: async (text) => resolve(text) },
    });
  });
  button.click();
  return copied;
}"""
AXE = """async () => (await axe.run(document, { resultTypes: ['violations'] })).violations.map(
  ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' ')}`)"""
IN_KERNEL = (
    "(lambda host, requests, **how: (lambda found: [found.token, found.port])"
    "(host.current_host().loop.submit(requests.pair(requests.PairParams(**how))).result(60)))"
    "(__import__('agentnb.host', fromlist=['x']), __import__('agentnb.plugins.phone.requests', fromlist=['x']), {how})"
)
EVALUATED = """async (expression) => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  const content = { code: "", silent: true, store_history: false, user_expressions: { value: expression } };
  const value = (await kernel.requestExecute(content).done).content.user_expressions.value;
  return value.status === "ok" ? value.data["text/plain"] : `${value.ename}: ${value.evalue}`;
}"""


class Phone:
    """A phone's browser with the page."""

    def __init__(self, context: BrowserContext, link: str) -> None:
        self.context = context
        self.page: Page = context.new_page()
        self.noise: list[str] = []
        self.page.on("console", lambda message: self.noise.append(message.text))
        self.page.goto(link)
        self.status: Locator = self.page.locator(".status")
        self.cards: Locator = self.page.get_by_role("article")

    def expect_live(self) -> None:
        expect(self.page.locator("body[data-state=live]")).to_have_count(1, timeout=PATIENCE_MS)

    def tap(self, name: str) -> None:
        """Taps a button once enabled."""
        button = self.page.get_by_role("button", name=name, exact=True)
        button.wait_for(timeout=PATIENCE_MS)
        expect(self.page.locator("body[data-armed=true]")).to_have_count(1, timeout=PATIENCE_MS)
        button.tap()

    def picture(self, name: str) -> None:
        """Takes pictures of the screen, light and dark; checks its width and axe."""
        self.page.evaluate(SCRIPT.read_text(encoding="utf-8"))
        expect(self.page.locator("body[data-armed=false]")).to_have_count(0, timeout=PATIENCE_MS)
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)
            self.page.screenshot(path=PICTURES / f"{name}-{scheme}.png")
            assert self.page.evaluate(AXE) == [], scheme
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.fixture
def open_phone(browser: Browser) -> Iterator[Callable[[str], Phone]]:
    contexts: list[BrowserContext] = []

    def open_on(link: str) -> Phone:
        contexts.append(
            browser.new_context(
                viewport={"width": 390, "height": 844},
                has_touch=True,
                is_mobile=True,
                device_scale_factor=2,
                bypass_csp=False,
            )
        )
        contexts[-1].set_default_timeout(PATIENCE_MS)
        return Phone(contexts[-1], link)

    yield open_on
    for context in contexts:
        context.close()


@pytest.fixture
def relay() -> Iterator[Relay]:
    """A server in between, like a Jupyter server with its proxy; tests can cut it."""
    loop = HostLoop()
    between = Relay(loop)
    yield between
    between.close()
    loop.stop()


def opened(lab: Lab, name: str) -> Side:
    """Opens a notebook; returns its conversation."""
    lab.open(name, notebook(BEGIN, kernel="ipykernel7"))
    lab.cell(0).run()
    lab.cell(0).expect_done()
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    return side


def pair(side: Side, way: str) -> str:
    """Chooses the phone's way to the kernel; returns the code's address."""
    panel = side.chat.get_by_role("region", name="Phone")
    panel.get_by_role("button", name=way).click()
    panel.get_by_role("img", name="The code to scan").wait_for(timeout=PATIENCE_MS)
    link: str = panel.get_by_role("button", name="Copy link").evaluate(COPIED)
    return link


def open_panel(side: Side) -> Locator:
    side.chat.get_by_role("button", name="Conversation", exact=True).click()
    side.chat.get_by_role("menuitem", name=re.compile("^Phone")).click()
    panel = side.chat.get_by_role("region", name="Phone")
    panel.get_by_text("No phone is paired.").wait_for(timeout=PATIENCE_MS)
    return panel


def test_two_phones_and_the_notebook_answer_the_same_requests(
    lab: Lab, open_phone: Callable[[str], Phone], kernelspecs: object
) -> None:
    """A tap allows once; an answer removes the card everywhere; unpairing and a restart end it."""
    side = opened(lab, "phone.ipynb")
    panel = open_panel(side)
    lab.picture("phone-panel")
    link = pair(side, "On this machine only")
    lab.picture("phone-code")
    one = open_phone(link)
    one.expect_live()
    assert (one.page.url, one.page.evaluate("history.length <= 2")) == (link.partition("#")[0], True)
    assert link.partition("#")[2] not in one.page.content()
    panel.get_by_text("Connected: phone.").wait_for(timeout=PATIENCE_MS)
    expect(panel.get_by_role("img", name="The code to scan")).to_have_count(0)
    one.picture("phone-empty")

    side.say("/ask execute")
    expect(one.cards).to_have_count(1, timeout=PATIENCE_MS)
    expect(one.cards).to_contain_text("<b>Fit</b>")
    one.picture("phone-question")
    one.tap("Allow once")
    expect(one.cards).to_have_count(0, timeout=PATIENCE_MS)
    lab.expect_in_kernel(ANSWERED_BY, "client phone")

    two = open_phone(pair(side, "On this machine only"))
    two.expect_live()
    side.say("/ask execute")
    for phone in (one, two):
        expect(phone.cards).to_have_count(1, timeout=PATIENCE_MS)
    side.button("Allow once").click(timeout=PATIENCE_MS)
    for phone in (one, two):
        expect(phone.cards).to_have_count(0, timeout=PATIENCE_MS)
    side.say("/ask execute")
    two.tap("Reject")
    expect(one.cards).to_have_count(0, timeout=PATIENCE_MS)

    side.say("/write notes.txt one")
    one.page.get_by_role("group", name="Changes of").wait_for(timeout=PATIENCE_MS)
    one.picture("phone-difference")
    one.tap("Stop Tour")
    expect(one.cards).to_have_count(0, timeout=PATIENCE_MS)

    thief = open_phone(link)
    expect(thief.status).to_contain_text("Another client is connected with this token", timeout=PATIENCE_MS)
    thief.picture("phone-refused")
    one.page.reload()
    one.expect_live()

    panel.get_by_role("button", name="Unpair").click()
    for phone in (one, two):
        expect(phone.status).to_contain_text("the phone was unpaired", timeout=PATIENCE_MS)
        assert [each for each in phone.noise if "Content Security Policy" in each] == []
    panel.get_by_text("No phone is paired.").wait_for(timeout=PATIENCE_MS)
    three = open_phone(pair(side, "On this machine only"))
    three.expect_live()
    lab.restart()
    expect(three.page.locator("body[data-state=ended], body[data-state=cut]")).to_have_count(1, timeout=PATIENCE_MS)
    lab.expect_in_kernel("1 + 1", 2)  # a starting kernel cannot be ended


def test_phone_reconnects_after_its_network_was_cut(
    lab: Lab, open_phone: Callable[[str], Phone], relay: Relay, kernelspecs: object
) -> None:
    """Through a server in between, under its name; later questions are there after the cut."""
    side = opened(lab, "cut.ipynb")
    token_and_port = lab.page.evaluate(EVALUATED, IN_KERNEL.replace("{how}", f"origin='http://{relay.place}'"))
    token, port = re.fullmatch(r"\['([\w-]{43})', (\d+)\]", token_and_port).groups()  # type: ignore[union-attr]
    relay.lead_to(f"ws://127.0.0.1:{port}/")
    phone = open_phone(f"http://{relay.place}/#{token}")
    phone.expect_live()
    relay.cut()
    expect(phone.status).to_contain_text("Not connected. Trying again", timeout=PATIENCE_MS)
    side.say("/ask execute")
    side.question.wait_for(timeout=PATIENCE_MS)
    relay.mend()
    expect(phone.cards).to_have_count(1, timeout=PATIENCE_MS)
    phone.tap("Reject")
    expect(phone.cards).to_have_count(0, timeout=PATIENCE_MS)
