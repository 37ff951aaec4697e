"""Collects events in memory, for tests and the user, and writes them to the file that ``AGENTNB_EVENTS`` names."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.errors import UsageError
from agentnb.events.kinds import KINDS, listening

if TYPE_CHECKING:
    from collections.abc import Iterator


VARIABLE = "AGENTNB_EVENTS"
"""Environment: the file. Several processes may write to it: the kernel and the replayers of cassettes."""

_open = contextlib.ExitStack()


class EventFile(logging.Handler):
    """Appends every event to a file, which is for its owner only. What cannot be written is dropped."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line, whole, with one call: lines of several processes do not mix."""
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, line_of(record).encode("utf-8", "replace"))
            finally:
                os.close(descriptor)


def line_of(record: logging.LogRecord) -> str:
    fields = record.__dict__
    line = {
        "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "event": fields["event"],
        "data": fields["data"],
        "process": record.process,
    }
    return f"{json.dumps(line, ensure_ascii=False, default=str)}\n"


def write_down() -> None:
    """From now on write this process's events where the environment says; again, to where it says now."""
    _open.close()
    if path := os.environ.get(VARIABLE, "").strip():
        _open.enter_context(listening(EventFile(Path(path).expanduser().absolute())))


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened."""

    name: str
    category: str
    level: int
    data: dict[str, Any]
    time: float


class Events(logging.Handler):
    """The events of this process since it began to listen; safe from any thread."""

    def __init__(self, category: str | None = None, name: str | None = None) -> None:
        super().__init__()
        self._category = category
        self._name = name
        self._kept: list[Event] = []
        self._more = threading.Condition()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the event."""
        fields = record.__dict__
        if self._category not in {None, fields["category"]} or self._name not in {None, fields["event"]}:
            return
        event = Event(
            name=fields["event"],
            category=fields["category"],
            level=record.levelno,
            data=fields["data"],
            time=record.created,
        )
        with self._more:
            self._kept.append(event)
            self._more.notify_all()

    def __iter__(self) -> Iterator[Event]:
        return iter(self.of())

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def names(self) -> list[str]:
        """Their names, in the order in which they happened."""
        return [event.name for event in self.of()]

    def of(self, name: str | None = None, *, category: str | None = None, **data: Any) -> list[Event]:
        """Those of a name or category whose data says what *data* says, in the order in which they happened."""
        _known(name, category)
        with self._more:
            return [event for event in self._kept if _fits(event, name, category, data)]

    def wait_for(self, name: str, *, count: int = 1, timeout: float = 60.0, **data: Any) -> Event:
        """Wait until the event has happened *count* times and return it; at once if it already has.

        It blocks this thread: in a coroutine, ``await asyncio.to_thread(heard.wait_for, "turn.ended")``.
        """
        _known(name, None)
        with self._more:
            if self._more.wait_for(lambda: len(self.of(name, **data)) >= count, timeout):
                return self.of(name, **data)[count - 1]
            happened = "\n".join(f"  {event.name} {event.data}" for event in self._kept) or "  nothing"
        wanted = f"{name} {data}" if data else name
        raise TimeoutError(f"{wanted} did not happen {count} times in {timeout:g} s. These did:\n{happened}")


@contextlib.contextmanager
def events(category: str | None = None, name: str | None = None, *, text: bool = False) -> Iterator[Events]:
    """Collect the events that happen inside."""
    _known(name, category)
    heard = Events(category, name)
    with listening(heard, text=text):
        yield heard


def _fits(event: Event, name: str | None, category: str | None, data: dict[str, Any]) -> bool:
    if name not in {None, event.name} or category not in {None, event.category}:
        return False
    return all(field in event.data and event.data[field] == value for field, value in data.items())


def _known(name: str | None, category: str | None) -> None:
    """Make sure that there are such events: one that never comes is a slip that a test would not notice."""
    if name is not None and name not in KINDS:
        raise UsageError(f"There is no event {name!r}.", hint=f"There are {', '.join(KINDS)}.")
    categories = dict.fromkeys(kind.category for kind in KINDS.values())
    if category is not None and category not in categories:
        raise UsageError(
            f"There are no events in the category {category!r}.", hint=f"There are {', '.join(categories)}."
        )
