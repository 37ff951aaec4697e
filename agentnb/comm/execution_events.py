"""Comms whose messages do not count as executed cells."""

from __future__ import annotations

from typing import Any


def skip_execution_events(comm: Any) -> None:
    """Keep what a page says on *comm* from IPython's ``pre_execute`` and ``post_execute`` events.

    The ``comm`` package wraps every message in them, as if a cell had run. With matplotlib's inline back end that shows
    and closes all figures, also the one that a running cell is still drawing: the chat talks all the time.

    Args:
        comm: A comm of the ``comm`` package; nothing is done to any other.

    Example:
        >>> skip_execution_events(model.comm)
    """

    def handle_msg(message: dict[str, Any]) -> None:
        callback = getattr(comm, "_msg_callback", None)
        if callback is not None:
            callback(message)

    if hasattr(comm, "_msg_callback"):
        comm.handle_msg = handle_msg
