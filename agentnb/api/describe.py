"""Describes a Python object for the agent: its type, shape, columns and head, capped in size."""

from __future__ import annotations

import inspect
import reprlib
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.api.cell_place import cell_place
from agentnb.kernel.error_summary import summarize_error
from agentnb.state import SimpleMessageAttachment

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_CHARACTERS = 8_000
HEAD_ROWS = 8
HEAD_ITEMS = 20


def describe(value: Any, name: str | None = None) -> SimpleMessageAttachment:
    r"""An attachment that shows *value* to the agent.

    Args:
        value: Any object. A frame is shown by shape, columns and head; an array by shape, dtype and a summary; a
            function or class by its source; an error by its frames, causes and values; anything else by its repr.
        name: What the user calls it; by default its own name or its type's.

    Returns:
        The attachment, at most :data:`MAX_CHARACTERS` characters of text.

    Example:
        >>> describe([1, 2, 3], "xs").model_representation
        'xs: list, length 3\n[1, 2, 3]'
    """
    label = name or getattr(value, "__name__", None) or type(value).__name__
    head, body = _describe(value)
    text = f"{label}: {head}\n{body}"
    if len(text) > MAX_CHARACTERS:
        text = f"{text[:MAX_CHARACTERS]}\n… cut at {MAX_CHARACTERS:,} characters"
    return SimpleMessageAttachment(label=label, display_kind="variable", model_representation=text)


def summarize(value: Any) -> str:
    """One line on *value*: its type and size.

    Example:
        >>> summarize({"a": 1})
        'dict, length 1'
    """
    return _describe_head(value)


def _describe(value: Any) -> tuple[str, str]:
    for fits, body in _BODIES:
        if fits(value):
            return _describe_head(value), _guarded(body, value)
    return _describe_head(value), _guarded(_repr, value)


def _describe_head(value: Any) -> str:
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"{name}, shape {shape}"
    if isinstance(value, list | tuple | dict | set | frozenset | str | bytes):
        return f"{name}, length {len(value)}"
    return name


def _guarded(body: Callable[[Any], str], value: Any) -> str:
    """An object's own code may raise; then that is what there is to show."""
    try:
        return body(value)
    except Exception as error:  # noqa: BLE001 - any user's __repr__ may raise anything
        return f"(cannot be shown: {type(error).__name__}: {error})"


def _is_frame(value: Any) -> bool:
    return all(hasattr(value, part) for part in ("columns", "dtypes", "head"))


def _frame(value: Any) -> str:
    columns = "\n".join(f"  {name}: {kind}" for name, kind in _columns(value))
    return f"columns:\n{columns}\nhead:\n{value.head(HEAD_ROWS)}"


def _columns(value: Any) -> list[tuple[str, str]]:
    kinds = value.dtypes
    return [(str(name), str(kind)) for name, kind in zip(value.columns, list(kinds), strict=False)]


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _array(value: Any) -> str:
    return f"dtype {value.dtype}\n{value!r}"


def _is_source(value: Any) -> bool:
    return inspect.isfunction(value) or inspect.isclass(value) or inspect.ismethod(value)


def _source(value: Any) -> str:
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        return repr(value)


def _mapping(value: dict[Any, Any]) -> str:
    shown = {key: value[key] for key in islice(value, HEAD_ITEMS)}
    more = f"\n… and {len(value) - HEAD_ITEMS} more" if len(value) > HEAD_ITEMS else ""
    return f"{_repr(shown)}{more}"


def _sequence(value: Any) -> str:
    shown = type(value)(islice(value, HEAD_ITEMS)) if type(value) in (list, tuple, set, frozenset) else value
    more = f"\n… and {len(value) - HEAD_ITEMS} more" if len(value) > HEAD_ITEMS else ""
    return f"{_repr(shown)}{more}"


def _repr(value: Any) -> str:
    short = reprlib.Repr()
    short.maxlevel = 6
    short.maxdict = short.maxlist = short.maxtuple = short.maxset = short.maxfrozenset = HEAD_ITEMS
    short.maxstring = short.maxother = MAX_CHARACTERS
    return short.repr(value)


def _text(value: str) -> str:
    return value


def _error(value: BaseException) -> str:
    return summarize_error(value, cell_of=cell_place, script=_script()).text


def _script() -> Path | None:
    """The file that this Python was started with; None in a kernel and at a prompt."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return Path(file).resolve() if isinstance(file, str) else None


_BODIES: tuple[tuple[Callable[[Any], bool], Callable[[Any], str]], ...] = (
    (lambda value: isinstance(value, BaseException), _error),
    (_is_frame, _frame),
    (_is_array, _array),
    (lambda value: isinstance(value, str), _text),
    (lambda value: isinstance(value, dict), _mapping),
    (lambda value: isinstance(value, list | tuple | set | frozenset), _sequence),
    (_is_source, _source),
)
