"""Lines of generated histories get the authors that an independent model has for them.

`python -m tests.unit.plugins.provenance.test_histories 1000 7` does 1,000 from seed 7 on, and prints the share.
"""

from __future__ import annotations

import sys

import pytest

from tests.unit.plugins.provenance.histories import History

WANTED = 0.99
IN_CI = 60


def share_right(first: int, count: int) -> tuple[float, int]:
    """Returns the share of rightly attributed lines, and the number of lines."""
    results = [History(seed).run().wrong_lines() for seed in range(first, first + count)]
    lines = sum(each[1] for each in results)
    return 1 - sum(each[0] for each in results) / lines, lines


def test_lines_of_generated_histories_have_the_right_author() -> None:
    """Edits, splits, merges, moves, copies, undo, another window, old formats, undone turns."""
    share, lines = share_right(100_000, IN_CI)
    assert lines > 3_000
    assert share >= WANTED


@pytest.mark.parametrize("seed", [87, 5523, 5696])
def test_histories_that_once_failed_are_attributed_correctly(seed: int) -> None:
    """Cells were split and merged in one turn; only lines with two authors are still wrong."""
    wrong, lines = History(seed).run().wrong_lines()
    assert wrong / lines < 0.05


if __name__ == "__main__":
    made = int(sys.argv[1])
    began = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    right, total = share_right(began, made)
    sys.stdout.write(f"{made:,} histories from seed {began}: {100 * right:.2f} % of {total:,} lines.\n")
    sys.exit(right < WANTED)
