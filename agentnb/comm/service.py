"""Decodes, carries out and answers every message of a page (`agentnb.comm.methods` lists the requests).

Runs on the host's thread. A message that makes no sense is answered or dropped and logged once; it never breaks the
channel.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from agentnb.comm import messages as m
from agentnb.comm import window
from agentnb.comm.client_requests import UnknownClient
from agentnb.comm.content_refs import Contents
from agentnb.comm.delivery import Delivery
from agentnb.comm.methods import PAGE_NOTIFICATIONS, REQUESTS
from agentnb.comm.request_table import Asker, Bytes, Method, encoded
from agentnb.credentials import logger
from agentnb.errors import (
    AgentnbError,
    ProtocolError,
    UnknownSession,
    UnsupportedVersion,
    UsageError,
    unexpected,
)
from agentnb.host.intents import carry_out
from agentnb.plugin_registry import plugins
from agentnb.rpc_message import INVALID_PARAMS, METHOD_NOT_FOUND
from agentnb.safe_json import NESTING_LIMIT, is_too_deep, without_half_characters
from agentnb.state import ActionOrigin, UnknownAction, action_type, decode_action
from agentnb.state.versions import WINDOW, is_known_in

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from agentnb.comm.channel_owner import ChannelOwner
    from agentnb.comm.client import Client
    from agentnb.comm.notices import Notices
    from agentnb.host.host import Host
    from agentnb.ports import Plugin, Request
    from agentnb.state import Action
    from agentnb.state.versions import Window

log = logger("agentnb.comm")
N = TypeVar("N", bound="Notices")

LONGEST_DRAFT = 100_000  # characters; what is longer stays in its own window
UNREADABLE = UnknownAction({"type": "x-agentnb/unreadable"})
"""Stands in a refusal for an action that could not be read: a page passes over what is not of the protocol."""


class Send(Protocol):
    """Sends one message, and perhaps buffers beside it, to one client."""

    def __call__(self, client_id: str, message: dict[str, Any], buffers: tuple[bytes, ...] = (), /) -> None:
        """Send it; never waits."""


CODES: dict[type[AgentnbError], int] = {
    UnsupportedVersion: m.UNSUPPORTED_VERSION,
    UnknownClient: m.UNKNOWN_CLIENT,
}
"""The codes of errors that a page can act on; any other is `REFUSED`."""


class PageService:
    """Answers what pages say; what they ask for and dispatch is another matter of each host that they can talk to.

    Args:
        host: What they talk about.
        send: Sends one message to one client: ``send(client_id, message, buffers)``.
        turns: How many of a chat's turns a page is given at first; the others it fetches.
        versions: The versions of the protocol that it speaks.
    """

    def __init__(self, host: ChannelOwner, send: Send, *, turns: int = window.TURNS, versions: Window = WINDOW) -> None:
        self.delivery = Delivery(host, self._send, turns=turns)
        self.versions = versions
        self.drafts: dict[str, str] = {}
        self.contents = Contents()
        self._host = host
        self._transport = send
        self._routes: dict[str, Send] = {}
        self._logged: set[str] = set()
        self._notices: dict[type[Notices], Notices] = {}
        self._notifications: dict[str, Callable[[str, Any], None]] = {
            "dispatchAction": self._dispatch,
            "ack": self._ack,
            "resync": self._resync,
            "visibility": self._visibility,
            "ping": self._ping,
            "draft": self._draft,
            "leave": self._leave,
        }

    def carry_out(self, channel: str, action: Action, origin: ActionOrigin) -> None:
        """Do what a page wants with *action*.

        Raises:
            AgentnbError: If it may not, or cannot be done.
        """
        raise NotImplementedError

    def method(self, name: str) -> Method | None:
        """The request *name*, where there is one."""
        return REQUESTS.get(name)

    def carry_out_request(self, client_id: str, method: Method, params: Any) -> Any:
        """The result of a request, or a coroutine of it."""
        raise NotImplementedError

    def notices(self, kind: type[N], host: Host) -> N:
        """The notices of that kind of *host*, for pages that watch."""
        if kind not in self._notices:
            self._notices[kind] = kind(host, self.delivery, self._send)
        found = self._notices[kind]
        assert isinstance(found, kind)  # noqa: S101 - made above
        return found

    def join(self, client: Client, send: Send) -> None:
        """Take *client*, which comes over another transport.

        Args:
            client: The client; its transport says when it has gone.
            send: Sends it what is for it.
        """
        self._routes[client.client_id] = send
        self.delivery.join(client)

    def leave(self, client_id: str) -> None:
        """That client's transport has lost it."""
        self._routes.pop(client_id, None)
        self.delivery.drop(client_id)

    def ask(self, client_id: str, method: str, params: dict[str, Any]) -> Any:
        """Carry out a request that a client made over another transport, in this protocol's words.

        Args:
            client_id: Who asks.
            method: The name of a request.
            params: Its parameters.

        Returns:
            The result, or a coroutine of it; `Bytes` where something travels beside it.

        Raises:
            AgentnbError: If it cannot be done.
        """
        known = self.method(method)
        assert known is not None  # noqa: S101 - the caller names a request of the table
        return self._result(client_id, known, msgspec.json.encode(params))

    def _result(self, client_id: str, method: Method, raw: bytes) -> Any:
        """The result as JSON, or a coroutine of it."""
        result = self.carry_out_request(client_id, method, msgspec.json.decode(raw, type=method.params))
        return _encoded_later(result) if inspect.iscoroutine(result) else encoded(result)

    def tell(self, client_id: str, method: str, params: dict[str, Any]) -> None:
        """Take a notification that a client sent over another transport; see :meth:`ask`."""
        self._notify(client_id, method, msgspec.json.encode(params))

    def _notify(self, client_id: str, method: str, raw: bytes) -> None:
        self._notifications[method](client_id, msgspec.json.decode(raw, type=PAGE_NOTIFICATIONS[method]))

    def receive(self, content: object) -> None:
        """Take one message from a page."""
        try:
            message = _decode(content)
        except (TypeError, ValueError, RecursionError) as error:
            self._complain(f"A page sent a message that is not of the protocol: {error}")
            self._fail_unread(content)
            return
        if message.v not in self.versions and message.method != "initialize":
            self._fail(message, m.UNSUPPORTED_VERSION, f"This kernel speaks version {self.versions}, not {message.v}.")
        elif message.id is not None:
            self._answer(message)
        else:
            self._take(message)

    def _answer(self, message: m.FromPage) -> None:
        method = self.method(message.method)
        if method is None:
            self._fail(message, METHOD_NOT_FOUND, f"There is no method {message.method!r}.")
            return
        with self._answering(message):
            result = self._result(message.client_id, method, bytes(message.params))
            if inspect.iscoroutine(result):
                self._host.loop.spawn(self.answer_later(message, result))
            else:
                self._respond(message, result)

    async def answer_later(self, message: m.FromPage, result: Coroutine[Any, Any, Any]) -> None:
        """Answer *message* once *result* is there."""
        with self._answering(message):
            self._respond(message, await result)

    def _respond(self, message: m.FromPage, result: Any) -> None:
        buffers: tuple[bytes, ...] = ()
        if isinstance(result, Bytes):
            result, buffers = result.result, result.buffers
        self._send(message.client_id, m.response(message.id or 0, result), buffers)

    @contextlib.contextmanager
    def _answering(self, message: m.FromPage) -> Iterator[None]:
        """What is raised inside is the answer."""
        try:
            yield
        except msgspec.ValidationError as error:
            self._fail(message, INVALID_PARAMS, f"{message.method}: {error}")
        except AgentnbError as error:
            self._fail(message, CODES.get(type(error), m.REFUSED), str(error))
        except Exception as error:
            log.exception("answering %s failed", message.method)
            self._fail(message, m.REFUSED, f"The kernel failed: {unexpected(error)}.")

    def _take(self, message: m.FromPage) -> None:
        if message.method not in self._notifications:
            self._complain(f"A page sent the unknown notification {message.method!r}.")
        elif self.delivery.heard(message.client_id) is None:
            self._send(message.client_id, m.notification("unknownClient", {}))
        else:
            try:
                self._notify(message.client_id, message.method, bytes(message.params))
            except (msgspec.ValidationError, AgentnbError) as error:
                self._complain(f"{message.method}: {error}")
            except Exception:
                log.exception("taking %s failed", message.method)

    def _draft(self, client_id: str, params: m.DraftParams) -> None:
        uri = self._host.find(params.channel).chat.uri
        if len(params.text) > LONGEST_DRAFT:
            return
        if params.text:
            self.drafts[uri] = params.text
        else:
            self.drafts.pop(uri, None)
        said = m.notification("draft", {"channel": uri, "text": params.text})
        for other in self.delivery.clients:
            if other != client_id:
                self._send(other, said)

    def _dispatch(self, client_id: str, params: m.DispatchParams) -> None:
        origin = ActionOrigin(client_id=client_id, client_seq=params.client_seq)
        version = self.delivery.clients[client_id].version
        action: Action = UNREADABLE
        try:
            action = decode_action(params.action)
            if not is_known_in(action, version):
                raise AgentnbError(f"{action_type(action)} is not in version {version}, which this page speaks.")
            if self.delivery.has_accepted(origin):
                raise AgentnbError("It was accepted before.")
            self.carry_out(params.channel, action, origin)
        except ProtocolError as error:
            self._complain(f"dispatchAction: {error}")
            reason = (
                "The kernel cannot read what the page sent. Reload the page; if that does not help, update agentnb."
            )
            self.delivery.refuse(params.channel, action, origin, reason)
        except UnknownSession:
            self.delivery.refuse(params.channel, action, origin, "The conversation was closed.")
        except AgentnbError as error:
            self.delivery.refuse(params.channel, action, origin, str(error))

    def _ack(self, client_id: str, params: m.AckParams) -> None:
        self.delivery.acknowledged(self.delivery.clients[client_id], params.flush, params.seen)

    def _resync(self, client_id: str, params: m.ResyncParams) -> None:
        self.delivery.lacks(self.delivery.clients[client_id], params.seen)

    def _visibility(self, client_id: str, params: m.VisibilityParams) -> None:
        self.delivery.seen(self.delivery.clients[client_id], visible=params.visible)

    def _ping(self, client_id: str, params: m.PingParams) -> None:  # noqa: ARG002 - being heard is all
        indexes = self.delivery.indexes(self.delivery.clients[client_id])
        self._send(client_id, m.notification("pong", {"hostId": self._host.host_id, "indexes": indexes}))

    def _leave(self, client_id: str, params: m.LeaveParams) -> None:  # noqa: ARG002 - there is nothing in it
        self.delivery.leave(self.delivery.clients[client_id])

    def _send(self, client_id: str, message: dict[str, Any], buffers: tuple[bytes, ...] = ()) -> None:
        """Send it in the version that the client speaks."""
        client = self.delivery.clients.get(client_id)
        version = self.versions.current if client is None else client.version
        send = self._routes.get(client_id, self._transport)
        send(client_id, {**message, "v": version}, buffers)

    def _fail(self, message: m.FromPage, code: int, text: str) -> None:
        if message.id is None:
            self._complain(text)
        else:
            self._send(message.client_id, m.failure(message.id, code, text))

    def _fail_unread(self, content: object) -> None:
        """Answer a request that could not be read, where it says whose it is: the page waits for an answer."""
        match content:
            case {"clientId": str(client_id), "id": int() | str() as request_id}:
                self._send(client_id, m.failure(request_id, INVALID_PARAMS, "The message cannot be read."))

    def _complain(self, text: str) -> None:
        if text not in self._logged:
            self._logged.add(text)
            log.warning("%s", text)


class Service(PageService):
    """Answers what pages say of this kernel's conversations; see :class:`PageService`."""

    def __init__(self, host: Host, send: Send, *, turns: int = window.TURNS, versions: Window = WINDOW) -> None:
        super().__init__(host, send, turns=turns, versions=versions)
        self._owner = host

    @functools.cached_property
    def _of_plugins(self) -> dict[str, Method]:
        return {request.name: _of_plugin(plugin.name, request) for plugin, request in offered_requests()}

    def method(self, name: str) -> Method | None:
        """See :meth:`PageService.method`; plug-ins are looked for when a page first asks one."""
        return (self._of_plugins if "/" in name else REQUESTS).get(name)

    def carry_out_request(self, client_id: str, method: Method, params: Any) -> Any:
        """See :meth:`PageService.carry_out_request`."""
        assert method.function is not None  # noqa: S101 - every request has one
        return method.function(Asker(client_id, self._owner, self), params)

    def carry_out(self, channel: str, action: Action, origin: ActionOrigin) -> None:
        """See :meth:`PageService.carry_out`."""
        carry_out(self._owner, channel, action, origin)


def offered_requests() -> list[tuple[Plugin, Request]]:
    """The requests of plug-ins; each name begins with the plug-in's own, so that it hides none of ours."""
    found = plugins()
    offered: list[tuple[Plugin, Request]] = []
    for plugin, request in found.offers("requests"):
        if request.name.startswith(f"{plugin.name}/"):
            offered.append((plugin, request))
        else:
            wrong = UsageError(f"the name {request.name!r} does not begin with '{plugin.name}/'.")
            found.failed(plugin.name, "requests", wrong)
    return offered


def _of_plugin(plugin: str, request: Request) -> Method:
    async def answer(_: Asker[Host], params: Any) -> dict[str, Any]:
        with plugins().guard(plugin, f"the request {request.name!r}"):
            result = request.answer(params)
            if inspect.isawaitable(result):
                result = await result
            return {**msgspec.to_builtins(msgspec.convert(result, request.result, from_attributes=True))}

    return Method(name=request.name, sender="page", params=request.params, result=request.result, function=answer)


async def _encoded_later(result: Coroutine[Any, Any, Any]) -> Any:
    return encoded(await result)


def _decode(content: object) -> m.FromPage:
    data = msgspec.json.encode(without_half_characters(content))
    if is_too_deep(data):
        raise ValueError(f"it is nested deeper than {NESTING_LIMIT} levels")
    return msgspec.json.decode(data, type=m.FromPage)
