"""A page that shows a notebook, in memory: it uses the messages of the JupyterLab extension (``js/src/lab``)."""

from __future__ import annotations

from itertools import count
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.server.comm.lab import lab

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.kernel.code_runner import CellStep


_numbers = count(1)


class NotebookPage:
    def __init__(
        self, path: str, cells: dict[str, str], outputs: dict[str, list[dict[str, Any]]] | None = None
    ) -> None:
        self.comm_id = f"page {next(_numbers)} of {path}"
        self.path = path
        self.cells: list[dict[str, Any]] = [
            {"id": name, "kind": "code", "source": source, "tags": []} for name, source in cells.items()
        ]
        self.runs: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.steps = 0
        self.file_hashes: Any = None
        self.longest = 20_000
        self.read_only = False
        self.shown: dict[str, Any] = {}
        """The active and selected cells and the like, as a page reports them."""
        self.restarts = 0
        self.cleared: dict[str, int | None] = {}
        self._made = 0
        self._outputs = outputs
        lab().opened(self, {"content": {"data": {"outputs": outputs is not None}}})
        self.tell()

    def on_msg(self, listener: Any) -> None:
        self._listener = listener

    def on_close(self, listener: Any) -> None:
        self._closed = listener

    def close(self) -> None:
        self._closed({})

    def texts(self) -> dict[str, str]:
        """Returns the cells' texts in order."""
        return {each["id"]: each["source"] for each in self.cells}

    def type(self, cell_id: str, source: str) -> None:
        """The user changes a cell."""
        self.cells[self._index(cell_id)]["source"] = source
        self.tell()

    def rename(self, path: str) -> None:
        """The user renames the notebook."""
        self.path = path
        self.tell()

    def remove(self, cell_id: str) -> None:
        """The user deletes a cell."""
        del self.cells[self._index(cell_id)]
        self.tell()

    def tell(self) -> None:
        cells = [each | {"source": each["source"][: self.longest]} for each in self.cells]
        for cut_cell, cell in zip(cells, self.cells, strict=True):
            cut_cell["cut"] = cut_cell["source"] != cell["source"]
        self._say("notebook", {"path": self.path, "cells": cells, "readOnly": self.read_only, **self.shown})

    def send(self, message: dict[str, Any]) -> None:
        if message["method"] == "outputs":
            cell_outputs = [
                {"cellId": cell, "outputs": (self._outputs or {})[cell]}
                for cell in message["params"]["cellIds"]
                if cell in (self._outputs or {})
            ]
            self._say("cellOutputs", {"id": message["params"]["id"], "cells": cell_outputs})
        if message["method"] != "edit":
            return
        edit = message["params"]
        if edit["action"] == "run" and self._is_other(edit["cellId"], edit["source"]):
            self._say("edited", {"id": edit["id"], **self._conflict(edit["cellId"])})
            return
        if edit["action"] == "run":
            self.runs.put(edit)
            if not edit["wait"]:
                self._say("edited", {"id": edit["id"], "cellId": edit["cellId"]})
            return
        if edit["action"] == "restart":
            self.restarts += 1
            self._say("edited", {"id": edit["id"]})
            return
        answer = getattr(self, f"_{edit['action']}")(edit)
        self.tell()
        self._say("edited", {"id": edit["id"], **answer})

    def ran(self, edit: dict[str, Any], *outputs: dict[str, Any]) -> None:
        """Reports that a cell has run, with its *outputs* without pictures."""
        self._say("edited", {"id": edit["id"], "cellId": edit["cellId"], "outputs": list(outputs)})

    def _say(self, method: str, params: dict[str, Any]) -> None:
        self._listener({"content": {"data": {"jsonrpc": "2.0", "v": 1, "method": method, "params": params}}})

    def _index(self, cell_id: str | None) -> int:
        return next((at for at, each in enumerate(self.cells) if each["id"] == cell_id), -1)

    def _is_other(self, cell_id: str, expected: str) -> bool:
        return bool(self.cells[self._index(cell_id)]["source"] != expected)

    def _conflict(self, cell_id: str) -> dict[str, Any]:
        return {"conflicts": [{"cellId": cell_id, "current": self.cells[self._index(cell_id)]["source"]}]}

    def _insert(self, edit: dict[str, Any]) -> dict[str, Any]:
        self._made += 1
        made = {"id": f"new-{self._made}", "kind": edit["kind"], "source": edit["source"], "tags": []}
        index = self._index(edit["cellId"]) + 1 if edit["cellId"] else len(self.cells)
        self.cells.insert(index, made)
        return {"number": index + 1, "cellId": made["id"]}

    def _replace(self, edit: dict[str, Any]) -> dict[str, Any]:
        index = self._index(edit["cellId"])
        if index < 0:
            return {"error": "The cell is no longer in the notebook."}
        before = self.cells[index]["source"]
        if edit["expected"] is not None and self._is_other(edit["cellId"], edit["expected"]):
            return self._conflict(edit["cellId"])
        self.cells[index]["source"] = edit["source"]
        return {"number": index + 1, "cellId": edit["cellId"], "before": before}

    def _read(self, edit: dict[str, Any]) -> dict[str, Any]:
        return {"before": self.cells[self._index(edit["cellId"])]["source"]}

    def changed(self, steps: Sequence[CellStep]) -> dict[str, str | None]:
        """Does *steps*, all or none; returns the conflicting texts by cell."""
        answer = self._change({"steps": msgspec.to_builtins(steps)})
        return {each["cellId"]: each["current"] for each in answer["conflicts"]}

    def _change(self, edit: dict[str, Any]) -> dict[str, Any]:
        self.file_hashes = edit.get("fileHashes")
        conflicts, todo = [], []
        for step in edit["steps"]:
            at = self._index(step["cellId"])
            cell = self.cells[at] if at >= 0 else None
            if not edit.get("exact") and _is_done(cell, step):
                continue
            if not _is_expected(cell, step):
                conflicts.append({"cellId": step["cellId"], "current": None if cell is None else cell["source"]})
            todo.append(step)
        if not conflicts:
            self.steps += bool(todo)
            for step in todo:
                self._do(step)
        return {"conflicts": conflicts}

    def _do(self, step: dict[str, Any]) -> None:
        at = self._index(step["cellId"])
        if step["action"] == "clear":
            self.cleared[step["cellId"]] = self.cells[at].get("count")
            self.cells[at]["count"] = None
            return
        if step["action"] == "restore":
            self.cells[at]["count"] = self.cleared.pop(step["cellId"])
            return
        if step["action"] == "replace":
            changes = {"source": step["source"], "kind": step["newKind"], "tags": _tags(step["tags"])}
            self.cells[at] |= {key: value for key, value in changes.items() if value is not None}
            return
        cell = {"id": step["cellId"], "kind": step["kind"], "source": step["source"], "tags": _tags(step["tags"]) or []}
        if step["action"] != "insert":
            cell = self.cells.pop(at)
        if step["action"] != "delete":
            above = self._index(step["below"])
            self.cells.insert(above + 1 if above >= 0 else step["index"], cell)


def _tags(tags: Sequence[str] | None) -> list[str] | None:
    return None if tags is None else [*tags]


def _is_done(cell: dict[str, Any] | None, step: dict[str, Any]) -> bool:
    if step["action"] in {"delete", "move", "clear", "restore"} or cell is None:
        return step["action"] == "delete" and cell is None
    if cell["source"] != step["source"]:
        return False
    is_insert = step["action"] == "insert"
    return is_insert or (step["newKind"] in {None, cell["kind"]} and _tags(step["tags"]) in (None, cell["tags"]))


def _is_expected(cell: dict[str, Any] | None, step: dict[str, Any]) -> bool:
    if step["action"] == "insert" or cell is None:
        return step["action"] == "insert" and cell is None
    is_text = step["expected"] in {None, cell["source"]}
    return (
        is_text and step["expectedKind"] in {None, cell["kind"]} and _tags(step["expectedTags"]) in (None, cell["tags"])
    )
