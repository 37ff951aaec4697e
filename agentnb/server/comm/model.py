"""The widget models.

A kernel has one host model, whose module is the whole front end. A panel's module has a few lines, which mount the host
model's client in the panel's own element (anywidget's ``host.getWidget``). So a hundred displays cost a hundred small
models and not a hundred copies of the front end.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import traitlets as t
from anywidget import AnyWidget

from agentnb.errors import AgentnbError
from agentnb.server.client import TEXT

STATIC = Path(__file__).parents[2] / "static"

if not (STATIC / "widget.js").exists():
    MESSAGE = f"The front end is missing: {STATIC.name}/widget.js was not built."
    raise AgentnbError(MESSAGE, hint="In a checkout run `make build`; otherwise install agentnb again.")


class HostModel(AnyWidget):
    """The one model that messages travel on."""

    _esm = STATIC / "widget.js"


class PanelModel(AnyWidget):
    """The model of one display."""

    _esm = STATIC / "panel.js"
    host: t.Unicode[str, str | bytes] = t.Unicode().tag(sync=True)
    what: t.Dict[str, Any] = t.Dict().tag(sync=True)

    def __repr__(self) -> str:
        if self.what.get("kind") == "turn":
            return "An agent's turn: shown live where the page has widgets."
        if self.what.get("kind") == "branches":
            return "Tries side by side: shown live where the page has widgets."
        return "agentnb's chat: shown where the page has widgets. In a cell: %agent and %agents."


def reference(model: HostModel) -> str:
    """Returns how one widget model refers to another (the ipywidgets convention)."""
    return f"IPY_MODEL_{model.model_id}"


def send_to(model: HostModel, client_id: str, message: dict[str, Any], /) -> None:
    """Send *message* to one client; every page receives it, and the others ignore it."""
    content = {**message, "to": client_id}
    if message.get("method") != TEXT or not _send_bare(model.comm, {"method": "custom", "content": content}):
        model.send(content)


def _send_bare(comm: Any, data: dict[str, Any]) -> bool:
    """Send *data* without the parent header, a third of a short message; returns False if that is not possible here.

    A page routes comm messages by the comm's id and never reads the header.
    """
    kernel = getattr(comm, "kernel", None)
    session, socket = getattr(kernel, "session", None), getattr(kernel, "iopub_socket", None)
    if session is None or socket is None:
        return False
    session.send(socket, "comm_msg", {"data": data, "comm_id": comm.comm_id}, parent={}, ident=comm.topic)
    return True
