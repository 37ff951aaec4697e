"""One session as it is written: marks for what differs from run to run, no secrets, counted ids.

A cassette is written whenever a turn has ended. Earlier turns do not change any more: each is cleaned
once, however long the session becomes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from agentnb.cassette.changed_files import cleaned_files
from agentnb.cassette.marks import each_text, escaped
from agentnb.cassette.recording import Event, Exchange, Section
from agentnb.cassette.session_marks import SessionMarks
from agentnb.cassette.text_streams import rewrite, streams

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.cassette.marks import Secrets
    from agentnb.cassette.wire_tap import RawSection

_IDS = {"toolCallId": "call", "messageId": "message", "planId": "plan", "elicitationId": "elicitation"}
_LONG_ID = 6

Said = TypeVar("Said", Event, Exchange)


class SessionCleaner:
    """Cleans what was said in one session."""

    def __init__(self, raw: RawSection, home: str | None) -> None:
        self._raw = raw
        self._home = home
        self._known: tuple[Any, ...] = ()
        self._marks = SessionMarks(None)
        self._ids = _Ids()
        self._past: list[Exchange] = []
        self._sizes: list[tuple[int, int, int]] = []

    def section(self, session: int, cwd: str | None, secrets: Secrets) -> Section:
        """All of it."""
        raw, known = self._raw, (secrets, cwd, self._raw.session_id)
        said = raw.section.exchanges
        if known != self._known or self._sizes != [_size(exchange) for exchange in said[: len(self._sizes)]]:
            self._forget(known, SessionMarks(cwd, secrets=secrets, home=self._home, session_id=raw.session_id))
        for name in raw.terminals:
            self._marks.terminal(name)
        self._marks.tools.servers, self._marks.tools.connections = raw.servers, raw.connections
        ended = self._ended()
        self._past += self._kept(said[len(self._past) : ended], self._ids)
        self._sizes = [_size(exchange) for exchange in said[:ended]]
        exchanges = [*self._past, *self._kept(said[ended:], self._ids.copy())]
        about = raw.section.description
        return Section(
            agent=raw.section.agent,
            launch=raw.section.launch,
            session=session,
            exchanges=exchanges,
            description=self._marks.clean(about) if about is not None else None,
        )

    def _forget(self, known: tuple[Any, ...], marks: SessionMarks) -> None:
        """Clean everything again: what is known now may occur in what was said before."""
        self._known, self._marks = known, marks
        self._ids, self._past, self._sizes = _Ids(), [], []

    def _ended(self) -> int:
        """How many exchanges at the beginning are over: answered, and followed by another."""
        number = len(self._past)
        for exchange in self._raw.section.exchanges[number:-1]:
            if not exchange.answered or exchange is self._raw.prompt:
                break
            number += 1
        return number

    def _kept(self, said: list[Exchange], ids: _Ids) -> list[Exchange]:
        part = [_each(exchange, lambda value: each_text(value, escaped)) for exchange in said]
        for _, pieces in streams(part):
            rewrite(pieces, self._marks.spans)
        kept = [_each(exchange, lambda value: ids.counted(self._marks.kept(value))) for exchange in part]
        for exchange, raw in zip(kept, said, strict=True):
            exchange.files = cleaned_files(raw, self._marks)
        return kept


def _size(exchange: Exchange) -> tuple[int, int, int]:
    return len(exchange.before), len(exchange.after), len(exchange.files)


def _each(exchange: Exchange, change: Callable[[Any], Any]) -> Exchange:
    """*exchange* with everything that was said in it changed."""

    def changed(old: Said) -> Said:
        return replace(old, params=change(old.params), result=change(old.result), error=change(old.error))

    before, after = map(changed, exchange.before), map(changed, exchange.after)
    return replace(changed(exchange), before=[*before], after=[*after], files=[])


class _Ids:
    """Gives the agent's ids of tool calls, messages and plans numbers, in the order in which they come."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def copy(self) -> _Ids:
        """One that goes on from here by itself."""
        other = _Ids()
        other._names, other._counts = dict(self._names), dict(self._counts)
        return other

    def counted(self, value: Any) -> Any:
        """*value* (JSON) with its ids counted."""
        self._learn(value)
        return self._renamed(value)

    def _learn(self, value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                self._learn(item)
        elif isinstance(value, dict):
            for name, item in value.items():
                if name in _IDS and isinstance(item, str):
                    self._number(_IDS[name], item)
                else:
                    self._learn(item)

    def _number(self, kind: str, name: str) -> None:
        if name not in self._names:
            self._counts[kind] = number = self._counts.get(kind, 0) + 1
            self._names[name] = f"{kind}-{number}"

    def _renamed(self, value: Any, *, is_id: bool = False) -> Any:
        if isinstance(value, str):
            return self._names.get(value, value) if is_id or len(value) >= _LONG_ID else value
        if isinstance(value, list):
            return [self._renamed(item) for item in value]
        if isinstance(value, dict):
            return {name: self._renamed(item, is_id=name in _IDS) for name, item in value.items()}
        return value
