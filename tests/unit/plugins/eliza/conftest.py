"""One eliza process that a module's tests share, each in a separate session."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.unit.plugins.eliza.patient import Patient, visit


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared() -> AsyncIterator[Patient]:
    """Yields a client with every capability and a running process."""
    async with visit() as patient:
        yield patient


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bare() -> AsyncIterator[Patient]:
    """Yields a client without capabilities."""
    async with visit(capabilities={}) as patient:
        yield patient


@pytest_asyncio.fixture(loop_scope="module")
async def patient(shared: Patient) -> Patient:
    """Returns the shared client with its answers reset."""
    shared.choice, shared.answers, shared.exit_code = "allow_once", {}, 0
    shared.files, shared.asked, shared.calls = {}, [], []
    return shared
