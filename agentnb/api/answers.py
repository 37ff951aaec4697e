"""Checks answers: the wanted type as a JSON schema, and reading the JSON that an agent wrote."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.api.columns import shortened
from agentnb.errors import TurnFailed, UsageError
from agentnb.safe_json import read_json, read_json_at
from agentnb.state import MarkdownResponsePart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from typing_extensions import TypeVar

    from agentnb.api.turn_view import TurnView
    from agentnb.state import ActiveTurn
    from agentnb.state import Turn as FinishedTurn

    Answer_co = TypeVar("Answer_co", default=Any, covariant=True)
    """The type given by ``output=``."""
else:
    from typing import TypeVar

    Answer_co = TypeVar("Answer_co", covariant=True)

_FENCED = re.compile(r"```[a-zA-Z]*\n(.*?)```", re.DOTALL)
_PLACES = 200  # places in an answer where parsing an object or a list is tried
_LONGEST = 2_000_000  # characters of an answer that are read
LONGEST_EXCERPT = 300  # characters of an error or an answer in a message


class AnswerUnfit(Exception):
    """An answer is not what was wanted; ``str`` says why, for the agent and for people."""


class Wanted:
    """The type that answers must have."""

    def __init__(self, output: Any) -> None:
        self.schema, self.check = _reader(output)

    @property
    def instruction(self) -> str:
        """Returns the text to put below each prompt."""
        schema = json.dumps(self.schema, ensure_ascii=False)
        return f"Answer with JSON only, without any other text, that fits this JSON schema:\n{schema}"

    def correction(self, error: AnswerUnfit) -> str:
        """Returns the prompt to send after an answer that does not fit."""
        return f"That answer can't be used: {error}\n{self.instruction}"

    def read(self, text: str) -> Any:
        """Returns the value in an answer; raises AnswerUnfit if there is none that fits."""
        first: AnswerUnfit | None = None
        for candidate in _candidates(text[:_LONGEST]):
            try:
                return self.check(candidate)
            except Exception as error:  # noqa: BLE001 - pydantic's validators are the user's code
                first = first or AnswerUnfit(shortened(str(error), LONGEST_EXCERPT))
        raise first or AnswerUnfit("it has no JSON.")


class TurnOutput:
    """The required form of one turn's answer; one that does not fit is asked for once more, in the same turn."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._begins: int | None = None

    def correction(self, turn: ActiveTurn) -> str:
        """Returns the prompt to send after an answer that does not fit; '' if it fits, or was corrected once before."""
        if self._begins is not None:
            return ""
        try:
            self._wanted.read(self._text(turn))
        except AnswerUnfit as error:
            self._begins = len(turn.response_parts)
            return self._wanted.correction(error)
        return ""

    def value(self, turn: TurnView) -> Any:
        """Returns the value of the answer of *turn*, which has ended.

        Raises:
            TurnFailed: If the answer does not fit.
        """
        text = self._text(turn.snapshot)
        try:
            return self._wanted.read(text)
        except AnswerUnfit as error:
            message = f"The answer does not fit output=: {error} It begins with {shortened(text, LONGEST_EXCERPT)!r}."
            raise TurnFailed(message, hint="Prompt again, or read turn.text.", turn=turn) from error

    def _text(self, turn: ActiveTurn | FinishedTurn | None) -> str:
        parts = turn.response_parts[self._begins or 0 :] if turn is not None else ()
        return "".join(part.content for part in parts if isinstance(part, MarkdownResponsePart))


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
    yield text.strip()  # a bare word, for a string or one of several literals


def _reader(output: Any) -> tuple[dict[str, Any], Callable[[Any], Any]]:
    if isinstance(output, dict):
        return output, _by_schema(output)
    if hasattr(output, "model_json_schema") and hasattr(output, "model_validate"):  # pydantic
        return output.model_json_schema(), output.model_validate
    try:
        schema = msgspec.json.schema(output)
    except (TypeError, RecursionError) as error:
        problem = shortened(str(error), LONGEST_EXCERPT)
        raise UsageError(
            f"output={output!r} is not a type that answers can be converted to: {problem}",
            hint="Use a msgspec.Struct, a dataclass, a pydantic model, list[str], Literal[...] or a JSON schema.",
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
        raise UsageError(f"output is not a JSON schema: {shortened(error.message, LONGEST_EXCERPT)}") from error
    validator = jsonschema.Draft202012Validator(schema)

    def check(value: Any) -> Any:
        wrong = next(validator.iter_errors(value), None)
        if wrong is not None:
            raise AnswerUnfit(shortened(f"{wrong.json_path}: {wrong.message}", LONGEST_EXCERPT))
        return value

    return check
