"""Verifies the notebooks that a turn is about, before it is done (:class:`agentnb.ports.TurnChecker`)."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.errors import AgentnbError
from agentnb.plugins.verify.own_notebook import own_notebook
from agentnb.plugins.verify.verify import verify
from agentnb.ports import TurnCheck

if TYPE_CHECKING:
    from agentnb.plugins.verify.result import Verification
    from agentnb.ports import ToolSession

MOST_NOTEBOOKS = 5
MOST_FOLDERS = 2_000
MOST_FINDINGS = 10
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "venv"})


class NotebookChecker:
    """Verifies the kernel's own notebook, and those in the workspace that the turn changed."""

    name = "verify"

    async def check(self, session: ToolSession, since: float) -> TurnCheck:
        """See :meth:`agentnb.ports.TurnChecker.check`."""
        results = await asyncio.to_thread(_verified, Path(session.folder), since)
        if not results:
            return TurnCheck(passed=True)
        bad = [each for each in results if not each.ok]
        if not bad:
            return TurnCheck(passed=True, summary="\n".join(each.summary for each in results))
        lines = [f"{each.notebook}: {finding.cause}" for each in bad for finding in each.findings[:3]]
        return TurnCheck(passed=False, summary="Not verified. " + "\n".join(lines), task=task_for_agent(bad))


def task_for_agent(results: list[Verification]) -> str:
    parts = []
    for result in results:
        rows = [f"- cell id {each.cell.id if each.cell else '?'} ({each.kind}): {each}" for each in result.findings]
        more = len(rows) - MOST_FINDINGS
        rows = [*rows[:MOST_FINDINGS], *([f"- and {more} more"] if more > 0 else [])]
        parts.append("\n".join([f"{result.notebook} was run from the top in a fresh kernel, on a copy. Found:", *rows]))
    parts.append("Mend this in the notebook, so that it runs from the top and shows what it gives; then end your turn.")
    return "\n\n".join(parts)


def _verified(folder: Path, since: float) -> list[Verification]:
    paths = {each.resolve(): None for each in changed_notebooks(folder, since)}
    try:
        own = own_notebook()
    except AgentnbError:
        own = None
    if own is not None:
        paths = {own.path: None, **paths}
    return [verify(path) for path in [*paths][:MOST_NOTEBOOKS]]


def changed_notebooks(folder: Path, since: float) -> list[Path]:
    """The notebooks below *folder* that were written since *since* (seconds since 1970)."""
    changed = []
    for number, (place, folders, names) in enumerate(os.walk(folder)):
        if number >= MOST_FOLDERS:
            break
        folders[:] = [each for each in folders if not each.startswith(".") and each not in _LEFT_OUT]
        for name in names:
            path = Path(place, name)
            if name.endswith(".ipynb") and not name.startswith(".") and path.stat().st_mtime >= since - 1:
                changed.append(path)
    return sorted(changed)
