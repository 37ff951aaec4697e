"""Pairing: programs in a terminal that use this kernel's tools (``agentnb mcp``)."""
