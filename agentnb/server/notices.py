"""Tells pages that show the history or the settings when these have changed: in another page or kernel, or by hand."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.agent.own_agents import folder_state
from agentnb.errors import LogError
from agentnb.host.host import agent_infos
from agentnb.rpc_message import notification
from agentnb.server.messages import OURS
from agentnb.server.policy_requests import grants_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.host.host import Host
    from agentnb.log.database import Changes, LogWatch
    from agentnb.server.delivery import Delivery

LOOK_SECONDS = 1.0
"""Seconds between two checks while a page shows the result; files are read only when they have changed."""
MOST_NAMED = 200
"""The most sessions of each kind that one notice names; a page fetches the list anyway."""


class Notices:
    """The pages that want notices of changes. On the host's thread."""

    def __init__(self, host: Host, delivery: Delivery, send: Callable[[str, dict[str, Any]], None]) -> None:
        self._host = host
        self._delivery = delivery
        self._send = send
        self._pages: set[str] = set()
        self._is_watching = False

    def _wants(self, client_id: str, *, on: bool) -> bool:
        """Note whether a page wants notices; returns True if watching must begin now."""
        if not on:
            self._pages.discard(client_id)
            return False
        self._pages.add(client_id)
        begins, self._is_watching = not self._is_watching, True
        return begins

    def _has_pages(self) -> bool:
        """True if a page that wants notices is still there."""
        self._pages &= self._delivery.clients.keys()
        return bool(self._pages)

    def _tell(self, notice: dict[str, Any]) -> None:
        for client_id in self._pages:
            self._send(client_id, notice)


class SettingsNotices(Notices):
    """Looks at the settings while a page shows them, and only then."""

    _known: object = None

    def watch(self, client_id: str, *, on: bool) -> None:
        """Answer ``watchSettings``: the page gets a notice of each change after the answer."""
        if self._wants(client_id, on=on):
            self._known = self._now()
            self._host.loop.later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        if not self._has_pages():
            self._is_watching = False
            return
        self._host.loop.later(LOOK_SECONDS, self._look)
        now = self._now() if self._delivery.attached else self._known
        if now != self._known:
            self._known = now
            self._host.take_agents(agent_infos())
            self._host.take_settings()
            self._tell(notification(f"{OURS}settingsChanged", {}))

    def _now(self) -> object:
        """Returns everything that the list of settings is made from."""
        sources, files = self._host.environment.sources(), self._host.policy.files
        layers = [(name, value.layers) for name, value in sources.values.items()]
        try:
            project = files.project(Path.cwd())
        except OSError:  # the working directory was deleted
            project = None
        return layers, sources.problems, files.user, project, folder_state(), grants_of(self._host)


class HistoryNotices(Notices):
    """Looks at the log while a page shows the history, and only then."""

    _log: LogWatch | None = None

    async def watch(self, client_id: str, *, on: bool) -> None:
        """Answer ``watchSessions``: the page gets a notice of each change after the answer."""
        if self._wants(client_id, on=on and self._host.recorder is not None):
            await self._look_on()

    def _due(self) -> None:
        if self._has_pages() and self._delivery.attached:
            self._host.loop.spawn(self._look_on())
            return
        self._is_watching = False
        if self._log is not None:
            self._log.close()
        self._log = None

    async def _look_on(self) -> None:
        try:
            await self._look()
        finally:
            self._host.loop.later(LOOK_SECONDS, self._due)

    async def _look(self) -> None:
        with contextlib.suppress(LogError):  # a request for the list reports the error
            self._log, changes = await asyncio.to_thread(self._looked, self._log)
            if changes is not None:
                named = {kind: list(uris[:MOST_NAMED]) for kind, uris in changes._asdict().items()}
                self._tell(notification(f"{OURS}sessionsChanged", named))

    def _looked(self, watch: LogWatch | None) -> tuple[LogWatch | None, Changes | None]:
        if watch is not None and watch.is_current:
            return watch, watch.look()
        if watch is not None:
            watch.close()
        recorder = self._host.recorder
        return (None if recorder is None else recorder.store.watch()), None
