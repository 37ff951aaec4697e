"""A page that was loaded again finds this kernel's chat while a cell runs: it opens a comm, which no cell holds up.

The answer brings the host model as ipywidgets describe one, because a page's own question for the kernel's widgets
waits for the cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import comm

from agentnb import __version__
from agentnb.server.lab_messages import REJOIN_TARGET

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.server.comm.model import HostModel


def listen(model: HostModel, speak_from_here: Callable[[], None]) -> None:
    """Let pages ask for *model*."""

    def opened(asked: Any, message: dict[str, Any]) -> None:
        if message.get("header", {}).get("subshell_id"):
            speak_from_here()
        asked.send(answer(model))

    comm.get_comm_manager().register_target(REJOIN_TARGET, opened)


def answer(model: HostModel) -> dict[str, Any]:
    """Returns what a page needs to have the model: it and its layout, that first."""
    models = [{"id": widget.model_id, "state": widget.get_state()} for widget in (model.layout, model)]
    return {"modelId": model.model_id, "version": __version__, "models": models}
