"""Mentions of cells, outputs and figures attach the outputs that the kernel itself has seen."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentnb.errors import UnknownMention
from tests.unit.ipython.conftest import Open, Shell, contents
from tests.unit.kernel.test_output_text import png

PNG = png()
PLOTLY = "application/vnd.plotly.v1+json"


def test_cell_mention_attaches_its_code_and_all_outputs(shell: Shell) -> None:
    """The picture is its own attachment, named in the text at its place."""
    shell.names["figure"] = {"image/png": PNG, "text/plain": "<Figure>"}
    code = "get_ipython().display_pub.publish(figure)\nprint('fitted')\n0.9"
    shell.run(code)
    shown = "Out[1]:\nfitted\n[picture 1: <Figure>]\n0.9"
    assert shell.attached("Why? @cell:1") == {"cell:1": f"In [1]:\n{code}\n{shown}", "cell:1 picture 1": PNG}
    assert shell.attached("@output:1") == {"output:1": shown, "output:1 picture 1": PNG}


def test_cell_value_is_attached_as_text_before_ipython_9(shell: Shell) -> None:
    shell.run("df = 'a'\ndf")
    shell.ip.history_manager.outputs = {}
    assert shell.attached("@cell:1") == {"cell:1": "In [1]:\ndf = 'a'\ndf\nOut[1]:\n'a'"}


def test_displays_of_the_running_cell_are_updated_and_cleared(shell: Shell) -> None:
    """A display by code outside of cells belongs to the last cell."""
    publish = shell.names["publish"] = shell.ip.display_pub.publish
    shell.show({"text/plain": "first"}, transient={"display_id": "it"})
    publish({"text/plain": "second"})
    shell.show({"text/plain": "updated"}, kind="update_display_data", transient={"display_id": "it"})
    assert shell.attached("@output:1") == {"output:1": "Out[1]:\nupdated\nsecond"}
    old = "publish({'text/plain': 'old'}); publish({}, 'clear_output', wait=%s)"
    shell.run(old % True, f"{old % True}; publish({{'text/plain': 'new'}})", old % False)
    assert shell.attached("@output:3 @output:4") == {"output:3": "Out[3]:\nold", "output:4": "Out[4]:\nnew"}
    with pytest.raises(UnknownMention, match=r"In \[5\] has no output"):
        shell.attached("@output:5")


def test_plot_mention_attaches_only_the_latest_figure(shell: Shell) -> None:
    """From the latest cell with a figure; a variable named ``plot`` takes precedence."""
    shell.show({"image/png": PNG})
    shell.show({"image/png": base64.b64decode(png(3))}, {"image/png": png(4)})
    shell.show({"text/html": "<p>no figure</p>"})
    assert shell.attached("Explain @plot.") == {"plot": png(4)}
    shell.names["plot"] = 5
    assert shell.attached("Explain @plot.") == {"plot": "plot: int\n5"}


def test_figure_without_a_picture_is_attached_as_text(shell: Shell) -> None:
    """A page could draw it; agentnb does not draw a chart that loads a picture."""
    shell.show({PLOTLY: {"data": [{"source": "a.png"}]}})
    assert shell.attached("@plot") == {"plot": f'A chart ({PLOTLY}):\n{{"data": [{{"source": "a.png"}}]}}'}


def test_picture_that_is_too_large_is_left_out_with_a_note(shell: Shell) -> None:
    """The attachment says what is left out, also for the chat."""
    shell.show({"image/png": "A" * 6_000_000})
    (attachment,) = shell.attachments("@cell:1")
    assert "[A picture of 4 MB is left out" in str(getattr(attachment, "model_representation", ""))
    assert "A picture of 4 MB is left out" in str(attachment.meta)


def test_oldest_displays_are_dropped_beyond_a_total_size(shell: Shell) -> None:
    """A kernel that draws all day keeps about 32 MB, and always the latest display."""
    for number in range(20):
        shell.show({"image/png": f"{number:02}" + "A" * 2_000_000})
    kept = []
    for number in range(1, 21):
        try:
            kept += [number] if shell.attached(f"@output:{number}") else []
        except UnknownMention:
            continue
    assert kept == [*range(5, 21)]


def test_outputs_are_from_the_kernel_when_cells_share_an_id(shell: Shell, open_page: Open) -> None:
    """Otherwise the page's count, which has the outputs from before agentnb was loaded."""
    shell.show({"text/plain": "its own"})
    outputs = {name: [{"output_type": "display_data", "data": {"text/plain": "page"}}] for name in ("same", "one")}
    page = open_page({"same": "1", "again": "2", "one": "3"}, {"same": 1}, outputs, selected=["same", "one"])
    page.cells[1]["id"] = "same"
    page.tell()
    with ThreadPoolExecutor(1) as chat:
        attached = contents(chat.submit(shell.mentions.attach, "@selection", shell.folder).result())
    assert [text.rpartition("\n")[2] for text in attached.values()] == ["its own", "2", "page"]
