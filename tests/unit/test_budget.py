"""The inside: the text form of budgets, for any text and amount; reading returns what was written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentnb.budget import Limit, LimitUse, Spent, read_budget, uses_of
from agentnb.errors import UsageError

Amount = tuple[str, str, float, str]
"""A unit, the written form of an amount, the amount and its currency."""


def amounts(unit: str) -> st.SearchStrategy[Amount]:
    match unit:
        case "cost":
            money = st.tuples(st.integers(1, 10**6), st.sampled_from(["USD", "EUR", "CHF"]))
            return money.map(lambda each: (unit, f"{each[0] / 100:.2f} {each[1]}", each[0] / 100, each[1]))
        case "time":
            return st.integers(1, 10**5).map(lambda n: (unit, f"{n} min", n * 60.0, ""))
        case _:
            return st.integers(1, 10**6).map(lambda n: (unit, f"{n} {unit}", float(n), ""))


UNITS = st.lists(st.sampled_from(["tokens", "cost", "time", "turns"]), unique=True, min_size=1)
BUDGETS = UNITS.flatmap(lambda units: st.tuples(*map(amounts, units)))


@given(BUDGETS)
def test_read_budget_returns_the_written_amounts(budget: tuple[Amount, ...]) -> None:
    """In any order, with their units."""
    limits = read_budget(", ".join(text for _, text, _, _ in budget))
    assert [(str(each.unit), round(each.amount, 2), each.currency) for each in limits] == [
        (unit, round(amount, 2), currency) for unit, _, amount, currency in budget
    ]


@given(st.text(max_size=30))
def test_read_budget_of_any_text_gives_valid_limits_or_an_error(text: str) -> None:
    """No other error, and every limit is a finite number."""
    try:
        limits = read_budget(text)
    except UsageError as error:
        limits, hint = (), error.hint or ""
    else:
        hint = "200k tokens, $5"
    assert "200k tokens, $5" in hint
    assert all(0 < each.amount < float("inf") for each in limits)


@given(st.sampled_from(["tokens", "cost", "time", "turns"]), st.integers(1, 10**6), st.integers(0, 10**7))
def test_continuing_raises_the_limit_just_enough(unit: str, amount: int, used: int) -> None:
    """Afterwards the limit is not reached; with one part less it would be."""
    limit = Limit(unit=unit, amount=amount, currency="USD")  # type: ignore[arg-type]
    before = LimitUse(limit, used, amount)
    after = LimitUse(limit, used, amount + before.more)
    assert not after.is_reached
    assert before.more % amount == 0
    assert before.more == amount or LimitUse(limit, used, amount + before.more - amount).is_reached


def test_uses_of_omits_limits_of_scopes_that_were_not_counted() -> None:
    """Costs in other currencies do not count."""
    limits = (*read_budget("$5", scope="day"), *read_budget("3 turns"))
    uses = uses_of(limits, {"conversation": Spent(turns=3)})
    assert [(each.limit.unit, each.is_reached, each.is_nearly_reached) for each in uses] == [("turns", False, True)]
    (use,) = uses_of(read_budget("$5"), {"conversation": Spent(costs={"EUR": 9.0})})
    assert use.used == 0
