"""Marks for one session: what differs between its runs, out of its texts and back into them.

Marked are these and nothing else: the workspace (the session's ``cwd``, as named and as it really is, as a path and in
a URL), the home folder, the session's id, the ids of its terminals, of its MCP servers and of the connections to them,
and secrets.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from agentnb.cassette.marks import (
    HOME,
    SESSION,
    TERMINAL,
    WORKSPACE,
    WORKSPACE_PARTS,
    Secrets,
    each_text,
    escaped,
    filled,
    mark,
)
from agentnb.cassette.mcp import Tools
from agentnb.credentials import apart, replaced
from agentnb.folders import home as user_home

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONG_ID = 8
_BEHIND = r"(?![\w-]|\.\w)"


class SessionMarks:
    """The marks of one session."""

    def __init__(
        self,
        cwd: str | None,
        *,
        secrets: Secrets | None = None,
        home: str | None = None,
        session_id: str | None = None,
    ) -> None:
        self.cwd = cwd
        self.session_id = session_id
        self.terminals: list[str] = []
        self.tools = Tools()
        self._secrets = secrets or Secrets()
        self._home = home if home is not None else str(user_home())
        self._known: tuple[Any, ...] = ()
        self._pattern: re.Pattern[str] | None = None
        self._whole: dict[str, str] = {}
        self._groups: list[str] = []

    def terminal(self, terminal_id: str) -> None:
        """Remember a terminal of the session."""
        if terminal_id not in self.terminals:
            self.terminals.append(terminal_id)

    def clean(self, value: Any) -> Any:
        """*value* (JSON) as it is kept: with marks, without secrets."""
        return self.kept(each_text(value, escaped))

    def kept(self, value: Any) -> Any:
        """*value*, whose texts are escaped, as it is kept."""
        return each_text(self._secrets.fields(self.tools.marked(value)), self.clean_text)

    def clean_text(self, text: str) -> str:
        """*text*, which is escaped, with marks and without secrets."""
        self._learn()
        whole = self._whole.get(text)
        return whole if whole is not None else replaced(text, self.spans(text))

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Where *text* holds what differs, as (start, end, mark)."""
        self._learn()
        found = self._secrets.spans(text)
        if self._pattern is not None:
            for match in self._pattern.finditer(text):
                found.append((*match.span(), mark(self._groups[int((match.lastgroup or "g0")[1:])])))
        return apart(found)

    def holds_secret(self, text: str) -> bool:
        """Whether a credential is in *text*."""
        return bool(self._secrets.spans(text))

    def fill(self, value: Any) -> Any:
        """*value*, as kept, with today's values in the place of its marks."""
        values = {HOME: self._home}
        if self.cwd is not None:
            values |= {WORKSPACE: self.cwd, WORKSPACE_PARTS: self.cwd.lstrip("/\\")}
        if self.session_id is not None:
            values[SESSION] = self.session_id
        values |= {f"{TERMINAL}{number}": name for number, name in enumerate(self.terminals, 1)}
        values |= self.tools.values
        return each_text(value, lambda text: filled(text, values))

    def _learn(self) -> None:
        """Make the pattern again when the known values have changed."""
        known = (self.cwd, self.session_id, len(self.terminals))
        if known == self._known:
            return
        self._known = known
        ids = [(self.session_id, SESSION)] if self.session_id else []
        ids += [(name, f"{TERMINAL}{number}") for number, name in enumerate(self.terminals, 1)]
        self._whole = {name: mark(word) for name, word in ids}
        parts = [*_paths(self.cwd, WORKSPACE), *_paths(self._home, HOME)]
        parts += [(re.escape(name), word) for name, word in ids if len(name) >= _LONG_ID]
        self._groups = [word for _, word in parts]
        alternatives = (f"(?P<g{number}>{pattern})" for number, (pattern, _) in enumerate(parts))
        self._pattern = re.compile("|".join(alternatives)) if parts else None


def _paths(path: str | None, word: str) -> Iterable[tuple[str, str]]:
    """The patterns of a folder: the longer spellings first."""
    if not path or len(Path(path).parts) < 2:  # noqa: PLR2004 - the root alone says nothing
        return []
    spellings = {path.rstrip("/"), os.path.realpath(path)}
    spellings |= {quote(spelling) for spelling in spellings}
    found = [(rf"(?<![\w.-]){re.escape(spelling)}{_BEHIND}", word) for spelling in sorted(spellings, key=len)[::-1]]
    if word == WORKSPACE and len(Path(path).parts) > 2:  # noqa: PLR2004 - one word is no path
        rootless = (spelling.lstrip("/") for spelling in sorted(spellings, key=len)[::-1])
        found += [(rf"(?<![\w./-]){re.escape(spelling)}{_BEHIND}", WORKSPACE_PARTS) for spelling in rootless]
    return found
