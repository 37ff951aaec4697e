"""Reads JSON that others wrote: anything wrong with it raises a ``ValueError``, and nothing worse."""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import Any, TypeVar

_Kind = TypeVar("_Kind")

NESTING_LIMIT = 200
"""The most levels of nested arrays and objects: functions that walk a value need some stack for each."""

WRAPPED_LIMIT = NESTING_LIMIT + 50
"""The same if agentnb's own files hold such a value inside other objects (a cassette, a saved session)."""

_LONGEST_INTEGER = 300  # digits; Python refuses above 4,300, and a float holds 309
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_RUNS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]+|[\]}]+', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def read_json(data: bytes | str, *, repair: bool = True) -> Any:
    text = data.decode(json.detect_encoding(data)) if isinstance(data, bytes) else data
    if is_too_deep(text.encode("utf-8", "surrogatepass"), WRAPPED_LIMIT):
        raise ValueError(f"the JSON is nested deeper than {WRAPPED_LIMIT} levels")
    value = json.loads(text, parse_int=_integer)
    return without_half_characters(value) if repair else value


def read_record(data: bytes | str, kind: type[_Kind]) -> _Kind:
    import msgspec  # imported here: programs that run without installed packages use this module, too

    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError:
        message = "the JSON is nested too deeply"
    except (msgspec.MsgspecError, UnicodeError) as error:
        message = str(error)
    raise ValueError(message)


def read_json_at(text: str, begin: int) -> tuple[Any, int]:
    """Read the JSON value that begins at *begin*, as :func:`read_json`; also returns where it ends.

    What follows it is ignored.
    """
    try:
        value, end = json.JSONDecoder(parse_int=_integer).raw_decode(text, begin)
        return without_half_characters(value), end
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error


def is_too_deep(data: bytes, limit: int = NESTING_LIMIT) -> bool:
    if data.count(b"[") + data.count(b"{") <= limit:
        return False
    brackets = _STRINGS.sub(b"", data).translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > limit


def without_deep_values(data: bytes) -> bytes:
    """*data* with ``null`` for each array or object that lies deeper than `NESTING_LIMIT`."""
    kept: list[bytes] = []
    begin = depth = 0
    for run in _RUNS.finditer(data):
        start, step = run.start(), _STEPS.get(data[run.start()], 0)
        before, depth = depth, depth + step * (run.end() - start)
        if before <= NESTING_LIMIT < depth:
            kept += [data[begin : start + NESTING_LIMIT - before], b"null"]
        elif depth <= NESTING_LIMIT < before:
            begin = start + before - NESTING_LIMIT
    if depth <= NESTING_LIMIT:
        kept.append(data[begin:])
    return b"".join(kept)


def without_half_characters(value: Any) -> Any:
    """Returns *value* with lone surrogates, which UTF-8 cannot encode, replaced by U+FFFD."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {without_half_characters(key): without_half_characters(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_half_characters(item) for item in value]
    return value


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else float(digits)
