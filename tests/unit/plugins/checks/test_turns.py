"""Turns that change tables: findings are kept with the turn, shown in previews, and can be a condition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import agentnb
from agentnb.host import Host
from agentnb.plugins.checks.steps import task_for_agent
from agentnb.state import SystemNotificationResponsePart
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.talk import Talk, environment, host, work
from tests.unit.kernel.conftest import tools
from tests.unit.kernel.shell_tools import Tools

__all__ = ["environment", "host", "tools", "work"]  # the fixtures

REPEATED = "`orders` rows 100 → 101: `id` is not unique in `customers` (1 key)"
JOIN = "orders = orders.merge(customers, on='id')"


@pytest.fixture
def talk(host: Host, work: Path, tools: Tools) -> Talk:
    """Returns a session whose agent has access to the kernel without asking; the kernel has two tables."""
    host.environment.connect(shell=tools)
    tools.shell.user_ns.update(tables())
    return Talk(host, work, "allow", script="calls_kernel", kernel_tools=True)


def tables() -> dict[str, Any]:
    """Returns orders and customers; one customer occurs twice."""
    orders = pd.DataFrame({"order": range(100), "id": range(100), "price": [float(each) + 0.5 for each in range(100)]})
    customers = pd.DataFrame({"id": [*range(100), 7], "segment": ["home", "office"] * 50 + ["home"]})
    return {"orders": orders, "customers": customers}


def run(talk: Talk, *codes: str) -> agentnb.Turn:
    """Runs a turn with one tool call for each of *codes*."""
    steps: list[dict[str, Any]] = []
    for number, code in enumerate(codes, 1):
        steps += [{"start": ["run_code", {"code": code}]}, {"end": number}]
    return talk.prompt(*steps).wait(PATIENCE)


def test_turn_reports_the_key_whose_join_repeats_rows(talk: Talk) -> None:
    turn = run(talk, JOIN)
    assert str(turn.data_checks) == REPEATED
    (check,) = turn.data_checks
    assert (check.cause, check.columns, check.others) == ("fan-out", ("id",), ("customers",))


def test_code_of_a_check_shows_the_rows_and_asserts_the_fault(talk: Talk, tools: Tools) -> None:
    (check,) = run(talk, JOIN).data_checks
    names = tools.shell.user_ns
    assert eval(check.show, names)["id"].tolist() == [7, 7]  # noqa: S307 - the check's own code
    with pytest.raises(AssertionError, match="id is not unique in customers"):
        exec(check.assertion, names)  # noqa: S102 - likewise


def test_table_is_compared_with_its_state_before_the_turn(
    talk: Talk,
) -> None:
    turn = run(talk, "orders['price'] *= 10", "orders['price'] *= 10")
    assert str(turn.data_checks) == "`orders`: values of `price` are 100× larger"


def test_turn_that_fixes_its_own_fault_has_no_finding(talk: Talk) -> None:
    turn = run(talk, JOIN, "orders = orders.drop_duplicates('order')[['order', 'id', 'price']]")
    assert turn.data_checks.ok


def test_undo_removes_a_check_and_redo_restores_it(talk: Talk) -> None:
    turn = run(talk, JOIN)
    turn.undo()
    assert turn.data_checks.ok
    turn.redo()
    assert str(turn.data_checks) == REPEATED


def test_turn_is_not_compared_when_data_checks_are_off(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTNB_DATA_CHECKS", "off")
    assert run(talk, JOIN).data_checks.ok


def test_required_data_checks_give_the_agent_causes_but_no_values(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTNB_DATA_CHECKS", "required")
    monkeypatch.setenv("AGENTNB_VERIFY", "each turn")
    turn = run(talk, JOIN)
    assert turn.snapshot is not None
    notes = [each.content for each in turn.snapshot.response_parts if isinstance(each, SystemNotificationResponsePart)]
    assert "Data checks: `orders`: `id` is not unique in `customers` (1 key)." in map(str, notes)
    task = task_for_agent(turn.data_checks)
    assert "`orders`: a join repeats rows, because `id` is not unique in `customers`" in task
    assert not any(each.isdigit() for each in task)
