"""The recorder: gathers what the taps hear into one cassette, and writes it whenever a turn has ended."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

from agentnb.cassette import file
from agentnb.cassette.frame import Frame
from agentnb.cassette.secrets import Secrets
from agentnb.cassette.streams import rewrite, streams
from agentnb.cassette.tap import RawLane, WireTap
from agentnb.cassette.tape import Cassette, Event, Exchange, Header, Lane
from agentnb.cassette.words import each_text, escaped
from agentnb.errors import CassetteBroken

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_IDS = {"toolCallId": "call", "messageId": "message", "planId": "plan", "elicitationId": "elicitation"}
_LONG_ID = 6


class Recorder:
    """Records one cassette; safe from any thread.

    Args:
        path: Where it is written. One that is there already is replaced; its rules are kept.
        environment: The variables among which secrets are looked for.
        home: The user's home.
    """

    def __init__(self, path: Path, environment: Mapping[str, str], home: str | None = None) -> None:
        self.path = path
        self.failure: CassetteBroken | None = None
        self._environment = dict(environment)
        self._home = home
        self._taps: list[WireTap] = []
        self._launches: dict[str, int] = {}
        self._lock = threading.RLock()
        self._closed = False
        self._header = _header(path)

    def tap(self, agent: str, environment: Mapping[str, str] | None = None) -> WireTap:
        """A tap for the next process of *agent*, which is started with *environment* on top of ours."""
        with self._lock:
            self._environment |= environment or {}
            self._launches[agent] = launch = self._launches.get(agent, 0) + 1
            tap = WireTap(agent, launch, self._written)
            self._taps.append(tap)
            return tap

    def cassette(self) -> Cassette:
        """What has been recorded so far."""
        with self._lock:
            secrets = Secrets(self._environment)
            lanes: list[Lane] = []
            for tap in sorted(self._taps, key=lambda tap: (tap.agent, tap.launch)):
                cwd = next((lane.cwd for lane in tap.sessions if lane.cwd), None)
                if tap.connection.lane.exchanges:
                    lanes.append(_kept(tap.connection, 0, Frame(cwd, secrets=secrets, home=self._home)))
                for raw in tap.sessions:
                    frame = Frame(raw.cwd or cwd, secrets=secrets, home=self._home, session_id=raw.session_id)
                    lanes.append(_kept(raw, sum(lane.session > 0 for lane in lanes) + 1, frame))
            return Cassette(header=self._header, lanes=lanes)

    def write(self) -> None:
        """Write what has been recorded so far; nothing where nothing was.

        Raises:
            CassetteBroken: If it still holds what looks like a credential; nothing is written then.
        """
        with self._lock:
            if self._taps:
                file.write(self.path, self.cassette())

    def close(self) -> None:
        """Write the end, and record no more.

        Raises:
            CassetteBroken: As `write`, or if an earlier turn could not be written.
        """
        with self._lock:
            if not self._closed:
                self._closed = True
                self.write()

    def _written(self) -> None:
        """A turn has ended: what goes wrong is kept for `close`, the agent's wire must not suffer."""
        with self._lock, contextlib.suppress(OSError):
            if self._closed:
                return
            try:
                self.write()
                self.failure = None
            except CassetteBroken as error:
                self.failure = error


def _header(path: Path) -> Header:
    """The rules of the cassette that is recorded again, else the usual ones."""
    with contextlib.suppress(CassetteBroken, OSError):
        return file.read_header(path)
    return Header()


def _kept(raw: RawLane, session: int, frame: Frame) -> Lane:
    """*raw* as it is kept: with marks for what differs, without secrets, with counted ids."""
    for name in raw.terminals:
        frame.terminal(name)
    frame.tools.servers, frame.tools.connections = raw.servers, raw.connections
    lane = Lane(
        agent=raw.lane.agent,
        launch=raw.lane.launch,
        session=session,
        exchanges=[_each(exchange, lambda value: each_text(value, escaped)) for exchange in raw.lane.exchanges],
    )
    for _, pieces in streams(lane):
        rewrite(pieces, frame.spans)
    ids = _Ids()
    lane.exchanges = [_each(exchange, lambda value: ids.counted(frame.kept(value))) for exchange in lane.exchanges]
    return lane


def _each(exchange: Exchange, change: Any) -> Exchange:
    """*exchange* with everything that was said in it changed."""

    def event(old: Event) -> Event:
        params, result, error = change(old.params), change(old.result), change(old.error)
        return Event(
            kind=old.kind, method=old.method, params=params, id=old.id, result=result, error=error,
            delay=old.delay,
        )  # fmt: skip

    return Exchange(
        method=exchange.method,
        params=change(exchange.params),
        before=[event(old) for old in exchange.before],
        after=[event(old) for old in exchange.after],
        result=change(exchange.result),
        error=change(exchange.error),
        answered=exchange.answered,
        delay=exchange.delay,
    )


class _Ids:
    """Gives the agent's ids of tool calls, messages and plans numbers, in the order in which they come."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}

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
