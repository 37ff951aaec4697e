"""The keys of a policy, and the freedoms that set several of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import msgspec

from agentnb.budget import EXAMPLE
from agentnb.policy.severity import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Freedom: TypeAlias = Literal["ask", "edit", "auto"]
"""``ask``: reads at once; edits and commands ask. ``edit``: edits files and cells at once; commands ask. ``auto``: also
runs commands at once, if they are confined or their preview was harmless."""
Mode: TypeAlias = Literal["ask", "edit", "auto", "allow", "deny"]
"""A session's permissions: a freedom, allow everything without a floor, or deny everything."""
CellReview: TypeAlias = Literal["first", "after"]
"""The time of the user's review of a cell change: before it is made, or afterwards."""

FREEDOMS: tuple[Freedom, ...] = get_args(Freedom)
CUSTOM = "custom"
"""The freedom of a conversation whose settings match none of the three."""
TITLES: dict[str, str] = {"ask": "Ask", "edit": "Edit", "auto": "Auto", CUSTOM: "Custom"}
_ORDER: tuple[Mode, ...] = ("deny", "ask", "edit", "auto", "allow")
EDITS: frozenset[Mode] = frozenset({"edit", "auto"})
"""The modes that make edits of files and cells at once."""


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


TOOLS = (
    *("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"),
    *("kernel", "cell"),
)
"""The possible values of a rule's ``tool``: ACP's kinds, and agentnb's kernel and cell tools."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One key of a policy file, or of a rule in it."""

    name: str
    kind: Literal["choice", "switch", "text", "texts", "budget"]
    about: str
    values: str = ""
    choices: tuple[str, ...] = ()
    default: Any = None
    is_needed: bool = False
    loosest: str | None = None
    facts: dict[str, str] = {}
    title: str = ""
    labels: tuple[str, ...] = ()
    variable: str = ""

    def fact(self, value: Any) -> str:
        """What holds where a file says *value*, as a sentence."""
        return self.facts[value] if self.facts else f"{self.title}: {value} ({self.name})."


FILE_KEYS = (
    Key(
        name="headless",
        kind="choice",
        choices=("deny", "allow"),
        default="deny",
        loosest="allow",
        about="The answer to a permission request when no rule decides it and nobody can answer. 'allow' works in "
        "trusted folders only.",
        facts={"allow": "If nobody can be asked: allow.", "deny": "If nobody can be asked: deny."},
        title="When nobody can answer",
        labels=("Deny", "Allow"),
        variable="AGENTNB_HEADLESS",
    ),
    Key(
        name="cell_review",
        kind="choice",
        choices=("first", "after"),
        loosest="after",
        about="When changes to a notebook's cells are reviewed: before they are made, or afterwards.",
        facts={
            "first": "Cell changes are reviewed before they are made (cell_review).",
            "after": "Cell changes are reviewed after they are made (cell_review).",
        },
    ),
    Key(
        name="freedom_at_most",
        kind="choice",
        choices=FREEDOMS,
        about="The most freedom that any conversation can have.",
        facts={each: f"The freedom of conversations is at most {TITLES[each]} (freedom_at_most)." for each in FREEDOMS},
    ),
    Key(
        name="budget",
        kind="budget",
        default=(),
        values=f'`"{EXAMPLE}"`, or some of these',
        about="A limit for each conversation. The budgets of all files apply, and that of the conversation or the "
        "settings. The site's cannot be exceeded.",
        title="Budget for each conversation",
    ),
    Key(
        name="budget_day",
        kind="budget",
        default=(),
        values="likewise",
        about="The most that all your conversations in all kernels may use in a day, counted from midnight.",
        title="Budget for each day",
    ),
)
"""The keys of a file that have one value each."""

TABLES = ("rule", "agents", "sensitive", "trust")
"""The tables of a file."""

RULE_KEYS = (
    Key(name="action", kind="choice", choices=("allow", "ask", "deny"), is_needed=True, about="needed"),
    Key(name="agent", kind="texts", default=(), values="names, with `*`", about="the agent"),
    Key(name="tool", kind="texts", default=(), choices=TOOLS, about="what it does"),
    Key(
        name="path",
        kind="texts",
        default=(),
        values="patterns: `**`, `*`, `?`, `[ab]`, `{a,b}`, `!`",
        about="the file, links followed; relative to the workspace, or absolute (`/`, `~/`); for `ask` and `deny` also "
        "[the files that a command names](#files-that-a-command-names)",
    ),
    Key(
        name="command",
        kind="texts",
        default=(),
        values="patterns: `*` matches anything; a trailing ` *` also matches nothing",
        about="each command in a line; for `ask` and `deny` also without its folder, variables and the options before "
        "its verb",
    ),
    Key(
        name="severity",
        kind="choice",
        choices=SEVERITIES,
        default="high",
        values='`"none"` to `"critical"`, default `"high"`',
        about="the highest severity that an `allow` covers",
    ),
    Key(
        name="sensitive",
        kind="switch",
        default=False,
        values="`true`",
        about="whether an `allow` covers sensitive files",
    ),
    Key(
        name="folder",
        kind="texts",
        default=(),
        values="folders, absolute or with `~/`",
        about="the workspace, or a folder that it is in; an `allow` that names one counts there without "
        "[trust](#trust)",
    ),
    Key(name="note", kind="text", values="text", about=""),
)
"""The keys of a rule, in the order in which they are written."""
