"""The JSON Schema of everything on the wire, made from the structs; the TypeScript types are made from it."""

from __future__ import annotations

import json
from typing import Any, Union

import msgspec

from agentnb.state import chat_message_state, chat_tool_content, chat_tool_state, wire
from agentnb.state.action import Action, Envelope, KnownAction, TurnContentAction, kinds_of
from agentnb.state.changeset import ChangesetState
from agentnb.state.chat_part_state import KnownResponsePart, ResponsePart
from agentnb.state.chat_state import ChatState
from agentnb.state.codec import ACTIONS, PARTS
from agentnb.state.parts import Parts
from agentnb.state.root import RootState
from agentnb.state.session_state import SessionState
from agentnb.state.terminal import TerminalContentPart, TerminalState, TerminalViews

UNIONS: dict[str, Any] = {
    "ChatInputAnswer": chat_message_state.ChatInputAnswer,
    "ChatInputAnswerValue": chat_message_state.ChatInputAnswerValue,
    "ChatInputQuestion": chat_message_state.ChatInputQuestion,
    "MessageAttachment": chat_message_state.MessageAttachment,
    "ResponsePart": KnownResponsePart,
    "StringOrMarkdown": wire.StringOrMarkdown,
    "ToolCallState": chat_tool_state.ToolCallState,
    "ToolContent": chat_tool_content.ToolContent,
    "ToolResultContent": chat_tool_content.ToolResultContent,
    "TerminalContentPart": TerminalContentPart,
    **{
        base.__name__: Union[kinds_of(base)]  # noqa: UP007 - the members are known at run time only
        for base in KnownAction.__subclasses__()
    },
    "TurnContentAction": Union[kinds_of(TurnContentAction)],  # noqa: UP007 - likewise
}
"""Unions with their own name in the schema; those of the actions are derived from their declarations."""

ACTION_UNIONS = [name for name in UNIONS if name.endswith("Action") and name != "TurnContentAction"]
"""The actions of each channel."""


def json_schema() -> dict[str, Any]:
    """Returns the schema of all states, actions and envelopes, each under ``$defs``.

    ``Action`` and ``ResponsePart`` list the kinds that this version knows; on the wire both are open.

    Example:
        >>> sorted(json_schema()["$defs"]["ActionOrigin"]["properties"])
        ['clientId', 'clientSeq']
    """
    states = (RootState, SessionState, ChatState, TerminalState, ChangesetState)
    kinds = (*states, Envelope, *ACTIONS.values(), *PARTS.values())
    unions, components = msgspec.json.schema_components(
        (*UNIONS.values(), *kinds), schema_hook=open_union, ref_template="#/$defs/{name}"
    )
    named = {name: union["anyOf"] for name, union in zip(UNIONS, unions, strict=False)}
    names = {_key(members): name for name, members in named.items()}
    definitions = {name: _folded(schema, names) for name, schema in components.items()}
    definitions |= {name: {"anyOf": members} for name, members in named.items()}
    definitions["Action"] = {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in ACTION_UNIONS]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "agentnb state, actions and envelopes",
        "$defs": dict(sorted(definitions.items())),
    }


def open_union(kind: type) -> dict[str, Any]:
    """The schema of an open union, which msgspec does not know: its name."""
    if kind is Parts:
        return {"type": "array", "items": open_union(ResponsePart)}
    if kind is TerminalViews:
        return {"type": "array", "items": {"$ref": "#/$defs/TerminalView"}}
    if kind in {Action, ResponsePart}:
        return {"$ref": f"#/$defs/{kind.__name__}"}
    raise NotImplementedError(kind)


def _key(members: list[Any]) -> frozenset[str]:
    return frozenset(json.dumps(member, sort_keys=True) for member in members)


def _folded(schema: Any, names: dict[frozenset[str], str]) -> Any:
    """The schema with every spelled-out union that has a name replaced by that name."""
    if isinstance(schema, list):
        return [_folded(item, names) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "anyOf" in schema:
        return _folded_union(schema, names)
    return {key: _folded(value, names) for key, value in schema.items()}


def _folded_union(schema: dict[str, Any], names: dict[frozenset[str], str]) -> dict[str, Any]:
    null = {"type": "null"}
    members = [item for item in schema["anyOf"] if item != null]
    name = names.get(_key(members))
    if name is None:
        return {**schema, "anyOf": _folded(schema["anyOf"], names)}
    reference = {"$ref": f"#/$defs/{name}"}
    if null not in schema["anyOf"]:
        return reference
    rest = {key: value for key, value in schema.items() if key not in {"anyOf", "discriminator"}}
    return {"anyOf": [reference, null], **rest}
