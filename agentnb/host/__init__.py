"""The host: owns every session, its agent and its state, on one private thread."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentnb.host.host import Host, current_host

__all__ = ["Host", "current_host"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("agentnb.host.host"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
