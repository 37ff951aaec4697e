"""States and addresses in the form of AHP for clients over the WebSocket."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from agentnb.host.channels import CHANGES, ROOT
from agentnb.server.messages import OURS
from agentnb.server.websocket.commands import MOST_SUBSCRIPTIONS
from agentnb.server.window import with_references
from agentnb.state import (
    AgentInfo,
    Changeset,
    ChatResponsePart,
    ChatState,
    ChatSummary,
    ConfirmationOption,
    RootState,
    SessionChatRemoved,
    SessionChatUpdated,
    SessionDefaultChatChanged,
    SessionState,
    SessionSummary,
    TerminalInfo,
    Turn,
    UnknownAction,
    UnknownResponsePart,
    XSessionRemoved,
    XSessionSet,
    to_json,
)
from agentnb.state import chat_actions as actions
from agentnb.state import chat_part_state as parts
from agentnb.state import chat_tool_state as tools
from agentnb.state.action import KnownAction, action_type
from agentnb.state.parts import ChunkedSequence

if TYPE_CHECKING:
    from agentnb.host.host import Host
    from agentnb.state import Action


TERMINALS = "/terminals"
"""The suffix of a session's URI in the URIs of its terminals, which are channels of AHP only."""

_AHP = re.compile(r"ahp-(session|chat|changeset|terminal):/([A-Za-z0-9_-]{1,64})(?:/([A-Za-z0-9_.:-]{1,200}))?")
_OWN = re.compile(r"[^/]+:/([^/]+)(/chat|/changes|/terminals)?(?:/([^/]+))?")
_SCHEMES = {None: "session", "/chat": "chat", CHANGES: "changeset", TERMINALS: "terminal"}
_ENDINGS = {"session": "", "chat": "/chat", "changeset": CHANGES, "terminal": TERMINALS}


class AhpChannel(NamedTuple):
    kind: str
    tab_id: str
    member: str | None


def to_ahp(uri: str) -> str:
    """Returns AHP's name of the channel that the host calls *uri*; any other URI is returned unchanged."""
    match = None if uri == ROOT else _OWN.fullmatch(uri)
    if match is None:
        return uri
    tab_id, ending, member = match.groups()
    return f"ahp-{_SCHEMES[ending]}:/{tab_id}" + (f"/{member}" if member else "")


def place_of(uri: str) -> AhpChannel | None:
    """Returns the channel that the AHP *uri* names; None if it does not have the form of one."""
    match = _AHP.fullmatch(uri)
    if match is None:
        return None
    kind, tab_id, member = match.groups()
    if kind in {"session", "chat"} and member is not None:
        return None
    if kind == "terminal" and member is None:
        return None
    return AhpChannel(kind, tab_id, member)


def from_ahp(host: Host, uri: str) -> str | None:
    """Returns the host's name of the channel that AHP calls *uri*; None if it belongs to no open conversation."""
    if uri == ROOT:
        return ROOT
    place = place_of(uri)
    if place is None:
        return None
    session = next((own for own, each in host.conversations.items() if each.tab_id == place.tab_id), None)
    if session is None:
        return None
    return session + _ENDINGS[place.kind] + (f"/{place.member}" if place.member else "")


_NAMED = re.compile(r"(?!ahp-|file:|https?:|wss?:)[a-z][a-z0-9-]{0,39}:/([A-Za-z0-9_-]{1,64})")


class SessionNames:
    """The names that one client uses for sessions."""

    def __init__(self) -> None:
        self._chosen: dict[str, str] = {}

    def read(self, uri: str) -> str:
        """Returns a channel's URI in AHP's own scheme, in case the client names a session in another one."""
        match = _NAMED.fullmatch(uri)
        if match is None:
            return uri
        own = f"ahp-session:/{match[1]}"
        if own in self._chosen or len(self._chosen) < MOST_SUBSCRIPTIONS:
            self._chosen[own] = uri
        return own

    def tell(self, value: Any) -> Any:
        """Returns *value*, any JSON, with the client's names for sessions."""
        if not self._chosen:
            return value
        if isinstance(value, str):
            return self._chosen.get(value, value)
        if isinstance(value, dict):
            return {name: self.tell(item) for name, item in value.items()}
        return [self.tell(item) for item in value] if isinstance(value, list) else value


_CALL = frozenset({"details", "risk", "answered_by"})
OWN_FIELDS: dict[type[Any], frozenset[str]] = {
    RootState: frozenset({"sessions"}),
    AgentInfo: frozenset({"missing", "hidden", "install", "can_install", "runner", "setup"}),
    SessionState: frozenset({"commands", "modes", "config_options", "context_usage", "agent_process"}),
    ChatState: frozenset({"terminals", "input_requests", "prompt_suggestions"}),
    Turn: frozenset({"stop_reason", "changes"}),
    ConfirmationOption: frozenset({"option_kind"}),
    parts.MarkdownResponsePart: frozenset({"message_id"}),
    parts.ReasoningResponsePart: frozenset({"message_id"}),
    tools.ToolCallStreamingState: _CALL,
    tools.ToolCallPendingConfirmationState: _CALL,
    tools.ToolCallRunningState: _CALL,
    tools.ToolCallPendingResultConfirmationState: _CALL,
    tools.ToolCallCompletedState: _CALL,
    tools.ToolCallCancelledState: _CALL,
    actions.ChatTurnComplete: frozenset({"stop_reason"}),
    actions.ChatTurnCancelled: frozenset({"stop_reason", "hold_queue"}),
    actions.ChatError: frozenset({"stop_reason"}),
    actions.ChatToolCallStart: frozenset({"details"}),
    actions.ChatToolCallReady: frozenset({"risk"}),
    actions.ChatToolCallConfirmed: frozenset({"answered_by"}),
}
"""Fields that AHP does not have, by the struct that has them."""

_URIS: dict[type[Any], frozenset[str]] = {
    SessionSummary: frozenset({"resource"}),
    ChatState: frozenset({"resource"}),
    ChatSummary: frozenset({"resource"}),
    Changeset: frozenset({"uri_template"}),
    SessionState: frozenset({"default_chat"}),
    SessionChatUpdated: frozenset({"chat"}),
    SessionChatRemoved: frozenset({"chat"}),
    SessionDefaultChatChanged: frozenset({"default_chat"}),
    TerminalInfo: frozenset({"resource"}),
}
_NONE: frozenset[str] = frozenset()
_TIME = frozenset({"time"})
_LeftOut: TypeAlias = dict[type[Any], frozenset[str]]
_EVERYTHING: _LeftOut = {RootState: frozenset({"sessions"})}
_LISTS = (XSessionSet, XSessionRemoved)
"""The actions on the list of sessions: clients request it and follow notifications, if they may see them."""
_UNSETTLED = frozenset({"meta"})
"""Fields of tool calls, such as the displayed name, that agents change although AHP has no action for it."""
_CALLS = (*tools.ToolCallState.__args__, actions.ChatToolCallStart)


def state_to_ahp(state: Any, *, own: bool = False) -> Any:
    """Returns a channel's state, or a finished turn, as AHP JSON, with long content by reference."""
    return to_json(_plain(state, _EVERYTHING)) if own else with_references(_plain(state, OWN_FIELDS))


def summary_to_ahp(summary: SessionSummary) -> Any:
    return _plain(summary, OWN_FIELDS)


def action_to_ahp(action: Action, *, own: bool = False) -> Any:
    """Returns an action as AHP JSON; None if AHP has no such action."""
    if own:
        return None if isinstance(action, _LISTS) else to_json(_plain(action, _EVERYTHING))
    if isinstance(action, UnknownAction) or action_type(action).startswith(OURS):
        return None
    if isinstance(action, ChatResponsePart) and not _is_told(action.part):
        return None
    return with_references(_plain(action, OWN_FIELDS))


def _is_told(value: Any) -> bool:
    """True unless *value* is a response part of a kind that AHP does not know."""
    if isinstance(value, UnknownResponsePart):
        return False
    is_part = isinstance(value, parts.ResponsePart)
    return not (is_part and str(value.__struct_config__.tag).startswith(OURS))


def _plain(value: Any, fields: _LeftOut) -> Any:
    """Returns *value* as JSON without *fields*; unless that is `_EVERYTHING`, also without what AHP does not know."""
    if isinstance(value, msgspec.Struct):
        return _object(value, fields)
    if isinstance(value, (tuple, list, ChunkedSequence)):
        return [_plain(item, fields) for item in value if fields is _EVERYTHING or _is_told(item)]
    if isinstance(value, dict):
        return {name: _plain(item, fields) for name, item in value.items()}
    return value


def _object(struct: msgspec.Struct, fields: _LeftOut) -> Any:
    if isinstance(struct, (UnknownAction, UnknownResponsePart)):
        return struct.raw
    kind = type(struct)
    config, uris = struct.__struct_config__, _URIS.get(kind, _NONE)
    built: dict[str, Any] = {} if config.tag is None else {str(config.tag_field): config.tag}
    left_out = fields.get(kind, _NONE) if fields is _EVERYTHING else _left_out(struct, fields)
    for name, encoded in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True):
        value = getattr(struct, name)
        if value is None or name in left_out:
            continue
        built[encoded] = to_ahp(value) if name in uris else _plain(value, fields)
    if kind in _CALLS and fields is not _EVERYTHING:
        built["displayName"] = built["toolName"]  # AHP has no action for a tool call's new name
    return built


def _left_out(struct: msgspec.Struct, fields: _LeftOut) -> frozenset[str]:
    kind = type(struct)
    left_out = fields.get(kind, _NONE)
    if kind in _CALLS or isinstance(struct, actions.ToolCallAction):
        left_out |= _UNSETTLED
    return left_out | _TIME if isinstance(struct, KnownAction) else left_out
