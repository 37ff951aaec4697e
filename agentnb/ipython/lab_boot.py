"""The expression that the sidebar runs in a kernel to load agentnb there: silent, without a trace in the notebook."""

from __future__ import annotations

from typing import Any

from IPython.core.getipython import get_ipython

from agentnb import __version__
from agentnb.ipython.cell_errors import failed_prompt
from agentnb.ipython.cells import quotes_of
from agentnb.ipython.connected_shell import connect_shell
from agentnb.ipython.extension import load_for_chat
from agentnb.server.comm.frontend import current_frontend
from agentnb.server.comm.lab import lab


class Loaded:
    """The kernel's answer: which model the sidebar shows."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = answer

    def _repr_json_(self) -> dict[str, Any]:
        return self._answer

    def __repr__(self) -> str:
        return f"agentnb {self._answer['version']}"


def boot() -> Loaded:
    """Create this kernel's one chat model and load the magics; can be called repeatedly, from any thread."""
    shell = get_ipython()
    connect_shell(shell)
    load_for_chat(shell)
    lab().prompt_for = lambda params: failed_prompt(shell, params)
    lab().quote = quotes_of(shell).add
    lab().register()
    frontend = current_frontend()
    if _on_subshell():
        frontend.speak_from_here()
    return Loaded({"modelId": frontend.model.model_id, "version": __version__})


def _on_subshell() -> bool:
    kernel = getattr(get_ipython(), "kernel", None)
    header = (kernel.get_parent() or {}).get("header", {}) if kernel is not None else {}
    return bool(header.get("subshell_id"))
