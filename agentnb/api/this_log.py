"""The log as this process sees it: a kernel's, with what is open there, or in a shell the file alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentnb.errors import LogUnavailable
from agentnb.host import current_host
from agentnb.host.history.restore import LOG_OFF, recorder_of
from agentnb.ids import new_id
from agentnb.log.location import log_location
from agentnb.log.store import LogStore

if TYPE_CHECKING:
    from agentnb.host.host import Host
    from agentnb.log.store import Which


class ThisLog(NamedTuple):
    """The log, its kernel's host (None in a shell), and what is wrong with it, in words."""

    store: LogStore
    host: Host | None = None
    note: str = ""

    @property
    def here(self) -> Which:
        """The filter for sessions that were begun here."""
        return {} if self.host is None else recorder_of(self.host).here()

    def is_open_here(self, uri: str) -> bool:
        """True if this kernel has the session open."""
        return self.host is not None and uri in self.host.conversations


def kernel_log() -> ThisLog | None:
    """This kernel's log; None where it is off."""
    host = current_host()
    if host.recorder is None:
        return None
    recorder = recorder_of(host)
    return ThisLog(recorder.store, host, recorder.note)


def shell_log() -> ThisLog | None:
    """The log's file, for a shell, where no kernel runs; None where it is off."""
    path = log_location()
    return None if path is None else ThisLog(LogStore(path, new_id()))


def demanded(log: ThisLog | None) -> ThisLog:
    """The log.

    Raises:
        LogUnavailable: If it is off.
    """
    if log is None:
        raise LogUnavailable(LOG_OFF, hint="Unset AGENTNB_LOG; in a kernel, restart it then.")
    return log
