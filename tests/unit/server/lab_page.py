"""Pages of JupyterLab's extension, in memory, each with its notebook."""

from __future__ import annotations

from typing import Any

from agentnb.server.comm.lab import Lab
from agentnb.server.lab_messages import EditParams
from tests.unit.running import run


class Page:
    """A page's end of the comm."""

    def __init__(self, lab: Lab | None = None, comm_id: str = "c1", *, outputs: bool = False) -> None:
        self.comm_id = comm_id
        self.heard: list[dict[str, Any]] = []
        self.lab = Lab() if lab is None else lab
        self._closed: Any = None
        self.lab.opened(self, {"content": {"data": {"v": 1, "outputs": outputs}}})

    def on_msg(self, listener: Any) -> None:
        self.listener = listener

    def on_close(self, listener: Any) -> None:
        self._closed = listener

    def send(self, message: dict[str, Any]) -> None:
        self.heard.append(message)

    def say(self, method: str = "notebook", **params: Any) -> None:
        self.listener({"content": {"data": {"jsonrpc": "2.0", "v": 1, "method": method, "params": params}}})

    def close(self) -> None:
        self._closed({})


def cell(cell_id: str, source: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": cell_id, "kind": "code", **({} if source is None else {"source": source}), **more}


def edit(lab: Lab, seconds: float, **params: Any) -> Any:
    """Has the lab ask a page for an edit, for so many seconds."""
    return run(lab.edit(EditParams(id="", cell_id="a", **params), seconds))
