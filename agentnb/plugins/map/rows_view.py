"""A batch's rows in a notebook: failures by reason and the latest answers; a click opens the conversation of one."""

from __future__ import annotations

import threading
from html import escape
from typing import TYPE_CHECKING, Any

from agentnb.api.columns import html, on_one_line
from agentnb.errors import AgentnbError

if TYPE_CHECKING:
    from agentnb.plugins.map.batch import Batch, BatchResult
    from agentnb.server.comm.batch_model import BatchModel

LATEST = 20
"""Rows of the latest answers."""
OF_A_REASON = 10
"""Rows of each reason of failures."""
REASONS = 8
_SHOWN = 200
_COLUMNS = ("input", "state", "answer")


class RowsView:
    """Shows the rows of *batch* with *model*."""

    def __init__(self, batch: Batch, model: BatchModel) -> None:
        self._batch = batch
        self._model = model
        model.on_msg(self._on_message)

    def show(self) -> list[dict[str, Any]]:
        """Show what there is now, and return it; on any thread."""
        groups = groups_of(self._batch)
        self._model.groups = groups
        return groups

    def _on_message(self, _model: BatchModel, content: Any, _buffers: Any) -> None:
        number = content.get("open") if isinstance(content, dict) else None
        if isinstance(number, int):  # to read the log may take a moment
            threading.Thread(target=self._open, args=[number], name="agentnb-batch-open", daemon=True).start()

    def _open(self, number: int) -> None:
        try:
            answer = {"tab": self._batch.result(number).open().tab_id}
        except (AgentnbError, IndexError) as error:
            answer = {"error": str(error)}
        self._model.send({"opened": number, **answer})


def groups_of(batch: Batch) -> list[dict[str, Any]]:
    """The rows as the page shows them: failures by reason, the most frequent first, then the latest answers."""
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
    """The rows as HTML, for a page without a kernel; empty where there are none."""
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
        "label": str(result.label)[:_SHOWN],
        "state": result.state,
        "text": " ".join(text[: 2 * _SHOWN].split())[:_SHOWN],
        "opens": bool(result.session),
    }
