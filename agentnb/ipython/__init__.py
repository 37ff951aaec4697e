"""agentnb in IPython: the magics, mentions, display, and the waiting.

``%load_ext agentnb`` ends up here; nothing of it is loaded before that.
"""

from __future__ import annotations

from agentnb.ipython.extension import load, unload

__all__ = ["load", "unload"]
