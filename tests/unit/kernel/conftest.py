"""The tools, and a main thread to use them on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.kernel.shell_tools import Tools


@pytest.fixture
def tools() -> Iterator[Tools]:
    """The tools of a tab over a shell of their own."""
    made = Tools()
    yield made
    made.loop.stop()
