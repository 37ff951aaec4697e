"""A conversation whose agent has access to a kernel with two tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import agentnb
from agentnb.host import Host
from tests.unit.api.conftest import PATIENCE, KernelSettings
from tests.unit.host.talk import Talk, environment, host, work
from tests.unit.kernel.shell_tools import Tools

__all__ = ["environment", "host", "work"]  # the fixtures

Run = Callable[..., agentnb.Turn]


@pytest.fixture
def kernel_settings() -> KernelSettings:
    """Returns the kernel's settings; a test may change them."""
    return KernelSettings()


@pytest.fixture
def names(tools: Tools) -> dict[str, Any]:
    """Returns the kernel's variables, among them the two tables."""
    variables: dict[str, Any] = tools.shell.user_ns
    variables.update(tables())
    return variables


@pytest.fixture
def run(host: Host, work: Path, tools: Tools, names: dict[str, Any], kernel_settings: KernelSettings) -> Run:
    """Returns a function that runs a turn with one tool call for each code; the agent does not ask."""
    del names
    host.environment.connect(shell=tools, settings=kernel_settings)
    talk = Talk(host, work, "allow", script="calls_kernel", kernel_tools=True)

    def turn(*codes: str) -> agentnb.Turn:
        steps: list[dict[str, Any]] = []
        for number, code in enumerate(codes, 1):
            steps += [{"start": ["run_code", {"code": code}]}, {"end": number}]
        return talk.prompt(*steps).wait(PATIENCE)

    return turn


def tables() -> dict[str, Any]:
    """Returns orders and customers; one customer occurs twice."""
    orders = pd.DataFrame({"order": range(100), "id": range(100), "price": [float(each) + 0.5 for each in range(100)]})
    customers = pd.DataFrame({"id": [*range(100), 7], "segment": ["home", "office"] * 50 + ["home"]})
    return {"orders": orders, "customers": customers}
