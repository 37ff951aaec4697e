"""The table of requests: each row has the name, the parameters, the answer and the function that carries it out.

A module of requests registers its functions with :func:`request`; `agentnb.server.methods` imports them all. The page's
comm, the AHP server (`Method.right`), plug-ins, ``docs/reference/protocol.md``, the TypeScript client and the contract
tests use this table.
"""

from __future__ import annotations

import base64
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from agentnb.rpc_message import INVALID_PARAMS
from agentnb.server.messages import OURS, REFUSED, UNKNOWN_SESSION, UNSUPPORTED_VERSION
from agentnb.state import to_json
from agentnb.state.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.server.service import PageService
    from agentnb.server.window import ChannelOwner


H_co = TypeVar("H_co", bound="ChannelOwner", covariant=True)
Right: TypeAlias = Literal["watch", "drive", "approve", "answer"]
"""``watch``: see conversations; ``drive``: prompt, cancel, open and close them; ``approve``: answer permission
requests, change permissions, undo changes; ``answer``: see permission requests, answer each for once, stop a turn."""

COMMON_ERRORS = (INVALID_PARAMS, UNSUPPORTED_VERSION, UNKNOWN_SESSION, REFUSED)
"""The error codes that any request can return."""


@dataclass(frozen=True)
class Asker(Generic[H_co]):
    """The client that makes a request, with its host and the service that answers it."""

    client_id: str
    host: H_co
    service: PageService


class Bytes(NamedTuple):
    """An answer with bytes, which are sent as base64."""

    result: Any
    buffers: tuple[bytes, ...]


class EmptyResult(Wire, frozen=True, kw_only=True):
    """Done; there is nothing to say."""


class ChangedResult(Wire, frozen=True, kw_only=True):
    """The result of a change.

    Attributes:
        confirm: The sentence that the user must confirm; if present, nothing was changed.
    """

    confirm: str | None = None


@dataclass(frozen=True, kw_only=True)
class Method:
    """One method of the protocol: a row of the table."""

    name: str  # on the wire
    sender: Literal["page", "kernel"]
    params: type[Any]
    result: type[Any] | None = None  # None for a notification
    function: Callable[[Asker[Any], Any], Any] | None = None
    right: Right | None = None  # that clients on a WebSocket need; None if they may not use it
    errors: tuple[int, ...] = ()  # codes, in addition to those of every request

    @property
    def about(self) -> str:
        """Returns what it is for, from the docstring of its parameters."""
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
"""The methods of pages that AHP also has."""


def wire_name(name: str) -> str:
    """The name of a method on the wire: AHP's own, or one of ours (``x-agentnb/…``)."""
    return name if name in AHP_METHODS else OURS + name


REQUESTS: dict[str, Method] = {}
"""The requests of pages, by name."""
PAGE_NOTIFICATIONS: dict[str, Method] = {}
"""The messages of pages that need no answer, by name."""


F = TypeVar("F", bound="Callable[..., Any]")


def request(name: str, params: Any = None, result: Any = None, **columns: Any) -> Callable[[F], F]:
    """Add a row to the table: the function below answers the request *name*; see :class:`Method` for the columns.

    Its keyword-only parameters are those of the request, its docstring describes them, and it returns the answer. Give
    *params* and *result* if the signature does not show them: a struct that is passed on, an answer with bytes.
    """

    def register(function: F) -> F:
        answer = result or _annotated(function, "return") or EmptyResult
        row = _row(name, params, function, result=answer, **columns)
        REQUESTS[row.name] = row
        return function

    return register


def page_notification(name: str, params: Any = None) -> Callable[[F], F]:
    """Add a row to the notifications of pages: the function below takes it; see :func:`request`."""

    def register(function: F) -> F:
        row = _row(name, params, function)
        PAGE_NOTIFICATIONS[row.name] = row
        return function

    return register


def _row(name: str, params: Any, function: Callable[..., Any], **columns: Any) -> Method:
    carry_out = function if params is not None else _with_keywords(function)
    taken = params or _params_of(name, function)
    return Method(name=wire_name(name), sender="page", params=taken, function=carry_out, **columns)


def _annotated(function: Callable[..., Any], name: str) -> Any:
    return eval(function.__annotations__[name], function.__globals__)  # noqa: S307 - the module's own annotation


def _params_of(name: str, function: Callable[..., Any]) -> type[Any]:
    """The struct of the request's parameters, which are the keyword-only ones of *function*."""
    defaults = function.__kwdefaults__ or {}
    code = function.__code__
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    fields = [(each, _annotated(function, each), defaults.get(each, msgspec.NODEFAULT)) for each in keywords]
    title, about = f"{name[0].upper()}{name[1:]}Params", {"__doc__": function.__doc__}
    struct: type[Any] = msgspec.defstruct(title, fields, bases=(Wire,), namespace=about, frozen=True, kw_only=True)
    return struct


def _with_keywords(function: Callable[..., Any]) -> Callable[[Asker[Any], Any], Any]:
    return lambda asker, params: function(asker, **{each: getattr(params, each) for each in params.__struct_fields__})


BUFFERS = "_buffers"
"""The key of an answer's bytes, in base64."""


def with_bytes(answer: Bytes) -> dict[str, Any]:
    """Returns an answer with its bytes, in the form for both transports.

    Not as binary messages: after one, jupyter_server's gateway client receives nothing more.
    """
    return {**answer.result, BUFFERS: [base64.b64encode(each).decode() for each in answer.buffers]}


def encoded(result: Any) -> Any:
    """An answer as JSON; `Bytes` keep their buffers."""
    if isinstance(result, Bytes):
        return Bytes(encoded(result.result), result.buffers)
    if result is None:
        return {}
    return result if isinstance(result, dict) else to_json(result)
