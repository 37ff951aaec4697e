"""Budgets: limits on usage, written as ``"200k tokens, $5, 30 min, 20 turns"``, and how far each is used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec

from agentnb.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Unit: TypeAlias = Literal["tokens", "cost", "time", "turns"]
Scope: TypeAlias = Literal["conversation", "day", "batch", "loop", "turn"]

NEARLY = 0.8
"""The fraction of a limit from which its use is reported."""
EXAMPLE = "200k tokens, $5, 30 min, 20 turns"
_GRAMMAR = f"Write some of tokens, money, time and turns, with commas between them: '{EXAMPLE}'."
_PART = re.compile(
    r"(?P<sign>[$€£])?\s*(?P<number>\d{1,12}(?:\.\d{1,6})?)\s*(?P<scale>[kKM](?![A-Za-z]))?\s*(?P<word>[A-Za-z]{1,10})?",
    re.ASCII,
)
_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP"}
_SCALES = {"": 1, "k": 1_000, "K": 1_000, "M": 1_000_000}
_SECONDS = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hour", "hours"), 3600),
}
_COUNTED: dict[str, Unit] = {"token": "tokens", "tokens": "tokens", "turn": "turns", "turns": "turns"}
_OWNERS: dict[Scope, str] = {
    "conversation": "This conversation's budget",
    "day": "Today's budget",
    "batch": "The batch's budget",
    "loop": "The loop's budget",
    "turn": "This turn's limit",
}


class Spent(NamedTuple):
    """The combined usage of turns: tokens and money as far as agents report them, seconds, and the number of turns."""

    tokens: int = 0
    costs: Mapping[str, float] = {}
    seconds: float = 0.0
    turns: int = 0


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """One limit of a budget.

    Attributes:
        unit: The limited quantity.
        amount: The limit, in tokens, money, seconds or turns.
        currency: ISO 4217 code of money.
        scope: The scope in which usage is counted together.
        origin: Who set it, for the message; empty if the user set it for this conversation.
        hint: How to raise it.
        is_fixed: True if the user cannot go on beyond it.
    """

    unit: Unit
    amount: float
    currency: str = ""
    scope: Scope = "conversation"
    origin: str = ""
    hint: str = ""
    is_fixed: bool = False

    @property
    def key(self) -> tuple[str, ...]:
        """A key that is equal for the same limit from the same place."""
        return (self.scope, self.unit, self.currency, self.origin)

    def used(self, spent: Spent) -> float:
        if self.unit == "cost":
            return spent.costs.get(self.currency, 0.0)
        return {"tokens": spent.tokens, "time": spent.seconds, "turns": spent.turns}[self.unit]


class LimitUse(NamedTuple):
    """The use of a limit; ``allowed`` is its amount plus what the user has added to it."""

    limit: Limit
    used: float
    allowed: float

    @property
    def is_reached(self) -> bool:
        """True if no more may be used. The running turn is among the turns that are counted."""
        return self.used > self.allowed if self.limit.unit == "turns" else self.used >= self.allowed

    @property
    def is_nearly_reached(self) -> bool:
        return self.used >= NEARLY * self.allowed

    @property
    def more(self) -> float:
        """Returns how much the user adds by going on: the amount again, as often as it takes to be within the limit."""
        amount = self.limit.amount
        return amount * max(1, int((self.used - self.allowed) // amount) + 1)

    @property
    def percent(self) -> str:
        """The share used, such as ``83% of $5.00 used``."""
        if self.is_reached:
            return f"{written_amount(self.limit, self.allowed)} used up"
        return f"{100 * self.used / self.allowed:.0f}% of {written_amount(self.limit, self.allowed)} used"

    @property
    def nearly(self) -> str:
        """The sentence for the user from 80 % on."""
        used = f"{self.used:,.0f}" if self.limit.unit in ("tokens", "turns") else written_amount(self.limit, self.used)
        return f"{self._owner}: {used} of {written_amount(self.limit, self.allowed)} used."

    @property
    def message(self) -> str:
        used = f" ({written_amount(self.limit, self.used)})" if self.limit.unit != "turns" else ""
        return f"{self._owner} of {written_amount(self.limit, self.allowed)} is used up{used}."

    @property
    def _owner(self) -> str:
        by = f" ({self.limit.origin})" if self.limit.origin else ""
        return f"{_OWNERS[self.limit.scope]}{by}"


def uses_of(
    limits: Iterable[Limit], spent: Mapping[Scope, Spent], added: Mapping[Any, float] | None = None
) -> list[LimitUse]:
    """Returns how far each of *limits* is used; *added* is what the user has added, by the limits' keys."""
    more = added or {}
    return [
        LimitUse(each, each.used(spent[each.scope]), each.amount + more.get(each.key, 0.0))
        for each in limits
        if each.scope in spent
    ]


def read_budget(text: Any, *, name: str = "budget", **fields: Any) -> tuple[Limit, ...]:
    """Returns the limits in *text*; *fields* are fields of each :class:`Limit`.

    Raises:
        UsageError: If it is not a budget; the message says which part is wrong.
    """
    if not isinstance(text, str):
        raise UsageError(f"{name} is {text!r}, which is not text.", hint=_GRAMMAR)
    limits: dict[Unit, Limit] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        unit, amount, currency = _read_part(part, name)
        if unit in limits:
            raise UsageError(f"{name}: {part!r} limits {unit} a second time.", hint=_GRAMMAR)
        limits[unit] = Limit(unit=unit, amount=amount, currency=currency, **fields)
    return tuple(limits.values())


def _read_part(part: str, name: str) -> tuple[Unit, float, str]:
    match = _PART.fullmatch(part)
    if match is None:
        raise UsageError(f"{name}: {part[:60]!r} is not an amount.", hint=_GRAMMAR)
    sign, word, scale = match["sign"] or "", match["word"] or "", match["scale"] or ""
    amount = float(match["number"]) * _SCALES[scale]
    unit, currency = _unit_of(sign, word)
    if unit is None:
        wrong = f"has no unit: did you mean {part} tokens?" if not word else f"has the unknown unit {word!r}."
        raise UsageError(f"{name}: {part!r} {wrong}", hint=_GRAMMAR)
    if amount <= 0 or (unit in ("tokens", "turns") and amount != int(amount)):
        raise UsageError(
            f"{name}: {part!r} is not a whole number above zero." if amount else f"{name}: {part!r} is not above zero.",
            hint=_GRAMMAR,
        )
    return unit, amount * _SECONDS[word] if unit == "time" else amount, currency


def _unit_of(sign: str, word: str) -> tuple[Unit | None, str]:
    if sign:
        return ("cost", _SIGNS[sign]) if word in ("", _SIGNS[sign]) else (None, "")
    if word in _SECONDS:
        return "time", ""
    if word in _COUNTED:
        return _COUNTED[word], ""
    return ("cost", word) if re.fullmatch(r"[A-Z]{3}", word) else (None, "")


def described(*budgets: Iterable[Limit]) -> str | None:
    """All limits of *budgets* in words, with who set them; None where there is none."""
    limits = [each for budget in budgets for each in budget]
    words = [f"{written_amount(each, each.amount)} ({each.origin})" for each in limits]
    return ", ".join(words) or None


def written_amount(limit: Limit, amount: float) -> str:
    if limit.unit in ("tokens", "turns"):
        word = limit.unit if round(amount) != 1 else limit.unit.removesuffix("s")
        return f"{amount:,.0f} {word}"
    if limit.unit == "time":
        return _duration(amount)
    sign = next((sign for sign, code in _SIGNS.items() if code == limit.currency), "")
    number = f"{amount:,.2f}" if amount >= 0.01 or not amount else f"{amount:.4f}"  # noqa: PLR2004 - a cent
    return f"{sign}{number}" if sign else f"{number} {limit.currency}"


def _duration(seconds: float) -> str:
    whole = int(seconds)
    if whole < 60:  # noqa: PLR2004 - seconds of a minute
        return f"{seconds:.1f} s" if seconds < 10 and seconds != whole else f"{whole} s"  # noqa: PLR2004 - a digit more where it tells
    hours, minutes = divmod(whole // 60, 60)
    rest = whole % 60
    parts = [f"{hours} h" if hours else "", f"{minutes} min" if minutes else "", f"{rest} s" if rest else ""]
    return " ".join(filter(None, parts))


def is_of_day(message: str) -> bool:
    """True if a message names the budget of a day as the reason.

    Example:
        >>> is_of_day("Today's budget of $5.00 is used up ($5.12).")
        True
    """
    return _OWNERS["day"] in message
