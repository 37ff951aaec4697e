"""The kernel tools, and a main thread for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.kernel.shell_tools import Tools


@pytest.fixture
def tools() -> Iterator[Tools]:
    """Returns a tab's tools over a new shell."""
    made = Tools()
    yield made
    made.loop.stop()
