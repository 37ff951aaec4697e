"""The commands of the Agent Host Protocol that this host answers: their parameters, rights and errors.

The one table that the connection works by and ``docs/reference/ahp.md`` is made from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

import msgspec

from agentnb.state import TextRange

if TYPE_CHECKING:
    from agentnb.ahp.access import Right

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
"""What another kernel of ours says of itself in ``_meta``, and is answered with: it is given our own states, actions
and requests, too, in this form of them: 1 was that of agentnb 0.2, which is told, and tells, what AHP has."""
ASK = "x-agentnb/ask"


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
    """What a client wants to happen."""

    client_seq: int
    action: dict[str, Any]


class SubscribeView(msgspec.Struct, frozen=True, kw_only=True):
    """What a client wants of a state."""

    turns: Annotated[int, msgspec.Meta(ge=0)] | None = None


class SubscribeCommand(Params, frozen=True, kw_only=True):
    """A channel to follow."""

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
    """Older turns of a chat: those that its cursor stands for; for a kernel of ours those before a turn."""

    before: str | None = None
    cursor: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1)] = 50


class ResourceReadCommand(Params, frozen=True, kw_only=True):
    """A file of a workspace, or content that a state refers to."""

    uri: Uri
    encoding: Literal["utf-8", "base64"] = "utf-8"


class ResourceListCommand(Params, frozen=True, kw_only=True):
    """A folder of a workspace."""

    uri: Uri


class ResourceResolveCommand(Params, frozen=True, kw_only=True):
    """What is at a path of a workspace."""

    uri: Uri
    follow_symlinks: bool = True


class ResourceRequestCommand(Params, frozen=True, kw_only=True):
    """Whether a file may be asked for; what is written is decided when it is."""

    uri: Uri
    read: bool = False
    write: bool = False


class ResourceWriteCommand(Params, frozen=True, kw_only=True):
    """A file of a workspace, and what is to be in it."""

    uri: Uri
    data: str
    encoding: Literal["utf-8", "base64"]
    create_only: bool = False
    mode: Literal["truncate", "append", "insert"] = "truncate"
    position: Annotated[int, msgspec.Meta(ge=0)] = 0
    if_match: str | None = None


class ResourceDeleteCommand(Params, frozen=True, kw_only=True):
    """A file or folder that is to go."""

    uri: Uri
    recursive: bool = False


class ResourceMkdirCommand(Params, frozen=True, kw_only=True):
    """A folder that is to be there."""

    uri: Uri


class ResourceMoveCommand(Params, frozen=True, kw_only=True):
    """A file that is to be elsewhere, or to be there twice."""

    source: Uri
    destination: Uri
    fail_if_exists: bool = False


class ResourceTarget(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="resource"):
    """The one change that is meant."""

    resource: str


class RangeTarget(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="range", omit_defaults=True):
    """A range of a file. No operation of this host works on one."""

    resource: str
    side: Literal["before", "after"] | None = None
    range: TextRange


ChangesetTarget: TypeAlias = ResourceTarget | RangeTarget
"""What an operation on a change set is for (AHP ``ChangesetOperationTarget``)."""


class InvokeChangesetOperationCommand(Params, frozen=True, kw_only=True):
    """Undo, redo or keep what turns changed."""

    operation_id: Literal["undo", "redo", "keep", "apply"]
    target: ChangesetTarget | None = None


class SessionConfigCommand(Params, frozen=True, kw_only=True):
    """The settings that a new conversation has."""

    provider: str | None = None


class AskCommand(Params, frozen=True, kw_only=True):
    """Ours: what a page asks of a conversation, for the pages of another kernel of ours (`agentnb.connect`)."""

    method: str
    params: dict[str, Any] = {}


class Command(NamedTuple):
    """One command."""

    params: type[Params]
    right: Right | None
    about: str
    is_notification: bool = False


COMMANDS: dict[str, Command] = {
    "initialize": Command(InitializeCommand, None, "The version is negotiated; snapshots of `initialSubscriptions`."),
    "reconnect": Command(
        ReconnectCommand,
        None,
        "Replay, where the feed reaches back to the number; else snapshots. Who is not known is refused.",
    ),
    "ping": Command(Params, None, "Answered at any time."),
    "subscribe": Command(
        SubscribeCommand, "watch", "Root, session, chat, terminal and changeset channels. `view.turns`: at most 100."
    ),
    "unsubscribe": Command(Params, "watch", "", is_notification=True),
    "dispatchAction": Command(DispatchCommand, "watch", "Which actions: see below.", is_notification=True),
    "listSessions": Command(
        ListSessionsCommand,
        "watch",
        "The open conversations, as far as the client may see them; in pages, if asked to.",
    ),
    "createSession": Command(
        CreateSessionCommand, "drive", "In the kernel's folder. `fork`: refused. `config`: what is given is ignored."
    ),
    "disposeSession": Command(Params, "drive", "Closes the conversation."),
    "fetchTurns": Command(FetchTurnsCommand, "watch", "At most 100 turns at once, as `chat/turnsLoaded` to who asked."),
    "resolveSessionConfig": Command(SessionConfigCommand, "drive", "The settings that conversations have."),
    "resourceRead": Command(
        ResourceReadCommand, "drive", "Files of a workspace, within its boundary and the policy, and long content."
    ),
    "resourceList": Command(ResourceListCommand, "drive", "Folders of a workspace, within its boundary."),
    "resourceResolve": Command(ResourceResolveCommand, "drive", "What is at a path of a workspace, with an `etag`."),
    "resourceRequest": Command(
        ResourceRequestCommand, "drive", "Says whether a path is in a workspace. What is written is decided when it is."
    ),
    "resourceWrite": Command(
        ResourceWriteCommand, "drive", "Asks as a file write of an agent does. `ifMatch`, `createOnly` and all modes."
    ),
    "resourceMkdir": Command(ResourceMkdirCommand, "drive", "Asks likewise; a folder that is there is no change."),
    "resourceDelete": Command(ResourceDeleteCommand, "drive", "Asks likewise. A link goes, not what it leads to."),
    "resourceMove": Command(ResourceMoveCommand, "drive", "Asks likewise. A file is replaced, a folder never."),
    "resourceCopy": Command(ResourceMoveCommand, "drive", "Asks likewise. Files only, and none that may hold secrets."),
    "invokeChangesetOperation": Command(
        InvokeChangesetOperationCommand, "approve", "`undo`, `redo`, `keep` and `apply`; targets of kind `resource`."
    ),
    ASK: Command(AskCommand, "watch", "Ours: what the pages of another kernel ask (`agentnb.connect`)."),
}
"""What is answered, by name. Any other request is answered with `METHOD_NOT_FOUND`."""

APPROVALS = frozenset({"chat/toolCallConfirmed", "session/configChanged", "root/configChanged"})
"""Actions that a client must be allowed to approve for; all others that clients dispatch need the right to drive."""
