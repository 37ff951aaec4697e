"""The one table of requests: each row has the name, the parameters, the answer and the function that carries it out.

A module of requests registers its functions with :func:`request`; `agentnb.comm.methods` imports them all. The page's
comm, the AHP server (`Method.right`), plug-ins, ``docs/reference/protocol.md``, the TypeScript client and the contract
tests work by this table.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar, overload

from agentnb.comm.messages import OURS, REFUSED, UNKNOWN_SESSION, UNSUPPORTED_VERSION
from agentnb.rpc_message import INVALID_PARAMS
from agentnb.state import to_json
from agentnb.state.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from agentnb.comm.channel_owner import ChannelOwner
    from agentnb.comm.service import PageService

H_co = TypeVar("H_co", bound="ChannelOwner", covariant=True)
P = TypeVar("P")
R = TypeVar("R", bound=Wire)
Right: TypeAlias = Literal["watch", "drive", "approve"]
"""``watch``: see conversations; ``drive``: prompt, cancel, open and close them; ``approve``: answer permission
requests, change permissions, undo changes."""

COMMON_ERRORS = (INVALID_PARAMS, UNSUPPORTED_VERSION, UNKNOWN_SESSION, REFUSED)
"""The codes that any request can be answered with."""


@dataclass(frozen=True)
class Asker(Generic[H_co]):
    """The client that makes a request.

    Attributes:
        client_id: Its id.
        host: The host that it talks to.
        service: The service that answers it.
    """

    client_id: str
    host: H_co
    service: PageService


class Bytes(NamedTuple):
    """An answer with binary buffers.

    Attributes:
        result: The answer.
        buffers: The buffers that travel beside it.
    """

    result: Any
    buffers: tuple[bytes, ...]


class EmptyResult(Wire, frozen=True, kw_only=True):
    """Done; there is nothing to say."""


class ChangedResult(Wire, frozen=True, kw_only=True):
    """Whether it was changed.

    Attributes:
        confirm: The sentence that the user must confirm; nothing was changed then.
    """

    confirm: str | None = None


@dataclass(frozen=True, kw_only=True)
class Method:
    """One method of the protocol: a row of the table.

    Args:
        name: Its name on the wire.
        sender: Who sends it.
        params: The struct of its parameters.
        result: The struct of the answer; None for a notification.
        function: The function that answers a request.
        right: The right that clients on a WebSocket need for it (`agentnb.ahp`); None where they may not ask.
        errors: The codes of errors it can be answered with, beside those of every request.
    """

    name: str
    sender: Literal["page", "kernel"]
    params: type[Any]
    result: type[Any] | None = None
    function: Callable[[Asker[Any], Any], Any] | None = None
    right: Right | None = None
    errors: tuple[int, ...] = ()

    @property
    def about(self) -> str:
        """What it is for, from the docstring of its parameters."""
        first = (inspect.getdoc(self.params) or "").split("\n\n")[0]
        return " ".join(first.removeprefix(f"``{self.name.removeprefix(OURS)}``:").split())


AHP_METHODS = frozenset(
    {
        "createSession",
        "dispatchAction",
        "disposeSession",
        "fetchTurns",
        "initialize",
        "invokeChangesetOperation",
        "reconnect",
        "subscribe",
        "unsubscribe",
    }
)
"""The methods of pages that AHP has, too."""


def wire_name(name: str) -> str:
    """The name of a method on the wire: AHP's own, or one of ours (``x-agentnb/…``)."""
    return name if name in AHP_METHODS else OURS + name


REQUESTS: dict[str, Method] = {}
"""The requests of pages, by name."""


if TYPE_CHECKING:
    Nothing: TypeAlias = Callable[[Asker[Any], P], Coroutine[Any, Any, None] | None]
    Answering: TypeAlias = Callable[[Asker[Any], P], Coroutine[Any, Any, R | Bytes] | R | Bytes | dict[str, Any]]


@overload
def request(name: str, params: type[P], *, right: Right | None = ...) -> Callable[[Nothing[P]], Nothing[P]]: ...


@overload
def request(
    name: str,
    params: type[P],
    result: type[R],
    *,
    right: Right | None = ...,
    errors: tuple[int, ...] = ...,
) -> Callable[[Answering[P, R]], Answering[P, R]]: ...


def request(name: str, params: Any, result: Any = EmptyResult, **columns: Any) -> Any:
    """Add a row to the table: the function below answers the request; see :class:`Method` for the columns."""

    def register(function: Any) -> Any:
        wire = wire_name(name)
        REQUESTS[wire] = Method(name=wire, sender="page", params=params, result=result, function=function, **columns)
        return function

    return register


def encoded(result: Any) -> Any:
    """An answer as JSON; `Bytes` keep their buffers."""
    if isinstance(result, Bytes):
        return Bytes(encoded(result.result), result.buffers)
    if result is None:
        return {}
    return result if isinstance(result, dict) else to_json(result)
