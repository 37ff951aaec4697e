"""Writes events to the file that ``AGENTNB_EVENTS`` names, one line of JSON each."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.events.kind import listening

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "AGENTNB_EVENTS"
"""Environment: the file. Several processes may write to it: the kernel, and the players of cassettes."""

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
    """*record*, an event, as a line of JSON."""
    fields = record.__dict__
    line = {
        "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "event": fields["event"],
        "data": fields["data"],
        "process": record.process,
    }
    return f"{json.dumps(line, ensure_ascii=False, default=str)}\n"


def write_down(environ: Mapping[str, str] = os.environ) -> None:
    """From now on write this process's events where *environ* says, if it does; again, to where it says now."""
    _open.close()
    if path := environ.get(VARIABLE, "").strip():
        _open.enter_context(listening(EventFile(Path(path).expanduser().absolute())))
