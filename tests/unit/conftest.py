"""The order of the unit tests, and which of them are slow.

The longest files come first, so that no process is left alone with one at the end. Tests that start agents, kernels or
other programs are marked ``slow``, with the longest files: ``make test-fast`` leaves them out, ``make test`` does not.
"""

from __future__ import annotations

import pytest

LONGEST = ("test_schedules.py", "test_linear_time.py", "test_laws.py", "test_both_languages.py", "test_typed_usage.py")
WITH_PROCESSES = {"agent", "api", "cassette", "checkup", "cli", "eliza", "events", "export", "host", "log"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the longest files first; the others stay in their order."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))
    for item in items:
        if item.path.name in LONGEST or item.path.parent.name in WITH_PROCESSES:
            item.add_marker(pytest.mark.slow)
