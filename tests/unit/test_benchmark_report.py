"""The page that ``make bench`` writes."""

from __future__ import annotations

from tests.benchmarks.report import report
from tests.benchmarks.row import Row


def test_page_has_each_row_with_its_limit_and_says_where_it_was_measured() -> None:
    rows = [
        Row(what="chunks", value=90.0, unit="/s", beside=30.0, beside_name="SDK", at_least=3.0),
        Row(what="a | b", value=2.0, unit="ms", at_most=1.0),
    ]
    page = report({"Chunks per second": rows}, 0.5, ["streaming"])
    assert "## Chunks per second\n" in page
    assert "| chunks | 90.0 /s | SDK 30.0 /s | 3.00 | ≥ 3 | kept |" in page
    assert "| a \\| b | 2.0 ms |  |  | ≤ 1 | NOT KEPT |" in page
    head = page.split("##")[0]
    assert ("the load was 0.5 when" in head, "Not in this run: streaming." in head) == (True, True)
