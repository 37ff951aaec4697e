"""The recorder: gathers what the taps hear into one cassette, and writes it whenever a turn has ended."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.cassette import file
from agentnb.cassette.former import Former
from agentnb.cassette.keeper import Keeper
from agentnb.cassette.rerecording import FormerExchanges
from agentnb.cassette.secrets import Secrets
from agentnb.cassette.tap import WireTap
from agentnb.cassette.tape import WRITER, Cassette, Exchange, Header, Lane
from agentnb.errors import CassetteBroken
from agentnb.events.kinds import CASSETTE_FINISHED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agentnb.cassette.tap import RawLane


class Recorder:
    """Records one cassette; safe from any thread.

    Args:
        path: Where it is written. One that is there already is replaced; its rules are kept, and so is all of it as
            long as the new one holds fewer turns.
        environment: The variables among which secrets are looked for.
        home: The user's home.

    Attributes:
        written: Whether there is a file.
        word: What to tell the user at the end, where there is something.
    """

    def __init__(self, path: Path, environment: Mapping[str, str], home: str | None = None) -> None:
        self.path = path
        self.failure: CassetteBroken | None = None
        self.written = False
        self.word: str | None = None
        self._former = Former(path)
        self._former_exchanges = FormerExchanges(self._former.cassette)
        self._environment = dict(environment)
        self._secrets = Secrets(environment)
        self._home = home
        self._taps: list[WireTap] = []
        self._launches: dict[str, int] = {}
        self._keepers: dict[RawLane, Keeper] = {}
        self._checked: list[Exchange] = []
        self._lock = threading.RLock()
        self._closed = False
        self._header = _header(path)

    def tap(
        self,
        agent: str,
        environment: Mapping[str, str] | None = None,
        description: dict[str, Any] | None = None,
    ) -> WireTap:
        """A tap for the next process of *agent*.

        Args:
            agent: Its name.
            environment: Variables that it is started with on top of ours.
            description: What a replay needs to know of it (:mod:`agentnb.cassette.description`).
        """
        with self._lock:
            self._environment |= environment or {}
            self._secrets = Secrets(self._environment)
            self._launches[agent] = launch = self._launches.get(agent, 0) + 1
            tap = WireTap(agent, launch, self._written, description=description)
            self._taps.append(tap)
            return tap

    def cassette(self) -> Cassette:
        """What has been recorded so far."""
        with self._lock:
            lanes: list[Lane] = []
            for tap in sorted(self._taps, key=lambda tap: (tap.agent, tap.launch)):
                cwd = next((lane.cwd for lane in tap.sessions if lane.cwd), None)
                if tap.connection.lane.exchanges:
                    lanes.append(self._keeper(tap.connection).lane(0, cwd, self._secrets))
                for raw in tap.sessions:
                    number = sum(lane.session > 0 for lane in lanes) + 1
                    lanes.append(self._keeper(raw).lane(number, raw.cwd or cwd, self._secrets))
            return self._former_exchanges.in_place(Cassette(header=self._header, lanes=lanes))

    def write(self) -> None:
        """Write what has been recorded so far; nothing where nothing was.

        Raises:
            CassetteBroken: If it still holds what looks like a credential; nothing is written then.
        """
        with self._lock:
            if self._taps:
                cassette = self.cassette()
                if not self.written:
                    self._former.put_by()
                file.write(self.path, cassette, checked=self._checked)
                self.written = True
                self._checked = [exchange for lane in cassette.lanes for exchange in lane.exchanges]

    def close(self) -> None:
        """Write the end, and record no more.

        Raises:
            CassetteBroken: As `write`, or if an earlier turn could not be written.
        """
        with self._lock:
            if not self._closed:
                self._closed = True
                self.write()
                turns = self.cassette().turns
                CASSETTE_FINISHED.tell(path=str(self.path), mode="record", turns=turns)
                self.word = self._former.settle(turns) if self.written else None

    def _keeper(self, raw: RawLane) -> Keeper:
        return self._keepers.setdefault(raw, Keeper(raw, self._home))

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
        return msgspec.structs.replace(file.read_header(path), by=WRITER)
    return Header()
