"""The public names for writing components: `from agentnb.components import Component, Tool`."""

from __future__ import annotations

from agentnb.plugins.chain.components.component import Component
from agentnb.plugins.chain.components.component import ComponentTool as Tool

__all__ = ["Component", "Tool"]
