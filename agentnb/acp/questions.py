"""Reads an agent's questions to the user: permission requests and forms (ACP ``elicitation/create``).

A property of an unknown type is never shown as one of a known type: it is left out, and a form that requires it cannot
be filled in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import msgspec

from agentnb.acp.fields import count, mapping, objects, text, texts
from agentnb.acp.mapper import map_permission
from agentnb.clock import now_ms
from agentnb.rpc_message import INVALID_PARAMS, RpcError
from agentnb.state import (
    ChatInputBooleanQuestion,
    ChatInputIntegerQuestion,
    ChatInputMultiSelectQuestion,
    ChatInputNumberQuestion,
    ChatInputOption,
    ChatInputQuestion,
    ChatInputSingleSelectQuestion,
    ChatInputTextQuestion,
)

if TYPE_CHECKING:
    from agentnb.state import Action, ChatState


class AcpPermissionRequest:
    def __init__(self, params: dict[str, Any]) -> None:
        if not isinstance(params.get("toolCall"), dict):
            raise RpcError(INVALID_PARAMS, "`toolCall` must be an object with a `toolCallId`.")
        if not any(isinstance(each.get("optionId"), str) for each in objects(params.get("options"))):
            raise RpcError(INVALID_PARAMS, "`options` must offer at least one option with an `optionId`.")
        tool_call = params["toolCall"]
        self.call_id: str = str(tool_call.get("toolCallId", ""))
        self.title: str = text(tool_call.get("title")) or ""
        self._params = params

    def actions(self, chat: ChatState, turn_id: str) -> tuple[str, tuple[Action, ...]]:
        """Returns the actions that put the question into *chat* in its current state."""
        return map_permission(self._params, chat, turn_id, now_ms())


_SCHEMES = frozenset({"http", "https"})


class ElicitationQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question of the agent to the user: a form to fill in, or a page to visit."""

    message: str | None = None
    questions: tuple[ChatInputQuestion, ...] | None = None
    url: str | None = None
    elicitation_id: str | None = None


class ElicitationAnswer(msgspec.Struct, frozen=True):
    response: Literal["accept", "decline", "cancel"]
    values: dict[str, Any] = {}

    def to_acp(self, question: ElicitationQuestion) -> dict[str, Any]:
        """As ACP expects it: a form's values by property, or no values for a visited page."""
        filled_in = self.response == "accept" and question.questions is not None
        return {"action": self.response, **({"content": self.values} if filled_in else {})}


def map_elicitation(params: dict[str, Any]) -> ElicitationQuestion:
    """The question of ACP ``elicitation/create``."""
    common: dict[str, Any] = {
        "message": text(params.get("message")),
        "elicitation_id": text(params.get("elicitationId")),
    }
    match params.get("mode"):
        case "form":
            return ElicitationQuestion(**common, questions=_questions(params))
        case "url":
            return ElicitationQuestion(**common, url=_address(params))
        case mode:
            raise RpcError(INVALID_PARAMS, f"The elicitation mode {mode!r} is not known here.", {"mode": mode})


def _questions(params: dict[str, Any]) -> tuple[ChatInputQuestion, ...]:
    schema = params.get("requestedSchema")
    properties = mapping(schema).get("properties", {})
    if not isinstance(schema, dict) or not isinstance(properties, dict):
        raise RpcError(INVALID_PARAMS, "`requestedSchema` must be an object schema.")
    required = set(texts(schema.get("required")))
    questions = {name: _question(name, mapping(each), required=name in required) for name, each in properties.items()}
    if odd := sorted(name for name in required if questions.get(name) is None):
        raise RpcError(INVALID_PARAMS, f"The form requires {', '.join(odd)}, of a type that is not known here.")
    return tuple(question for question in questions.values() if question is not None)


def _question(name: str, schema: dict[str, Any], *, required: bool) -> ChatInputQuestion | None:
    title = text(schema.get("title"))
    common: dict[str, Any] = {
        "id": name,
        "title": title,
        "message": text(schema.get("description")) or title or name,
        "required": required,
    }
    default = schema.get("default")
    match schema.get("type"):
        case "string" if options := _options(schema, "oneOf", default):
            return ChatInputSingleSelectQuestion(**common, options=options)
        case "string":
            limits: dict[str, Any] = {"min": count(schema.get("minLength")), "max": count(schema.get("maxLength"))}
            return ChatInputTextQuestion(
                **common, **limits, format=text(schema.get("format")), default_value=text(default)
            )
        case "number":
            return ChatInputNumberQuestion(**common, **_range(schema), default_value=_number(default))
        case "integer":
            return ChatInputIntegerQuestion(**common, **_range(schema), default_value=_number(default))
        case "boolean":
            return ChatInputBooleanQuestion(**common, default_value=default if isinstance(default, bool) else None)
        case "array" if options := _options(mapping(schema.get("items")), "anyOf", default):
            limits = {"min": count(schema.get("minItems")), "max": count(schema.get("maxItems"))}
            return ChatInputMultiSelectQuestion(**common, **limits, options=options)
        case _:
            return None


def _options(schema: dict[str, Any], titled: str, default: Any) -> tuple[ChatInputOption, ...]:
    defaults = default if isinstance(default, list) else [default]
    plain = [(each, each, None) for each in texts(schema.get("enum"))]
    named = [
        (each["const"], text(each.get("title")) or each["const"], text(each.get("description")))
        for each in objects(schema.get(titled))
        if isinstance(each.get("const"), str)
    ]
    return tuple(
        ChatInputOption(id=value, label=label, description=about, recommended=True if value in defaults else None)
        for value, label, about in (*plain, *named)
    )


def _range(schema: dict[str, Any]) -> dict[str, Any]:
    return {"min": _number(schema.get("minimum")), "max": _number(schema.get("maximum"))}


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _address(params: dict[str, Any]) -> str:
    url = text(params.get("url")) or ""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in _SCHEMES or not parts.hostname:
        raise RpcError(INVALID_PARAMS, "`url` must be the http or https address of a page.")
    return url
