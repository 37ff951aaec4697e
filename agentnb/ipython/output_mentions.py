"""The attachments of mentions of cells, outputs and figures: text with the outputs in it, and the pictures.

A page that shows the notebook is asked first, because it has what the user sees: outputs from before agentnb was
loaded, and SVGs and charts drawn as PNG.
"""

from __future__ import annotations

import base64
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.credentials import Credentials
from agentnb.ipython.cell_errors import errors_of, text_of
from agentnb.ipython.cell_outputs import figures_in, live_figure, outputs_of
from agentnb.kernel.bounded_text import masked
from agentnb.kernel.chart_pictures import with_pictures
from agentnb.kernel.output_text import LARGEST_PICTURES, LEFT_OUT, picture_size, read_outputs
from agentnb.state import MessageEmbeddedResourceAttachment, SimpleMessageAttachment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agentnb.server.lab_messages import CellOutputsParams
    from agentnb.state import MessageAttachment, TextRange

    AskPage = Callable[[Sequence[str]], Sequence[CellOutputsParams]]
    Outputs = Sequence[Mapping[str, Any]]


class KnownOutputs:
    """The outputs of one shell's cells, from the page or from the kernel."""

    def __init__(
        self,
        shell: Any,
        ask_page: AskPage = lambda _: (),
        look: Callable[[Callable[[], bytes | None]], bytes | None] = lambda work: work(),
    ) -> None:
        self._shell = shell
        self._ask_page = ask_page
        self._look = look

    def of(self, cells: Sequence[tuple[int | None, str | None]]) -> list[Outputs]:
        """The outputs of *cells*, each given by its execution count and its id, as far as it has them."""
        ids = [cell_id for _, cell_id in cells if cell_id]
        answers = self._ask_page(ids) if ids else ()
        times = Counter(each.cell_id for each in answers)  # an id that two cells have names neither
        outputs = {each.cell_id: each.outputs for each in answers if times[each.cell_id] == 1}
        seen = outputs_of(self._shell)
        return [outputs[cell_id] if cell_id in outputs else seen.of(count) if count else [] for count, cell_id in cells]

    def error_of(self, count: int | None) -> str | None:
        """The error of the cell with an execution count, as text."""
        error = errors_of(self._shell).of(count) if count else None
        return None if error is None else text_of(error)

    def latest_figure(self, id_of: Callable[[int], str | None]) -> Outputs:
        """The figure of matplotlib that is still open, else the last one that a cell has shown; empty for none."""
        if drawn := self._look(live_figure):
            return [{"output_type": "display_data", "data": {"image/png": base64.b64encode(drawn).decode()}}]
        count = outputs_of(self._shell).last_figure
        if count is not None:
            return figures_in(self.of([(count, id_of(count))])[0])[-1:]
        return next((figures_in(each.outputs)[-1:] for each in self._ask_page(())), [])


def with_outputs(
    label: str,
    text: str,
    outputs: Outputs,
    place: TextRange | None,
    *,
    heading: str = "Output:",
    error: str | None = None,
    cut: str = "",
) -> list[MessageAttachment]:
    """A text and, behind it, outputs: their text in the same attachment, their pictures in one each."""
    outputs, undrawn = with_pictures(outputs)
    read = read_outputs(outputs, error=error)
    text = masked(text, Credentials(os.environ))
    whole = "\n".join(each for each in (text, heading if read.text else "", read.text) if each)
    left_out = [*([cut] if cut else []), *undrawn, *read.left_out]
    attachment = SimpleMessageAttachment(
        label=label,
        range=place,
        display_kind="document",
        model_representation=whole,
        meta={LEFT_OUT: left_out} if left_out else None,
    )
    pictures = (
        MessageEmbeddedResourceAttachment(
            label=f"{label} picture {number}",
            range=place,
            display_kind="image",
            content_type=each.content_type,
            data=each.data,
        )
        for number, each in enumerate(read.pictures, 1)
    )
    return [attachment, *pictures]


def figure_attachments(label: str, outputs: Outputs, place: TextRange | None) -> list[MessageAttachment]:
    """A figure: the picture alone, where there is one; else what is told in its place."""
    attachment, *pictures = with_outputs(label, "", outputs, place, heading="")
    if pictures:
        return [replace(pictures[0], label=label)]
    return [attachment]


def several(attached: Iterable[Sequence[MessageAttachment]]) -> list[MessageAttachment]:
    """The attachments of several cells, with as many of their pictures as all may have together."""
    kept: list[MessageAttachment] = []
    room = LARGEST_PICTURES
    for each in attached:
        for one in each:
            if isinstance(one, MessageEmbeddedResourceAttachment):
                room -= picture_size(one.data)
                if room < 0:
                    continue
            kept.append(one)
    return kept


def output_heading(count: int | None) -> str:
    """The line between a cell and its outputs, by the cell's execution count."""
    return f"Out[{count}]:" if count else "Output:"
