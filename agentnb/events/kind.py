"""A kind of event: what it is called, what it says, and telling that it happened.

An event is a record of :mod:`logging`, on the logger ``agentnb.events.CATEGORY``, with the attributes ``category``,
``event`` and ``data``. It is made only where somebody listens: a handler of the user's on that logger or above it whose
level lets it through, or one of ours (:func:`listening`), which changes no level and so makes nobody else hear more.
"""

from __future__ import annotations

import contextlib
import logging
import os
from typing import TYPE_CHECKING, Any

from agentnb.credentials import Credentials

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LOGGER = "agentnb.events"
TEXT = "AGENTNB_EVENTS_TEXT"
"""Environment: set to 1, events hold what was said as well."""

logging.getLogger(LOGGER).addHandler(logging.NullHandler())  # without one, Python prints warnings itself

KINDS: dict[str, Kind] = {}
"""Every kind there is, by its whole name."""

_listeners: list[tuple[logging.Handler, bool]] = []


class Kind:
    """One kind of event."""

    def __init__(self, name: str, about: str, /, level: int = logging.INFO, **fields: str) -> None:
        self.name = name
        self.category: str = name.partition(".")[0]
        self.about = about
        self.level = level
        self.fields: Mapping[str, str] = fields
        self._logger = logging.getLogger(f"{LOGGER}.{self.category}")
        KINDS[name] = self

    def tell(self, **data: Any) -> None:
        """It happened; from any thread, and without a cost where nobody listens."""
        is_enabled = self._logger.isEnabledFor(self.level)
        if not is_enabled and not _listeners:
            return
        always = os.environ.get(TEXT) == "1"
        for handler, text in tuple(_listeners):
            _hand(handler, self._record(data, text=text or always))
        if is_enabled:
            _hand(self._logger, self._record(data, text=always))

    def _record(self, data: dict[str, Any], *, text: bool) -> logging.LogRecord:
        visible = {name.lstrip("_"): value for name, value in data.items() if text or not name.startswith("_")}
        clean = _clean({name: value for name, value in visible.items() if value is not None}, Credentials(os.environ))
        words = " ".join(f"{name}={value}" for name, value in clean.items())
        extra = {"category": self.category, "event": self.name, "data": clean}
        return self._logger.makeRecord(
            self._logger.name, self.level, "(agentnb)", 0, "%s", (f"{self.name} {words}".rstrip(),), None, extra=extra
        )


@contextlib.contextmanager
def listening(handler: logging.Handler, *, text: bool = False) -> Iterator[None]:
    """Inside, *handler* gets every event of this process, whatever the levels of the loggers are."""
    listener = (handler, text)
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def _hand(to: logging.Handler | logging.Logger, record: logging.LogRecord) -> None:
    """Hand *record* over. What a handler or a filter of the user's raises must not stop what is told of."""
    with contextlib.suppress(Exception):
        to.handle(record)


def _clean(value: Any, credentials: Credentials) -> Any:
    """*value* without credentials."""
    if isinstance(value, str):
        return credentials.hidden_in_command(value)
    if isinstance(value, dict):
        return {name: _clean(item, credentials) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item, credentials) for item in value]
    return value
