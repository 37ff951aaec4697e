"""The sidebar's entry point in a kernel, on a second shell: cells may import agentnb at the same time."""

from __future__ import annotations

from typing import Any

from agentnb.one_at_a_time import imported


def boot() -> Any:
    """Load agentnb for the sidebar: :func:`agentnb.ipython.lab_boot.boot`."""
    return imported("agentnb.api.start", "agentnb.ipython.lab_boot").boot()
