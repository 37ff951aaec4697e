"""Tells who wrote the cells of a notebook that a page has just opened, before there is a chat; starts nothing."""

from __future__ import annotations

from typing import Any

import msgspec

from agentnb.api.history_rows import kernel_log, shell_log
from agentnb.errors import AgentnbError
from agentnb.host.changes.location import changes_folder
from agentnb.host.host import started_host
from agentnb.plugin_registry import plugins
from agentnb.plugins.provenance.requests import CellsParams, CellsResult, cells_of_page

_NOTHING = CellsResult(cells=(), turns=(), titles={}, is_saved=False)


class Answer:
    def __init__(self, result: CellsResult) -> None:
        self._result = result

    def _repr_json_(self) -> Any:
        return msgspec.to_builtins(self._result)

    def __repr__(self) -> str:
        return f"{len(self._result.cells)} cells"


def answer(question: str) -> Answer:
    """Returns the cells that contain lines of agents; *question* is `CellsParams` as JSON."""
    if not any(changes_folder().glob("*/records/*.json")) or "provenance" not in plugins().loaded:
        return Answer(_NOTHING)
    params = msgspec.json.decode(question, type=CellsParams)
    try:
        log = shell_log() if started_host() is None else kernel_log()
        return Answer(cells_of_page(params, log, is_saved=False))
    except AgentnbError:  # the notebook's path is not known yet
        return Answer(_NOTHING)
