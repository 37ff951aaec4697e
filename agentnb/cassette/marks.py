"""The marks in a cassette for text that differs from run to run, such as ``⟦workspace⟧`` and ``⟦session⟧``.

An opening sign in the text itself is stored as ``⟦sign⟧``, so that every text comes back exactly as it was. A session
marks only these: the workspace (the session's ``cwd``, as named and resolved, as a path and in a URL), the home folder,
the session's id, the ids of its terminals, of its MCP servers and of the connections to them, and secrets.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from agentnb.cassette.mcp import FIELDS, with_plain_bridge
from agentnb.credentials import Credentials, Span, apart, is_ordinary, is_secret_name, plain_name, replaced
from agentnb.credentials import shapes as found_shapes
from agentnb.folders import home as user_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

OPEN, CLOSE = "⟦", "⟧"
SIGN = f"{OPEN}sign{CLOSE}"
SESSION, WORKSPACE, WORKSPACE_PARTS, HOME = "session", "workspace", "workspace without root", "home"
SECRET = "secret "  # noqa: S105 - the beginning of a mark
TERMINAL = "terminal "
_MARK = re.compile(rf"{OPEN}([^{OPEN}{CLOSE}\n]*){CLOSE}")


def mark(name: str) -> str:
    return f"{OPEN}{name}{CLOSE}"


def escaped(text: str) -> str:
    """*text* with the opening sign replaced, so that nothing in it reads as a mark."""
    return text.replace(OPEN, SIGN) if OPEN in text else text


def filled(text: str, values: Mapping[str, str]) -> str:
    """*text* with its marks replaced by *values*; a secret becomes ``***``, an unknown mark stays."""
    if OPEN not in text:
        return text

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name == "sign":
            return OPEN
        return "***" if name.startswith(SECRET) else values.get(name, match[0])

    return _MARK.sub(value, text)


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    """Returns *value* (JSON) with *change* applied to every text in it, field names included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(name): each_text(item, change) for name, item in value.items()}
    if isinstance(value, list):
        return [each_text(item, change) for item in value]
    return value


class Secrets:
    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._credentials = Credentials(environment)

    def spans(self, text: str) -> list[Span]:
        """Returns the secrets in *text* as (start, end, mark), in order and without overlap."""
        return _marked(self._credentials.spans(text))

    def clean(self, value: Any) -> Any:
        return each_text(_fields_cleaned(value), lambda text: replaced(text, self.spans(text)))


def shapes(text: str) -> list[Span]:
    """Returns what looks like a credential in *text*, as (start, end, mark)."""
    return _marked(found_shapes(text))


def _marked(spans: list[Span]) -> list[Span]:
    return [(start, end, mark(SECRET + what)) for start, end, what in spans]


def _fields_cleaned(value: Any) -> Any:
    """Returns *value* (JSON) without the values of fields and ``name``/``value`` pairs named like secrets."""
    if isinstance(value, list):
        return [_fields_cleaned(item) for item in value]
    if not isinstance(value, dict):
        return value
    named = value.get("name")
    cleaned = {}
    for name, item in value.items():
        label = named if name == "value" and isinstance(named, str) else name
        secret = isinstance(item, str) and is_secret_name(label) and not is_ordinary(item)
        cleaned[name] = mark(SECRET + plain_name(label)) if secret else _fields_cleaned(item)
    return cleaned


class Tools:
    """The MCP servers that one session was given, and the connections to them."""

    def __init__(self) -> None:
        self.servers: dict[str, str] = {}
        self.connections: list[str] = []

    @property
    def values(self) -> dict[str, str]:
        """Today's ids by the names of their marks."""
        named = {f"mcp server {name}": server for server, name in self.servers.items()}
        return named | {f"mcp connection {number}": name for number, name in enumerate(self.connections, 1)}

    def marked(self, value: Any) -> Any:
        """Returns *value* (JSON) with marks for these ids, only in fields named for them: an id can be any word."""
        words = {held: mark(name) for name, held in self.values.items()}
        return with_plain_bridge(_with_words(value, words) if words else value)


_LONG_ID = 8
_BEHIND = r"(?![\w-]|\.\w)"


class SessionMarks:
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
        self.tools: Tools = Tools()
        self._secrets = secrets or Secrets()
        self._home = home if home is not None else str(user_home())
        self._known: tuple[Any, ...] = ()
        self._pattern: re.Pattern[str] | None = None
        self._whole: dict[str, str] = {}
        self._groups: list[str] = []

    def terminal(self, terminal_id: str) -> None:
        if terminal_id not in self.terminals:
            self.terminals.append(terminal_id)

    def clean(self, value: Any) -> Any:
        """*value* (JSON) as it is kept: with marks, without secrets."""
        return self.kept(each_text(value, escaped))

    def kept(self, value: Any) -> Any:
        """Returns *value*, whose texts are already escaped, as it is kept."""
        return each_text(_fields_cleaned(self.tools.marked(value)), self.clean_text)

    def clean_text(self, text: str) -> str:
        """Returns *text*, which is already escaped, with marks and without secrets."""
        self._learn()
        whole = self._whole.get(text)
        return whole if whole is not None else replaced(text, self.spans(text))

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Returns the secrets and the values that differ between runs in *text*, as (start, end, mark)."""
        self._learn()
        found_spans = self._secrets.spans(text)
        if self._pattern is not None:
            for match in self._pattern.finditer(text):
                found_spans.append((*match.span(), mark(self._groups[int((match.lastgroup or "g0")[1:])])))
        return apart(found_spans)

    def holds_secret(self, text: str) -> bool:
        return bool(self._secrets.spans(text))

    def fill(self, value: Any) -> Any:
        """Returns *value*, as kept, with its marks replaced by today's values."""
        values = {HOME: self._home}
        if self.cwd is not None:
            values |= {WORKSPACE: self.cwd, WORKSPACE_PARTS: self.cwd.lstrip("/\\")}
        if self.session_id is not None:
            values[SESSION] = self.session_id
        values |= {f"{TERMINAL}{number}": name for number, name in enumerate(self.terminals, 1)}
        values |= self.tools.values
        return each_text(value, lambda text: filled(text, values))

    def _learn(self) -> None:
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
    """Returns the patterns for a folder, longer spellings first."""
    if not path or len(Path(path).parts) < 2:  # noqa: PLR2004 - the root alone says nothing
        return []
    spellings = {path.rstrip("/"), os.path.realpath(path)}
    spellings |= {quote(spelling) for spelling in spellings}
    patterns = [(rf"(?<![\w.-]){re.escape(spelling)}{_BEHIND}", word) for spelling in sorted(spellings, key=len)[::-1]]
    if word == WORKSPACE and len(Path(path).parts) > 2:  # noqa: PLR2004 - one word is no path
        rootless = (spelling.lstrip("/") for spelling in sorted(spellings, key=len)[::-1])
        patterns += [(rf"(?<![\w./-]){re.escape(spelling)}{_BEHIND}", WORKSPACE_PARTS) for spelling in rootless]
    return patterns


def _with_words(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_with_words(item, words) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: words[item] if name in FIELDS and isinstance(item, str) and item in words else _with_words(item, words)
        for name, item in value.items()
    }
