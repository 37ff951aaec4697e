"""The garbage collector passes over collected tests, and over nothing that a test makes."""

from __future__ import annotations

import gc
import weakref

import pytest


class Held:
    """Something that holds itself."""

    def __init__(self) -> None:
        self.itself = self


def test_a_test_when_it_runs_is_not_among_what_is_looked_through(request: pytest.FixtureRequest) -> None:
    """Nor are the others: they were there before the first one began."""
    assert gc.isenabled()
    looked_through = {id(each) for each in gc.get_objects()}
    assert [item.nodeid for item in request.session.items if id(item) in looked_through] == []


def test_what_a_test_makes_when_nobody_holds_it_is_collected() -> None:
    """As ever."""
    seen = weakref.ref(Held())
    gc.collect()
    assert seen() is None
