"""The caller's own loop: whether one runs on this thread, and whether it can be entered once more."""

from __future__ import annotations

import asyncio


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop that runs on this thread, if one does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def nest() -> bool:
    """Make the running loop re-entrant; False where it is of a kind that cannot be."""
    import nest_asyncio

    run = asyncio.run
    try:
        nest_asyncio.apply()
    except ValueError:
        return False
    finally:
        asyncio.run = run  # nest-asyncio's own never closes its loops, for the rest of the process
    return True
