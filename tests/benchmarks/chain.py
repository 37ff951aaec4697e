"""Cost of a chain of components per chunk: from the agent's pipe to the reduced state, with and without."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from typing import Any

from agentnb.agent import AgentSpec
from agentnb.components import Component
from agentnb.plugins.chain.conductor.running_chain import ChainProcess
from tests.benchmarks.connection import ROOT, reduced
from tests.benchmarks.row import Row

CHUNKS = 30_000
ROUNDS = 5
LIMIT = 1.5
PROXY = ROOT / "tests/agents/proxy.py"
PROGRAM = AgentSpec(name="proxy", title="proxy", command=(sys.executable, "-S", str(PROXY)))


class Nothing(Component):
    """Changes nothing."""


class Looks(Component):
    """Sees each chunk and changes nothing."""

    def on_update(self, session_id: str, update: dict[str, Any]) -> dict[str, Any] | None:
        return update


async def seconds(components: list[Any]) -> float:
    """Returns the best of several rounds."""
    spawn = partial(ChainProcess.spawn, components=components)
    took = [await (reduced(CHUNKS, spawn) if components else reduced(CHUNKS)) for _ in range(ROUNDS)]
    return min(took)


def measure() -> list[Row]:
    return asyncio.run(_rows())


async def _rows() -> list[Row]:
    without = await seconds([])
    chains: list[tuple[str, list[Any], float | None]] = [
        ("three components in Python that change nothing", [Nothing(), Nothing(), Nothing()], LIMIT),
        ("three that look at each chunk", [Looks(), Looks(), Looks()], None),
        ("one that is a program in Python", [PROGRAM], None),
    ]
    return [
        Row(
            what=f"a chunk through {name}",
            value=await seconds(chain) / CHUNKS * 1e6,
            unit="µs",
            beside=without / CHUNKS * 1e6,
            beside_name="without",
            at_most=limit,
        )
        for name, chain, limit in chains
    ]
