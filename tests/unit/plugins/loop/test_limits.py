"""Limits of a loop: times as users write them, and limits that a user extends.

The inside: both depend on the clock, and a real loop would take hours.
"""

from __future__ import annotations

from datetime import datetime, time, timezone

import pytest

from agentnb.budget import Spent
from agentnb.plugins.loop.limits import LimitCheck, LoopLimits, Standing, read_until

NOW = datetime(2027, 1, 30, 22, 30, tzinfo=timezone.utc)


def standing(**fields: object) -> Standing:
    values = {"spent": Spent(turns=3), "now": 0.0, "best": 0.5, "without_gain": 0, "higher_is_better": True}
    return Standing(**{**values, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("until", "day", "hour"),
    [
        ("07:00", 31, 7),
        ("7:00", 31, 7),
        ("23:15", 30, 23),
        ("2027-02-03 07:00", 3, 7),
        (time(7), 31, 7),
        (datetime(2027, 2, 3, 7), 3, 7),  # noqa: DTZ001 - as users write it
    ],
)
def test_until_accepts_a_time_of_day_or_a_date(until: object, day: int, hour: int) -> None:
    seconds = read_until(until, NOW)
    assert seconds is not None
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    assert (moment.day, moment.hour) == (day, hour)


def test_continuing_extends_the_limit_that_was_reached() -> None:
    check = LimitCheck(LoopLimits(tries=3, budget="100 tokens", patience=2, until=50.0))
    for reached_at, more in (
        (standing(), "3 tries"),
        (standing(spent=Spent(tokens=250, turns=1)), "200 tokens"),
        (standing(spent=Spent(turns=1), without_gain=2), "2 tries"),
        (standing(spent=Spent(turns=1), now=60.0), "1 h"),
    ):
        reached = check.reached(reached_at, is_running=False)
        assert reached is not None
        assert reached.more == more
        check.go_on(reached, reached_at)
        assert check.reached(reached_at, is_running=False) is None
