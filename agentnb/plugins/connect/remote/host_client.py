"""A client of another host: one WebSocket for requests and their answers, which reconnects after a cut."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidStatus, InvalidURI

from agentnb.credentials import logger
from agentnb.errors import AgentnbError, HostUnavailable, ProtocolError, UnsupportedVersion
from agentnb.ids import new_id
from agentnb.rpc import AHP, Connection
from agentnb.rpc_message import INVALID_PARAMS, RpcError
from agentnb.server.websocket import commands as c
from agentnb.server.websocket.server import NOT_SERVED, silent_logger

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from logging import Logger

    from websockets.asyncio.client import ClientConnection

    from agentnb.host.loop import HostLoop
    from agentnb.plugins.connect.remote.mirrored_host import MirroredHost

log: Logger = logger("agentnb.ahp")

LARGEST_MESSAGE = 64 * 1024 * 1024
OPEN_SECONDS = 10.0
ANSWER_SECONDS = 60.0
PING_SECONDS = 10.0
AGAIN_SECONDS = (0.1, 1.0, 3.0)
"""Seconds before each attempt to reconnect; the last value repeats, as when a page retries its kernel (`RETRY_MS`)."""
REFUSED = frozenset({400, 401, 403, 404})
"""HTTP statuses of a handshake after which retrying is useless."""

GONE = (
    "It is no longer served: its kernel was restarted or ended, or serving was stopped. Serve it again, and "
    "connect to its new address."
)

LinkState: TypeAlias = Literal["connecting", "connected", "cut", "ended"]
"""State of the connection: after ``cut`` it reconnects by itself; after ``ended`` it does not."""


class RequestRefused(AgentnbError):
    """The other host answered with an error."""

    def __init__(self, message: str, code: int, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class HostClient:
    """Keeps a connection to another host. On the host's thread."""

    def __init__(
        self,
        loop: HostLoop,
        address: str,
        token: str,
        *,
        tls: ssl.SSLContext | None,
        is_local: bool,
        mirror: MirroredHost,
        is_gone: Callable[[], bool],
    ) -> None:
        self.client_id: str = f"kernel-{new_id()}"
        self.state: LinkState = "connecting"
        self.why: str = ""
        self._loop, self._address, self._token, self._tls = loop, address, token, tls
        self._mirror = mirror
        self._is_gone = is_gone
        self._options: dict[str, Any] = {"proxy": None} if is_local else {}
        self._socket: ClientConnection | None = None
        self._rpc: Connection | None = None
        self._broken: AgentnbError | None = None
        self._running: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect for the first time."""
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._running = self._loop.spawn(self._run(begun))
        try:
            await begun
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Disconnect permanently."""
        self._stand("ended", "The connection was closed.")
        running, self._running = self._running, None
        if running is not None:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running

    def fail(self, error: AgentnbError) -> None:
        """Give up, because the other host has sent what cannot be read."""
        self._stand("ended", str(error))
        if self._running is not None:
            self._running.cancel()

    async def request(self, method: str, params: dict[str, Any], then: Callable[[Any], Any] = lambda it: it) -> Any:
        if self._rpc is None or self._rpc.closed:
            raise HostUnavailable("There is no connection to the other host.", hint="Try again once there is.")
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def done(result: Any, error: Exception | None) -> None:
            if answer.done():
                return
            try:
                if error is not None:
                    raise error
                answer.set_result(then(result))
            except Exception as failure:  # noqa: BLE001 - whatever it is, it is the answer
                answer.set_exception(_in_words(failure))

        number, rpc = self._rpc.call(method, params, done), self._rpc
        try:
            return await asyncio.wait_for(answer, ANSWER_SECONDS)
        except asyncio.TimeoutError:
            raise HostUnavailable(f"The other host did not answer {method}.", hint="Try again.") from None
        finally:
            rpc.take_back(number)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification; without a connection nothing is sent."""
        if self._rpc is not None:
            self._rpc.notify(method, params)

    # --- the connection ---

    async def _run(self, begun: asyncio.Future[None]) -> None:
        attempt = 0
        while self._may_go_on():
            try:
                async with connect(
                    self._address,
                    ssl=self._tls,
                    additional_headers={"Authorization": f"Bearer {self._token}"},
                    compression=None,
                    **self._options,
                    max_size=LARGEST_MESSAGE,
                    open_timeout=OPEN_SECONDS,
                    ping_interval=PING_SECONDS,
                    ping_timeout=PING_SECONDS,
                    close_timeout=2,
                    user_agent_header=None,
                    logger=silent_logger(),
                ) as socket:
                    await self._talk(socket, begun)
                attempt, why = 0, "The connection was lost."
                if socket.close_code == NOT_SERVED:
                    self._stand("ended", GONE)
            except (OSError, InvalidHandshake, InvalidURI, EOFError, asyncio.TimeoutError, AgentnbError) as error:
                wrong = self._explain(error)
                why = str(wrong)
                if not begun.done():
                    begun.set_exception(wrong)
                if isinstance(wrong, (UnsupportedVersion, ProtocolError)) or is_refusal(error):
                    self._stand("ended", why)
                elif self._is_gone():
                    self._stand("ended", GONE)
            if not self._may_go_on():
                return
            self._stand("cut", why)
            await asyncio.sleep(AGAIN_SECONDS[min(attempt, len(AGAIN_SECONDS) - 1)])
            attempt += 1

    def _may_go_on(self) -> bool:
        return self.state != "ended"

    async def _talk(self, socket: ClientConnection, begun: asyncio.Future[None]) -> None:
        """Exchange messages until the connection ends."""
        self._socket, self._broken, outgoing = socket, None, asyncio.Queue[bytes]()
        self._rpc = Connection(
            outgoing.put_nowait, AHP, on_notifications=self._notified, on_invalid=self._break, longest=LARGEST_MESSAGE
        )
        writer, introducer = (
            asyncio.ensure_future(each) for each in (_write(socket, outgoing), self._introduce(begun))
        )
        try:
            await self._read(socket, self._rpc)
            self._give_up_requests()
            await introducer
        finally:
            self._give_up_requests()
            writer.cancel()
            introducer.cancel()
            await asyncio.gather(writer, introducer, return_exceptions=True)

    def _give_up_requests(self) -> None:
        self._socket = None
        if self._rpc is not None:
            self._rpc.close(HostUnavailable("The connection was lost before an answer arrived."))

    async def _introduce(self, begun: asyncio.Future[None]) -> None:
        params: dict[str, Any] = {"channel": "ahp-root://", "clientId": self.client_id, "_meta": c.IS_OURS}
        seen, subscriptions = self._mirror.seen, list(self._mirror.subscriptions)
        if seen is None:
            params |= {"protocolVersions": list(c.SPOKEN), "initialSubscriptions": subscriptions}
        else:
            params |= {"lastSeenServerSeq": seen, "subscriptions": subscriptions}
        try:
            await self.request("initialize" if seen is None else "reconnect", params, self._mirror.introduced)
        except AgentnbError as error:
            if self._socket is not None:
                await self._socket.close()  # the reader then ends and raises the error
            elif isinstance(error, HostUnavailable):
                where = self._address.partition("?")[0]
                what = f"The host at {where} closed the connection before it answered."
                hint = (
                    "Behind a proxy, check that the kernel is served, that the token belongs to it, and that "
                    "`hosts` names the proxy."
                )
                raise HostUnavailable(what, hint=hint) from error
            raise
        self._stand("connected", "")
        if not begun.done():
            begun.set_result(None)

    async def _read(self, socket: ClientConnection, rpc: Connection) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for text in socket:
                rpc.receive(text.encode("utf-8", "replace") if isinstance(text, str) else text)
                if self._broken is not None:
                    raise self._broken

    def _notified(self, notifications: list[tuple[str, Any]]) -> None:
        for method, params in notifications:
            if not isinstance(params, dict):
                self._break(RpcError(INVALID_PARAMS, f"the parameters of {method[:100]} are not an object"))
                continue
            try:
                self._mirror.notified(method, params)
            except Exception as error:  # noqa: BLE001 - whatever it is, the mirror lacks something from here on
                self._broken = error if isinstance(error, AgentnbError) else _unreadable(error)
                return

    def _break(self, error: RpcError) -> None:
        self._broken = _unreadable(error)

    def _stand(self, state: LinkState, why: str) -> None:
        if (state, why) != (self.state, self.why) and self.state != "ended":
            self.state, self.why = state, why
            self._mirror.stands(state, why)

    def _explain(self, error: Exception) -> AgentnbError:
        where = self._address.partition("?")[0]
        if isinstance(error, RequestRefused):
            if error.code == c.UNSUPPORTED_PROTOCOL_VERSION:
                theirs = error.data.get("supportedVersions") if isinstance(error.data, dict) else None
                cause = ", ".join(map(str, theirs[:10])) if isinstance(theirs, list) else "unknown to it"
                return UnsupportedVersion(
                    f"The host at {where} speaks version {cause} of the Agent Host Protocol, this kernel "
                    f"{' and '.join(c.SPOKEN)}.",
                    hint="Update agentnb in both kernels.",
                )
            return HostUnavailable(f"The host at {where} refused the connection: {error}")
        if isinstance(error, AgentnbError):
            return error
        if isinstance(error, InvalidStatus):
            status = error.response.status_code
            cause = bytes(error.response.body or b"")[:200].decode("utf-8", "replace").strip()
            hint = "`agentnb serve --list`, where that kernel runs, shows the address with its token."
            return HostUnavailable(f"The host at {where} refused the connection ({status}): {cause}", hint=hint)
        was_cut = isinstance(error, InvalidMessage) and isinstance(error.__cause__, (EOFError, OSError))
        if isinstance(error, (InvalidHandshake, EOFError, InvalidURI)) and not was_cut:
            return HostUnavailable(f"The program that answers at {where} is not an agent host: {error}")
        cause = "the connection was closed" if was_cut else str(error) or "it did not answer in time"
        return HostUnavailable(
            f"The host at {where} cannot be reached: {cause}", hint="Check that its kernel is running and served."
        )


def is_refusal(error: Exception) -> bool:
    """True if there is no point in connecting again."""
    if isinstance(error, InvalidStatus):
        return error.response.status_code in REFUSED
    return isinstance(error, (RequestRefused, InvalidURI))


async def _write(socket: ClientConnection, outgoing: asyncio.Queue[bytes]) -> None:
    with contextlib.suppress(ConnectionClosed):
        while True:
            await socket.send((await outgoing.get()).decode())


def _in_words(error: Exception) -> AgentnbError:
    if isinstance(error, RpcError):
        return RequestRefused(error.message[:1_000], error.code, error.data)
    return error if isinstance(error, AgentnbError) else _unreadable(error)


def _unreadable(error: Exception) -> ProtocolError:
    return ProtocolError(f"The other host sent what this kernel cannot read: {error}", hint="Update agentnb in both.")
