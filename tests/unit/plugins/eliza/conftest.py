"""One eliza process that a module's tests share, each in a separate session."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.unit.plugins.eliza.patient import Patient, visit


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def patient() -> AsyncIterator[Patient]:
    """Yields a client with every capability and a running process."""
    async with visit() as patient:
        yield patient
