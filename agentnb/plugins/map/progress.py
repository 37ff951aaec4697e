"""The progress of a running batch: a bar in a notebook, a line in a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

from agentnb.api.columns import html, on_one_line
from agentnb.api.unattended import current_shell, is_watched
from agentnb.errors import AgentnbError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.plugins.map.batch import Batch, BatchResult
    from agentnb.server.comm.batch_model import BatchModel


LATEST = 20
"""Rows for the latest answers."""
OF_A_REASON = 10
"""Rows shown for each reason of failure."""
REASONS = 8
_LONGEST_TEXT = 200
_COLUMNS = ("input", "state", "answer")


class RowsView:
    def __init__(self, batch: Batch, model: BatchModel) -> None:
        self._batch = batch
        self._model = model
        model.on_msg(self._on_message)

    def show(self) -> list[dict[str, Any]]:
        """Show the current rows, and return them; on any thread."""
        groups = groups_of(self._batch)
        self._model.groups = groups
        return groups

    def _on_message(self, _model: BatchModel, content: Any, _buffers: Any) -> None:
        number = content.get("open") if isinstance(content, dict) else None
        if isinstance(number, int):  # in a thread: reading the log may take a moment
            threading.Thread(target=self._open, args=[number], name="agentnb-batch-open", daemon=True).start()

    def _open(self, number: int) -> None:
        try:
            answer = {"tab": self._batch.result(number).open().tab_id}
        except (AgentnbError, IndexError) as error:
            answer = {"error": str(error)}
        self._model.send({"opened": number, **answer})


def groups_of(batch: Batch) -> list[dict[str, Any]]:
    """Returns the rows as the page shows them: failures by reason, the most frequent first, then the latest answers."""
    groups = []
    for reason, number in list(batch.failures.items())[:REASONS]:
        rows = batch.latest(OF_A_REASON, reason=reason)
        groups.append({"title": f"{number:,} failed: {reason}", "rows": [_row(each) for each in rows]})
    latest = batch.latest(LATEST)
    if latest:
        title = f"Latest {len(latest)}" if len(latest) == LATEST else "Answers"
        groups.append({"title": title, "rows": [_row(each) for each in latest]})
    return groups


def saved_rows(batch: str, groups: list[dict[str, Any]]) -> str:
    """Returns the rows as HTML, for a page without a kernel; '' if there are none."""
    if not groups:
        return ""
    tables = [
        f"<p><b>{escape(each['title'])}</b></p>"
        + html(_COLUMNS, [[on_one_line(str(row[name])) for name in ("label", "state", "text")] for row in each["rows"]])
        for each in groups
    ]
    return f'<div class="agentnb-batch-saved agentnb-batch-{escape(batch)}">{"".join(tables)}</div>'


def _row(result: BatchResult) -> dict[str, Any]:
    text = result.error or result.text
    return {
        "number": result.number,
        "label": str(result.label)[:_LONGEST_TEXT],
        "state": result.state,
        "text": " ".join(text[: 2 * _LONGEST_TEXT].split())[:_LONGEST_TEXT],
        "opens": bool(result.session),
    }


_PAUSE_SECONDS = 0.2
_SHARE = 0.05  # largest share of the time that updates of the display may take
_WIDTH = 24


def show_progress(batch: Batch) -> None:
    """Show *batch* until it has ended; not if a program runs the notebook, whose outputs are compared."""
    shell = current_shell()
    shows: list[Callable[[], None]] = []
    if getattr(shell, "kernel", None) is not None:
        shows = _in_notebook(batch, shell) if is_watched(shell) else []
    elif sys.stderr is not None and sys.stderr.isatty():
        shows = [partial(_in_terminal, batch)]
    for each in shows:
        batch.listen(Paced(lambda: batch.done, each))
    if shows and batch.done:  # it ended before the listener was added
        for each in shows:
            each()


def line(batch: Batch) -> str:
    return " · ".join(each for each in (batch.summary, batch.pace) if each)


def bar(batch: Batch, rows: str = "") -> str:
    """Returns an HTML progress bar, in which nothing comes from an agent but the numbers."""
    counts = batch.counts
    total = batch.total or max(1, sum(counts.values()))
    widths = {each: 100 * counts[each] / total for each in ("done", "failed")}
    return (
        '<div style="display:flex;height:6px;border-radius:3px;overflow:hidden;max-width:480px;'
        'background:var(--jp-border-color2,#ddd)" role="progressbar" aria-label="Batch"'
        f' aria-valuemin="0" aria-valuemax="{total}" aria-valuenow="{counts["done"] + counts["failed"]}">'
        f'<span style="width:{widths["done"]:.1f}%;background:var(--jp-success-color1,#2e7d32)"></span>'
        f'<span style="width:{widths["failed"]:.1f}%;background:var(--jp-error-color1,#c62828)"></span></div>'
        f"<div>{escape(line(batch))}</div>{rows}"
    )


class Paced:
    """Shows changes a few times a second at most, and always once *is_over*; on the thread that made the change."""

    def __init__(self, is_over: Callable[[], bool], show: Callable[[], None]) -> None:
        self._is_over = is_over
        self._show = show
        self._next = 0.0
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            began = time.monotonic()
            if self._is_over() or began >= self._next:
                self._show()
                took = time.monotonic() - began
                self._next = began + max(_PAUSE_SECONDS, took / _SHARE)


class ShownWork(Protocol):
    """Work that is shown in the cell that began it."""

    is_shown_here: Callable[[], bool]


def show_in_cell(work: ShownWork, shell: Any, html: str) -> Callable[[str], None]:
    """Show *html* in the running cell; returns a function that replaces it there, whatever runs meanwhile."""
    from IPython.display import HTML, display

    cell = shell.execution_count
    work.is_shown_here = lambda: bool(shell.execution_count == cell)
    handle: Any = display(HTML(html), display_id=True)  # type: ignore[no-untyped-call]
    return lambda other: handle.update(HTML(other))  # type: ignore[no-untyped-call]


def has_widgets(shell: Any) -> bool:
    """True if a notebook's cell is running: a console has no widgets."""
    return "cellId" in ((shell.kernel.get_parent() or {}).get("metadata") or {})


def _in_notebook(batch: Batch, shell: Any) -> list[Callable[[], None]]:
    """Show the bar, and the rows below it if the page has widgets; returns what updates them."""
    update = show_in_cell(batch, shell, bar(batch))
    if not has_widgets(shell):
        return [lambda: update(bar(batch))]
    from IPython.display import display

    from agentnb.server.comm.batch_model import batch_model

    model = batch_model(batch.id)
    display(model)  # type: ignore[no-untyped-call]
    view = RowsView(batch, model)
    return [lambda: update(bar(batch, saved_rows(batch.id, view.show())))]


def _in_terminal(batch: Batch) -> None:
    counts = batch.counts
    total = batch.total or max(1, sum(counts.values()))
    full = round(_WIDTH * min(1.0, (counts["done"] + counts["failed"]) / total))
    end = "\n" if batch.done else ""
    sys.stderr.write(f"\r\x1b[K[{'█' * full}{'░' * (_WIDTH - full)}] {line(batch)}{end}")
    sys.stderr.flush()
