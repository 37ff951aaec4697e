"""How far a batch is, while it runs: a bar in a notebook, a line in a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from html import escape
from typing import TYPE_CHECKING, Any

from agentnb.api.unattended import is_watched

if TYPE_CHECKING:
    from agentnb.batch.batch import Batch

_PAUSE_SECONDS = 0.2
_WIDTH = 24


def show_progress(batch: Batch) -> None:
    """Show *batch* until it has ended; nothing where a notebook is run by a program, whose outputs are compared."""
    shell = _shell()
    if getattr(shell, "kernel", None) is not None:
        shown = _in_notebook(batch) if is_watched(shell) else None
    else:
        shown = _in_terminal if sys.stderr is not None and sys.stderr.isatty() else None
    if shown is not None:
        batch.listen(_Paced(batch, shown))


def line(batch: Batch) -> str:
    """How far it is, how fast, and how long it may take."""
    return " · ".join(each for each in (batch.summary, batch.pace) if each)


def bar(batch: Batch) -> str:
    """A bar of HTML: nothing of it comes from an agent but the numbers."""
    counts = batch.counts
    total = batch.total or max(1, sum(counts.values()))
    widths = {each: 100 * counts[each] / total for each in ("done", "failed")}
    return (
        '<div style="display:flex;height:6px;border-radius:3px;overflow:hidden;max-width:480px;'
        'background:var(--jp-border-color2,#ddd)" role="progressbar" aria-label="Batch"'
        f' aria-valuemin="0" aria-valuemax="{total}" aria-valuenow="{counts["done"] + counts["failed"]}">'
        f'<span style="width:{widths["done"]:.1f}%;background:var(--jp-success-color1,#2e7d32)"></span>'
        f'<span style="width:{widths["failed"]:.1f}%;background:var(--jp-error-color1,#c62828)"></span></div>'
        f"<div>{escape(line(batch))}</div>"
    )


class _Paced:
    """Shows changes, a few times a second at most, and the end always; on the batch's thread."""

    def __init__(self, batch: Batch, show: Any) -> None:
        self._batch = batch
        self._show = show
        self._shown_at = 0.0
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            now = time.monotonic()
            if self._batch.done or now - self._shown_at >= _PAUSE_SECONDS:
                self._shown_at = now
                self._show(self._batch)


def _shell() -> Any:
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get() if get is not None else None


def _in_notebook(batch: Batch) -> Any:
    """An output that is updated by its id, so that it stays in its cell whatever runs meanwhile."""
    from IPython.display import HTML, display

    handle = display(HTML(bar(batch)), display_id=True)  # type: ignore[no-untyped-call]

    def show(batch: Batch) -> None:
        handle.update(HTML(bar(batch)))  # type: ignore[no-untyped-call]

    return show


def _in_terminal(batch: Batch) -> None:
    counts = batch.counts
    total = batch.total or max(1, sum(counts.values()))
    full = round(_WIDTH * min(1.0, (counts["done"] + counts["failed"]) / total))
    end = "\n" if batch.done else ""
    sys.stderr.write(f"\r\x1b[K[{'█' * full}{'░' * (_WIDTH - full)}] {line(batch)}{end}")
    sys.stderr.flush()
