"""The sidebar in a real JupyterLab."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.axe import serious
from tests.browser.conftest import new_lab
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.server import Server
from tests.browser.side import NOTEBOOK, Side, install, sources

KERNEL = "ipykernel7"
LOAD = "%load_ext agentnb"
ASKS = """import threading
told = []
def tell():
    told.append((threading.current_thread().name, get_ipython().kernel.get_parent()["header"]["msg_type"]))
get_ipython().events.register("post_execute", tell)
input()"""
ELSEWHERE = "[kind for name, kind in told if kind == 'execute_request' and name != 'MainThread']"
BLOCKS = """import time
print('it blocks')
try:
    time.sleep(300)
finally:
    ended = time.time()"""
FILE = (
    "__import__('agentnb.server.comm.open_notebooks', fromlist=['notebook_file'])"
    f".notebook_file(__import__('os').environ['JPY_SESSION_NAME'], {NOTEBOOK}.path)"
)
CHANGE = """import asyncio, threading
from agentnb.server.comm.lab import lab
from agentnb.server.lab_messages import CellStep, EditParams
def change(*steps):
    made = tuple(CellStep(**step) for step in steps)
    edit = lab().edit(EditParams(id="", action="change", steps=made), 30)
    threading.Thread(target=lambda: changed.append(asyncio.run(edit))).start()
changed = []"""
"""Defines `change`, which requests changes of cells from the page as undo does."""
LAB = "__import__('agentnb.server.comm.lab', fromlist=['lab']).lab()"
SAVES = f"[[each.path, each.is_automatic] for each, _ in {LAB}.saved]"
UNDO_CELLS = "notebook:undo-cell-action"
CELLS = """() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells
  .map(({ id, cell_type }) => ({ id, cell_type }))"""
EVERYTHING = ("/markdown", "/think Is it so?", "/plan 3", "/tool search", "/diff", "/fail", "/ask edit")
CUT_OFF = """(view) => [...view.shadowRoot.querySelectorAll("*")].filter((e) => {
  const scrolls = e.closest("pre, table, .table, .diff, [role=tablist], svg, .visually-hidden, .sr-only") !== null;
  const box = e.getBoundingClientRect();
  return !scrolls && box.width > 1 && box.right > view.getBoundingClientRect().right + 1;
}).map((e) => `${e.tagName}.${e.className}`)"""
"""Elements that overflow at the right, without those that scroll."""
UNSEEN = """(view) => {
  const marks = ".tab-mark, .dots i", edged = ".button, .round, .chip, .card, .code, .input, .output, .command-box";
  const ground = (e) => {
    const colour = e ? getComputedStyle(e).backgroundColor : "rgb(255, 255, 255)";
    return /, 0\\)$/.test(colour) ? ground(e.parentElement ?? e.getRootNode().host) : colour;
  };
  const seen = (e) => {
    const style = getComputedStyle(e), below = ground(e), behind = ground(e.parentElement ?? view);
    const words = [...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (words && style.color === below) return false;
    if (e.matches("svg.icon") && style.stroke !== getComputedStyle(e.parentElement).color) return false;
    if (e.matches(marks) && style.backgroundColor === behind) return false;
    const edge = (side) => parseFloat(style[`border${side}Width`]) && style[`border${side}Color`] !== behind;
    return !e.matches(edged) || ["Top", "Right", "Bottom", "Left"].every(edge);
  };
  const all = [...view.shadowRoot.querySelectorAll("*")].filter((e) => e.checkVisibility());
  return all.filter((e) => !seen(e)).map((e) => e.outerHTML.slice(0, 200));
}"""
"""Text, marks and borders in their background's colour, and icons in another colour than the text beside them."""
TAB_EDGES = """(view) => [...view.shadowRoot.querySelectorAll("[role=tab]")]
  .map((tab) => [tab.ariaSelected === "true", getComputedStyle(tab).borderBottomColor])"""
"""For each tab: true if it is selected, and the colour of its lower border."""
MOVING = """(view) => view.shadowRoot.getAnimations()
  .filter((one) => one.playState === "running" && one.effect.getComputedTiming().duration > 1)
  .map((one) => one.animationName ?? one.transitionProperty)"""
"""The running animations."""


@pytest.fixture
def deaf(kernelspecs: Path) -> str:
    """A kernel that pages cannot reach during a cell."""
    if not (kernelspecs / "kernels/ipykernel6").exists():
        pytest.skip("no ipykernel6: `make test-kernel` makes it")
    return "ipykernel6"


def test_icon_opens_the_chat_without_code_and_a_reload_keeps_it(lab: Lab, side: Side, kernel_name: str) -> None:
    """The icon loads agentnb: the chat answers without any cell; a reload keeps even a running turn."""
    cells = ("import agentnb\nagentnb.sidebar()", "%agent /hang")
    lab.open(f"side-{kernel_name}.ipynb", notebook(*cells, kernel=kernel_name))
    with lab.layout_saved("agentnb-sidebar"):
        side.open()
    side.start()
    side.say("/say from the sidebar")
    side.expect_answer("from the sidebar")
    lab.picture(f"sidebar-{kernel_name}")
    lab.save()
    lab.cell(1).run()
    side.chat.get_by_role("tab", name="/hang").click(timeout=PATIENCE_MS)
    side.expect_text("I am silent until you cancel.")
    lab.reload(busy=True)
    side.expect_chat()
    side.expect_text("I am silent until you cancel.")
    side.button("Stop").first.click()
    lab.expect_in_kernel("6 * 7", 42)
    side.chat.get_by_role("tab", name="/say from the sidebar").click()
    side.expect_answer("from the sidebar")
    side.say("/say and it goes on")
    side.expect_answer("and it goes on")

    side.icon.click()
    expect(side.panel).to_be_hidden(timeout=PATIENCE_MS)
    lab.cell(0).run()
    lab.cell(0).expect_text("The chat is in the sidebar on the right.")
    side.expect_chat()


def test_sidebar_chat_returns_after_a_kernel_restart(lab: Lab, side: Side) -> None:
    """With the open conversation, its freedom and the draft, also an empty one; ``%agent`` works."""
    lab.open("side-restart.ipynb", notebook("%agent /say what is this?", kernel=KERNEL))
    side.open()
    side.start()
    side.choose_freedom("Auto")
    expect(side.chat.get_by_role("tab")).to_have_count(1)
    side.box.fill("a first thought")
    lab.restart()
    expect(side.box).to_have_value("a first thought")
    expect(side.freedom).to_have_text("Auto")
    expect(side.chat.get_by_role("tab")).to_have_count(1)
    expect(side.chat.get_by_text("a first thought")).to_have_count(0)  # the draft is only in the box

    side.choose_freedom("Edit")
    expect(side.freedom).to_have_text("Edit")
    side.say("/say before")
    side.expect_answer("before")
    side.box.fill("half a thought")
    lab.restart()
    side.expect_answer("before")
    expect(side.box).to_have_value("half a thought")
    expect(side.freedom).to_have_text("Edit")
    side.say("/say after")
    side.expect_answer("after")
    lab.picture("sidebar-restarted")
    lab.cell(0).run()
    lab.cell(0).expect_text("what is this?")
    lab.cell(0).expect_text(re.compile("because the chat is open"))
    lab.picture("sidebar-agent-magic")


def test_chat_opens_while_a_cell_blocks_the_kernel(lab: Lab, side: Side) -> None:
    """On a kernel with subshells the chat need not wait for the cell, which gets no execution events.

    Otherwise Matplotlib would show and close the cell's unfinished figure. After a reload it need not wait, either.
    """
    lab.open("side-busy.ipynb", notebook(ASKS, BLOCKS, kernel=KERNEL))
    cell = lab.cell(0)
    cell.run()
    cell.expect_running()
    lab.panel.locator(".jp-Stdin-input").wait_for(timeout=PATIENCE_MS)
    with lab.layout_saved("agentnb-sidebar"):
        side.open()
    side.start()
    side.say("/say while it runs")
    side.expect_answer("while it runs")
    cell.expect_running()
    lab.panel.locator(".jp-Stdin-input").press("Enter")
    cell.expect_done(1)
    lab.expect_in_kernel(ELSEWHERE, [])

    lab.save()
    lab.cell(1).run()
    lab.cell(1).expect_text("it blocks")
    lab.reload(busy=True)
    side.expect_chat()
    side.expect_answer("while it runs")
    side.say("/say while it blocks")
    side.expect_answer("while it blocks")
    answered = time.time()
    lab.interrupt()
    lab.expect_in_kernel(f"ended > {answered}", value=True)


def test_sidebar_shows_a_notice_until_the_kernel_can_answer(lab: Lab, side: Side, deaf: str) -> None:
    """With ipykernel 6, a blocking cell and a reload nothing reaches the kernel; a notice helps."""
    lab.open("side-deaf.ipynb", notebook(BLOCKS, kernel=deaf))
    with lab.layout_saved("agentnb-sidebar"):
        side.open()
    side.start()
    lab.save()
    lab.cell(0).run()
    lab.cell(0).expect_text("it blocks")
    lab.reload(busy=True)
    side.expect_state("busy")
    expect(side.notice).to_contain_text("Interrupt Kernel")
    lab.picture("sidebar-busy")
    lab.interrupt()
    side.expect_chat()


def test_each_notebook_has_its_own_chat(lab: Lab, side: Side) -> None:
    """A tab switch also switches the chat; each keeps its conversation; a closed notebook closes its chat."""
    lab.open("side-one.ipynb", notebook("x = 1", kernel=KERNEL))
    side.open()
    side.start()
    side.say("/say said in one")
    side.expect_answer("said in one")
    lab.open_too("side-two.ipynb", notebook("y = 2", kernel=KERNEL))
    expect(side.head).to_have_text("side-two.ipynb", timeout=PATIENCE_MS)
    side.start()
    side.say("/say said in two")
    side.expect_answer("said in two")
    expect(side.chat.get_by_text("said in one")).to_have_count(0)
    lab.page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab", has_text="side-one.ipynb").click()
    expect(side.head).to_have_text("side-one.ipynb", timeout=PATIENCE_MS)
    side.expect_answer("said in one")
    expect(side.chat.get_by_text("said in two")).to_have_count(0)
    for _ in range(2):
        lab.save()
        lab.command("application:close")
    side.panel.get_by_role("group", name="New notebook").wait_for(timeout=PATIENCE_MS)
    expect(side.panel.locator(".agentnb-chat-view")).to_have_count(0)


def test_sidebar_shows_install_command_when_agentnb_is_missing(lab: Lab, side: Side, bare: Path) -> None:
    """The exact commands; a click puts one into a cell; once installed, the chat opens by itself."""
    lab.open("side-bare.ipynb", notebook(install(bare), kernel="bare"))
    side.open()
    side.expect_state("missing")
    commands = side.notice.locator("code").all_inner_texts()
    assert commands[0] == "%pip install jupyter-agentnb"
    assert re.fullmatch(r"\S+ -m pip install jupyter-agentnb", commands[1])
    lab.picture("sidebar-missing")
    side.button("Insert in a cell").click()
    assert sources(lab) == [install(bare), "%pip install jupyter-agentnb"]
    side.button("Try again").click()
    side.expect_state("missing")
    lab.cell(0).run()
    side.start()
    side.say("/say installed")
    side.expect_answer("installed")
    (bare / "agentnb").unlink()


def test_code_runs_in_a_new_cell_below_the_active_cell(lab: Lab, side: Side) -> None:
    """The cell is below the active cell, with its output, and can be undone."""
    lab.open("side-run.ipynb", notebook("x = 20", kernel=KERNEL))
    lab.run_cells(1)
    lab.command("agentnb:run", source="x + 22")
    lab.cell(1).expect_done(2)
    lab.cell(1).expect_text("42")
    lab.command(UNDO_CELLS)
    assert sources(lab) == ["x = 20"]
    lab.command("agentnb:run", source=f"{LOAD}\n%config Agentnb.kernel_tools = True")
    lab.cell(1).expect_done(3)
    side.open()
    side.start()
    side.say("/kernel run print(x); x = 6 * 7")
    expect(side.question.locator("code")).to_have_text("print(x); x = 6 * 7")
    side.allow()
    side.expect_text("said: 20")
    side.say("/kernel insert print(x)")
    expect(lab.panel.locator(".agentnb-new-cell-text")).to_contain_text("print(x)")
    side.allow()
    inserted = re.compile(r"Inserted a cell \(id ([\w-]+)\)")
    answer = side.chat.locator(".answer", has_text=inserted).last
    [cell_id] = inserted.findall(answer.text_content(timeout=PATIENCE_MS) or "")
    assert sources(lab)[2:] == ["print(x)"]
    side.say(f"/kernel run-cell {cell_id}")
    expect(side.question.locator("code")).to_have_text("print(x)")
    expect(side.chat.locator(".permission-what")).to_have_attribute("title", "Run the cell print(x)")
    side.allow()
    side.expect_text("Ran In [4]")
    lab.cell(2).expect_text("42")
    side.say("/kernel replace 4 1 / 0")
    expect(side.question).to_contain_text("Waiting in [4] →Replace print(x)")
    side.allow()
    side.expect_text("Replaced the text of In [4]")
    assert sources(lab)[2:] == ["1 / 0"]
    side.say("/kernel run-cell 4")
    side.allow()
    side.expect_text("Ran In [5]")
    expect(side.chat.locator(".tool.is-failed").last).to_contain_text("run_cell")
    side.say("/kernel cells 5")
    side.expect_text("--- In [5]")
    lab.command(UNDO_CELLS)
    assert len(sources(lab)) == 2


def test_cell_changes_apply_at_once_unless_the_user_edited_them(lab: Lab, side: Side) -> None:
    """Like a turn's undo: delete, replace and insert at once; one Ctrl+Z reverts all of it."""
    lab.open("side-change.ipynb", notebook(CHANGE, "b = 1", "c = 1", kernel=KERNEL))
    side.open()
    side.expect_chat()
    lab.run_cells(1)
    b, c = (each["id"] for each in lab.page.evaluate(CELLS)[1:])
    steps = (
        {"action": "delete", "cell_id": b, "expected": "b = 1"},
        {"action": "replace", "cell_id": c, "expected": "c = 1", "source": "c = 2"},
        {"action": "insert", "cell_id": "made", "source": "# D", "kind": "markdown", "below": c},
    )
    lab.expect_in_kernel(f"change(*{steps!r})", None)
    lab.expect_in_kernel("[(each.error, each.conflicts) for each in changed]", [[None, []]])
    assert sources(lab)[1:] == ["c = 2", "# D"]
    assert lab.page.evaluate(CELLS)[2] == {"id": "made", "cell_type": "markdown"}
    lab.command(UNDO_CELLS)
    assert sources(lab)[1:] == ["b = 1", "c = 1"]
    editors = lab.panel.locator(".jp-CodeCell .cm-content")
    lab.command("notebook:move-cursor-down")  # JupyterLab may draw a restored cell only when it becomes active
    expect(editors).to_have_text([re.compile("import"), "b = 1", "c = 1"])  # drawn a moment after the model changes
    lab.cell(1).write("b = 'mine'")
    lab.expect_in_kernel(f"change(*{steps!r})", None)
    lab.expect_in_kernel("[(each.cell_id, each.current) for each in changed[-1].conflicts]", [[b, "b = 'mine'"]])
    assert sources(lab)[1:] == ["b = 'mine'", "c = 1"]


def test_kernel_and_mentions_see_the_notebooks_current_text(lab: Lab, side: Side) -> None:
    """The active cell, its unsaved text and the selection, without running a cell; and who saves.

    Autosave saves through the notebook's context; the user's keys and menus run a command.
    """
    cells = ("secret = 1", "other = 2", "%agent /context @cells")
    lab.open("side-state.ipynb", notebook(*cells, kernel=KERNEL))
    side.open()
    side.expect_chat()
    lab.expect_in_kernel(f"{NOTEBOOK}.active_cell.source", "secret = 1")
    lab.cell(1).write("other = 'never run'")
    lab.expect_in_kernel(f"{NOTEBOOK}.active_cell.source", "other = 'never run'")
    lab.expect_in_kernel(f"{NOTEBOOK}.unsaved", True)
    lab.expect_in_kernel(f"{FILE}.name", "side-state.ipynb")
    lab.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.save()")
    lab.expect_in_kernel(f"{NOTEBOOK}.unsaved", False)
    lab.expect_in_kernel(SAVES, [["side-state.ipynb", True]])
    lab.save()
    lab.expect_in_kernel(SAVES, [["side-state.ipynb", True], ["side-state.ipynb", False]])
    lab.page.keyboard.press("Shift+Home")
    lab.expect_in_kernel(f"{NOTEBOOK}.selection", "other = 'never run'")
    lab.command("notebook:move-cell-up")
    lab.expect_in_kernel(f"[c.source for c in {NOTEBOOK}.cells][:2]", ["other = 'never run'", "secret = 1"])
    lab.cell(2).run()
    lab.cell(2).expect_done(1)
    lab.cell(2).expect_static(re.compile("never run"))
    lab.command("notebook:delete-cell")
    lab.expect_in_kernel(f"len({NOTEBOOK}.cells)", 2)


def test_palette_menu_and_shortcut_open_the_sidebar(lab: Lab, side: Side) -> None:
    """The menu's mark follows the sidebar; Ctrl+Shift+O opens it, focuses its box, then the notebook again.

    The history opens from the palette while the sidebar is closed.
    """
    lab.open("side-commands.ipynb", notebook("x = 1", kernel=KERNEL))
    lab.command("apputils:activate-command-palette")
    lab.page.keyboard.type("agent chat")
    lab.page.locator(".lm-CommandPalette-item[data-command='agentnb:toggle']").click()
    side.expect_chat()
    lab.page.get_by_role("menuitem", name="View", exact=True).click()
    entry = lab.page.locator(".lm-Menu-item[data-command='agentnb:toggle']")
    expect(entry).to_have_class(re.compile("lm-mod-toggled"))
    entry.click()
    expect(side.panel).to_be_hidden(timeout=PATIENCE_MS)
    lab.cell(0).focus()
    lab.page.keyboard.press("Control+Shift+O")
    side.start()
    side.box.focus()
    lab.page.keyboard.press("Control+Shift+O")
    expect(side.box).not_to_be_focused(timeout=PATIENCE_MS)
    assert lab.page.evaluate("() => document.activeElement.closest('.jp-NotebookPanel') !== null")
    lab.page.keyboard.press("Control+Shift+O")
    expect(side.box).to_be_focused(timeout=PATIENCE_MS)
    side.icon.click()
    expect(side.panel).to_be_hidden(timeout=PATIENCE_MS)
    lab.command("apputils:activate-command-palette")
    lab.page.keyboard.type("agent history")
    expect(lab.page.locator(".lm-CommandPalette-item.lm-mod-active")).to_have_text(re.compile("Agent History"))
    lab.page.keyboard.press("Enter")
    expect(side.chat.get_by_role("searchbox")).to_be_focused()
    expect(side.chat.get_by_role("region", name="History", exact=True)).to_be_visible()
    lab.page.keyboard.press("Escape")
    expect(side.chat.get_by_role("searchbox")).to_have_count(0)
    code_is_inserted_run_and_put_in_place_by_buttons_and_commands(lab, side)


def code_is_inserted_run_and_put_in_place_by_buttons_and_commands(lab: Lab, side: Side) -> None:
    """Into the active notebook; each is one Undo step; focus and draft stay, typed keys run no command."""
    side.resize(300)
    side.say("/say ```python\nprint(6 * 7)\n```")
    side.button("Insert below the active cell").click()
    assert sources(lab) == ["x = 1", "print(6 * 7)"]
    lab.command(UNDO_CELLS)
    assert sources(lab) == ["x = 1"]
    side.button("Run in a new cell below").press("Enter")
    lab.cell(1).expect_done(1)
    lab.cell(1).expect_text("42")
    lab.command(UNDO_CELLS)
    assert sources(lab) == ["x = 1"]
    side.button("Replace the active cell").press("Space")
    assert sources(lab) == ["print(6 * 7)"]
    lab.cell(0).focus()
    lab.page.keyboard.press("Control+z")
    assert sources(lab) == ["x = 1"]
    side.box.focus()
    for key in ("d", "d", "a", "Escape", "x", "Control+m", "Control+Shift+Minus"):
        lab.page.keyboard.press(key)
    expect(side.box).to_have_value("ddax")
    assert sources(lab) == ["x = 1"]
    for name in ("a", "b"):
        lab.command("agentnb:insert-below", source=f"{name} = 1")
    assert sources(lab) == ["x = 1", "a = 1", "b = 1"]
    lab.page.keyboard.type(" goes on")
    expect(side.box).to_have_value("ddax goes on")
    lab.command(UNDO_CELLS)
    assert sources(lab) == ["x = 1", "a = 1"]
    lab.command(UNDO_CELLS)
    assert sources(lab) == ["x = 1"]

    cell = lab.cell(0)
    cell.focus()
    lab.page.keyboard.press("End")
    lab.page.keyboard.type("00")
    lab.command("agentnb:replace-active", source="x = 2\ny = x")
    assert sources(lab) == ["x = 2\ny = x"]
    cell.focus()
    lab.page.keyboard.press("Control+z")
    assert sources(lab) == ["x = 100"]
    lab.page.keyboard.press("Control+Shift+z")
    assert sources(lab) == ["x = 2\ny = x"]
    code_goes_below_a_markdown_cell(lab)


def code_goes_below_a_markdown_cell(lab: Lab) -> None:
    """The cell stays, and a notification says so."""
    lab.page.keyboard.press("Escape")
    lab.command("notebook:change-cell-to-markdown")
    lab.command("agentnb:replace-active", source="y = 2")
    assert sources(lab) == ["x = 2\ny = x", "y = 2"]
    lab.command("apputils:display-notifications")
    lab.page.get_by_text("isn't a code cell").first.wait_for(timeout=PATIENCE_MS)
    lab.page.keyboard.press("Escape")


def test_sidebar_fits_every_width_and_theme(lab: Lab, side: Side) -> None:
    """From 300 px to wide, light, dark and high contrast: nothing is cut off, axe-core finds nothing serious."""
    lab.open("side-looks.ipynb", notebook("x = 1", kernel=KERNEL))
    side.open()
    side.start()
    for command in EVERYTHING:
        side.say(command)
    side.expect_text("Allow once")
    for width in (1200, 300):
        lab.page.set_viewport_size({"width": width + 700, "height": 900})
        side.resize(width)
        for theme in ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"):
            lab.theme(theme)
            lab.picture(f"side-{theme.removeprefix('JupyterLab ').replace(' ', '-').lower()}-{width}")
            assert serious(lab.page) == []
            assert side.panel.evaluate("e => e.scrollWidth <= e.clientWidth")
            assert side.chat.evaluate(CUT_OFF) == []
            ground = side.panel.evaluate("e => getComputedStyle(e).backgroundColor.match(/\\d+/g).map(Number)")
            assert (sum(ground[:3]) < 384) == ("Dark" in theme)
    lab.page.emulate_media(forced_colors="active")
    lab.picture("side-forced-colors-300")
    assert side.chat.evaluate(UNSEEN) == []
    side.chat.get_by_role("button", name="Conversation", exact=True).click()
    side.chat.get_by_role("menuitem", name="New conversation").click()
    side.start()
    expect(side.chat.get_by_role("tab")).to_have_count(2, timeout=PATIENCE_MS)
    edges = dict(side.chat.evaluate(TAB_EDGES))
    assert edges[True] != edges[False]
    expect(side.chat.get_by_role("heading", name="Ask Tour")).to_be_visible()
    lab.picture("side-forced-colors-two-tabs")
    assert side.chat.evaluate(CUT_OFF) == []
    lab.page.emulate_media(forced_colors="none")
    nothing_moves_where_motion_is_reduced(lab, side)


def nothing_moves_where_motion_is_reduced(lab: Lab, side: Side) -> None:
    """During a turn the page animates; with reduced motion it does not."""
    lab.page.emulate_media(reduced_motion="no-preference")
    side.say("/hang")
    side.button("Stop").wait_for(timeout=PATIENCE_MS)
    lab.page.wait_for_function(f"(view) => ({MOVING})(view).length > 0", arg=side.chat.element_handle())
    lab.page.emulate_media(reduced_motion="reduce")
    assert side.chat.evaluate(MOVING) == []


@pytest.fixture(scope="module")
def without_extension(profile: BrowserContext, server: Server, kernelspecs: Path) -> Iterator[Lab]:
    lab = new_lab(profile, server)
    network = profile.new_cdp_session(lab.page)
    network.send("Network.enable")
    network.send("Network.setBlockedURLs", {"urls": ["*/lab/extensions/agentnb/*"]})
    yield lab
    lab.page.close()
    server.end_sessions()


def test_chat_shows_below_the_cell_without_the_extension(without_extension: Lab) -> None:
    """Without extension and sidecar the chat is below the cell, with the install command."""
    hidden = "import sys\nsys.modules['sidecar'] = None\nimport agentnb\nagentnb.sidebar()"
    lab = without_extension
    lab.open("side-absent.ipynb", notebook(hidden, kernel=KERNEL))
    cell = lab.cell(0)
    cell.run()
    cell.expect_done(1)
    cell.expect_text(re.compile("doesn't have agentnb's JupyterLab extension"))
    cell.output.locator(".pill").wait_for(timeout=PATIENCE_MS)
    lab.picture("sidebar-absent")


def test_sidecar_holds_the_chat_without_the_extension(without_extension: Lab) -> None:
    """The ``sidecar`` package has its own right area."""
    lab = without_extension
    lab.open("side-sidecar.ipynb", notebook("import agentnb\nagentnb.sidebar()", kernel=KERNEL))
    cell = lab.cell(0)
    cell.run()
    cell.expect_done(1)
    cell.expect_text(re.compile("in a sidecar panel"))
    panel = lab.page.locator(".jupyterlab-sidecar")
    panel.locator(".pill").wait_for(timeout=PATIENCE_MS)
    lab.picture("sidebar-sidecar")
