"""Mentions of cells, outputs and figures attach the outputs that the kernel itself has seen."""

from __future__ import annotations

import base64
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentnb.errors import UnknownMention
from agentnb.ipython.cell_outputs import CellOutputs, outputs_of
from agentnb.ipython.cells import MOST_QUOTES, Quotes
from agentnb.ipython.mentions import KnownOutputs, attachments, scope_of
from agentnb.kernel.output_text import LARGEST_PICTURE, LEFT_OUT
from agentnb.server.lab_messages import CellOutputsParams
from tests.unit.kernel.test_output_text import png

PNG = png()


class Publisher:
    """The hooks of ipykernel's display publisher."""

    def __init__(self) -> None:
        self.hooks: list[Any] = []

    def register_hook(self, hook: Any) -> None:
        self.hooks.append(hook)

    def publish(self, kind: str = "display_data", display_id: str | None = None, **content: Any) -> None:
        transient = {"display_id": display_id} if display_id else {}
        data = {name.replace("__", "/"): value for name, value in content.pop("data", {}).items()}
        for hook in self.hooks:
            assert hook({"msg_type": kind, "content": {"data": data, "transient": transient, **content}}) is not None


class Events:
    """IPython's events."""

    def __init__(self) -> None:
        self.callbacks: dict[str, Any] = {}

    def register(self, name: str, callback: Any) -> None:
        self.callbacks[name] = callback


@pytest.fixture
def shell() -> Any:
    """The parts of ipykernel's shell that outputs need; three cells have run."""
    history = SimpleNamespace(input_hist_raw=["", "plot()", "1 / 0", "df"], output_hist_reprs={}, outputs={})
    compiler = SimpleNamespace(format_code_name=lambda _: None)
    trap = SimpleNamespace(is_active=False)
    made: Any = SimpleNamespace(
        user_ns={}, user_ns_hidden={}, history_manager=history, execution_count=1, compile=compiler,
        display_pub=Publisher(), events=Events(), display_trap=trap,
        displayhook=SimpleNamespace(prompt_count=1),
    )  # fmt: skip
    outputs_of(made).follow()
    return made


def begin(shell: Any, count: int, *, store_history: bool = True) -> None:
    shell.displayhook.prompt_count = count
    shell.events.callbacks["pre_run_cell"](SimpleNamespace(store_history=store_history))


def outputs_of_cell(outputs: CellOutputs, count: int) -> list[dict[str, Any]]:
    return [each["data"] for each in outputs.of(count)]


def attached(shell: Any, prompt: str) -> list[tuple[str, str]]:
    shell.execution_count = 4  # the cell of the prompt itself
    mentioned = attachments(prompt, [], scope_of(shell, Path.cwd()))
    return [
        (each.label, str(getattr(each, "model_representation", None) or getattr(each, "data", "")))
        for each in mentioned
    ]


def test_cell_mention_attaches_its_code_and_all_outputs(shell: Any) -> None:
    """The picture is its own attachment, named in the text at its place."""
    begin(shell, 1)
    shell.display_pub.publish(data={"image__png": PNG, "text__plain": "<Figure>"})
    shell.history_manager.outputs[1] = [
        SimpleNamespace(output_type="out_stream", bundle={"stream": ["fit", "ted\n"]}),
        SimpleNamespace(output_type="execute_result", bundle={"text/plain": "0.9"}),
    ]
    text = "In [1]:\nplot()\nOut[1]:\nfitted\n[picture 1: <Figure>]\n0.9"
    assert attached(shell, "Why? @cell:1") == [("cell:1", text), ("cell:1 picture 1", PNG)]
    assert attached(shell, "@output:1") == [("output:1", text.partition("plot()\n")[2]), ("output:1 picture 1", PNG)]


def test_cell_value_is_attached_as_text_before_ipython_9(shell: Any) -> None:
    del shell.history_manager.outputs
    shell.history_manager.output_hist_reprs[3] = "  a\n0 1"
    assert attached(shell, "@cell:3") == [("cell:3", "In [3]:\ndf\nOut[3]:\n  a\n0 1")]


def test_displays_of_the_running_cell_are_updated_and_cleared(shell: Any) -> None:
    outputs, publish = outputs_of(shell), shell.display_pub.publish
    begin(shell, 1)
    publish(data={"text__plain": "first"}, display_id="it")
    begin(shell, 9, store_history=False)
    publish(data={"text__plain": "second"})
    begin(shell, 2)
    publish("update_display_data", data={"text__plain": "updated"}, display_id="it")
    assert outputs_of_cell(outputs, 1) == [{"text/plain": "updated"}, {"text/plain": "second"}]
    publish(data={"text__plain": "old"})
    publish("clear_output", wait=True)
    assert outputs_of_cell(outputs, 2) == [{"text/plain": "old"}]
    publish(data={"text__plain": "new"})
    assert outputs_of_cell(outputs, 2) == [{"text/plain": "new"}]
    publish("clear_output", wait=False)
    assert outputs_of_cell(outputs, 2) == []
    begin(shell, 1)
    assert outputs_of_cell(outputs, 1) == []


def test_plot_mention_attaches_only_the_latest_figure(shell: Any) -> None:
    """From the latest cell with a figure; a variable named ``plot`` takes precedence."""
    begin(shell, 1)
    shell.display_pub.publish(data={"image__png": PNG})
    begin(shell, 2)
    shell.display_pub.publish(data={"image__png": base64.b64decode(png(3))})
    shell.display_pub.publish(data={"image__png": png(4)})
    begin(shell, 3)
    shell.display_pub.publish(data={"text__html": "<p>no figure</p>"})
    assert attached(shell, "Explain @plot.") == [("plot", png(4))]
    shell.user_ns["plot"] = 5
    assert attached(shell, "Explain @plot.") == [("plot", "plot: int\n5")]


def test_a_figure_without_a_picture_is_attached_as_text(shell: Any) -> None:
    """A page could draw it; agentnb does not draw a chart that loads a picture."""
    begin(shell, 1)
    shell.display_pub.publish(data={"application__vnd.plotly.v1+json": {"data": [{"source": "a.png"}]}})
    assert attached(shell, "@plot") == [
        ("plot", 'A chart (application/vnd.plotly.v1+json):\n{"data": [{"source": "a.png"}]}')
    ]


@pytest.mark.parametrize(
    ("mention", "why"),
    [
        ("@plot", "no figure is open, and the kernel knows of no cell that has shown one"),
        ("@output:2", r"In \[2\] has no output"),
        ("@output:9", "names no cell. Cells 1 to 3 have been run"),
    ],
)
def test_mention_of_missing_outputs_is_refused_with_the_reason(shell: Any, mention: str, why: str) -> None:
    with pytest.raises(UnknownMention, match=why):
        attached(shell, mention)


def test_picture_that_is_too_large_is_left_out_with_a_note(shell: Any) -> None:
    """The attachment says what is left out, also for the chat."""
    begin(shell, 1)
    shell.display_pub.publish(data={"image__png": "A" * (LARGEST_PICTURE * 2)})
    shell.execution_count = 2
    (attachment,) = attachments("@cell:1", [], scope_of(shell, Path.cwd()))
    assert "[A picture of 4 MB is left out" in str(getattr(attachment, "model_representation", ""))
    assert [str(each)[:27] for each in (attachment.meta or {})[LEFT_OUT]] == ["A picture of 4 MB is left o"]
    assert outputs_of_cell(outputs_of(shell), 1) == [{"image/png": LARGEST_PICTURE * 2 * 3 // 4}]


def test_oldest_displays_are_dropped_beyond_a_total_size(shell: Any) -> None:
    """A kernel that draws all day keeps about 32 MB, and always the latest display."""
    large = base64.b64encode(b"\0" * (LARGEST_PICTURE - 10)).decode()
    for count in range(1, 12):
        begin(shell, count)
        shell.display_pub.publish(data={"image__png": large})
    outputs = outputs_of(shell)
    assert [count for count in range(1, 12) if outputs.of(count)] == [*range(4, 12)]
    assert outputs.last_figure == 11


def test_selection_added_to_a_message_keeps_its_code(shell: Any) -> None:
    """The same code has one name; the oldest are forgotten."""
    from agentnb.ipython.cells import quotes_of
    from agentnb.server.lab_messages import QuoteParams

    quotes = quotes_of(shell)
    names = [quotes.add(QuoteParams(id="1", cell_id="c", text=text)) for text in ("x = 1", "x = 1", "y = 2")]
    assert names == ["selection:1", "selection:1", "selection:2"]
    assert attached(shell, "@selection:1") == [("selection:1", "Selected in a cell:\n```\nx = 1\n```")]
    own = Quotes()
    for number in range(MOST_QUOTES + 1):
        own.add(QuoteParams(id="1", cell_id="c", text=str(number)))
    assert (own.of(1), own.of(2) is not None) == (None, True)


def test_outputs_are_from_the_kernel_when_cells_share_an_id(shell: Any) -> None:
    begin(shell, 1)
    shell.display_pub.publish(data={"text__plain": "its own"})
    answers = [CellOutputsParams(cell_id="same", outputs=[{"data": {"text/plain": text}}]) for text in ("a", "b")]
    answers.append(CellOutputsParams(cell_id="other", outputs=[]))
    known = KnownOutputs(shell, lambda _: answers)
    (same, other) = known.of([(1, "same"), (None, "other")])
    assert [each["data"] for each in same] == [{"text/plain": "its own"}]
    assert other == []
