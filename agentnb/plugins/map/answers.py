"""Checks answers: the wanted type as a JSON schema, and reading the JSON that an agent wrote."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.errors import UsageError
from agentnb.kernel.data_checks import DataChecks
from agentnb.safe_json import read_json, read_json_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from agentnb.plugins.map.records import Body

_FENCED = re.compile(r"```[a-zA-Z]*\n(.*?)```", re.DOTALL)
_PLACES = 200  # beginnings of an object or a list that are tried in an answer
_LONGEST = 2_000_000  # characters of an answer that are looked at
_SHOWN = 300


class AnswerUnfit(Exception):
    """An answer is not what was wanted; ``str`` says why, for the agent and for people."""


class AnswerRefused(AnswerUnfit):
    """The user's ``check`` does not accept an answer; ``str`` says why, for the agent and for people."""


def check_answer(check: Callable[[Any], Any], body: Body) -> None:
    """Have the user's function check an answer.

    Raises:
        AnswerRefused: If it raises, or says what is wrong: of data checks the causes, and no value.
    """
    try:
        problem = check(body.text if body.output is None else body.output)
    except Exception as error:
        raise AnswerRefused(_short(f"{type(error).__name__}: {error}".removeprefix("AssertionError: "))) from error
    if isinstance(problem, DataChecks):
        problem = " ".join(each.question for each in problem)
    if problem:
        raise AnswerRefused(_short(str(problem)))


class Wanted:
    """The type that answers must have."""

    def __init__(self, output: Any) -> None:
        self.schema, self.check = _reader(output)

    @property
    def instruction(self) -> str:
        """The text below each prompt."""
        schema = json.dumps(self.schema, ensure_ascii=False)
        return f"Answer with JSON only, without any other text, that fits this JSON schema:\n{schema}"

    def correction(self, error: AnswerUnfit) -> str:
        """The prompt after an answer that does not fit."""
        return f"That answer can't be used: {error}\n{self.instruction}"

    def read(self, text: str) -> Any:
        """The value in an answer."""
        first: AnswerUnfit | None = None
        for candidate in _candidates(text[:_LONGEST]):
            try:
                return self.check(candidate)
            except Exception as error:  # noqa: BLE001 - pydantic's validators are the user's code
                first = first or AnswerUnfit(_short(str(error)))
        raise first or AnswerUnfit("it has no JSON.")


def _candidates(text: str) -> Iterator[Any]:
    """The JSON values in *text*, the most likely first; the text itself last."""
    for each in (text, *(match[1] for match in _FENCED.finditer(text))):
        try:
            yield read_json(each)
        except ValueError:
            continue
    at, seen = 0, 0
    while (match := re.compile(r"[\[{]").search(text, at)) and seen < _PLACES:
        seen += 1
        try:
            value, at = read_json_at(text, match.start())
        except ValueError:
            at = match.end()
        else:
            yield value
    yield text.strip()  # a bare word where a text or one of some words is wanted


def _reader(output: Any) -> tuple[dict[str, Any], Callable[[Any], Any]]:
    if isinstance(output, dict):
        return output, _by_schema(output)
    if hasattr(output, "model_json_schema") and hasattr(output, "model_validate"):  # pydantic
        return output.model_json_schema(), output.model_validate
    try:
        schema = msgspec.json.schema(output)
    except (TypeError, RecursionError) as error:
        raise UsageError(
            f"output={output!r} is no type that answers can be read as: {_short(str(error))}",
            hint="Give a msgspec.Struct, a dataclass, a pydantic model, list[str], Literal[...] or a JSON schema.",
        ) from error
    return schema, lambda value: msgspec.convert(value, output)


def _by_schema(schema: Mapping[str, Any]) -> Callable[[Any], Any]:
    try:
        import jsonschema
    except ImportError as error:
        raise UsageError(
            "A JSON schema needs the package jsonschema.", hint="%pip install jsonschema, or give a type."
        ) from error
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise UsageError(f"output is no JSON schema: {_short(error.message)}") from error
    validator = jsonschema.Draft202012Validator(schema)

    def check(value: Any) -> Any:
        wrong = next(validator.iter_errors(value), None)
        if wrong is not None:
            raise AnswerUnfit(_short(f"{wrong.json_path}: {wrong.message}"))
        return value

    return check


def plain(value: Any) -> Any:
    """*value* as JSON has it, to be kept."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return msgspec.to_builtins(value)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
