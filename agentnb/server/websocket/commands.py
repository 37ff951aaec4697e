"""The commands of AHP over the WebSocket: versions, errors, and the table of commands.

The functions that answer them add the rows; ``docs/reference/ahp.md`` is generated from the table.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from agentnb.errors import (
    FileUnavailable,
    OutsideWorkspace,
    PermissionDenied,
    UnknownAgent,
    UnknownSession,
    UnsupportedVersion,
)
from agentnb.rpc_message import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from agentnb.state import TextRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentnb.server.request_table import Right


SPOKEN = ("1.0.0", "0.9.0")
"""The versions that this host speaks, newest first: those that the protocol's own clients offer, in one form. Each
covers all versions compatible with it by its number (1.0.0 for all 1.x, 0.9.0 for 0.9.x), as the specification asks."""

_FORM = re.compile(r"(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})")


def negotiate(offered: Iterable[str]) -> str:
    """Returns the highest of the *offered* versions that is supported here, spelled as it was offered."""
    wanted = sorted({version for version in offered if _FORM.fullmatch(version)}, key=_key)
    compatible = [version for version in wanted if any(_is_compatible(version, spoken) for spoken in SPOKEN)]
    if not compatible:
        wanted_text = ", ".join(wanted[:10]) or "none"
        message = (
            f"The client speaks version {wanted_text} of the Agent Host Protocol, this kernel {' and '.join(SPOKEN)}."
        )
        raise UnsupportedVersion(message, hint="Update agentnb, or use a client that also offers one of these.")
    return compatible[-1]


def _is_compatible(version: str, spoken: str) -> bool:
    same = 1 if _key(spoken)[0] else 2
    return _key(version)[:same] == _key(spoken)[:same] and _key(version) >= _key(spoken)


def _key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


SESSION_NOT_FOUND = -32001
PROVIDER_NOT_FOUND = -32002
SESSION_ALREADY_EXISTS = -32003
UNSUPPORTED_PROTOCOL_VERSION = -32005
NOT_FOUND = -32008
PERMISSION_DENIED = -32009
ALREADY_EXISTS = -32010
CONFLICT = -32011

Uri = Annotated[str, msgspec.Meta(max_length=2_000)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
MOST_SUBSCRIPTIONS = 1_000
Uris = Annotated[tuple[Uri, ...], msgspec.Meta(max_length=MOST_SUBSCRIPTIONS)]


class Params(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of all parameters (AHP ``BaseParams``)."""

    channel: Uri


OURS = "agentnb"
IS_OURS = {OURS: 2}
"""The marker of another agentnb kernel in ``_meta``, also in the answer to it: it gets agentnb's own states, actions
and requests, too, in this version of their form. Version 1 was agentnb 0.2's: it sends and gets only what AHP has."""


class InitializeCommand(Params, frozen=True, kw_only=True):
    """The first request of a connection."""

    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")

    protocol_versions: Annotated[tuple[str, ...], msgspec.Meta(max_length=100)]
    client_id: Name
    initial_subscriptions: Uris = ()
    locale: str | None = None


class ReconnectCommand(Params, frozen=True, kw_only=True):
    """The first request of a connection whose client had another one before."""

    client_id: Name
    last_seen_server_seq: float
    subscriptions: Uris
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class DispatchCommand(Params, frozen=True, kw_only=True):
    client_seq: int
    action: dict[str, Any]


class SubscribeView(msgspec.Struct, frozen=True, kw_only=True):
    turns: Annotated[int, msgspec.Meta(ge=0)] | None = None


class SubscribeCommand(Params, frozen=True, kw_only=True):
    view: SubscribeView = SubscribeView()


class ListSessionsCommand(Params, frozen=True, kw_only=True):
    """A page of the list; all of it by default."""

    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None
    cursor: Uri | None = None


class CreateSessionCommand(Params, frozen=True, kw_only=True):
    """A new conversation, at a URI that the client chooses."""

    provider: str | None = None
    working_directory: Uri | None = None
    working_directories: Uris = ()
    config: dict[str, Any] | None = None
    fork: dict[str, Any] | None = None


class FetchTurnsCommand(Params, frozen=True, kw_only=True):
    """A request for older turns of a chat: those of its cursor; for a kernel of ours, those before a turn."""

    before: str | None = None
    cursor: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1)] = 50


class ResourceReadCommand(Params, frozen=True, kw_only=True):
    """A file of a workspace, or content that a state refers to."""

    uri: Uri
    encoding: Literal["utf-8", "base64"] = "utf-8"


class ResourceListCommand(Params, frozen=True, kw_only=True):
    uri: Uri


class ResourceResolveCommand(Params, frozen=True, kw_only=True):
    uri: Uri
    follow_symlinks: bool = True


class ResourceRequestCommand(Params, frozen=True, kw_only=True):
    """The question whether a file may be asked for; a write is decided when it is made."""

    uri: Uri
    read: bool = False
    write: bool = False


class ResourceWriteCommand(Params, frozen=True, kw_only=True):
    uri: Uri
    data: str
    encoding: Literal["utf-8", "base64"]
    create_only: bool = False
    mode: Literal["truncate", "append", "insert"] = "truncate"
    position: Annotated[int, msgspec.Meta(ge=0)] = 0
    if_match: str | None = None


class ResourceDeleteCommand(Params, frozen=True, kw_only=True):
    uri: Uri
    recursive: bool = False


class ResourceMkdirCommand(Params, frozen=True, kw_only=True):
    uri: Uri


class ResourceMoveCommand(Params, frozen=True, kw_only=True):
    """A file to move or copy."""

    source: Uri
    destination: Uri
    fail_if_exists: bool = False


class ResourceTarget(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="resource"):
    """The one change that an operation is for."""

    resource: str


class RangeTarget(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="range", omit_defaults=True):
    """A range of a file. No operation of this host works on one."""

    resource: str
    side: Literal["before", "after"] | None = None
    range: TextRange


ChangesetTarget: TypeAlias = ResourceTarget | RangeTarget
"""The target of an operation on a change set (AHP ``ChangesetOperationTarget``)."""


class InvokeChangesetOperationCommand(Params, frozen=True, kw_only=True):
    operation_id: Literal["undo", "redo", "keep", "apply"]
    target: ChangesetTarget | None = None
    choices: dict[str, Any] = {}
    onwards: bool = False


class SessionConfigCommand(Params, frozen=True, kw_only=True):
    """The settings that a new conversation has."""

    provider: str | None = None


class AhpCommand(NamedTuple):
    """One command: a row of the table."""

    params: type[Any]
    right: Right | None
    function: Callable[[Any, Any], Any]
    about: str
    is_notification: bool = False


COMMANDS: dict[str, AhpCommand] = {}
"""The commands on a WebSocket, by name."""

F = TypeVar("F", bound="Callable[[Any, Any], Any]")


def command(name: str, params: type[Params], right: Right | None, *, is_notification: bool = False) -> Callable[[F], F]:
    """Register the decorated function as the handler of the command *name*."""

    def register(function: F) -> F:
        COMMANDS[name] = AhpCommand(params, right, function, inspect.getdoc(function) or "", is_notification)
        return function

    return register


APPROVALS = frozenset({"chat/toolCallConfirmed", "session/configChanged", "root/configChanged"})
"""Actions that need the right to approve; all others that clients dispatch need the right to drive."""


_CODES: tuple[tuple[type[Exception], int], ...] = (
    (UnsupportedVersion, UNSUPPORTED_PROTOCOL_VERSION),
    (UnknownSession, SESSION_NOT_FOUND),
    (UnknownAgent, PROVIDER_NOT_FOUND),
    (PermissionDenied, PERMISSION_DENIED),
    (OutsideWorkspace, PERMISSION_DENIED),
    (FileUnavailable, NOT_FOUND),
    (msgspec.ValidationError, INVALID_PARAMS),
)


class RequestFailed(RpcError):
    """A request is answered with an error; *ends* says why the connection ends with it."""

    def __init__(self, code: int, message: str, *, ends: str | None = None) -> None:
        super().__init__(code, message)
        self.ends = ends


def code_of(error: Exception) -> int:
    return next((code for kind, code in _CODES if isinstance(error, kind)), INTERNAL_ERROR)
