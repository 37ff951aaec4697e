"""Describes a Python object for the agent: its type, shape, columns and head, capped in size."""

from __future__ import annotations

import inspect
import re
import reprlib
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.kernel.error_summary import ErrorPlace, summarize_error
from agentnb.server.comm.lab import current_notebook
from agentnb.state import SimpleMessageAttachment

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_CHARACTERS = 8_000
HEAD_ROWS = 8
HEAD_ITEMS = 20
_CELL = re.compile(r"In ?\[(?P<count>\d+)\]")


def describe(value: Any, name: str | None = None) -> SimpleMessageAttachment:
    r"""An attachment that shows *value* to the agent.

    Example:
        >>> describe([1, 2, 3], "xs").model_representation
        'xs: list, length 3\n[1, 2, 3]'
    """
    label = name or getattr(value, "__name__", None) or type(value).__name__
    body = next((body for fits, body in _BODIES if fits(value)), _repr)
    text = f"{label}: {summarize(value)}\n{_guarded(body, value)}"
    if len(text) > MAX_CHARACTERS:
        text = f"{text[:MAX_CHARACTERS]}\n… cut at {MAX_CHARACTERS:,} characters"
    return SimpleMessageAttachment(label=label, display_kind="variable", model_representation=text)


def summarize(value: Any) -> str:
    """One line on *value*: its type and size.

    Example:
        >>> summarize({"a": 1})
        'dict, length 1'
    """
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


def _container(value: Any) -> str:
    if isinstance(value, dict):
        excerpt: Any = {key: value[key] for key in islice(value, HEAD_ITEMS)}
    else:
        excerpt = type(value)(islice(value, HEAD_ITEMS)) if type(value) in (list, tuple, set, frozenset) else value
    more = f"\n… and {len(value) - HEAD_ITEMS} more" if len(value) > HEAD_ITEMS else ""
    return f"{_repr(excerpt)}{more}"


def _repr(value: Any) -> str:
    short = reprlib.Repr()
    short.maxlevel = 6
    short.maxdict = short.maxlist = short.maxtuple = short.maxset = short.maxfrozenset = HEAD_ITEMS
    short.maxstring = short.maxother = MAX_CHARACTERS
    return short.repr(value)


def _error(value: BaseException) -> str:
    return summarize_error(value, cell_of=cell_place, script=_script()).text


def cell_place(file: str, shell: Any = None) -> ErrorPlace | None:
    """The cell that IPython has compiled under a file name; None where it is none."""
    if shell is None:
        get = getattr(sys.modules.get("IPython"), "get_ipython", None)
        shell = get() if get is not None else None
    named = shell.compile.format_code_name(file) if shell is not None else None
    match = _CELL.search(named[1]) if named else None
    if match is None:
        return None
    count = int(match["count"])
    notebook = current_notebook()
    cell = next((each for each in notebook.cells if each.count == count), None) if notebook is not None else None
    return ErrorPlace(count, cell.id if cell else None)


def _script() -> Path | None:
    """The file that this Python was started with; None in a kernel and at a prompt."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return Path(file).resolve() if isinstance(file, str) else None


_BODIES: tuple[tuple[Callable[[Any], bool], Callable[[Any], str]], ...] = (
    (lambda value: isinstance(value, BaseException), _error),
    (_is_frame, _frame),
    (_is_array, _array),
    (lambda value: isinstance(value, str), str),
    (lambda value: isinstance(value, dict | list | tuple | set | frozenset), _container),
    (_is_source, _source),
)
