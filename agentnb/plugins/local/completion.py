"""One answer of the model, put together from the pieces in which servers stream it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

OPEN, CLOSE = "<think>", "</think>"
MOST_TOOL_CALLS = 64
"""Tool calls of one answer that are accepted."""
LONGEST_ANSWER = 32 * 1024 * 1024
"""Characters that one answer may have: text, thoughts and arguments."""


class AnswerTooLong(ValueError):
    """The answer is longer than `LONGEST_ANSWER`."""


class AnswerPart(NamedTuple):
    """A piece of what the model says or thinks."""

    kind: Literal["text", "thought"]
    text: str


@dataclass
class ModelToolCall:
    call_id: str = ""
    name: str = ""
    arguments: str = ""

    def read_arguments(self) -> dict[str, Any]:
        try:
            value = read_json(self.arguments.strip() or "{}")
        except ValueError as error:
            raise ValueError(f"The arguments are not JSON: {error}") from None
        if not isinstance(value, dict):
            raise ValueError("The arguments must be a JSON object.")  # noqa: TRY004 - what the model wrote is wrong
        return value


@dataclass
class Tokens:
    """The tokens that a request used."""

    prompt: int = 0
    completion: int = 0


@dataclass
class _PartialCall:
    index: int | None
    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class _ThoughtSplitter:
    """Separates the thoughts at the start of a text, in `<think>` tags, from the answer; a tag may arrive in pieces."""

    def __init__(self) -> None:
        self._state: Literal["begin", "opened", "thought", "gap", "text"] = "begin"
        self._held = ""

    def add(self, text: str) -> list[AnswerPart]:
        if self._state == "text":
            return [AnswerPart("text", text)] if text else []
        self._held += text
        if self._state == "begin":
            begun = self._held.lstrip()
            if len(begun) < len(OPEN) and OPEN.startswith(begun):
                return []
            if not begun.startswith(OPEN):
                self._state = "text"
                return self._release("text")
            self._state, self._held = "opened", begun[len(OPEN) :]
        if self._state == "opened":
            self._held = self._held.lstrip("\n")
            self._state = "thought" if self._held else "opened"
        if self._state == "gap":
            return self._after_gap()
        thought, tag, rest = self._held.partition(CLOSE)
        if tag:
            self._state, self._held = "gap", rest
            return [*([AnswerPart("thought", thought)] if thought else []), *self._after_gap()]
        kept = next((n for n in range(len(CLOSE) - 1, 0, -1) if self._held.endswith(CLOSE[:n])), 0)
        released, self._held = self._held[: len(self._held) - kept], self._held[len(self._held) - kept :]
        return [AnswerPart("thought", released)] if released else []

    def rest(self) -> list[AnswerPart]:
        return self._release("thought" if self._state == "thought" else "text")

    def _after_gap(self) -> list[AnswerPart]:
        """Returns the text after the thoughts and the blank lines below them."""
        self._held = self._held.lstrip("\n")
        self._state = "text" if self._held else "gap"
        return self._release("text")

    def _release(self, kind: Literal["text", "thought"]) -> list[AnswerPart]:
        held, self._held = self._held, ""
        return [AnswerPart(kind, held)] if held else []


@dataclass
class ModelAnswer:
    finish: str | None = None
    tokens: Tokens | None = None
    problem: str | None = None
    _text: list[str] = field(default_factory=list)
    _calls: list[_PartialCall] = field(default_factory=list)
    _splitter: _ThoughtSplitter = field(default_factory=_ThoughtSplitter)
    _size: int = 0
    _thought: bool = False
    _after_thought: bool = False

    @property
    def text(self) -> str:
        """The text so far, without thoughts."""
        return "".join(self._text)

    @property
    def tool_calls(self) -> list[ModelToolCall]:
        """The tool calls that have a name, with unique ids."""
        calls, taken = [], set()
        for number, partial in enumerate(self._calls, start=1):
            if not partial.name:
                continue
            call_id = partial.call_id if partial.call_id and partial.call_id not in taken else f"call-{number}"
            taken.add(call_id)
            calls.append(ModelToolCall(call_id, partial.name, "".join(partial.arguments)))
        return calls

    def add(self, event: dict[str, Any]) -> Iterator[AnswerPart]:
        """Take one event of the stream; yields what is to be shown."""
        if event.get("error"):
            self.problem = _problem(event["error"])
        if isinstance(usage := event.get("usage"), dict):
            self.tokens = Tokens(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")))
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return
        if isinstance(finish := choice.get("finish_reason"), str) and finish:
            self.finish = finish
        delta = choice.get("delta") if isinstance(choice.get("delta"), dict) else choice.get("message")
        if isinstance(delta, dict):
            yield from self._take(delta)

    def end(self) -> Iterator[AnswerPart]:
        """End the stream; yields what was held back."""
        yield from self._take_pieces(self._splitter.rest())

    def _take(self, delta: dict[str, Any]) -> Iterator[AnswerPart]:
        thought = _text(delta.get("reasoning_content")) or _text(delta.get("reasoning"))
        if not self._thought:
            thought = thought.lstrip("\n")
        if thought:
            self._grow(thought)
            self._thought = self._after_thought = True
            yield AnswerPart("thought", thought)
        content = _text(delta.get("content"))
        if self._after_thought:
            content = content.lstrip("\n")
        if content:
            self._grow(content)
            self._after_thought = False
            yield from self._take_pieces(self._splitter.add(content))
        calls = delta.get("tool_calls")
        for value in calls if isinstance(calls, list) else ():
            if isinstance(value, dict):
                self._add_call(value)

    def _take_pieces(self, pieces: list[AnswerPart]) -> Iterator[AnswerPart]:
        for piece in pieces:
            if piece.kind == "text":
                self._text.append(piece.text)
            yield piece

    def _add_call(self, value: dict[str, Any]) -> None:
        function: Any = value.get("function")
        function = function if isinstance(function, dict) else {}
        call_id, name = _text(value.get("id")), _text(function.get("name"))
        arguments = function.get("arguments")
        written = arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments is not None else ""
        self._grow(written)
        index = value.get("index") if type(value.get("index")) is int else None
        partial = self._find(index, call_id, begins=bool(name))
        if partial is None:
            if len(self._calls) >= MOST_TOOL_CALLS:
                return
            partial = _PartialCall(index)
            self._calls.append(partial)
        partial.call_id = partial.call_id or call_id
        partial.name = partial.name or name
        partial.arguments.append(written)

    def _find(self, index: int | None, call_id: str, *, begins: bool) -> _PartialCall | None:
        """Returns the call that a fragment belongs to; some servers number all calls 0, and only their ids differ."""
        by_id = [partial for partial in self._calls if call_id and partial.call_id == call_id]
        if by_id:
            return by_id[-1]
        if index is None:
            return self._calls[-1] if self._calls and not begins else None
        partial = next((each for each in reversed(self._calls) if each.index == index), None)
        return None if partial is None or (begins and call_id and partial.call_id) else partial

    def _grow(self, text: str) -> None:
        self._size += len(text)
        if self._size > LONGEST_ANSWER:
            raise AnswerTooLong(f"The answer is longer than {LONGEST_ANSWER >> 20} million characters.")


def _problem(error: object) -> str:
    reason = error.get("message") if isinstance(error, dict) else error
    return reason if isinstance(reason, str) and reason else "it gave no reason"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
