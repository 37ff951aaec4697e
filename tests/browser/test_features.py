"""The chat's features as a reader uses them, in a real JupyterLab."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import FilePayload, Locator, expect

from tests.browser.axe import serious
from tests.browser.chat import COPIED
from tests.browser.conftest import Kept, watched
from tests.browser.lab import PATIENCE_MS, Cell, Lab, notebook
from tests.browser.test_chat import say

SETUP = "import agentnb\nsession = agentnb.start()\nrows = [1, 2, 3]\nagentnb.chat(session)"
THEMES = ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast")
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
HAND_OVER = """(box, [kind, data]) => {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], `${kind}.png`, { type: "image/png" }));
  const told = { bubbles: true, composed: true, cancelable: true };
  const event = kind === "paste"
    ? new ClipboardEvent(kind, { ...told, clipboardData: transfer })
    : new DragEvent(kind, { ...told, dataTransfer: transfer });
  box.dispatchEvent(event);
}"""
"""Pastes or drops a picture."""


@pytest.fixture(scope="module")
def room(kept: Kept, request: pytest.FixtureRequest, kernelspecs: object) -> Iterator[Lab]:
    """One page and one kernel for these tests."""
    lab, failed = kept.take(), request.session.testsfailed
    cells = [SETUP, "agentnb.chat(session)", "len(session.chat.turns), session.chat.turns[-1].message.attachments"]
    lab.open("features.ipynb", notebook(*cells, kernel="ipykernel7"))
    yield lab
    kept.give_back(lab, passed=request.session.testsfailed == failed)


@pytest.fixture
def lab(room: Lab, request: pytest.FixtureRequest) -> Iterator[Lab]:
    with watched(room, request) as faults:
        yield room
    assert faults == []


@pytest.fixture
def chat(lab: Lab) -> Iterator[Cell]:
    """A cell that shows the chat on a new session with the built-in agent."""
    cell = lab.cell(0)
    cell.run()
    cell.expect_done()
    box(cell).wait_for(timeout=PATIENCE_MS)
    yield cell
    lab.expect_in_kernel("session.close()", None)
    lab.command("notebook:clear-all-cell-outputs")


def box(cell: Cell) -> Locator:
    return cell.output.get_by_role("textbox", name=re.compile("^Message to"))


def answered(cell: Cell, words: str) -> None:
    """Waits until the last turn has ended with *words* in its answer."""
    answer = cell.output.locator("[data-turn]").last.locator(".answer")
    answer.filter(has_text=words).wait_for(timeout=PATIENCE_MS)
    cell.output.locator("[data-turn]").last.locator(".turn-end").wait_for(timeout=PATIENCE_MS)


def offers(cell: Cell, text: str | re.Pattern[str] = "") -> Locator:
    return cell.output.get_by_role("listbox", name="Completions").get_by_role("option").filter(has_text=text)


def test_mention_completes_from_the_kernel_and_is_attached(chat: Cell, lab: Lab) -> None:
    """``@ro`` offers the variable with its type; the kernel attaches it."""
    box(chat).press_sequentially("What is @ro")
    option = offers(chat, "rows")
    expect(option).to_contain_text("list, length 3", timeout=PATIENCE_MS)
    lab.picture("completion")
    box(chat).press("Enter")
    expect(box(chat)).to_have_value("What is @rows ")
    box(chat).press("Enter")
    expect(chat.output.locator(".user-message .content-chip")).to_have_text("rows", timeout=PATIENCE_MS)


def test_slash_command_is_completed_in_the_box(chat: Cell, lab: Lab) -> None:
    """The agent starts when the box gets the focus, not before; Escape closes the list and keeps the text."""
    lab.expect_in_kernel("session.state.lifecycle", "creating")
    box(chat).focus()
    lab.expect_in_kernel("session.state.lifecycle", "ready")
    box(chat).press_sequentially("/sa")
    expect(offers(chat).first).to_contain_text("/say", timeout=PATIENCE_MS)
    box(chat).press("Escape")
    expect(offers(chat)).to_have_count(0)
    expect(box(chat)).to_have_value("/sa")
    box(chat).fill("")


def test_tab_rename_close_and_undo_show_in_the_other_view(chat: Cell, lab: Lab) -> None:
    twin = lab.cell(1)
    twin.run()
    twin.expect_done()
    tab = chat.output.get_by_role("tab")
    tab.focus()
    tab.press("F2")
    field = chat.output.get_by_role("textbox", name="Name of the conversation")
    field.fill("Residuals")
    field.press("Enter")
    expect(twin.output.get_by_role("tab")).to_contain_text("Residuals", timeout=PATIENCE_MS)
    tab.focus()
    tab.press("Delete")
    expect(twin.output.get_by_role("tab")).to_have_count(0, timeout=PATIENCE_MS)
    chat.button("Undo").click()
    expect(twin.output.get_by_role("tab")).to_contain_text("Residuals", timeout=PATIENCE_MS)


def test_draft_survives_a_reload_and_a_kernel_restart(chat: Cell, lab: Lab) -> None:
    """The unsent text is there after a reload, and offered after a kernel restart."""
    box(chat).press_sequentially("half a thought")
    lab.save()
    lab.load_again()
    again = lab.cell(0)
    expect(box(again)).to_have_value("half a thought", timeout=PATIENCE_MS)
    lab.restart()
    again.run()
    again.expect_done()
    again.output.get_by_text("half a thought").wait_for(timeout=PATIENCE_MS)
    again.button("Restore").click()
    expect(box(again)).to_have_value("half a thought")
    lab.picture("restored-draft")


def test_chosen_pasted_and_dropped_pictures_are_sent(chat: Cell, lab: Lab) -> None:
    """Pictures show before sending, and Python has them afterwards; one is removed again."""
    chosen = FilePayload(name="plot.png", mimeType="image/png", buffer=PIXEL)
    chat.output.locator("input[type=file]").set_input_files(chosen)
    expect(chat.output.get_by_role("img", name="plot.png")).to_be_visible()
    for event in ("paste", "drop"):
        box(chat).evaluate(HAND_OVER, [event, base64.b64encode(PIXEL).decode()])
        expect(chat.output.get_by_role("img", name=f"{event}.png")).to_be_visible()
    waiting = chat.output.get_by_role("list", name="Attached pictures")
    waiting.get_by_role("button").first.click()
    expect(waiting.get_by_role("img")).to_have_count(2)
    say(chat, "/say seen")
    answered(chat, "seen")
    expect(waiting).to_have_count(0)
    after = lab.cell(2)
    after.run()
    after.expect_text(re.compile("image/png"))


def test_queued_messages_can_be_edited_moved_removed_and_sent(chat: Cell) -> None:
    """Four messages wait; one is edited, one moved up, one removed, and one sent at once, which ends the turn."""
    say(chat, "/hang")
    chat.output.get_by_text("I am silent until you cancel.").wait_for(timeout=PATIENCE_MS)
    queue = chat.output.get_by_role("list", name="Queued messages").get_by_role("listitem")
    for number, word in enumerate(("one", "two", "three", "four"), 1):
        say(chat, f"/say {word}")
        expect(queue).to_have_count(number, timeout=PATIENCE_MS)
    chat.button("Edit: /say one").click()
    editor = chat.output.get_by_role("textbox", name="Edit the queued message")
    editor.fill("/say changed")
    editor.press("Enter")
    expect(queue.first).to_contain_text("/say changed", timeout=PATIENCE_MS)
    chat.button("Move up: /say three").click()
    expect(queue.nth(1)).to_contain_text("/say three", timeout=PATIENCE_MS)
    chat.button("Remove: /say two").click()
    expect(queue).to_have_count(3, timeout=PATIENCE_MS)
    chat.button("Send now and stop the running turn: /say four").click()
    expect(queue).to_have_count(0, timeout=PATIENCE_MS)
    answered(chat, "three")
    prompts = chat.output.locator(".user-message .user-text").all_inner_texts()
    assert [text.strip() for text in prompts] == ["/hang", "/say four", "/say changed", "/say three"]


def test_stop_with_queued_messages_holds_them_until_continue(chat: Cell, lab: Lab) -> None:
    """A message sent meanwhile runs at once; the queue waits for *Continue*."""
    say(chat, "/hang")
    chat.output.get_by_text("I am silent until you cancel.").wait_for(timeout=PATIENCE_MS)
    queue = chat.output.get_by_role("list", name="Queued messages")
    say(chat, "/say held")
    expect(queue).to_contain_text("/say held", timeout=PATIENCE_MS)
    chat.button("Stop").click()
    expect(queue).to_contain_text("1 message is on hold.", timeout=PATIENCE_MS)
    say(chat, "/say at once")
    answered(chat, "at once")
    expect(queue).to_contain_text("1 message is on hold.")
    lab.picture("queue-held")
    chat.button("Continue").click()
    answered(chat, "held")
    expect(queue).to_have_count(0)


def test_chat_takes_settings_and_a_form_and_saves_markdown(chat: Cell, lab: Lab) -> None:
    """Settings before the first prompt; the form names a wrong answer; a turn, then all, as Markdown."""
    box(chat).focus()
    chat.output.locator(".pill").click()
    chat.output.get_by_role("combobox", name="Pieces").select_option("whole")
    chat.output.get_by_role("checkbox", name="Think aloud").check()
    chat.output.get_by_role("combobox", name="Mode").select_option("plain")
    lab.page.keyboard.press("Escape")
    say(chat, "I am **plain** now")
    answered(chat, "I am plain now")
    chat.button("Turn").last.click()
    copied = str(chat.output.get_by_role("menuitem", name="Copy turn as Markdown").evaluate(COPIED))
    assert "I am **plain** now" in copied
    say(chat, "/say the session goes on")
    answered(chat, "goes on")
    say(chat, "/form")
    form = chat.output.get_by_role("form")
    form.wait_for(timeout=PATIENCE_MS)
    lab.picture("form")
    form.get_by_label("Name").fill("Ada")
    form.get_by_label("Robust").check()
    form.get_by_label("Steps").fill("many")
    form.get_by_role("button", name="Send").click()
    expect(form).to_contain_text("Enter a number.")
    form.get_by_label("Steps").fill("12")
    form.get_by_role("button", name="Send").click()
    expect(form).to_have_count(0, timeout=PATIENCE_MS)
    answered(chat, "Ada")
    chat.button("Conversation").click()
    with lab.page.expect_download() as begun:
        chat.output.get_by_role("menuitem", name="Save as Markdown").click()
    assert begun.value.suggested_filename.endswith(".md")
    kept = begun.value.path().read_text(encoding="utf-8")
    places = [kept.find(text) for text in ("I am **plain** now", "/say the session goes on", "/form", "Ada")]
    assert -1 not in places
    assert places == sorted(places)
    a_changed_file_is_downloaded(chat, lab)


def a_changed_file_is_downloaded(chat: Cell, lab: Lab) -> None:
    """From the turn's last line, with its change; the bytes are the file's current ones."""
    say(chat, "/write kept.bin <b>first</b>")
    chat.button("Allow").click()
    chat.output.get_by_role("button", name="Review", exact=True).last.click(timeout=PATIENCE_MS)
    files = chat.output.get_by_role("region", name="Files", exact=True).last
    expect(files).to_contain_text("kept.bin", timeout=PATIENCE_MS)
    files.get_by_role("button", name="Show change of kept.bin").click()
    expect(files.locator(".line.added")).to_contain_text("<b>first</b>")
    now = bytes(range(256)) * 1_200  # too large for a message, and not text
    (lab.server.folder / "kept.bin").write_bytes(now)
    with lab.page.expect_download() as begun:
        files.get_by_role("button", name="Download kept.bin").click()
    assert (begun.value.suggested_filename, begun.value.path().read_bytes()) == ("kept.bin", now)
    assert serious(lab.page) == []
    lab.picture("files")


def test_chat_in_a_cell_inserts_code_below_the_active_cell(chat: Cell, lab: Lab) -> None:
    """The active cell is the one whose chat is clicked; one Undo removes the code."""
    say(chat, "/say ```python\nprint(6 * 7)\n```")
    answered(chat, "print")
    chat.button("Insert below the active cell").click()
    expect(lab.panel.locator(".jp-CodeCell")).to_have_count(4)
    expect(lab.cell(1).locator).to_contain_text("print(6 * 7)")
    lab.command("notebook:undo-cell-action")
    expect(lab.panel.locator(".jp-CodeCell")).to_have_count(3)


def test_find_goes_to_matching_turns_of_the_conversation(chat: Cell, lab: Lab) -> None:
    """Ctrl+F opens it; Enter goes to a match; Escape closes it."""
    for word in ("alpha", "beta", "alpha again"):
        say(chat, f"/say {word}")
        answered(chat, word)
    chat.output.get_by_role("log").focus()
    lab.page.keyboard.press("Control+f")
    field = chat.output.get_by_role("searchbox")
    field.fill("alpha")
    chat.output.get_by_text("2 of 2 turns").wait_for(timeout=PATIENCE_MS)
    field.press("Enter")
    expect(chat.output.get_by_text("1 of 2 turns")).to_be_visible()
    lab.picture("find")
    field.press("Escape")
    expect(field).to_have_count(0)


def test_failed_turn_can_be_sent_again(chat: Cell) -> None:
    """The opened error shows the cause; its button sends the message again, to a new agent process."""
    say(chat, "/crash")
    again = chat.button("Send again")
    again.wait_for(timeout=PATIENCE_MS)
    chat.button("Details").click()
    expect(chat.output.locator(".error-card")).to_contain_text("died on purpose")
    again.click()
    expect(chat.output.locator("[data-turn]")).to_have_count(2, timeout=PATIENCE_MS)
    expect(again).to_have_count(1, timeout=PATIENCE_MS)
    say(chat, "/say back again")
    answered(chat, "back again")
    expect(again).to_have_count(0)


def test_axe_finds_nothing_serious_in_any_theme(chat: Cell, lab: Lab) -> None:
    for command in (
        "/markdown",
        "/think Is it so?",
        "/plan 3",
        "/tool search",
        "/diff",
        "/fail",
        "/say done",
    ):
        say(chat, command)
    answered(chat, "done")
    box(chat).press_sequentially("@r")
    offers(chat).first.wait_for(timeout=PATIENCE_MS)
    assert serious(lab.page) == []
    box(chat).press("Escape")
    box(chat).fill("")
    say(chat, "/ask edit")
    chat.button("Allow once").wait_for(timeout=PATIENCE_MS)
    for theme in THEMES:
        lab.theme(theme)
        chat.button("Conversation").click()
        expect(chat.output.get_by_role("menu")).to_be_visible()
        assert (theme, serious(lab.page)) == (theme, [])
        lab.picture(f"axe-{theme.removeprefix('JupyterLab ').replace(' ', '-').lower()}")
        chat.output.get_by_role("menu").press("Escape")
