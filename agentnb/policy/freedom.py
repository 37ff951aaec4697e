"""How freely an agent works: Ask, Edit or Auto, and how that follows from the settings of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Freedom: TypeAlias = Literal["ask", "edit", "auto"]
"""``ask``: reads; edits and commands ask. ``edit``: edits files and cells at once; commands ask. ``auto``: commands run
at once, too, where they are confined or were previewed as harmless."""
Mode: TypeAlias = Literal["ask", "edit", "auto", "allow", "deny"]
"""A session's permissions: a freedom, allow what no floor holds, or deny everything."""
CellReview: TypeAlias = Literal["first", "after"]
"""When the user reviews a change of a notebook's cell: before it is made, or afterwards."""

FREEDOMS: tuple[Freedom, ...] = get_args(Freedom)
CUSTOM = "custom"
"""The freedom of a conversation whose settings are none of the three."""
TITLES: dict[str, str] = {"ask": "Ask", "edit": "Edit", "auto": "Auto", CUSTOM: "Custom"}
_ORDER: tuple[Mode, ...] = ("deny", "ask", "edit", "auto", "allow")
EDITS: frozenset[Mode] = frozenset({"edit", "auto"})
"""The modes in which edits of files and cells are made at once."""


def lowest(ceilings: Iterable[Freedom | None]) -> Freedom | None:
    """The lowest of *ceilings*; None where there is none."""
    return min((each for each in ceilings if each is not None), key=FREEDOMS.index, default=None)


def capped(mode: Mode, ceiling: Freedom | None) -> Mode:
    """*mode*, or *ceiling* where that is less."""
    return mode if ceiling is None else min(mode, ceiling, key=_ORDER.index)


def freedom_of(values: Mapping[str, Any]) -> str:
    """The freedom that the *values* of a conversation's settings come to: one of the three, or ``"custom"``."""
    mode = values.get("permissions")
    if mode not in FREEDOMS or values.get("kernel", "run") != "run":
        return CUSTOM
    return CUSTOM if values.get("cellReview", "first") == "after" and mode == "ask" else mode
