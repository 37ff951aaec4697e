"""Checks the arguments of callers, so that a mistake raises at once and not later in an agent or a thread."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, MappingView, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agentnb.errors import UsageError
from agentnb.policy.keys import FREEDOMS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from agentnb.policy.keys import Freedom, Mode

T = TypeVar("T")

MODES: tuple[Mode, ...] = ("ask", "allow", "deny")

_LISTS = (list, tuple, AbstractSet, MappingView, Iterator)


def each_of(context: Iterable[Any]) -> Iterable[Any]:
    """Returns *context*, a list of objects; rejects a single object, such as a text or a data frame.

    Example:
        >>> each_of([1, 2])
        [1, 2]
    """
    if not isinstance(context, _LISTS):
        kind = type(context).__name__
        message = f"context must be a list of objects, not one {kind}."
        raise UsageError(message, hint='Put it in brackets: context=[df], or name it: context={"train": df}.')
    return context


def check_permissions(permissions: object) -> Mode:
    """Returns the mode that *permissions* stands for: *permissions* itself, or ``"ask"`` for a function."""
    if callable(permissions):
        return "ask"
    hint = 'Use permissions="ask" if in doubt.'
    return one_of("permissions", permissions, MODES, hint=hint, more=", and not a function")


def check_freedom(freedom: object) -> Freedom:
    """Returns *freedom*; raises UsageError unless it is one of the three."""
    return one_of("freedom", freedom, FREEDOMS, hint='Use freedom="ask" if in doubt.')


def one_of(name: str, value: object, known: Sequence[T], *, hint: str, more: str = "") -> T:
    """Returns the one of *known* that *value* equals; *name* is the argument's name in the error, *more* its end."""
    for each in known:
        if value == each:
            return each
    listed = ", ".join(map(repr, known)) + more
    raise UsageError(f"{name}={value!r} is not one of {listed}.", hint=hint)


def mode_of(permissions: object, freedom: object) -> Mode:
    mode = check_permissions(permissions)
    if freedom is None:
        return mode
    if mode != "ask":
        raise UsageError(f"permissions={mode!r} cannot be combined with freedom={freedom!r}.", hint="Give one of them.")
    return check_freedom(freedom)


def check_text(name: str, value: object, *, example: str) -> None:
    """Check that *value* is text and not empty; *name* is the argument's name in the error."""
    if not isinstance(value, str):
        raise UsageError(f"{name} must be text, not {value!r}.", hint=f"For example {example}.")
    if not value.strip():
        raise UsageError(f"{name} is empty.", hint=f"For example {example}.")


def check_count(name: str, value: object) -> None:
    """Check that *value* is a whole number above zero; *name* is the argument's name in the error."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{name} must be a number from 1, not {value!r}.", hint=f"For example {name}=20.")


def check_environment(env: object) -> dict[str, str]:
    """Returns the names and strings in *env*; an empty dict if it is None."""
    if env is None:
        return {}
    if not isinstance(env, Mapping):
        raise UsageError("env must be a mapping of names to strings.", hint='For example env={"LEVEL": "1"}.')
    variables = dict(env.items())  # read the caller's mapping here, never on the host's thread
    for name, value in variables.items():
        if not (isinstance(name, str) and isinstance(value, str)):
            raise UsageError(
                f"env has {name!r} as {value!r}; names and values must be strings.",
                hint='For example env={"LEVEL": "1"}.',
            )
    return variables


def folders(value: object) -> Sequence[str | os.PathLike[str]]:
    """Returns *value*, the argument ``directories``, as a list of folders; rejects a single path."""
    if isinstance(value, (str, bytes, os.PathLike)) or not isinstance(value, (Sequence, AbstractSet, Iterator)):
        raise UsageError("directories must be a list of folders.", hint='For example directories=["../data"].')
    return list(value)


def check_moment(name: str, value: date | str | None) -> int | None:
    """Converts a date, a datetime or ISO 8601 text to milliseconds since 1970; None for None."""
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(moment, datetime):
            moment = datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001 - local time
        return int(moment.timestamp() * 1000)
    except (ValueError, AttributeError, OverflowError, OSError):
        raise UsageError(f"{name}={value!r} is not a date.", hint=f'For example {name}="2026-11-02".') from None


def check_which(
    limit: int,
    folder: str | os.PathLike[str] | None = None,
    agent: str | None = None,
    since: date | str | None = None,
    until: date | str | None = None,
) -> dict[str, Any]:
    """Returns the checked filter in the form that the log takes; without *limit*, which is only checked."""
    check_count("limit", limit)
    if agent is not None:
        check_text("agent", agent, example='agent="eliza"')
    which = {"agent": agent, "since": check_moment("since", since), "until": check_moment("until", until)}
    return which if folder is None else {**which, "cwd": check_folder(folder)}


def check_folder(cwd: str | os.PathLike[str]) -> str:
    """Returns the resolved path of a folder, which need not exist."""
    try:
        return str(Path(cwd).expanduser().resolve())
    except (TypeError, RuntimeError) as error:
        raise UsageError(f"{cwd!r} does not name a folder: {error}.", hint="Give a path.") from None
