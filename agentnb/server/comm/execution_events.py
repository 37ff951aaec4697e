"""Comms whose messages do not count as executed cells."""

from __future__ import annotations

from typing import Any


def skip_execution_events(comm: Any) -> None:
    """Keep what a page says on *comm* from IPython's ``pre_execute`` and ``post_execute`` events."""

    def handle_msg(message: dict[str, Any]) -> None:
        callback = getattr(comm, "_msg_callback", None)
        if callback is not None:
            callback(message)

    if hasattr(comm, "_msg_callback"):
        comm.handle_msg = handle_msg
