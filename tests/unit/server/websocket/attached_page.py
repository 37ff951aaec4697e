"""A page of this kernel's or another host's conversations: it sends requests, dispatches, and reduces."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

from agentnb.host import current_host
from agentnb.server.client import ACTIONS
from agentnb.server.request_table import wire_name
from agentnb.server.service import PageService, Send, Service
from agentnb.state import Envelope, decode
from agentnb.state.versions import WINDOW
from tests.unit.server.bytes_apart import bytes_apart
from tests.unit.server.page import PageChannel

PATIENCE = 30.0


class MirroringPage:
    """A page on any wire."""

    def __init__(self, client_id: str = "page") -> None:
        self.client_id = client_id
        self._channels: dict[str, PageChannel] = {}
        self._id = 0
        self.refusals: list[Envelope] = []
        self._take(self.ask("initialize", protocolVersions=[WINDOW.current], visible=True)["snapshots"])

    def send(self, message: dict[str, Any]) -> None:
        raise NotImplementedError

    def receive(self) -> dict[str, Any]:
        """Returns the next message for this page, with its binary data as ``buffers``."""
        raise NotImplementedError

    def _say(self, message: dict[str, Any]) -> None:
        self.send({"jsonrpc": "2.0", "v": WINDOW.current, "clientId": self.client_id, **message})

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Sends a request and returns the answer, with its data as ``buffers``."""
        self._id += 1
        number = self._id
        self._say({"id": number, "method": wire_name(method), "params": params})
        while True:
            message = self.receive()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(message["error"]["message"])
                return {**message["result"], "buffers": message["buffers"]}
            self._notified(message)

    def follow(self, *uris: str) -> None:
        self._take([self.ask("subscribe", channel=uri)["snapshot"] for uri in uris])

    def dispatch(self, uri: str, action: dict[str, Any]) -> None:
        self._id += 1
        self._channels[uri].pending.append((self._id, action))
        self._say({"method": "dispatchAction", "params": {"clientSeq": self._id, "channel": uri, "action": action}})

    def until(self, uri: str, wanted: Callable[[Any], Any]) -> Any:
        """Waits until *wanted* accepts the channel's confirmed state; returns it."""
        while not (self._channels[uri].confirmed is not None and wanted(self._channels[uri].confirmed)):
            self._notified(self.receive())
        return self._channels[uri].confirmed

    def until_settled(self, uri: str) -> None:
        """Waits until all its actions there are answered."""
        while self._channels[uri].pending:
            self._notified(self.receive())

    def _take(self, snapshots: list[dict[str, Any]]) -> None:
        for snapshot in snapshots:
            uri = snapshot["resource"]
            self._channels.setdefault(uri, PageChannel(uri)).restore(snapshot)

    def _notified(self, message: dict[str, Any]) -> None:
        if message.get("method") != ACTIONS:
            return
        params = message["params"]
        self._take(params.get("snapshots", []))
        for each in params["envelopes"]:
            envelope = decode(Envelope, each)
            if envelope.rejection_reason is not None and not envelope.repeated:
                self.refusals.append(envelope)
            assert self._channels[envelope.channel].apply(envelope, self.client_id)
        seen = {uri: channel.index for uri, channel in self._channels.items()}
        self._say({"method": wire_name("ack"), "params": {"flush": params["flush"], "seen": seen}})


class AttachedPage(MirroringPage):
    """A page that talks to a service in this process: to that of this kernel, or the one that *make* makes."""

    def __init__(self, make: Callable[[Send], PageService] | None = None, client_id: str = "page") -> None:
        self._heard: queue.Queue[dict[str, Any]] = queue.Queue()
        self._page = client_id
        make_service = make or (lambda send: Service(current_host(), send))
        self._service = current_host().loop.call(lambda: make_service(self._hear))
        super().__init__(client_id)

    def _hear(self, client_id: str, message: dict[str, Any], /) -> None:
        if client_id == self._page:
            self._heard.put({"buffers": (), **bytes_apart(message)})

    def send(self, message: dict[str, Any]) -> None:
        current_host().loop.post(self._service.receive, message)

    def receive(self) -> dict[str, Any]:
        """See :meth:`MirroringPage.receive`."""
        return self._heard.get(timeout=PATIENCE)
