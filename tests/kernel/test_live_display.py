"""A cell sent by a page with the live view; nothing draws it here, as in a page without widgets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentnb.server import __file__ as comm_package

if TYPE_CHECKING:
    from tests.kernel.running_kernel import RunningKernel

WIDGET = "application/vnd.jupyter.widget-view+json"
pytestmark = pytest.mark.skipif(
    not (Path(comm_package).parents[1] / "static/widget.js").exists(),
    reason="the front end is not built (`make build`)",
)


def test_final_text_replaces_the_live_view_in_place(shared_kernel: RunningKernel) -> None:
    outputs = [
        output for output in shared_kernel.run("%agent /say **Hi**", clickable=True).outputs if "display" in output[0]
    ]
    kinds = [kind for kind, _ in outputs]
    assert ("display_data", {"update_display_data"}) == (
        kinds[0],
        set(kinds[1:]),
    )  # on a slow machine text replaces the view at first
    (_, view), (_, kept) = outputs[0], outputs[-1]
    assert WIDGET in view["data"]
    assert view["transient"]["display_id"] == kept["transient"]["display_id"]
    assert {"text/markdown": "**Hi**", "text/plain": "**Hi**"} == kept["data"]


def test_text_replaces_a_view_that_no_page_draws(kernel: RunningKernel) -> None:
    """The text grows while the turn runs."""
    running = kernel.send("%agent /slow 100000 20", clickable=True)
    displayed = kernel.results[running].displayed
    kernel.until(lambda: len({text for text in displayed() if text.strip()}) > 2)
    kernel.interrupt()
    assert kernel.finish(running).traceback == ["The turn was cancelled."]
    *texts, last = displayed()
    assert "cancelled" not in last
    assert [] == [text for text in texts if not last.startswith(text.strip())]


def test_background_turn_replaces_its_view_with_its_text(shared_kernel: RunningKernel) -> None:
    begun = shared_kernel.send("turn = %agent -b /slow 5 20", clickable=True)
    shared_kernel.finish(begun)
    (_, view) = next(output for output in shared_kernel.results[begun].outputs if output[0] == "display_data")
    shared_kernel.run("await turn")
    shared_kernel.until_update(view["transient"]["display_id"])


def test_blocking_cell_does_not_hang_on_a_permission_request(kernel: RunningKernel) -> None:
    """Without a page, the turn's permission request is denied."""
    result = kernel.run("%%time\n%agent /ask edit", clickable=True)
    assert "**Permission denied.**" in result.displayed()[-1]
    kernel.run("%config Agentnb.view = 'text'")
    reply = kernel.run("%agent /say Hi", clickable=True)
    assert ([], "Hi") == (reply.displayed(WIDGET), reply.displayed()[-1])


def test_console_prints_the_text_of_a_turn(kernel: RunningKernel) -> None:
    """`jupyter console` and qtconsole cannot replace output, so short and long turns are printed."""
    short = kernel.run("%agent /say Hi", console=True)
    assert "Hi" == short.stdout.strip()
    assert "1 2 3 4 5" == kernel.run("%agent /slow 5 1", console=True).stdout.strip()
    running = kernel.send("%agent /slow 100000 20", console=True)
    long = kernel.results[running]
    kernel.until(lambda: sum(kind == "stream" for kind, _ in long.outputs) > 2)
    kernel.interrupt()
    assert kernel.finish(running).stdout.startswith("1 2 3 ")
    assert "Permission denied" in kernel.run("%agent /ask edit", console=True).stdout
    behind = kernel.run("%agent -b /say behind", console=True)
    assert "Runs in the background" in behind.displayed("text/plain")[0]
    assert "There is no sidebar here" in kernel.run("%agents sidebar", console=True).error
    assert "shown where the page has widgets" in kernel.run("import agentnb; agentnb.chat()", console=True).values[0]
