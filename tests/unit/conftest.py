"""The order of the unit tests: the longest files first, so that no process is left alone with one at the end."""

from __future__ import annotations

import pytest

LONGEST = ("test_schedules.py", "test_linear_time.py", "test_laws.py", "test_both_languages.py", "test_typed_usage.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the longest files first; the others stay in their order."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))
