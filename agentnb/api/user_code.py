"""Functions that users hand in: each call runs on a thread of its own, never on the host's.

The host's thread serves every conversation: code that blocks or raises there would stop all of them.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from agentnb.credentials import logger

if TYPE_CHECKING:
    from collections.abc import Callable

log = logger("agentnb.api")


def start_user_code(function: Callable[..., Any], *args: Any) -> None:
    """Call *function* on a new daemon thread; what it raises is logged."""

    def run() -> None:
        try:
            function(*args)
        except BaseException:  # whatever it is, it ends this call only
            log.exception("%s raised", getattr(function, "__qualname__", "a callback"))

    try:
        threading.Thread(target=run, name="agentnb-callback", daemon=True).start()
    except RuntimeError:
        log.debug("no callback is called any more: the interpreter ends")
