"""Values for people: on one line, and without what may be secret."""

from __future__ import annotations

import re
from typing import Any

from agentnb.configuration.table import SETTINGS

_PASSWORD = re.compile(r"(?<=://)[^/@\s]*@")


def shown_value(name: str, value: Any) -> str:
    """The value of the setting *name* as text; of MCP servers only the names, for the rest may hold keys."""
    public = public_value(name, value)
    if isinstance(public, bool):
        return "on" if public else "off"
    if isinstance(public, (list, dict)):
        return ", ".join(public)
    return f"{public:g}" if isinstance(public, float) else str(public)


def public_value(name: str, value: Any) -> Any:
    """The value without secrets: of MCP servers the names alone, of an address not the password."""
    if SETTINGS[name].kind == "servers" and isinstance(value, dict):
        return list(value)
    return _PASSWORD.sub("…@", value) if isinstance(value, str) else value
