"""Decodes, carries out and answers every message of a page (`agentnb.comm.methods` lists the requests).

Runs on the host's thread. A message that makes no sense is answered or dropped and logged once; it never breaks the
channel.
"""

from __future__ import annotations

import functools
import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from agentnb.comm import messages as m
from agentnb.comm import window
from agentnb.comm.client_requests import UnknownClient
from agentnb.comm.content_refs import Contents
from agentnb.comm.delivery import Delivery
from agentnb.comm.methods import PAGE_NOTIFICATIONS, REQUESTS
from agentnb.comm.request_table import Asker, Bytes, Method, encoded, wire_name
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
from agentnb.rpc import AHP, Connection
from agentnb.rpc_message import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError, RpcMessage, error_answer, notification
from agentnb.safe_json import NESTING_LIMIT, is_too_deep, without_half_characters
from agentnb.state import ActionOrigin, UnknownAction, action_type, decode_action
from agentnb.state.versions import WINDOW, is_known_in

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from agentnb.comm.channel_owner import ChannelOwner
    from agentnb.comm.client import DeliveryClient
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


CODES: tuple[tuple[type[Exception], int], ...] = (
    (UnsupportedVersion, m.UNSUPPORTED_VERSION),
    (UnknownClient, m.UNKNOWN_CLIENT),
    (UnknownSession, m.UNKNOWN_SESSION),
    (Exception, m.REFUSED),
)
"""The codes that errors are answered with; the first that fits."""


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
        self._rpc = Connection(
            lambda _: None, AHP, on_request=self._answer, to_error=_error_of, start=self._host.loop.spawn
        )
        self._notifications: dict[str, Callable[[str, Any], None]] = {
            "dispatchAction": self._dispatch,
            f"{m.OURS}ack": self._ack,
            f"{m.OURS}resync": self._resync,
            f"{m.OURS}visibility": self._visibility,
            f"{m.OURS}ping": self._ping,
            f"{m.OURS}draft": self._draft,
            f"{m.OURS}leave": self._leave,
        }

    def carry_out(self, channel: str, action: Action, origin: ActionOrigin) -> None:
        """Do what a client wants with *action*.

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

    def join(self, client: DeliveryClient, send: Send) -> None:
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

    def ask(self, client_id: str, name: str, params: Any) -> Any:
        """Carry out a request of the table, whichever transport it came on.

        Args:
            client_id: Who asks.
            name: The name of a request.
            params: Its parameters, as JSON.

        Returns:
            The result, or a coroutine of it; `Bytes` where something travels beside it.

        Raises:
            RpcError: If there is no such request.
            AgentnbError: If it cannot be done.
        """
        method = self.method(name)
        if method is None:
            raise RpcError(METHOD_NOT_FOUND, f"There is no method {name[:100]!r}.")
        result = self.carry_out_request(client_id, method, _read(name, params, method.params))
        return _encoded_later(result) if inspect.iscoroutine(result) else encoded(result)

    def tell(self, client_id: str, method: str, params: Any) -> None:
        """Take a notification of a client, whichever transport it came on."""
        self._notifications[method](client_id, _read(method, params, PAGE_NOTIFICATIONS[method]))

    # --- the comm ---

    def receive(self, content: object) -> None:
        """Take one message from a page."""
        try:
            message = _decode(content)
        except (TypeError, ValueError, RecursionError) as error:
            self._complain(f"A page sent a message that is not of the protocol: {error}")
            self._fail_unread(content)
            return
        if message.id is not None:
            request = RpcMessage(id=message.id, method=message.method, params=message)
            self._rpc.serve(request, partial(self._reply, message.client_id))
        elif message.v not in self.versions:
            self._complain(str(self._other_version(message.v)))
        else:
            self._take(message.client_id, message.method, message.params)

    def _answer(self, method: str, message: m.FromPage) -> Any:
        if message.v not in self.versions and method not in {"initialize", "reconnect"}:
            raise self._other_version(message.v)
        return self.ask(message.client_id, method, message.params)

    def _other_version(self, version: int) -> UnsupportedVersion:
        return UnsupportedVersion(f"This kernel speaks version {self.versions}, not {version}.")

    def _reply(self, client_id: str, answer: dict[str, Any] | None) -> None:
        if answer is None:
            return
        result = answer.get("result")
        if isinstance(result, Bytes):
            self._send(client_id, {**answer, "result": result.result}, result.buffers)
        else:
            self._send(client_id, answer)

    def _take(self, client_id: str, name: str, params: Any) -> None:
        if name not in self._notifications:
            self._complain(f"A page sent the unknown notification {name!r}.")
        elif self.delivery.heard(client_id) is None:
            self._send(client_id, notification(f"{m.OURS}unknownClient", {}))
        else:
            try:
                self.tell(client_id, name, params)
            except (RpcError, AgentnbError) as error:
                self._complain(str(error))
            except Exception:
                log.exception("taking %s failed", name)

    def _draft(self, client_id: str, params: m.DraftParams) -> None:
        uri = self._host.find(params.channel).chat.uri
        if len(params.text) > LONGEST_DRAFT:
            return
        if params.text:
            self.drafts[uri] = params.text
        else:
            self.drafts.pop(uri, None)
        said = notification(f"{m.OURS}draft", {"channel": uri, "text": params.text})
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
            if origin in self.delivery.accepted:
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
        self._send(client_id, notification(f"{m.OURS}pong", {"hostId": self._host.host_id, "indexes": indexes}))

    def _leave(self, client_id: str, params: m.LeaveParams) -> None:  # noqa: ARG002 - there is nothing in it
        self.delivery.leave(self.delivery.clients[client_id])

    def _send(self, client_id: str, message: dict[str, Any], buffers: tuple[bytes, ...] = ()) -> None:
        """Send it in the version that the client speaks."""
        client = self.delivery.clients.get(client_id)
        version = self.versions.current if client is None else client.version
        send = self._routes.get(client_id, self._transport)
        send(client_id, {**message, "v": version}, buffers)

    def _fail_unread(self, content: object) -> None:
        """Answer a request that could not be read, where it says whose it is: the page waits for an answer."""
        match content:
            case {"clientId": str(client_id), "id": int() | str() as request_id}:
                error = RpcError(INVALID_PARAMS, "The message cannot be read.")
                self._send(client_id, error_answer(request_id, error))

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
        methods = (_of_plugin(plugin.name, request) for plugin, request in offered_requests())
        return {method.name: method for method in methods}

    def method(self, name: str) -> Method | None:
        """See :meth:`PageService.method`; plug-ins are looked for when a page first asks one."""
        return (self._of_plugins if "/" in name.removeprefix(m.OURS) else REQUESTS).get(name)

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

    name = wire_name(request.name)
    return Method(name=name, sender="page", params=request.params, result=request.result, function=answer)


def _read(method: str, sent: Any, kind: type[Any]) -> Any:
    try:
        return msgspec.convert({} if sent is None else sent, kind)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"{method}: {error}") from None


def _error_of(error: Exception) -> RpcError:
    if isinstance(error, RpcError):
        return error
    code = next(code for kind, code in CODES if isinstance(error, kind))
    if isinstance(error, AgentnbError):
        return RpcError(code, str(error))
    log.error("answering a page failed", exc_info=error)
    return RpcError(code, f"The kernel failed: {unexpected(error)}.")


async def _encoded_later(result: Coroutine[Any, Any, Any]) -> Any:
    return encoded(await result)


def _decode(content: object) -> m.FromPage:
    data = msgspec.json.encode(without_half_characters(content))
    if is_too_deep(data):
        raise ValueError(f"it is nested deeper than {NESTING_LIMIT} levels")
    return msgspec.json.decode(data, type=m.FromPage)
