"""Tells pages that show the history when sessions of the log were added, removed or changed, by any kernel."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.comm import messages as m
from agentnb.errors import LogError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.comm.delivery import Delivery
    from agentnb.host.host import Host
    from agentnb.log.watch import Changes, LogWatch

LOOK_SECONDS = 1.0
"""Between two looks, while a page shows the history."""
MOST_NAMED = 200
"""So many sessions of each kind are named in one notice; a page fetches the list anyway."""


class HistoryNotices:
    """Looks at the log while a page shows the history, and only then. Runs on the host's thread.

    Args:
        host: Whose log.
        delivery: The pages.
        send: Sends one message to one page.
    """

    def __init__(self, host: Host, delivery: Delivery, send: Callable[[str, dict[str, Any]], None]) -> None:
        self._host = host
        self._delivery = delivery
        self._send = send
        self._pages: set[str] = set()
        self._log: LogWatch | None = None
        self._watching = False

    async def watch(self, client_id: str, raw: bytes) -> dict[str, Any]:
        """The request ``watchSessions``: what happens after its answer is told."""
        params = msgspec.json.decode(raw, type=m.WatchSessionsParams)
        if not params.on:
            self._pages.discard(client_id)
        elif self._host.recorder is not None:
            self._pages.add(client_id)
            if not self._watching:
                self._watching = True
                await self._look_on()
        return {}

    def _has_readers(self) -> bool:
        self._pages &= self._delivery.clients.keys()
        return bool(self._pages) and self._delivery.attached

    def _due(self) -> None:
        if self._has_readers():
            self._host.loop.spawn(self._look_on())
            return
        self._watching = False
        if self._log is not None:
            self._log.close()
        self._log = None

    async def _look_on(self) -> None:
        try:
            await self._look()
        finally:
            self._host.loop.later(LOOK_SECONDS, self._due)

    async def _look(self) -> None:
        with contextlib.suppress(LogError):  # a request for the list says what is wrong
            self._log, changes = await asyncio.to_thread(self._looked, self._log)
            if changes is not None:
                self._tell(changes)

    def _looked(self, watch: LogWatch | None) -> tuple[LogWatch | None, Changes | None]:
        if watch is not None and not watch.is_current:
            watch.close()
            watch = None
        if watch is not None:
            return watch, watch.look()
        recorder = self._host.recorder
        return (None if recorder is None else recorder.store.watch()), None

    def _tell(self, changes: Changes) -> None:
        named = {kind: list(uris[:MOST_NAMED]) for kind, uris in changes._asdict().items()}
        notice = m.notification("sessionsChanged", named)
        for client_id in self._pages:
            self._send(client_id, notice)
