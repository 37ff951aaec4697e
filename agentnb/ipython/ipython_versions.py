"""Differences between the versions of IPython that agentnb works with: 8.18 to the newest."""

from __future__ import annotations

from typing import Any


def is_running_cell(shell: Any) -> bool:
    """True if *shell* is running a cell now."""
    trap = shell.display_trap
    active = getattr(trap, "is_active", None)
    return bool(trap._nested_level if active is None else active)  # noqa: SLF001 - IPython 8.18 to 9.0 have nothing else
