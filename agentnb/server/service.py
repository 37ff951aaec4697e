"""Decodes, carries out and answers every message of a page (`agentnb.server.methods` lists the requests).

Runs on the host's thread. An invalid message is answered or dropped, and logged once; it never breaks the channel.
"""

from __future__ import annotations

import inspect
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from agentnb.credentials import logger
from agentnb.errors import AgentnbError, UnknownSession, UnsupportedVersion, UsageError, unexpected
from agentnb.host.intents import carry_out
from agentnb.plugin_registry import plugins
from agentnb.rpc import AHP, Connection
from agentnb.rpc_message import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError, RpcMessage, error_answer, notification
from agentnb.safe_json import NESTING_LIMIT, is_too_deep, without_half_characters
from agentnb.server import messages as m
from agentnb.server import window
from agentnb.server.client_requests import UnknownClient
from agentnb.server.delivery import Delivery
from agentnb.server.methods import PAGE_NOTIFICATIONS, REQUESTS
from agentnb.server.request_table import Asker, Bytes, Method, encoded, wire_name, with_bytes
from agentnb.server.window import Contents
from agentnb.state.versions import WINDOW

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from logging import Logger

    from agentnb.host.host import Host
    from agentnb.ports import Plugin, Request
    from agentnb.server.client import DeliveryClient
    from agentnb.server.notices import Notices
    from agentnb.server.window import ChannelOwner
    from agentnb.state import Action, ActionOrigin
    from agentnb.state.versions import Window

log: Logger = logger("agentnb.comm")
N = TypeVar("N", bound="Notices")


Send: TypeAlias = "Callable[[str, dict[str, Any]], None]"
"""Sends one message to one client; never waits."""

CODES: tuple[tuple[type[Exception], int], ...] = (
    (UnsupportedVersion, m.UNSUPPORTED_VERSION),
    (UnknownClient, m.UNKNOWN_CLIENT),
    (UnknownSession, m.UNKNOWN_SESSION),
    (Exception, m.REFUSED),
)
"""The error codes of answers; the first that fits is used."""


class PageService:
    """Answers the messages of pages; each kind of host carries out requests and actions in its own way.

    *turns* is the number of a chat's turns that a page gets at first; it fetches the others.
    """

    def __init__(self, host: ChannelOwner, send: Send, *, turns: int = window.TURNS, versions: Window = WINDOW) -> None:
        self.delivery: Delivery = Delivery(host, self.send, turns=turns)
        self.versions = versions
        self.drafts: dict[str, str] = {}
        self.contents: Contents = Contents()
        self._host = host
        self._transport = send
        self._routes: dict[str, Send] = {}
        self._logged: set[str] = set()
        self._notices: dict[type[Any], Any] = {}
        self._rpc = Connection(lambda _: None, AHP, on_request=self._answer, to_error=_error_of, start=host.loop.spawn)

    def carry_out(self, channel: str, action: Action, origin: ActionOrigin) -> None:
        """Carry out a client's *action*.

        Raises:
            AgentnbError: If the client may not do it, or it is not possible.
        """
        raise NotImplementedError

    def method(self, name: str) -> Method | None:
        return REQUESTS.get(name)

    def carry_out_request(self, client_id: str, method: Method, params: Any) -> Any:
        """Returns the result of a request, or a coroutine that returns it."""
        raise NotImplementedError

    def notices(self, kind: type[N], host: Host) -> N:
        """Returns the notices of *kind* for *host*, which the first call creates."""
        if kind not in self._notices:
            self._notices[kind] = kind(host, self.delivery, self.send)
        notices: N = self._notices[kind]
        return notices

    def join(self, client: DeliveryClient, send: Send) -> None:
        """Add *client*, which uses another transport, *send*; that transport reports when it has gone (`leave`)."""
        self._routes[client.client_id] = send
        self.delivery.join(client)

    def leave(self, client_id: str) -> None:
        """Remove the client whose transport has lost it."""
        self._routes.pop(client_id, None)
        self.delivery.drop(client_id)

    def ask(self, client_id: str, name: str, params: Any) -> Any:
        """Carry out a request of the table, from any transport.

        Returns the result, or a coroutine of it; `Bytes` if it contains bytes.

        Raises:
            RpcError: If the request does not exist, or its parameters are invalid.
            AgentnbError: If it is not possible.
        """
        method = self.method(name)
        if method is None:
            raise RpcError(METHOD_NOT_FOUND, f"There is no method {name[:100]!r}.")
        result = self.carry_out_request(client_id, method, _read(name, params, method.params))
        return _encoded_later(result) if inspect.iscoroutine(result) else encoded(result)

    def tell(self, client_id: str, method: str, params: Any) -> None:
        """Handle a client's notification, whichever transport it came on."""
        row = PAGE_NOTIFICATIONS[method]
        assert row.function is not None  # noqa: S101 - every row of pages has one
        row.function(Asker(client_id, self._host, self), _read(method, params, row.params))

    # --- the comm ---

    def receive(self, content: object) -> None:
        try:
            message = _decode(content)
        except (TypeError, ValueError, RecursionError) as error:
            self.complain(f"A page sent a message that is not of the protocol: {error}")
            self._fail_unread(content)
            return
        if message.id is not None:
            request = RpcMessage(id=message.id, method=message.method, params=message)
            self._rpc.serve(request, partial(self._reply, message.client_id))
        elif message.v not in self.versions:
            self.complain(str(self._other_version(message.v)))
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
        self.send(client_id, {**answer, "result": with_bytes(result)} if isinstance(result, Bytes) else answer)

    def _take(self, client_id: str, name: str, params: Any) -> None:
        if name not in PAGE_NOTIFICATIONS:
            self.complain(f"A page sent the unknown notification {name!r}.")
        elif self.delivery.heard(client_id) is None:
            self.send(client_id, notification(f"{m.OURS}unknownClient", {}))
        else:
            try:
                self.tell(client_id, name, params)
            except (RpcError, AgentnbError) as error:
                self.complain(str(error))
            except Exception:
                log.exception("taking %s failed", name)

    def send(self, client_id: str, message: dict[str, Any]) -> None:
        """Send *message* with the protocol version that the client speaks."""
        client = self.delivery.clients.get(client_id)
        version = self.versions.current if client is None else client.version
        send = self._routes.get(client_id, self._transport)
        send(client_id, {**message, "v": version})

    def _fail_unread(self, content: object) -> None:
        """Answer a request that could not be read, if its sender is known: the page waits for an answer."""
        match content:
            case {"clientId": str(client_id), "id": int() | str() as request_id}:
                error = RpcError(INVALID_PARAMS, "The message cannot be read.")
                self.send(client_id, error_answer(request_id, error))

    def complain(self, text: str) -> None:
        """Log *text*, but only the first time."""
        if text not in self._logged:
            self._logged.add(text)
            log.warning("%s", text)


class Service(PageService):
    """Answers what pages send about this kernel's conversations; see :class:`PageService`."""

    def __init__(self, host: Host, send: Send, *, turns: int = window.TURNS, versions: Window = WINDOW) -> None:
        super().__init__(host, send, turns=turns, versions=versions)
        self._owner = host

    @cached_property
    def _of_plugins(self) -> dict[str, Method]:
        methods = (_of_plugin(plugin.name, request) for plugin, request in offered_requests())
        return {method.name: method for method in methods}

    def method(self, name: str) -> Method | None:
        """See :meth:`PageService.method`; plug-ins are looked up when a page first asks for one."""
        return (self._of_plugins if "/" in name.removeprefix(m.OURS) else REQUESTS).get(name)

    def carry_out_request(self, client_id: str, method: Method, params: Any) -> Any:
        assert method.function is not None  # noqa: S101 - every request has one
        return method.function(Asker(client_id, self._owner, self), params)

    def carry_out(self, channel: str, action: Action, origin: ActionOrigin) -> None:
        carry_out(self._owner, channel, action, origin)


def offered_requests() -> list[tuple[Plugin, Request]]:
    """Returns the requests of plug-ins; each name begins with the plug-in's name, so that it hides none of ours."""
    registry = plugins()
    offered: list[tuple[Plugin, Request]] = []
    for plugin, request in registry.offers("requests"):
        if request.name.startswith(f"{plugin.name}/"):
            offered.append((plugin, request))
        else:
            wrong = UsageError(f"the name {request.name!r} does not begin with '{plugin.name}/'.")
            registry.failed(plugin.name, "requests", wrong)
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
