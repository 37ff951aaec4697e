"""The names that a client gives to sessions: it chooses that of a new one, VS Code's window ``<agent>:/<id>``."""

from __future__ import annotations

import re
from typing import Any

from agentnb.server.websocket.commands import MOST_SUBSCRIPTIONS

_NAMED = re.compile(r"(?!ahp-|file:|https?:|wss?:)[a-z][a-z0-9-]{0,39}:/([A-Za-z0-9_-]{1,64})")


class SessionNames:
    """The names of one client."""

    def __init__(self) -> None:
        self._chosen: dict[str, str] = {}

    def read(self, uri: str) -> str:
        """A channel's URI in AHP's own scheme, where the client names a session in another one."""
        match = _NAMED.fullmatch(uri)
        if match is None:
            return uri
        own = f"ahp-session:/{match[1]}"
        if own in self._chosen or len(self._chosen) < MOST_SUBSCRIPTIONS:
            self._chosen[own] = uri
        return own

    def tell(self, value: Any) -> Any:
        """*value*, any JSON, with the client's names."""
        if not self._chosen:
            return value
        if isinstance(value, str):
            return self._chosen.get(value, value)
        if isinstance(value, dict):
            return {name: self.tell(item) for name, item in value.items()}
        return [self.tell(item) for item in value] if isinstance(value, list) else value
