"""Turns inputs into prompts: the inputs that :func:`agentnb.map` accepts, and the template's fields."""

from __future__ import annotations

import asyncio
import functools
import queue
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sized
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from agentnb.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

INPUT = "input"
"""The field of an input without named fields: a text, a number, an element of a Series."""
_FIELD = re.compile(r"\{\{|\}\}|\{([^{}\n]{1,200})\}")
_NAME = re.compile(r"[^\W\d]\w*\Z")
_MOST_NAMES = 8  # names in an error
_THREAD = "agentnb-batch-inputs"

Row: TypeAlias = Any


class InputPrompt(NamedTuple):
    label: Any
    text: str
    context: tuple[Any, ...] | dict[Any, Any] = ()
    check: Callable[[Any], Any] | None = None


class Taking:
    """Takes inputs one by one; an input taken for a caller that was cancelled goes to the next one."""

    def __init__(self, inputs: Iterable[InputPrompt], *, on_thread: bool) -> None:
        self._inputs = iter(inputs)
        self._on_thread = on_thread
        self._wanted: queue.SimpleQueue[Future[InputPrompt | None] | None] | None = None
        self._pending: Future[InputPrompt | None] | None = None

    async def take(self) -> InputPrompt | None:
        """Returns the next input; None if there is none."""
        if not self._on_thread and self._pending is None:
            return next(self._inputs, None)
        if self._pending is None:
            self._pending = Future()
            if self._wanted is None:
                self._wanted = queue.SimpleQueue()
                threading.Thread(target=self._go_through, args=[self._wanted], name=_THREAD, daemon=True).start()
            self._wanted.put(self._pending)
        prompt = await asyncio.shield(asyncio.wrap_future(self._pending))
        self._pending = None
        return prompt

    def put_back(self, prompt: InputPrompt | None) -> None:
        """Let the next :meth:`take` return *prompt*."""
        self._pending = Future()
        self._pending.set_result(prompt)

    def pause(self) -> None:
        """End the thread; the next :meth:`take` starts another one."""
        if self._wanted is not None:
            self._wanted.put(None)
        self._wanted = None

    def _go_through(self, wanted: queue.SimpleQueue[Future[InputPrompt | None] | None]) -> None:
        while (future := wanted.get()) is not None:
            try:
                future.set_result(next(self._inputs, None))
            except BaseException as error:  # noqa: BLE001 - the user's iterator; told by whoever waits
                future.set_exception(error)


def length_of(inputs: Any) -> int | None:
    """Returns how many inputs there are; None if that takes iterating over them."""
    is_lazy = hasattr(inputs, "to_delayed")  # Dask must compute to count
    return len(inputs) if isinstance(inputs, Sized) and not is_lazy else None


def input_prompts(
    prompt: str | Callable[[Row], Any], inputs: Any, check: Callable[[Row, Any], Any] | None = None
) -> Iterator[InputPrompt]:
    """Returns the prompts in the order of the inputs; each is made only when it is wanted."""
    make = prompt if callable(prompt) else template(prompt)
    _check_kind(inputs)
    if not callable(prompt) and length_of(inputs) and hasattr(inputs, "__getitem__"):  # tqdm can be iterated only once
        make(next(rows_of(inputs))[1])
    return _prompts(make, inputs, check)


def _prompts(make: Callable[[Row], Any], inputs: Any, check: Callable[[Row, Any], Any] | None) -> Iterator[InputPrompt]:
    for number, (label, row) in enumerate(rows_of(inputs)):
        made = make(row)
        text, context = made if isinstance(made, tuple) and len(made) == 2 else (made, ())  # noqa: PLR2004 - text, context
        if not isinstance(text, str) or not text.strip():
            what = "an empty text" if isinstance(text, str) else f"{type(text).__name__}"
            raise UsageError(
                f"The prompt of input {number} is {what}.", hint="A prompt must be text, or text and its context."
            )
        context = context if isinstance(context, dict) else tuple(context)
        yield InputPrompt(label, text, context, None if check is None else functools.partial(check, row))


def template(text: str) -> Callable[[Row], str]:
    """Returns a function that fills *text* with a row's fields: ``{name}``; ``{{`` and ``}}`` are braces."""
    names = [match[1] for match in _FIELD.finditer(text) if match[1]]
    if not names:
        raise UsageError(
            "The prompt has no field, so it would be the same for every input.",
            hint=f"Write {{{INPUT}}} where the input belongs, or a column's name in braces.",
        )

    def filled(row: Row) -> str:
        fields = row if isinstance(row, Mapping) else {INPUT: row}
        used = 0

        def value(match: re.Match[str]) -> str:
            nonlocal used
            if match[0] in ("{{", "}}"):
                return match[0][0]
            name = match[1]
            if name in fields:
                used += 1
                return "" if _is_missing(fields[name]) else str(fields[name])
            if _NAME.match(name):
                raise _missing(name, fields)
            return match[0]

        made = _FIELD.sub(value, text)
        if not used:
            raise _missing(names[0], fields)
        return made

    return filled


def rows_of(inputs: Any) -> Iterator[tuple[Any, Row]]:
    """Yields each input with its label: a mapping of columns, or the input itself."""
    _check_kind(inputs)
    if hasattr(inputs, "to_delayed"):  # Dask: one partition at a time, so that memory suffices
        for part in inputs.to_delayed():
            yield from rows_of(part.compute())
    elif hasattr(inputs, "itertuples") and hasattr(inputs, "columns"):
        names = [str(each) for each in inputs.columns]
        for label, *values in inputs.itertuples(name=None):
            yield label, dict(zip(names, values, strict=True))
    elif hasattr(inputs, "iter_rows") and hasattr(inputs, "columns"):  # polars
        yield from enumerate(inputs.iter_rows(named=True))
    elif hasattr(inputs, "items") and (isinstance(inputs, Mapping) or hasattr(inputs, "index")):  # a dict, a Series
        yield from inputs.items()
    else:
        yield from enumerate(inputs)


def _check_kind(inputs: Any) -> None:
    if isinstance(inputs, (str, bytes)):
        raise UsageError("The inputs are a single string.", hint="Pass a list of strings: [text].")
    if not isinstance(inputs, Iterable) and not hasattr(inputs, "to_delayed"):
        raise UsageError(
            f"The inputs are {type(inputs).__name__}, which has no elements.",
            hint="Pass a list, a dict, a Series, a DataFrame or a generator.",
        )


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)  # noqa: PLR0124 - NaN and NaT are not themselves
    except Exception:  # noqa: BLE001 - an array, or anything that a user's comparison raises
        return False


def _missing(name: str, fields: Mapping[Any, Any]) -> UsageError:
    names = [str(each) for each in fields]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return UsageError(
        f"The prompt has a field {{{name}}}, and the input has no {name!r}.",
        hint=f"It has {', '.join(names[:_MOST_NAMES]) or 'nothing'}{more}. Write {{{{ and }}}} for braces.",
    )
