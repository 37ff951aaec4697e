"""One client's connection: JSON-RPC in and out, answered by the same service as for pages.

Runs on the host's thread without access to the socket: `server` passes texts to it and writes the texts that it queues.
An invalid message is answered with an error, or dropped; it affects only its own connection.
"""

from __future__ import annotations

import contextlib
import inspect
from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.errors import AgentnbError, PermissionDenied, UnsupportedVersion, unexpected
from agentnb.host.channels import ROOT
from agentnb.rpc import AHP, Connection
from agentnb.rpc_message import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError
from agentnb.server.websocket import commands as c
from agentnb.server.websocket import question_requests, resource_requests  # noqa: F401 - they register commands
from agentnb.server.websocket.client import ACTIONS, BEHIND, ClientChannels, RemoteClient
from agentnb.server.websocket.commands import COMMANDS, SPOKEN, RequestFailed, code_of, negotiate
from agentnb.server.websocket.projection import SessionNames, summary_to_ahp, to_ahp
from agentnb.server.websocket.session_requests import RemoteAsker

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from agentnb.host.host import Host
    from agentnb.server.service import Service
    from agentnb.server.websocket.access import Grant
    from agentnb.server.websocket.feed import Feed, Notice

__all__ = ["COMMANDS", "AhpConnection"]

MOST_WAITING = 8 * 1024 * 1024
"""Characters that may wait to be written; a client that asks for more without reading is disconnected."""
MOST_REQUESTS = 32
"""Requests that may be carried out at once."""
PROTOCOL_ERROR, POLICY_VIOLATION, TRY_AGAIN_LATER = 1002, 1008, 1013
"""WebSocket close codes (RFC 6455 and its registry)."""


class AhpConnection:
    def __init__(
        self,
        host: Host,
        service: Service,
        feed: Feed,
        grant: Grant,
        number: int,
        *,
        wake: Callable[[], None],
        close: Callable[[int, str], None],
        join: Callable[[AhpConnection, str], bool],
        came: Callable[[], None],
    ) -> None:
        self.grant = grant
        self.client: RemoteClient | None = None
        self._host, self._service = host, service
        self.feed = feed
        self._number = number
        self._wake, self._close, self._join, self._came = wake, close, join, came
        self._names = SessionNames()
        self._waiting: deque[str] = deque()
        self._waiting_characters = 0
        self._is_writing = False
        self._running = 0
        self._is_closed = False
        self._end: tuple[int, str] | None = None
        self._rpc = Connection(
            self._queue, AHP, on_request=self._answer, on_notifications=self._take, to_error=self._failed
        )
        self._asker: RemoteAsker | None = None

    # --- the wire ---

    def receive(self, text: str) -> None:
        self._rpc.receive(text.encode("utf-8", "replace"))

    def take_waiting(self) -> list[str]:
        """Returns the texts waiting to be written, which count as being written from now on."""
        texts = list(self._waiting)
        self._waiting.clear()
        self._waiting_characters = 0
        self._is_writing = bool(texts)
        return texts

    def written(self) -> None:
        """Note that everything taken has been written."""
        self._is_writing = False
        if not self._waiting:
            self._service.delivery.kick(urgent=False)

    def closed(self) -> None:
        """Note that the connection has ended: leave, cancel what still waits, and close its feeds."""
        self._is_closed = True
        if self.client is not None:
            self._service.leave(self.client.client_id)
        if self._asker is not None:
            for asking in tuple(self._asker.asking):  # its pending requests are cancelled
                asking.cancel()
            for feed in self._asker.questions:
                feed.close()

    def notice(self, notice: Notice) -> None:
        """Tell the client of a change in the list of sessions, if it follows that list and may see the session."""
        client = self.client
        if client is None or ROOT not in client.followed or not client.sees(notice.uri):
            return
        params: dict[str, Any] = {"channel": ROOT}
        if notice.summary is None:
            params["session"] = to_ahp(notice.uri)
        elif notice.before is None:
            params["summary"] = summary_to_ahp(notice.summary)
        else:
            before, now = (summary_to_ahp(each) for each in (notice.before, notice.summary))
            params["session"] = to_ahp(notice.uri)
            params["changes"] = {name: value for name, value in now.items() if before.get(name) != value}
        self._notify(notice.method, params)

    def _deliver(self, _client_id: str, message: dict[str, Any], /) -> None:
        """Send the client a message from delivery; messages that only pages understand are dropped."""
        if message["method"] == ACTIONS:
            for envelope in message["params"]["envelopes"]:
                self._notify("action", envelope)
        elif message["method"] == BEHIND:
            self._close(TRY_AGAIN_LATER, "Too far behind: reconnect for snapshots.")

    def _notify(self, method: str, params: Any) -> None:
        self._rpc.notify(method, self._names.tell(params))

    def _queue(self, data: bytes) -> None:
        if self._is_closed:
            return
        text = data.decode()
        self._waiting.append(text)
        self._waiting_characters += len(text)
        if self._waiting_characters > MOST_WAITING and self._is_writing:
            self._close(POLICY_VIOLATION, "It does not read what it asks for.")
        self._wake()
        if self._end is not None:  # the error's answer is the last message
            self._close(*self._end)

    # --- requests ---

    def _answer(self, method: str, params: Any) -> Any:
        if self._running >= MOST_REQUESTS:
            raise RequestFailed(INTERNAL_ERROR, f"{MOST_REQUESTS} requests are being carried out. Send it again later.")
        result = self._carry_out(method, params)
        if not inspect.iscoroutine(result):
            return self._names.tell(result)
        self._running += 1
        return self._answer_later(result)

    async def _answer_later(self, result: Coroutine[Any, Any, Any]) -> Any:
        try:
            return self._names.tell(await result)
        finally:
            self._running -= 1

    def _take(self, notifications: list[tuple[str, Any]]) -> None:
        for method, params in notifications:
            command = COMMANDS.get(method)
            if command is not None and command.is_notification:
                with contextlib.suppress(RequestFailed, AgentnbError, msgspec.ValidationError):  # it gets no answer
                    self._carry_out(method, params)

    def _carry_out(self, name: str, sent: Any) -> Any:
        command = COMMANDS.get(name)
        if command is None:
            raise RequestFailed(METHOD_NOT_FOUND, f"This host does not support {name[:100]!r}.")
        params = self._named(msgspec.convert({} if sent is None else sent, command.params))
        is_first = name in {"initialize", "reconnect"}
        if (self._asker is None) is not is_first and name != "ping":
            why = "This connection is initialized already." if is_first else "Send initialize or reconnect first."
            raise RequestFailed(INVALID_REQUEST, why)
        if command.right is not None and command.right not in self.grant.rights:
            raise PermissionDenied(f"{self.grant.name} may not {command.right}.", hint="Ask the notebook's user.")
        if self.client is not None:
            self._catch_up(self.client)  # events before an answer are sent before it
        return command.function(self._asker or self, params)

    def _named(self, params: Any) -> Any:
        """Returns *params* with our names of sessions; our own requests already have them."""
        if not isinstance(params, c.Params):
            return params
        changes: dict[str, Any] = {"channel": self._names.read(params.channel)}
        for name in ("initial_subscriptions", "subscriptions"):
            if hasattr(params, name):
                changes[name] = tuple(map(self._names.read, getattr(params, name)))
        return msgspec.structs.replace(params, **changes)

    def _failed(self, error: Exception) -> RpcError:
        if isinstance(error, RequestFailed) and error.ends is not None:
            self._end = (POLICY_VIOLATION, error.ends)
        if isinstance(error, RpcError):
            return error
        if isinstance(error, UnsupportedVersion):
            self._end = (PROTOCOL_ERROR, "No common version.")
            return RpcError(code_of(error), str(error), {"supportedVersions": list(SPOKEN)})
        is_known = isinstance(error, (AgentnbError, msgspec.ValidationError))
        return RpcError(code_of(error), str(error) if is_known else f"The kernel failed: {unexpected(error)}.")

    def admit(self, params: c.InitializeCommand | c.ReconnectCommand) -> RemoteAsker:
        """Register the client that has introduced itself; raises if another client is using the token."""
        own_id = params.client_id
        if not self._join(self, own_id):
            why = "Another client is connected with this token. Ask for a token of your own."
            raise RequestFailed(c.PERMISSION_DENIED, why, ends="The token is in use.")
        client = self.client = RemoteClient(
            own_id,
            self._number,
            grant=self.grant,
            feed=self.feed,
            is_writing=lambda: self._is_writing or bool(self._waiting),
            is_ours=_is_ours(params),
            seen_at=self._host.loop.time(),
        )
        self._service.join(client, self._deliver)
        self._came()
        channels = ClientChannels(self._host, self.feed, client)
        self._asker = RemoteAsker(
            client.client_id, self._host, self._service, client, channels, self.feed, notify=self._notify
        )
        return self._asker

    def _catch_up(self, client: RemoteClient) -> None:
        """Send what is pending: a client at a snapshot's number must have everything before it."""
        message = client.next_message((), self._host.loop.time())
        if message is not None:
            self._deliver(client.client_id, message)


@c.command("initialize", c.InitializeCommand, None)
def initialize(connection: AhpConnection, params: c.InitializeCommand) -> dict[str, Any]:
    """The version is negotiated; snapshots of `initialSubscriptions`."""
    version = negotiate(params.protocol_versions)
    asker = connection.admit(params)
    asker.feed.remember_version(connection.grant.name, params.client_id, version)
    return {
        "protocolVersion": version,
        "serverSeq": asker.feed.seq,
        "snapshots": asker.channels.snapshots(params.initial_subscriptions),
        **({"_meta": c.IS_OURS} if asker.client.is_ours else {}),
    }


@c.command("reconnect", c.ReconnectCommand, None)
def reconnect(connection: AhpConnection, params: c.ReconnectCommand) -> dict[str, Any]:
    """Replay, where the feed reaches back to the number; else snapshots. Who is not known is refused."""
    version = connection.feed.versions.get((connection.grant.name, params.client_id))
    if version is None and not _is_ours(params):
        why = "This kernel has not negotiated a version with this client. Send initialize."
        raise RequestFailed(INVALID_REQUEST, why)
    asker = connection.admit(params)
    client, channels = asker.client, asker.channels
    known = {uri: own for uri in params.subscriptions if (own := channels.find(uri)) is not None}
    seen = params.last_seen_server_seq
    if not seen.is_integer() or not asker.feed.reaches(int(seen)):
        return {"type": "snapshot", "snapshots": channels.snapshots(tuple(known))}
    client.sent = int(seen)
    for own in known.values():
        client.follow(own, int(seen))
    missing = [uri for uri in params.subscriptions if uri not in known]
    return {"type": "replay", "actions": client.unseen(), "missing": missing}


@c.command("ping", c.Params, None)
def ping(_asker: Any, _params: c.Params) -> dict[str, Any]:
    """Answered at any time."""
    return {}


def _is_ours(params: c.InitializeCommand | c.ReconnectCommand) -> bool:
    return (params.meta or {}).get(c.OURS) == c.IS_OURS[c.OURS]
