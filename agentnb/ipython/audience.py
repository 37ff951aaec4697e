"""Finds out who sees a cell's output: a terminal, a page that can be clicked, or nobody."""

from __future__ import annotations

import sys
from enum import Enum
from typing import Any

from agentnb.api.unattended import is_watched


class Audience(Enum):
    """The audience of an output, which decides its form."""

    TERMINAL = "terminal"
    """Plain IPython: text, as it comes."""
    PAGE = "page"
    """A notebook in a browser: a live view, then the static record."""
    NOBODY = "nobody"
    """nbclient, nbconvert, papermill, nbval: one final output, and no question is asked."""


def audience_of(shell: Any) -> Audience:
    """Returns who sees the outputs of the cell that *shell* runs."""
    if getattr(shell, "kernel", None) is None:
        return Audience.TERMINAL
    return Audience.PAGE if is_watched(shell) else Audience.NOBODY


def is_unattended(shell: Any) -> bool:
    """True if nobody is there who could stop a turn: no page, no person at a terminal."""
    audience = audience_of(shell)
    return audience is Audience.NOBODY or (audience is Audience.TERMINAL and not sys.stdin.isatty())


def in_notebook(shell: Any) -> bool:
    """True if the cell that *shell* runs is a notebook's, whose outputs can be replaced in place."""
    kernel = getattr(shell, "kernel", None)
    metadata = ((kernel.get_parent() or {}).get("metadata") or {}) if kernel is not None else {}
    return "cellId" in metadata or "google.colab" in sys.modules
