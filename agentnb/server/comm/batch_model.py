"""The widget model of a batch's rows, which are shown below its bar."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import traitlets as t
from anywidget import AnyWidget

from agentnb.server.comm.frontend import current_frontend
from agentnb.server.comm.model import STATIC, reference


class BatchModel(AnyWidget):
    """The rows of a batch in a notebook; a click asks for the conversation of one."""

    _esm = STATIC / "batch.js"
    host: t.Unicode[str, str | bytes] = t.Unicode().tag(sync=True)
    batch: t.Unicode[str, str | bytes] = t.Unicode().tag(sync=True)
    own_id: t.Unicode[str, str | bytes] = t.Unicode().tag(sync=True)
    """Its id, by which its module finds the model that may have given it up (``late-module.ts``)."""
    groups: t.List[dict[str, Any]] = t.List().tag(sync=True)

    def __repr__(self) -> str:
        return "The batch's rows: shown where the page has widgets. batch.failed and batch.results have them, too."


def batch_model(batch: str) -> BatchModel:
    own_id = uuid4().hex
    return BatchModel(host=reference(current_frontend().model), batch=batch, own_id=own_id, model_id=own_id)
