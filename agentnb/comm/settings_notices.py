"""Tells pages that show the settings when these have changed: in another page, in Python, by hand in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.agent.own_agents import folder_state
from agentnb.comm import messages as m
from agentnb.host.host import agent_infos

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.comm.delivery import Delivery
    from agentnb.host.host import Host

LOOK_SECONDS = 1.0
"""Between two looks, while a page shows the settings; files are read only when they have changed."""


class SettingsNotices:
    """Looks at the settings while a page shows them, and only then. Runs on the host's thread.

    Args:
        host: Whose settings.
        delivery: The pages.
        send: Sends one message to one page.
    """

    def __init__(self, host: Host, delivery: Delivery, send: Callable[[str, dict[str, Any]], None]) -> None:
        self._host = host
        self._delivery = delivery
        self._send = send
        self._pages: set[str] = set()
        self._known: object = None
        self._is_watching = False

    def watch(self, client_id: str, raw: bytes) -> dict[str, Any]:
        """The request ``watchSettings``: what happens after its answer is told."""
        params = msgspec.json.decode(raw, type=m.WatchSettingsParams)
        if not params.on:
            self._pages.discard(client_id)
            return {}
        self._pages.add(client_id)
        if not self._is_watching:
            self._is_watching = True
            self._known = self._now()
            self._host.loop.later(LOOK_SECONDS, self._look)
        return {}

    def _look(self) -> None:
        self._pages &= self._delivery.clients.keys()
        if not self._pages:
            self._is_watching = False
            return
        self._host.loop.later(LOOK_SECONDS, self._look)
        now = self._now() if self._delivery.attached else self._known
        if now != self._known:
            self._known = now
            self._host.take_agents(agent_infos())
            self._host.take_settings()
            for client_id in self._pages:
                self._send(client_id, m.notification("settingsChanged", {}))

    def _now(self) -> object:
        """All that the list of the settings is made of."""
        sources, files = self._host.environment.sources(), self._host.policy.files
        layers = [(name, value.layers) for name, value in sources.values.items()]
        try:
            project = files.project(Path.cwd())
        except OSError:  # the folder is gone
            project = None
        return layers, sources.problems, files.user, project, folder_state()
