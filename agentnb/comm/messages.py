"""The messages between kernel and page: JSON-RPC 2.0 objects with the protocol's version, ``"v": 1``.

Everything that a page sends is decoded against these structs; what does not fit gets a JSON-RPC error (requests) or is
dropped and logged (notifications), and never breaks the channel. Additive fields are allowed within a version.

They travel on the host model's comm. What is about files and changes, the history and the settings has a module each,
`agentnb.comm.methods` has them all; what the JupyterLab extension says on its own is in `agentnb.comm.lab_messages`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from agentnb.rpc_message import INVALID_PARAMS, METHOD_NOT_FOUND
from agentnb.state.versions import WINDOW

VERSION = WINDOW.current

LARGEST = 2**53 - 1
"""The largest number that a page can say exactly."""
Moment = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]

UNSUPPORTED_VERSION = -32010
UNKNOWN_CLIENT = -32011
REFUSED = -32012

ERRORS: dict[int, str] = {
    METHOD_NOT_FOUND: "There is no request of that name.",
    INVALID_PARAMS: "The parameters are not what the method takes; the message says which field, and why.",
    UNSUPPORTED_VERSION: "Page and kernel have no version in common; the message says which one to update.",
    UNKNOWN_CLIENT: "The client has not introduced itself: send `initialize` first.",
    REFUSED: "It was understood but cannot be done; the message says why and what to do next.",
}
"""The codes of errors, and what each means."""


class FromPage(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The envelope of everything that a page sends.

    Attributes:
        v: The protocol's version.
        client_id: Who speaks: one page's copy of the widget model (UUID).
        method: What it wants.
        params: The method's parameters.
        id: Present in a request, absent in a notification.
    """

    v: int
    client_id: str
    method: str
    params: msgspec.Raw = msgspec.Raw(b"{}")
    id: int | str | None = None


class InitializeParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``initialize``: a page is ready and says what it has seen.

    Attributes:
        protocol_versions: The versions that the page speaks.
        last_seen: The index that it has applied, by channel.
        host_id: The host that it spoke to before, if any.
        visible: Whether one of its views can be seen.
        accepts: What it reads beyond what any page of the version does: `text`, flushes in their short form.
    """

    protocol_versions: tuple[int, ...]
    last_seen: dict[str, int] = msgspec.field(default_factory=dict)
    host_id: str | None = None
    visible: bool = False
    accepts: tuple[str, ...] = ()


class SubscribeParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``subscribe``: follow these channels from their present state on.

    Attributes:
        channels: Their URIs.
    """

    channels: tuple[str, ...]


class UnsubscribeParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``unsubscribe``: follow these channels no more.

    Attributes:
        channels: Their URIs.
    """

    channels: tuple[str, ...]


class CreateSessionParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``createSession``: a new tab.

    Attributes:
        agent: The agent's name in the catalogue; the default one where absent.
        tab_id: The tab's id (UUID v4), made by the view.
        kernel: What the agent may do with the kernel: ``off``, ``look`` (read) or ``run``; as the settings say where
            absent.
    """

    agent: str | None = None
    tab_id: str | None = None
    kernel: Literal["off", "look", "run"] | None = None


class SuggestPromptsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``suggestPrompts``: examples for an empty conversation, made of the cells, tables and errors that there are.

    Attributes:
        channel: The session's or the chat's channel.
    """

    channel: str


class RefreshAgentsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``refreshAgents``: look again which agents are installed.

    The root channel tells where that has changed.
    """


class InstallAgentParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``installAgent``: run the command that installs an agent; the user saw it and agreed.

    The answer comes when it runs. How it goes is in the root channel, in the agent's `setup`, with what the command
    prints. One install runs at a time.

    Attributes:
        agent: The agent's name.
        command: The command as it was shown, the agent's `install`; another one than the kernel would run is refused.
    """

    agent: str
    command: str


class StopInstallParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``stopInstall``: end the install of an agent.

    Attributes:
        agent: The agent's name.
    """

    agent: str


class CheckAgentParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``checkAgent``: start an agent for a moment, open a session in an empty folder, and say how it is.

    One that is not installed is not started, also where npx or uvx could.

    Attributes:
        agent: The agent's name.
    """

    agent: str


class OpenSessionParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``openSession``: start the agent of a tab and open its session, before the first prompt.

    Someone is about to write there: the agent's commands, modes and options are wanted. The answer comes at once;
    how it goes is in the session's state. A session that is open, or is being opened, is left as it is.

    Attributes:
        channel: The session's or the chat's channel.
    """

    channel: str


class DisposeSessionParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``disposeSession``: close a tab and free the agent's session.

    Attributes:
        channel: The session's URI.
    """

    channel: str


class CompleteParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``complete``: what can stand after the ``@`` that is being typed.

    Attributes:
        channel: The session or chat whose prompt it is.
        start: What stands after the ``@`` so far.
    """

    channel: str
    start: str


class PreviewMentionsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``previewMentions``: what the mentions of a draft would attach, if it were sent now.

    Attributes:
        channel: The session or chat whose prompt it is.
        text: The draft, at most 100,000 characters.
        label: The attachment that is told with its content; absent: none.
    """

    channel: str
    text: Annotated[str, msgspec.Meta(max_length=100_000)]
    label: str | None = None


class RestartAgentParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``restartAgent``: start the agent of a session anew; the transcript stays.

    Attributes:
        channel: The session's or the chat's channel.
    """

    channel: str


class StopToolCallParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``stopToolCall``: stop the code that a tool call runs in the kernel, and only that; the turn goes on.

    Attributes:
        channel: The session's or the chat's channel.
        tool_call_id: The tool call, of the running turn.
    """

    channel: str
    tool_call_id: str


class RehearseToolCallParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``rehearseToolCall``: preview what a permission request is about; the tool call's details show it.

    Attributes:
        channel: The session's or the chat's channel.
        tool_call_id: The tool call that must be allowed, of the running turn.
        input: The command as the user has changed it, at most 100,000 characters; absent: as it is.
    """

    channel: str
    tool_call_id: str
    input: Annotated[str, msgspec.Meta(max_length=100_000)] | None = None


class ForkSessionParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``forkSession``: copy a session into a tab of its own, where its agent can (`agentProcess.fork`).

    What was said and what the agent knows are copied; both go their own ways from there.

    Attributes:
        channel: The session's or the chat's channel.
    """

    channel: str


class DraftParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``draft``: what is typed, and not sent, in a tab; empty when there is nothing.

    It is kept in memory for other windows and never logged: it may hold anything.

    Attributes:
        channel: The session's or the chat's channel.
        text: The text; one of more than 100,000 characters is ignored.
    """

    channel: str
    text: str


class FetchTurnsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``fetchTurns``: older turns of a chat (AHP ``fetchTurns``).

    Attributes:
        channel: The chat's channel.
        before: The turn that they come right before; the end of the chat where absent.
        limit: How many, at most; 100 are the most that are given at once.
    """

    channel: str
    before: str | None = None
    limit: int = 50


class DispatchParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``dispatchAction``: a client's action, applied there already.

    Attributes:
        client_seq: The client's own number for it; comes back in the envelope's origin.
        channel: Where to.
        action: What (AHP action).
    """

    client_seq: int
    channel: str
    action: dict[str, Any]


class AckParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``ack``: a flush was applied.

    Attributes:
        flush: The flush's number.
        seen: The index now applied, by channel.
    """

    flush: int
    seen: dict[str, int] = msgspec.field(default_factory=dict)


class ResyncParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``resync``: something is missing; send again what follows.

    Attributes:
        seen: The index that the page has applied, by channel.
    """

    seen: dict[str, int]


class VisibilityParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``visibility``: whether any view of this client can be seen; a hidden one gets the root channel only.

    Attributes:
        visible: Whether one can.
    """

    visible: bool


class PingParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``ping``: the page is there; the kernel answers `pong`."""


class LeaveParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``leave``: the page goes away, or loads anew; unless one comes back within a minute, nobody is there."""


def response(request_id: int | str, result: Any) -> dict[str, Any]:
    """A JSON-RPC answer."""
    return {"jsonrpc": "2.0", "v": VERSION, "id": request_id, "result": result}


def failure(request_id: int | str | None, code: int, message: str) -> dict[str, Any]:
    """A JSON-RPC error answer."""
    return {"jsonrpc": "2.0", "v": VERSION, "id": request_id, "error": {"code": code, "message": message}}


def notification(method: str, params: dict[str, Any] | list[Any]) -> dict[str, Any]:
    """A JSON-RPC notification."""
    return {"jsonrpc": "2.0", "v": VERSION, "method": method, "params": params}
