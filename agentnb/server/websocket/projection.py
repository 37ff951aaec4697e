"""The host's states and actions in the words of the Agent Host Protocol, for clients that know nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from agentnb.server.content_refs import with_references
from agentnb.server.websocket.uris import to_ahp
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
from agentnb.state import chat_part_state as parts
from agentnb.state import chat_tool_actions as tool_actions
from agentnb.state import chat_tool_state as tools
from agentnb.state import chat_turn_actions as turn_actions
from agentnb.state.action import KnownAction, action_type
from agentnb.state.chunked_sequence import ChunkedSequence

if TYPE_CHECKING:
    from agentnb.state import Action

OWN = "x-agentnb/"
"""How the names of actions and response parts begin that AHP does not have."""

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
    turn_actions.ChatTurnComplete: frozenset({"stop_reason"}),
    turn_actions.ChatTurnCancelled: frozenset({"stop_reason", "hold_queue"}),
    turn_actions.ChatError: frozenset({"stop_reason"}),
    tool_actions.ChatToolCallStart: frozenset({"details"}),
    tool_actions.ChatToolCallReady: frozenset({"risk"}),
    tool_actions.ChatToolCallConfirmed: frozenset({"answered_by"}),
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
"""Which sessions there are: clients ask for the list and follow the notifications, as far as they may see them."""
_UNSETTLED = frozenset({"meta"})
"""What agents also change where AHP has no action for that: of tool calls; so is the name that people read."""
_CALLS = (*tools.ToolCallState.__args__, tool_actions.ChatToolCallStart)


def state_to_ahp(state: Any, *, own: bool = False) -> Any:
    """A channel's state, or a finished turn, as AHP has it, as JSON; long content by reference."""
    return to_json(_plain(state, _EVERYTHING)) if own else with_references(_plain(state, OWN_FIELDS))


def summary_to_ahp(summary: SessionSummary) -> Any:
    """A session as AHP's lists show it."""
    return _plain(summary, OWN_FIELDS)


def action_to_ahp(action: Action, *, own: bool = False) -> Any:
    """An action as AHP has it, as JSON; None where AHP has no such action."""
    if own:
        return None if isinstance(action, _LISTS) else to_json(_plain(action, _EVERYTHING))
    if isinstance(action, UnknownAction) or action_type(action).startswith(OWN):
        return None
    if isinstance(action, ChatResponsePart) and not is_told(action.part):
        return None
    return with_references(_plain(action, OWN_FIELDS))


def is_told(part: Any) -> bool:
    """True if AHP knows that part of an answer."""
    if isinstance(part, UnknownResponsePart):
        return False
    return not str(part.__struct_config__.tag).startswith(OWN)


def _plain(value: Any, fields: _LeftOut) -> Any:
    """*value* as JSON without the *fields*, and without what AHP does not know where that is not `_EVERYTHING`."""
    if isinstance(value, msgspec.Struct):
        return _object(value, fields)
    if isinstance(value, (tuple, list, ChunkedSequence)):
        return [_plain(item, fields) for item in value if fields is _EVERYTHING or not _is_own_part(item)]
    if isinstance(value, dict):
        return {name: _plain(item, fields) for name, item in value.items()}
    return value


def _is_own_part(item: Any) -> bool:
    return isinstance(item, parts.ResponsePart) and not is_told(item)


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
        built["displayName"] = built["toolName"]
    return built


def _left_out(struct: msgspec.Struct, fields: _LeftOut) -> frozenset[str]:
    kind = type(struct)
    left_out = fields.get(kind, _NONE)
    if kind in _CALLS or isinstance(struct, tool_actions.ToolCallAction):
        left_out |= _UNSETTLED
    return left_out | _TIME if isinstance(struct, KnownAction) else left_out
