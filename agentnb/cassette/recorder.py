"""Gathers the recordings of all taps into one cassette, new or existing, and writes it after every turn.

A second recording must differ only where the conversation does: an exchange that is equivalent to the earlier one is
replaced by that, byte for byte.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
import shutil
import threading
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.cassette import file
from agentnb.cassette.compare import ruled
from agentnb.cassette.large_content import folder_of
from agentnb.cassette.marks import Secrets
from agentnb.cassette.recording import (
    DEFAULT_RULES,
    OLDEST_READER,
    WRITER,
    Cassette,
    Header,
    RecordedExchange,
    Section,
    WireEvent,
)
from agentnb.cassette.session_cleaning import SessionCleaner
from agentnb.cassette.wire_tap import WireTap
from agentnb.errors import CassetteBroken, UsageError
from agentnb.events.kinds import CASSETTE_FINISHED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from agentnb.cassette.proxy import TurnFiles
    from agentnb.cassette.wire_tap import RawSection


_CHUNKS = ("agent_message_chunk", "agent_thought_chunk", "user_message_chunk")
_ID_FIELD = re.compile(r"(?:^|_)id$|[a-z](?:Id|ID)$")
_ID = re.compile(r"(?=.*\d)[\w.:-]{8,}")
_TIME_FIELD = re.compile(
    r"(?:^|_)(?:at|time|timestamp|date|duration|elapsed|ms)$|[a-z](?:At|Time|Timestamp|Date|Duration|Elapsed|Ms)$"
)
_EPOCHS = ((1_000_000_000, 4_000_000_000), (1_000_000_000_000, 4_000_000_000_000))  # seconds and milliseconds


class FormerExchanges:
    """The earlier exchanges of a cassette that is being recorded again."""

    def __init__(self, former: Cassette | None) -> None:
        header = former.header if former is not None else None
        self._sections = _by_place(former.sections if former is not None else [])
        self._ruled = ruled({rule.name: rule for rule in (*DEFAULT_RULES, *(header.rules if header else ()))}.values())
        # Version 0.1 sorted the fields of objects: its files do not have the agent's order.
        self._is_sorted = header is not None and header.by == "agentnb"
        self._contents: dict[int, tuple[RecordedExchange, str]] = {}  # by id(), with the object that keeps the id valid

    def in_place(self, cassette: Cassette) -> Cassette:
        """Returns *cassette* with its exchanges replaced by equivalent former ones."""
        if not self._sections:
            return cassette
        sections = [
            msgspec.structs.replace(section, exchanges=self._kept(self._sections.get(place), section))
            for place, section in _by_place(cassette.sections).items()
        ]
        return msgspec.structs.replace(cassette, sections=sections)

    def _kept(self, former: Section | None, section: Section) -> list[RecordedExchange]:
        if former is None:
            return section.exchanges
        before, today = former.exchanges, list(section.exchanges)
        contents = [self._content(exchange) for exchange in before], [self._content(exchange) for exchange in today]
        for same in difflib.SequenceMatcher(None, *contents, autojunk=False).get_matching_blocks():
            today[same.b : same.b + same.size] = before[same.a : same.a + same.size]
        return today

    def _content(self, exchange: RecordedExchange) -> str:
        """Returns the content of *exchange*, without what differs by chance."""
        known = self._contents.get(id(exchange))
        if known is not None:
            return known[1]
        merged = [list(_merged(part, self._lasting)) for part in (exchange.before, exchange.after)]
        ended = [exchange.answered, self._lasting(exchange.result), self._lasting(exchange.error)]
        whole = [
            exchange.method,
            self._lasting(exchange.params),
            merged,
            ended,
            self._ruled(msgspec.to_builtins(exchange.files)),
        ]
        content = json.dumps(whole, ensure_ascii=False, sort_keys=not self._is_sorted)
        if exchange.answered:
            self._contents[id(exchange)] = (exchange, content)
        return content

    def _lasting(self, value: Any) -> Any:
        return _lasting(self._ruled(value))


def _by_place(sections: list[Section]) -> dict[tuple[str, int, int], Section]:
    """The sections by agent, process, and number within the process; 0 is outside of sessions."""
    sections_by_place: dict[tuple[str, int, int], Section] = {}
    counts: dict[tuple[str, int], int] = {}
    for section in sections:
        process = (section.agent, section.launch)
        counts[process] = counts.get(process, 0) + (section.session > 0)
        sections_by_place[section.agent, section.launch, counts[process] if section.session else 0] = section
    return sections_by_place


def _merged(events: list[WireEvent], lasting: Callable[[Any], Any]) -> Iterator[list[Any]]:
    """Yields *events* without their times; consecutive pieces of a text are joined, requests are renumbered."""
    numbers: dict[int, int] = {}
    texts: list[str] = []
    stream: Any = None
    for event in events:
        piece = _piece(event)
        if texts and (piece is None or piece[0] != stream):
            yield [stream, lasting("".join(texts))]
            texts = []
        if piece is None:
            number = numbers.setdefault(event.id, len(numbers))
            contents = [lasting(value) for value in (event.params, event.result, event.error)]
            yield [event.kind, event.method, number, contents]
        else:
            stream = piece[0]
            texts.append(piece[1])
    if texts:
        yield [stream, lasting("".join(texts))]


def _piece(event: WireEvent) -> tuple[list[Any], str] | None:
    """Returns the stream that *event* is a piece of, and its text; None if it is no piece."""
    match event.update if event.kind == "said" else None:
        case {"sessionUpdate": str(kind), "content": {"type": "text", "text": str(text)}} if kind in _CHUNKS:
            return [kind, event.update.get("messageId")], text
    return None


def _lasting(value: Any, name: str = "") -> Any:
    """*value* (JSON), the field *name* of an object, without ids and times."""
    if isinstance(value, dict):
        return {key: _lasting(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_lasting(item, name) for item in value]
    if isinstance(value, str):
        return "id" if _ID_FIELD.search(name) and _ID.fullmatch(value) else value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        is_epoch = any(first <= value <= last for first, last in _EPOCHS)
        return "time" if is_epoch or _TIME_FIELD.search(name) else value
    return value


class CassetteRecorder:
    """Records one cassette; safe from any thread."""

    def __init__(self, path: Path, environment: Mapping[str, str], home: str | None = None) -> None:
        self.path = path
        self.written: bool = False
        self.word: str | None = None
        self._backup = Backup(path)
        self._former_exchanges = FormerExchanges(self._backup.cassette)
        self._environment = dict(environment)
        self._secrets = Secrets(environment)
        self._home = home
        self._taps: list[WireTap] = []
        self._launches: dict[str, int] = {}
        self._cleaners: dict[RawSection, SessionCleaner] = {}
        self._checked: list[RecordedExchange] = []
        self._lock = threading.RLock()
        self._closed = False
        self._header = _header(path)

    def tap(
        self,
        agent: str,
        environment: Mapping[str, str] | None = None,
        description: dict[str, Any] | None = None,
        *,
        takes_files: bool = False,
        files: TurnFiles | None = None,
    ) -> WireTap:
        with self._lock:
            self._environment |= environment or {}
            self._secrets = Secrets(self._environment)
            self._launches[agent] = launch = self._launches.get(agent, 0) + 1
            tap = WireTap(agent, launch, self._written, description=description, takes_files=takes_files, files=files)
            self._taps.append(tap)
            return tap

    def cassette(self) -> Cassette:
        with self._lock:
            sections: list[Section] = []
            for tap in sorted(self._taps, key=lambda tap: (tap.agent, tap.launch)):
                cwd = next((section.cwd for section in tap.sessions if section.cwd), None)
                if tap.connection.section.exchanges:
                    sections.append(self._cleaner(tap.connection).section(0, cwd, self._secrets))
                for raw in tap.sessions:
                    number = sum(section.session > 0 for section in sections) + 1
                    sections.append(self._cleaner(raw).section(number, raw.cwd or cwd, self._secrets))
            return self._former_exchanges.in_place(Cassette(header=self._header, sections=sections))

    def write(self) -> None:
        """Write what has been recorded so far; does nothing if nothing was recorded."""
        with self._lock:
            if self._taps:
                cassette = self.cassette()
                if not self.written:
                    self._backup.keep_old()
                file.write(self.path, cassette, checked=self._checked)
                self.written = True
                answered = sum(turn.answered for section in cassette.sections for turn in section.turns)
                self._backup.settle(answered)  # now: a test runner may kill this process
                self._checked = [exchange for section in cassette.sections for exchange in section.exchanges]

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self.write()
                turns = self.cassette().turns
                CASSETTE_FINISHED.tell(path=str(self.path), mode="record", turns=turns)
                self.word = self._backup.settle(turns) if self.written else None

    def _cleaner(self, raw: RawSection) -> SessionCleaner:
        return self._cleaners.setdefault(raw, SessionCleaner(raw, self._home))

    def _written(self) -> None:
        """Write when a turn has ended; errors are left to `close`, since the relaying of messages must go on."""
        with self._lock, contextlib.suppress(OSError, CassetteBroken):
            if not self._closed:
                self.write()


def _header(path: Path) -> Header:
    """Returns a header with the rules of the cassette that is recorded again, or the usual ones."""
    with contextlib.suppress(CassetteBroken, OSError):
        return msgspec.structs.replace(file.read_header(path), by=WRITER, oldest_agentnb=OLDEST_READER)
    return Header(oldest_agentnb=OLDEST_READER)


class Backup:
    """A backup of the old cassette, kept until the new one has as many turns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turns = 0
        self.place: Path = path.with_name(f"{path.name.removesuffix('.jsonl')}.old.jsonl")
        self._kept, self._old = _cassette(self.place), _cassette(path)
        self.cassette: Cassette | None = max(
            filter(None, (self._kept, self._old)), key=lambda each: each.turns, default=None
        )

    def keep_old(self) -> None:
        """Back up the cassette at the path; a backup from an interrupted run stays."""
        self._turns = self._kept.turns if self._kept is not None else 0
        if not self._turns and self._old is not None and self._old.turns:
            shutil.copyfile(self._path, self.place)
            if folder_of(self._path).is_dir():
                shutil.copytree(folder_of(self._path), folder_of(self.place), dirs_exist_ok=True)
            self._turns = self._old.turns

    def settle(self, turns: int) -> str | None:
        """Remove the backup if the new recording has as many *turns*; else return a sentence that says where it is."""
        if not self._turns:
            return None
        if turns < self._turns:
            return (
                f"{self._path} has {turns} turns now and had {self._turns} before. The old recording is kept as "
                f"{self.place}: rename it if this run was interrupted, else remove it."
            )
        self.place.unlink(missing_ok=True)
        shutil.rmtree(folder_of(self.place), ignore_errors=True)
        self._turns = 0
        return None


def check_place(path: Path) -> None:
    """Raise if no cassette can be written to *path*, before anything is sent to an agent for it."""
    folder = next(each for each in path.parents if each.exists() or each == each.parent)
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(
            f"{path}: no cassette can be written there.", hint="Specify a file in a folder that you can write to."
        )


def _cassette(path: Path) -> Cassette | None:
    """Returns the cassette at *path*, or None if there is no usable one."""
    with contextlib.suppress(CassetteBroken):
        return file.read(path)
    return None
