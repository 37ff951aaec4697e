"""What the doctor examines, all of it or what is named, and what counts as well."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agentnb.acp.doctor import examine_all
from agentnb.agent.catalog import find, known
from agentnb.checkup import files, front, kernels, packages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.acp.doctor import Checkup

JUPYTER = "jupyter"
"""The name that asks for Jupyter alone."""
WELL = ("ready", "absent")


async def examine(names: Sequence[str] = ()) -> list[Checkup]:
    specs = [find(name) for name in names if name != JUPYTER] if names else known()
    if names and JUPYTER not in names:
        return await examine_all(specs)
    checkups, agents = await asyncio.gather(jupyter(), examine_all(specs))
    return [*checkups, *agents]


async def jupyter() -> list[Checkup]:
    """Python, the packages, the kernels, the front end, the files."""
    tried, *others = await asyncio.gather(
        kernels.examine(), *(asyncio.to_thread(each.examine) for each in (packages, front, files))
    )
    there, page, kept = others
    return [*there, *tried, *page, *kept]


def is_well(checkup: Checkup, *, named: bool) -> bool:
    """True if *found* is no reason to fail."""
    return checkup.state in WELL or (checkup.kind == "agent" and not named)
