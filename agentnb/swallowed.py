"""Finds where an exception ends nothing: in code that Python itself calls in between, it is printed and dropped."""

from __future__ import annotations

import gc

TYPE_CHECKING = False  # not from typing: importing it costs start-up time
if TYPE_CHECKING:
    from types import FrameType

_CALLERS = ("/_weakrefset.py", "/weakref.py", "/IPython/core/events.py")


def is_swallowed(frame: FrameType | None) -> bool:
    """True if an exception raised in *frame* would only be printed."""
    callbacks = {getattr(each, "__code__", None) for each in gc.callbacks}
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__del__" or code in callbacks or code.co_filename.endswith(_CALLERS):
            return True
        frame = frame.f_back
    return False
