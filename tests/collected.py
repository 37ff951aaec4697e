"""A pytest plugin: Python's garbage collector passes over what was collected, thousands of tests and their modules.

They stay until the end, so looking through them again and again finds nothing. What tests make is collected as ever.
"""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests without looking for garbage, then keep all that is there from being looked at again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
