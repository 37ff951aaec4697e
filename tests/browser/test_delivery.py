"""Every view shows exactly the agent's text, whatever the page does meanwhile."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat, counted
from tests.browser.conftest import PICTURES, Kept, watched
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.server import Server

NAME = "delivery.ipynb"
CHAT = "import agentnb\nsession = agentnb.start()\npanel = agentnb.chat(session)\npanel"
TALL = "\n".join(["#"] * 80)


PANELS = """sum(type(one).__name__ == "PanelModel" and one.comm is not None
for one in __import__("gc").get_objects())"""


def test_turn_continues_when_its_cell_is_deleted(lab: Lab, kernelspecs: object) -> None:
    """A cell with a live view; another view and the saved turn are whole, and the kernel frees the view."""
    cells = ("%load_ext agentnb", "turn = %agent -b /slow 100000 20", "turn.session", "")
    lab.open("deleted.ipynb", notebook(*cells, kernel="ipykernel7"))
    lab.run_cells(3)
    other = Chat(lab.panel)
    other.expect_text("5 6 7")
    expect(lab.panel.locator(".turn-view")).to_be_visible()
    lab.cell(1).focus()
    lab.command("notebook:delete-cell")
    expect(lab.panel.locator(".turn-view")).to_have_count(0)
    other.root.get_by_role("button", name="Stop").click()  # the turn runs until then
    answer = other.answer().strip()
    assert answer.startswith(counted(7).strip())
    lab.expect_in_kernel(PANELS, 1)
    kept = lab.cell(2)
    kept.write("from agentnb.ipython.record import record\nprint(record(turn)['text/markdown'])")
    kept.run()
    kept.expect_done(4)
    assert kept.output.locator("pre").inner_text().startswith(answer)


@pytest.fixture(scope="module")
def room(kept: Kept, request: pytest.FixtureRequest, kernelspecs: object) -> Iterator[Lab]:
    """One page and one kernel for these tests."""
    lab, failed = kept.take(), request.session.testsfailed
    lab.open(NAME, notebook(CHAT, "", TALL, TALL, kernel="ipykernel7"))
    yield lab
    kept.give_back(lab, passed=request.session.testsfailed == failed)


@pytest.fixture
def chat(room: Lab, request: pytest.FixtureRequest) -> Iterator[Chat]:
    """A chat with a new session; a failure says what the page shows."""
    cell = room.cell(0)
    with watched(room, request):
        cell.run()
        cell.expect_done()
        yield Chat(cell.output)
    room.picture("delivery-last")
    room.cell(1).write("session.close()")
    room.cell(1).run()
    room.expect_idle()
    room.command("notebook:clear-all-cell-outputs")


def shown_again(room: Lab) -> Chat:
    """Shows the session in another cell."""
    cell = room.cell(1)
    cell.write("session")
    cell.run()
    return Chat(cell.output)


def test_answer_arrives_while_the_chat_is_out_of_sight(room: Lab, chat: Chat) -> None:
    """Scrolled away, its output removed from the page and put back, its notebook behind another tab."""
    expected = chat.count_slowly(200)
    notebook_area = room.panel.locator(".jp-WindowedPanel-outer")
    notebook_area.evaluate("e => e.scrollTo(0, e.scrollHeight)")
    expect(chat.root).not_to_be_in_viewport()
    room.cell(3).run()
    room.cell(3).expect_done()
    notebook_area.evaluate("e => e.scrollTo(0, 0)")
    room.cell(0).focus()
    room.command("notebook:hide-cell-outputs")
    expect(chat.root).to_have_count(0)
    room.command("notebook:show-cell-outputs")
    room.command("launcher:create")
    expect(chat.root).not_to_be_visible()
    room.command("application:close")
    assert chat.answer() == expected


def test_answer_arrives_in_three_views_of_one_chat(room: Lab, chat: Chat) -> None:
    expected = chat.count_slowly()
    second = shown_again(room)
    room.cell(0).focus()
    room.command("notebook:create-output-view")
    third = Chat(room.page.locator(".jp-LinkedOutputView"))
    assert [view.answer() for view in (third, second, chat)] == [expected] * 3
    room.command("application:close")


def test_new_view_shows_the_answer_when_the_last_one_is_cleared(room: Lab, chat: Chat) -> None:
    expected = chat.count_slowly()
    room.cell(0).focus()
    room.command("notebook:clear-cell-output")
    expect(chat.root).to_have_count(0)
    assert shown_again(room).answer() == expected


def test_answer_arrives_when_the_cell_runs_again(room: Lab, chat: Chat) -> None:
    first = shown_again(room)
    expected = first.count_slowly()
    again = shown_again(room)
    assert [again.answer(), chat.answer()] == [expected, expected]


def test_new_view_shows_the_answer_when_python_closes_the_panel(room: Lab, chat: Chat) -> None:
    expected = chat.count_slowly()
    cell = room.cell(1)
    cell.write("panel.close()\nsession")
    cell.run()
    expect(chat.root).to_have_count(0)
    assert Chat(cell.output).answer() == expected


def test_answer_arrives_when_the_notebook_is_reopened(room: Lab, chat: Chat) -> None:
    """The page drops the model and its content; the kernel continues."""
    expected = chat.count_slowly()
    room.save()
    room.command("application:close")
    expect(room.panel).to_have_count(0)
    room.command("docmanager:open", path=NAME)
    assert chat.answer() == expected


def test_answer_arrives_when_the_page_reloads_twice(room: Lab, chat: Chat) -> None:
    """The page reloads during an answer, and again before the first reload has finished."""
    expected = chat.count_slowly(300)
    room.save()
    room.page.reload()
    chat.expect_text("25 26 27")
    room.page.reload()
    assert chat.answer() == expected


def test_chat_shows_a_flood_of_chunks_completely(chat: Chat) -> None:
    """Twenty thousand chunks at full speed."""
    chat.say("/flood 20000")
    assert chat.answer() == counted(20_000)


LATE = """{
  const make = URL.createObjectURL;
  const late = "await new Promise((loaded) => setTimeout(loaded, 2500));";
  URL.createObjectURL = (file) => make.call(URL, file.size > 200_000 ? new Blob([late, file], file) : file);
}"""
"""Delays the front end as on a busy machine, beyond the two seconds after which anywidget gives up a module."""


@pytest.fixture
def window(room: Lab, chat: Chat, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A second, slow browser window with the same notebook and chat; a failure leaves its picture."""
    expect(chat.box).to_be_editable(timeout=PATIENCE_MS)
    room.save()
    second = Lab(room.page.context.new_page(), room.server, PICTURES)
    second.page.add_init_script(LATE)
    with watched(room, request, "-first"), watched(second, request):
        second.open(NAME, workspace="second")
        yield second.page
    second.page.close()


def test_two_windows_show_each_others_answers_and_both_prompt(chat: Chat, window: Page) -> None:
    other = Chat(window.locator(".jp-CodeCell").first)
    expected = chat.count_slowly()
    assert [other.answer(), chat.answer()] == [expected, expected]
    other.say("/say from the other window")
    assert [other.answer(2), chat.answer(2)] == ["from the other window"] * 2

    chat.say("/ask edit")
    for view in (chat, other):
        view.root.get_by_role("button", name="Reject once").wait_for(timeout=PATIENCE_MS)
    other.root.get_by_role("button", name="Reject once").click()
    for view in (other, chat):
        expect(view.root.locator(".tool").last).to_contain_text("You denied this", timeout=PATIENCE_MS)
        expect(view.root.get_by_role("button", name="Allow once")).to_have_count(0)
    assert chat.answer(3) == other.answer(3)


NOISE = """import ipywidgets, threading, time
label = ipywidgets.Label()
def noise():
    for _ in range(25):
        time.sleep(0.2)
        for number in range(200):
            label.value = str(number)
threading.Thread(target=noise, daemon=True).start()
label"""
FLUSH = re.compile(rb'"flush":\s*(\d+)[,}]')


def test_answer_arrives_when_jupyter_limits_messages(limited_server: Server, lab_on: Callable[[Server], Lab]) -> None:
    """Another widget makes the server drop messages, ours too; the chat recovers all of them."""
    lab = lab_on(limited_server)
    flushes: set[int] = set()

    def heard(payload: str | bytes) -> None:
        data = payload.encode() if isinstance(payload, str) else payload
        flushes.update(int(number) for number in FLUSH.findall(data))

    lab.page.on("websocket", lambda socket: socket.on("framereceived", heard))
    lab.open("noise.ipynb", notebook(CHAT, NOISE, kernel="ipykernel7"))
    cell, noisy = lab.cell(0), lab.cell(1)
    cell.run()
    cell.expect_done(1)
    chat = Chat(cell.output)
    expect(chat.box).to_be_editable(timeout=PATIENCE_MS)
    noisy.run()
    noisy.expect_done(2)
    expected = chat.count_slowly(300, 10)
    assert chat.answer() == expected
    assert len(flushes) < max(flushes), "no flush was lost: the limiter was not reached"
