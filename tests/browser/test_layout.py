"""The layout of the chat, drawn by a real browser from the scenes of the development page, without a kernel.

A page at 200 % zoom has half the width and height, and two device pixels per pixel.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.conftest import ROOT

PAGE = """<!doctype html><meta charset="utf-8"><style>body { margin: 0 }</style>
<main style="--agentnb-height: 100vh"></main><script type="module">%s</script>"""
BUNDLE = """
import {build} from 'esbuild';
import {options} from './build.mjs';
const made = await build({...options, metafile: false, entryPoints: ['dev/page.ts'], write: false});
process.stdout.write(made.outputFiles[0].text)
"""
ZOOMED = {"width": 320, "height": 400}
"""The sidebar in a 1280 × 800 window at 200 %: JupyterLab makes it half as wide as the window's 640."""

Show = Callable[..., Page]


@pytest.fixture(scope="module")
def body() -> str:
    """The development page with its script."""
    command = ["node", "--input-type=module", "-e", BUNDLE]
    script = subprocess.run(command, cwd=ROOT / "js", check=True, capture_output=True, text=True).stdout
    return PAGE % script.replace("</script", "<\\/script")


@pytest.fixture(scope="module")
def windows(browser: Browser, body: str) -> Iterator[dict[int, BrowserContext]]:
    """Windows by scale; their pages store nothing. A window per page would take longer."""
    made = {scale: browser.new_context(device_scale_factor=scale) for scale in (1, 2)}
    for window in made.values():
        window.route("**/*", lambda route: route.fulfill(body=body, content_type="text/html"))
        window.add_init_script("localStorage.clear()")
    yield made
    for window in made.values():
        window.close()


@pytest.fixture
def show(windows: dict[int, BrowserContext]) -> Iterator[Show]:
    """Opens a scene in a new page."""
    pages: list[Page] = []

    def open_scene(scene: str, width: int = 640, height: int = 800, scale: int = 1) -> Page:
        page = windows[scale].new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"http://page.invalid/?scene={scene}")
        expect(page.locator(".root")).to_be_visible()
        return page

    yield open_scene
    for page in pages:
        page.close()


def off_screen(page: Page, selector: str) -> list[Any]:
    """Returns the names of *selector*'s elements that a click at their middle would not hit."""
    names: list[Any] = page.evaluate(
        """async (selector) => {
          await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          const root = document.querySelector(".agentnb-view").shadowRoot;
          const all = [...root.querySelectorAll(selector)].filter((one) => one.checkVisibility());
          if (all.length === 0) return [`nothing is ${selector}`];
          return all.filter((one) => {
            const {left, right, top, bottom} = one.getBoundingClientRect();
            if (left < 0 || top < 0 || right > innerWidth + 1 || bottom > innerHeight + 1) return true;
            const hit = root.elementFromPoint((left + right) / 2, (top + bottom) / 2);
            return !(hit && (one.contains(hit) || hit.contains(one)));
          }).map((one) => one.getAttribute("aria-label") ?? one.textContent);
        }""",
        selector,
    )
    return names


@pytest.mark.parametrize(
    ("scene", "selector"),
    [
        ("permission", ".permission-options button"),
        ("permission-critical", ".permission-options button"),
        ("permission-edit", ".permission-options button"),
        ("permission-wider", ".permission-options button"),
        ("form", ".input-request > .permission-options button"),
        ("held", ".queue button"),
        ("working", ".prompt-row button"),
        ("answer", ".prompt-row button, .tabs > button, .tabs > * > button:not([role=tab]):not(.tab-strip *)"),
        ("many-tabs", ".tabs > button, .tabs > * > button:not([role=tab]):not(.tab-strip *)"),
    ],
)
def test_buttons_at_200_percent_zoom_are_on_the_screen(show: Show, scene: str, selector: str) -> None:
    """A card's buttons also at its beginning; and nothing is wider than the screen, or twice that width."""
    page = show(scene, **ZOOMED, scale=2)
    assert off_screen(page, selector) == []
    if scene.startswith("permission"):
        page.locator(".permission").evaluate("(card) => card.scrollIntoView({block: 'start'})")
        assert off_screen(page, selector) == []
    expect_no_wider(page)


@pytest.mark.parametrize("scene", ["tools", "changes-review"])
def test_chat_is_never_wider_than_a_narrow_page(show: Show, scene: str) -> None:
    expect_no_wider(show(scene, **ZOOMED))


def expect_no_wider(page: Page) -> None:
    """Checks that the page fits in 320 and 640 pixels."""
    for width in (320, 640):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_undo_button_of_a_closed_conversation_fits_one_line(show: Show) -> None:
    page = show("many-tabs", width=640)
    page.get_by_role("tab", selected=True).press("Delete")
    page.evaluate(
        """() => {
          const {root} = store;
          const sessions = root.value.sessions.map((one) =>
            one.resource === "claude:/analysis" ? {...one, status: one.status | 64} : one);
          root.value = {...root.value, sessions};
        }"""
    )
    undo = page.get_by_role("button", name="Undo", exact=True)
    expect(undo).to_be_visible()
    for width in (640, 320):
        page.set_viewport_size({"width": width, "height": 800})
        box = undo.bounding_box()
        assert box is not None
        assert box["width"] > box["height"]
        line: float = undo.evaluate("(button) => parseFloat(getComputedStyle(button).lineHeight) || 20")
        assert box["height"] < 2 * line
        assert off_screen(page, ".banner button") == []


def test_tabs_that_do_not_fit_get_a_list_of_all_conversations(show: Show) -> None:
    """Tabs that fit have no list; the list opens a far conversation, and scrolls to its tab."""
    assert show("empty", width=1200).get_by_role("button", name="All ").count() == 0
    page = show("many-tabs", width=640)
    page.get_by_role("button", name="All 14 conversations").click()
    menu = page.get_by_role("menu", name="All 14 conversations")
    expect(menu.get_by_role("menuitem")).to_have_count(14)
    menu.get_by_text("Question number 9 about the data").click()
    chosen = page.get_by_role("tab", selected=True)
    expect(chosen).to_contain_text("Question number 9")
    assert off_screen(page, "[role=tab][aria-selected=true]") == []


def test_growing_thinking_box_keeps_its_height_and_shows_its_end(show: Show) -> None:
    page = show("thinking")
    box = page.locator(".thinking")
    expect(box).to_be_visible()
    height = "(box) => box.getBoundingClientRect().height"
    before: float = box.evaluate(height)
    assert before < 0.4 * 800
    assert box.evaluate("(box) => box.scrollHeight > box.clientHeight")
    page.evaluate(
        """() => {
          const chat = store.chat("claude:/analysis/chat");
          const {activeTurn} = chat.value;
          const responseParts = activeTurn.responseParts.map((part) =>
            part.kind === "reasoning" ? {...part, content: part.content.repeat(3) + "\\n\\nthe very end"} : part);
          chat.value = {...chat.value, activeTurn: {...activeTurn, responseParts}};
        }"""
    )
    expect(box.get_by_text("the very end")).to_be_in_viewport()
    assert box.evaluate(height) == before


def test_fold_taller_than_the_chat_opens_with_its_head_visible(show: Show) -> None:
    """The chat stops following its end, and follows again when the fold is closed."""
    page = show("tools", height=420)
    page.evaluate(
        """() => {
          const chat = store.chat("claude:/analysis/chat");
          const [turn] = chat.value.turns;
          const read = turn.responseParts.find((part) => part.kind === "toolCall");
          const copy = (_, at) => ({...read, toolCall: {...read.toolCall, toolCallId: `read ${at}`}});
          chat.value = {...chat.value, turns: [{...turn, responseParts: Array.from({length: 40}, copy)}]};
        }"""
    )
    head = page.locator(".tool-run .fold-head")
    to_end = page.locator(".to-end")
    for _ in range(2):
        head.click()
        expect(head).to_have_attribute("aria-expanded", "true")
        expect(to_end).to_be_visible()
        expect(head).to_be_in_viewport(ratio=1)
        head.click()
        expect(head).to_have_attribute("aria-expanded", "false")
        expect(to_end).to_have_count(0)
        expect(head).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("scene", ["permission", "permission-critical"])
def test_shell_permission_card_has_three_lines_and_few_controls(show: Show, scene: str) -> None:
    page = show(scene, width=420)
    card = page.locator(".tool.is-pending-confirmation")
    box = card.bounding_box()
    assert box is not None
    assert box["height"] <= 96
    assert card.locator("button:visible").count() <= 5


SIZES = [(320, 400), (420, 700), (640, 1200)]
"""Window sizes: the card is taller than the window, at the end of the scroll area, or has room below."""


def open_list(page: Page) -> Locator:
    """Opens *More options* of the card with the mouse, which stays there."""
    card = page.locator(".permission")
    expect(card.locator(".permission-options")).to_have_attribute("data-armed", "true")
    card.get_by_role("button", name="More options").click()
    expect(card.get_by_role("menu")).to_be_visible()
    return card


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_permission_menu_avoids_the_pointer_and_reject_works(show: Show, width: int, height: int) -> None:
    """A hurried second click would choose a permanent option."""
    page = show("permission-wider", width=width, height=height)
    card = open_list(page)
    card.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert card.evaluate("(card) => [...card.querySelectorAll(':hover')].at(-1).closest('button')?.ariaLabel") in (
        "More options",
        None,
    )
    assert off_screen(page, ".permission-options .button") == []
    card.get_by_role("button", name="Reject", exact=True).click(delay=100)
    expect(card.get_by_role("menu")).to_have_count(0)
    assert [action["approved"] for action in page.evaluate("store.sent.map((one) => one[1])")] == [False]


def test_permission_menu_below_a_cell_is_fully_visible(show: Show) -> None:
    """Little space is above the card: the list scrolls and is not cut off."""
    page = show("turn-permission")
    open_list(page)
    assert off_screen(page, ".menu, .permission-options button") == []
