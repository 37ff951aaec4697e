"""The recorded sessions of an agent: which one each session of the current run matches, and what comes next in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import mapping
from agentnb.cassette import mcp
from agentnb.cassette.compare import comparable, described, diff, json_lines, mismatch, ruled, same_request
from agentnb.cassette.marks import SessionMarks
from agentnb.cassette.recording import OPENERS, PROMPT

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.cassette.marks import Secrets
    from agentnb.cassette.recording import Cassette, FileState, Header, RecordedExchange, Section

    Answering = RecordedExchange | dict[str, Any]

_LENIENT: dict[str, dict[str, Any]] = {
    "session/close": {},
    "authenticate": {},
    "session/list": {"sessions": []},
    "logout": {},
    "session/set_mode": {},
    "session/set_config_option": {},
}
"""Answers to requests that were not recorded: the conversation does not depend on them."""


class ReplayedSession:
    """One session of the current run."""

    def __init__(self, section: Section, marks: SessionMarks) -> None:
        self.section = section
        self.marks = marks
        self.begun = False
        self.used: set[int] = set()

    def following(self, method: str) -> RecordedExchange | None:
        """Returns the next exchange with *method* that was not used yet, or None."""
        for exchange in self.section.exchanges:
            if exchange.method == method and id(exchange) not in self.used:
                return exchange
        return None

    def use(self, exchange: RecordedExchange) -> None:
        self.used.add(id(exchange))


class RecordedSessions:
    """The recorded sessions of one agent, and those of the current run."""

    def __init__(
        self, cassette: Cassette, agent: str | None, launch: int | None, secrets: Secrets | None = None
    ) -> None:
        self.header: Header = cassette.header
        self.ruled: Callable[[Any], Any] = ruled(cassette.header.rules)
        self.playing: dict[str, ReplayedSession] = {}
        self._secrets = secrets
        sections = [
            section
            for section in cassette.sections
            if agent in (None, section.agent) and launch in (None, section.launch)
        ]
        if not sections:
            raise mismatch(_nothing(cassette, agent, launch))
        self.agent: str = agent or sections[0].agent
        self.sections: list[Section] = [section for section in sections if section.session]
        self._written = _written(self.sections)
        self.left: dict[str, list[FileState | None]] = {}
        for section in self.sections:
            for turn in section.turns:
                for each in turn.files:
                    self.left.setdefault(each.path, []).append(each.left)
                    if each.was is not None:
                        self.left.setdefault(each.was, []).append(None)
        self.connection: list[ReplayedSession] = [
            ReplayedSession(section, SessionMarks(None)) for section in sections if not section.session
        ]

    def outside(self, method: str, params: Any) -> Answering:
        """Returns the answer to a request outside of any session: an exchange, or a ready answer."""
        for playing in self.connection:
            if (exchange := playing.following(method)) is not None:
                if method != "initialize":
                    playing.use(exchange)
                return exchange
        if method in _LENIENT:
            return _LENIENT[method]
        raise mismatch(f"{method} was not recorded.\n" + "\n".join(json_lines(params)))

    def open(self, method: str, params: dict[str, Any]) -> tuple[ReplayedSession, RecordedExchange]:
        """Open a session; returns it and the recorded exchange that answers *method*."""
        taken = [playing.section for playing in self.playing.values()]
        free = [section for section in self.sections if section.exchanges[0].method == method and section not in taken]
        if not free:
            count = sum(section.exchanges[0].method == method for section in self.sections)
            raise mismatch(f"The cassette has {count} × {method} with {self.agent}, and this is an additional one.")
        cwd = params.get("cwd")
        marks = SessionMarks(cwd if isinstance(cwd, str) else None, secrets=self._secrets)
        session_id = params.get("sessionId")
        fresh = method in ("session/new", "session/fork")
        marks.session_id = (
            session_id if isinstance(session_id, str) and not fresh else f"cassette-{len(self.playing) + 1}"
        )
        marks.tools.servers = mcp.served(params)
        wanted = marks.clean(params)
        alike = [section for section in free if same_request(section.exchanges[0].params, wanted)]
        named = [section for section in alike if mcp.names(section.exchanges[0].params) == mcp.names(wanted)]
        playing = ReplayedSession((named or alike or free)[0], marks)
        self.playing[marks.session_id] = playing
        opener = playing.section.exchanges[0]
        playing.use(opener)
        return playing, opener

    def request(self, playing: ReplayedSession, method: str, params: dict[str, Any]) -> Answering:
        """Returns the answer to a request within a session: an exchange, or a ready answer."""
        if method == PROMPT:
            return self._prompt(playing, params)
        today = self._today(playing, params)
        exchange = self._spoken(playing, today) if method == mcp.MESSAGE else playing.following(method)
        if exchange is None and method in (*OPENERS, *_LENIENT):
            return _LENIENT.get(method, {})
        if exchange is None:
            raise mismatch(f"{method} was not recorded here.\n" + "\n".join(json_lines(params)))
        recorded = self.ruled(exchange.params)
        if not same_request(recorded, today):
            raise mismatch(f"{method} is not as recorded.\n{diff(json_lines(recorded), json_lines(today))}")
        playing.use(exchange)
        return exchange

    def connected(self, connection: Any) -> ReplayedSession | None:
        """Returns the session that the MCP connection *connection* belongs to."""
        return next(
            (playing for playing in self.playing.values() if connection in playing.marks.tools.connections), None
        )

    def written(self, path: str) -> set[str]:
        """Returns the texts that the recorded agent writes to *path* (as recorded), made comparable."""
        return {self.ruled(content) for content in self._written.get(path, ())}

    def unused(self) -> list[tuple[Section, int]]:
        """Returns the recorded turns that were not requested, as (session, turn number)."""
        used = set().union(*(playing.used for playing in self.playing.values()))
        return [
            (section, number)
            for section in self.sections
            for number, turn in enumerate(section.turns, 1)
            if id(turn) not in used
        ]

    def _prompt(self, playing: ReplayedSession, params: dict[str, Any]) -> RecordedExchange:
        today = comparable(described(self._today(playing, params.get("prompt"))))
        if not playing.begun and not self._matches(playing.section, today):
            self._rebind(playing, today)
        playing.begun = True
        turn = playing.following(PROMPT)
        if turn is None:
            held = len(playing.section.turns)
            message = f"{self._place(playing, held + 1)}: the recording ends after {held}. Today:\n" + "\n".join(today)
            raise mismatch(message)
        skipped = self._skipped(playing, turn)
        if skipped is not None:
            message = f"{self._place(playing, self._number(playing, turn))}: before it {skipped.method} was recorded."
            raise mismatch(message + "\n" + "\n".join(json_lines(skipped.params)))
        recorded = self._recorded(turn)
        if recorded != today:
            raise mismatch(self._not_this(playing, turn, recorded, today))
        playing.use(turn)
        return turn

    def _spoken(self, playing: ReplayedSession, today: Any) -> RecordedExchange | None:
        """Returns the recorded message equal to *today*, else the next: MCP servers talk to the agent in any order."""
        left = [
            each for each in playing.section.exchanges if each.method == mcp.MESSAGE and id(each) not in playing.used
        ]
        same = (each for each in left if same_request(self.ruled(each.params), today))
        return next(same, left[0] if left else None)

    def _matches(self, section: Section, today: list[str]) -> bool:
        return bool(section.turns) and self._recorded(section.turns[0]) == today

    def _recorded(self, turn: RecordedExchange) -> list[str]:
        return comparable(described(self.ruled(mapping(turn.params).get("prompt"))))

    def _rebind(self, playing: ReplayedSession, today: list[str]) -> None:
        """Find the session by its first prompt: today, sessions may be opened in a different order."""
        others = {id(other.section): other for other in self.playing.values() if other is not playing}
        for section in self.sections:
            other = others.get(id(section))
            if section is playing.section or (other is not None and other.begun) or not self._matches(section, today):
                continue
            before = playing.section
            for one, other_section in ((playing, section), (other, before)):
                if one is not None:
                    one.section, one.used = other_section, {id(other_section.exchanges[0])}
            return

    def _skipped(self, playing: ReplayedSession, turn: RecordedExchange) -> RecordedExchange | None:
        """Returns a recorded change of the session's settings that should have come before *turn*, or None."""
        for exchange in playing.section.exchanges:
            if exchange is turn:
                return None
            if id(exchange) not in playing.used and exchange.method.startswith("session/set_"):
                return exchange
        return None

    def _today(self, playing: ReplayedSession, value: Any) -> Any:
        return self.ruled(playing.marks.clean(value))

    def _not_this(self, playing: ReplayedSession, turn: RecordedExchange, recorded: list[str], today: list[str]) -> str:
        later = [number for number, other in enumerate(playing.section.turns, 1) if self._recorded(other) == today]
        known = f" It is recorded as turn {later[0]}." if later else ""
        place = self._place(playing, self._number(playing, turn))
        return f"{place}: the prompt differs from the recorded one.{known}\n{diff(recorded, today)}"

    def _number(self, playing: ReplayedSession, turn: RecordedExchange) -> int:
        return next(number for number, other in enumerate(playing.section.turns, 1) if other is turn)

    def _place(self, playing: ReplayedSession, turn: int) -> str:
        return f"Session {playing.section.session} with {playing.section.agent}, turn {turn}"


def _written(sections: list[Section]) -> dict[str, list[str]]:
    """Returns the texts that agents write through the client, by path."""
    files: dict[str, list[str]] = {}
    for section in sections:
        for exchange in section.exchanges:
            for path, content in (event.write for event in exchange.events if event.write is not None):
                files.setdefault(path, []).append(content)
    return files


def _nothing(cassette: Cassette, agent: str | None, launch: int | None) -> str:
    launches: dict[str, int] = {}
    for section in cassette.sections:
        launches[section.agent] = max(launches.get(section.agent, 0), section.launch)
    if agent in launches and launch is not None:
        return f"{agent} was started {launches[agent]} × when the cassette was recorded, and now one more time."
    held = ", ".join(sorted(launches)) or "nobody"
    return f"The cassette has no conversation with {agent or 'anybody'}, only with {held}."
