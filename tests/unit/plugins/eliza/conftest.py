"""One eliza process that the tests of a module share, each in a session of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.unit.plugins.eliza.patient import Patient, visit


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared() -> AsyncIterator[Patient]:
    """A client with every capability, of a process that has started."""
    async with visit() as patient:
        yield patient


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bare() -> AsyncIterator[Patient]:
    """A client that offers nothing."""
    async with visit(capabilities={}) as patient:
        yield patient


@pytest_asyncio.fixture(loop_scope="module")
async def patient(shared: Patient) -> Patient:
    """The shared client, its answers as at the beginning."""
    shared.choice, shared.answers, shared.exit_code = "allow_once", {}, 0
    shared.files, shared.asked, shared.calls = {}, [], []
    return shared
