"""Turns that change tables: findings are kept with the turn, shown in previews, and can be a condition."""

from __future__ import annotations

from typing import Any

import pytest

from agentnb.state import SystemNotificationResponsePart
from tests.unit.api.conftest import KernelSettings
from tests.unit.plugins.checks.conftest import Run, tables

__all__ = ["tables"]

REPEATED = "`orders` rows 100 → 101: `id` is not unique in `customers` (1 key)"
JOIN = "orders = orders.merge(customers, on='id')"


def test_turn_reports_the_key_whose_join_repeats_rows(run: Run, names: dict[str, Any]) -> None:
    """The check's own code shows the rows and asserts the fault; undo removes the check, and redo restores it."""
    turn = run(JOIN)
    assert str(turn.data_checks) == REPEATED
    (check,) = turn.data_checks
    assert (check.cause, check.columns, check.others) == ("fan-out", ("id",), ("customers",))
    assert eval(check.show, names)["id"].tolist() == [7, 7]  # noqa: S307 - the check's own code
    with pytest.raises(AssertionError, match="id is not unique in customers"):
        exec(check.assertion, names)  # noqa: S102 - likewise
    turn.undo()
    assert turn.data_checks.ok
    turn.redo()
    assert str(turn.data_checks) == REPEATED


def test_table_is_compared_with_its_state_before_the_turn(run: Run) -> None:
    """So a turn that fixes its own fault has no finding."""
    turn = run("orders['price'] *= 10", "orders['price'] *= 10")
    assert str(turn.data_checks) == "`orders`: values of `price` are 100× larger"
    turn = run(JOIN, "orders = orders.drop_duplicates('order')[['order', 'id', 'price']]")
    assert turn.data_checks.ok


def test_turn_is_not_compared_when_data_checks_are_off(run: Run, kernel_settings: KernelSettings) -> None:
    kernel_settings.choose("data_checks", "off")
    assert run(JOIN).data_checks.ok


def test_required_data_checks_give_the_agent_causes_but_no_values(run: Run, kernel_settings: KernelSettings) -> None:
    """The user reads the values; the agent, which repeats its task here, gets three chances."""
    kernel_settings.choose("data_checks", "required")
    kernel_settings.choose("verify", "until verified")
    turn = run(JOIN)
    assert turn.snapshot is not None
    notes = [each.content for each in turn.snapshot.response_parts if isinstance(each, SystemNotificationResponsePart)]
    assert "Data checks: `orders`: `id` is not unique in `customers` (1 key)." in map(str, notes)
    task = "`orders`: a join repeats rows, because `id` is not unique in `customers`"
    assert turn.text.count(task) == 3
    assert not any(each.isdigit() for each in turn.text)
