"""The host: owns every session, its agent and its state, on one private thread."""

from __future__ import annotations

from agentnb.host.host import Host, current_host

__all__ = ["Host", "current_host"]
