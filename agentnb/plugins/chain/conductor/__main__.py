"""`python -m agentnb.conductor agent "proxy" … "agent"`: a chain for any ACP client, on stdin and stdout."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.agent.catalog import find, known
from agentnb.agent.process import startable
from agentnb.command import INTERRUPTED, MISUSED
from agentnb.errors import AgentnbError
from agentnb.plugins.chain.components.listing import component, program
from agentnb.plugins.chain.conductor.chain import PATIENCE
from agentnb.plugins.chain.conductor.stdio import ConductorProgram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.agent.catalog import AgentSpec
    from agentnb.plugins.chain.conductor.running_chain import Entry


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    words = arguments.components
    try:
        agent = _agent(words.pop()) if arguments.mode == "agent" else None
        components = [component(each) for each in words]
    except AgentnbError as error:
        sys.stderr.write(f"agentnb conductor: {error}\n")
        return MISUSED
    try:
        return asyncio.run(_run(components, agent, arguments.patience))
    except KeyboardInterrupt:
        return INTERRUPTED


async def _run(components: Sequence[Entry], agent: AgentSpec | None, patience: float) -> int:
    return await ConductorProgram(components, agent, patience=patience).run(Path.cwd())


def _agent(words: str) -> AgentSpec:
    """Returns the agent that *words* name: one of the catalogue, or a command."""
    if words in {spec.name for spec in known()}:
        return startable(find(words), Path.cwd(), os.environ.get("PATH"))
    return program(words)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m agentnb.conductor",
        description="Runs ACP components in a chain, on stdin and stdout.",
    )
    parser.add_argument(
        "mode", choices=("agent", "proxy"), help="the components; the last one is the agent, unless all are components"
    )
    parser.add_argument(
        "components", nargs="+", metavar="COMMAND", help="each one word: a command with its arguments, or a name"
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=PATIENCE,
        help="seconds that a component may take for a request (default: 120)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
