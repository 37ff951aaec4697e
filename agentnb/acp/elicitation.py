"""Elicitation: what an agent asks the user (ACP ``elicitation/create``), as an input request, and the answers back.

A form's properties become questions. A property of a type that we do not know is never shown as one that we do: it is
left out, and a form that requires it cannot be filled in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentnb.acp.failure import INVALID_PARAMS, RpcError
from agentnb.acp.fields import count, mapping, objects, text
from agentnb.state import (
    ChatInputBooleanQuestion,
    ChatInputIntegerQuestion,
    ChatInputMultiSelectQuestion,
    ChatInputNumberQuestion,
    ChatInputOption,
    ChatInputRequest,
    ChatInputSingleSelectQuestion,
    ChatInputSkipped,
    ChatInputTextQuestion,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentnb.state import ChatInputAnswer, ChatInputQuestion

_SCHEMES = frozenset({"http", "https"})


def map_elicitation(params: dict[str, Any], request_id: str) -> ChatInputRequest:
    """The input request for ACP ``elicitation/create``.

    Args:
        params: The request's parameters, as sent.
        request_id: The id it gets in the chat.

    Raises:
        RpcError: If its mode is not one we know, its address no web page, or its form no form.

    Example:
        >>> form = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}}
        >>> asked = map_elicitation({"mode": "form", "message": "Who?", "requestedSchema": form}, "q1")
        >>> asked.questions[0].min
        0
    """
    message = text(params.get("message"))
    match params.get("mode"):
        case "form":
            return ChatInputRequest(id=request_id, message=message, questions=_questions(params))
        case "url":
            return ChatInputRequest(id=request_id, message=message, url=_address(params))
        case mode:
            raise RpcError(INVALID_PARAMS, f"The elicitation mode {mode!r} is not known here.", {"mode": mode})


def elicitation_content(
    questions: Iterable[ChatInputQuestion], answers: Mapping[str, ChatInputAnswer]
) -> dict[str, Any]:
    """The ``content`` of an accepted form: the values by property; what was passed over is left out."""
    known = {question.id: question for question in questions}
    given = {
        name: answer.value.value
        for name, answer in answers.items()
        if name in known and not isinstance(answer, ChatInputSkipped)
    }
    return {name: _value(known[name], value) for name, value in given.items()}


def objection(questions: Iterable[ChatInputQuestion], answers: Mapping[str, ChatInputAnswer]) -> str | None:
    """Why *answers* do not fill in the form, a sentence; None when they do."""
    content = elicitation_content(questions, answers)
    for question in questions:
        value = content.get(question.id)
        name = question.title or question.id
        if value is None and question.required:
            return f"{name!r} must be answered."
        if value is not None and (wrong := _wrong(question, value)):
            return f"{name!r} {wrong}."
    return None


def _questions(params: dict[str, Any]) -> tuple[ChatInputQuestion, ...]:
    schema = params.get("requestedSchema")
    properties = mapping(schema).get("properties", {})
    if not isinstance(schema, dict) or not isinstance(properties, dict):
        raise RpcError(INVALID_PARAMS, "`requestedSchema` must be an object schema.")
    listed = schema.get("required")
    required = {name for name in listed if isinstance(name, str)} if isinstance(listed, list) else set()
    asked = {name: _question(name, mapping(each), required=name in required) for name, each in properties.items()}
    if odd := sorted(name for name in required if asked.get(name) is None):
        raise RpcError(INVALID_PARAMS, f"The form requires {', '.join(odd)}, of a type that is not known here.")
    return tuple(question for question in asked.values() if question is not None)


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
    listed = schema.get("enum")
    plain = [(each, each, None) for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
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


def _value(question: ChatInputQuestion, value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    whole = isinstance(question, ChatInputIntegerQuestion) and isinstance(value, float) and value.is_integer()
    return int(value) if whole else value


def _wrong(question: ChatInputQuestion, value: Any) -> str | None:
    match question:
        case ChatInputTextQuestion():
            return _outside(len(value), question, "long") if isinstance(value, str) else "must be text"
        case ChatInputBooleanQuestion():
            return None if isinstance(value, bool) else "must be yes or no"
        case ChatInputIntegerQuestion():
            is_whole = isinstance(value, int) and not isinstance(value, bool)
            return _outside(value, question, "large") if is_whole else "must be a whole number"
        case ChatInputNumberQuestion():
            return _outside(value, question, "large") if _number(value) is not None else "must be a number"
        case ChatInputSingleSelectQuestion():
            return None if value in {option.id for option in question.options} else "must be one of the choices"
        case ChatInputMultiSelectQuestion():
            chosen = value if isinstance(value, list) else []
            if not isinstance(value, list) or not set(chosen) <= {option.id for option in question.options}:
                return "must be some of the choices"
            return _outside(len(chosen), question, "many")


def _outside(size: float, question: Any, word: str) -> str | None:
    if question.min is not None and size < question.min:
        return f"must be at least {question.min} {word}" if word != "large" else f"must be at least {question.min}"
    if question.max is not None and size > question.max:
        return f"must be at most {question.max} {word}" if word != "large" else f"must be at most {question.max}"
    return None
