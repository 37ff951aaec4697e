"""``agentnb.verify``: does a notebook still run from the top, and is the result the one that it shows?"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.agent.elsewhere import checked_hosts
from agentnb.errors import AgentnbError, UsageError
from agentnb.host.environment import current_environment
from agentnb.plugins.verify.notebook_text import read_file
from agentnb.plugins.verify.own_notebook import own_notebook
from agentnb.plugins.verify.page_jobs import job_of
from agentnb.plugins.verify.result import SECONDS
from agentnb.plugins.verify.run import RunOptions
from agentnb.plugins.verify.verifying import check_notebook
from agentnb.ports import TurnCheck

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.plugins.verify.result import Verification

MOST_SECONDS = 24 * 3600.0
MOST_NOTEBOOKS = 5
"""Notebooks that are verified at the end of a turn."""
MOST_FOLDERS = 2_000
MOST_FINDINGS = 10
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "venv"})


def verify(
    notebook: str | os.PathLike[str] | dict[str, Any] | None = None,
    *,
    run: bool = True,
    seconds: float = SECONDS,
    cwd: str | os.PathLike[str] | None = None,
    network: Sequence[str] | None = None,
) -> Verification:
    """Verify that a notebook runs from the top and reproduces the results it shows.

    The notebook runs in a fresh, isolated kernel: on a copy of the files, without network, with limits of time, memory,
    processes and disk. Your files are not changed.

    Args:
        notebook: The notebook's file, or its content as a dict; the notebook of this kernel by default, as the page
            has it now.
        run: False to check only the names in the cells, without running any.
        seconds: How long all cells together may take, in seconds, up to a day.
        cwd: The folder that it runs in; the notebook's own folder by default.
        network: The hosts that it may reach, such as ``["api.example.org", "*.example.net:8443"]``; by default those of
            the setting ``verify_network``, which names none by default.

    Returns:
        The findings; a table when displayed.

    Raises:
        UsageError: If an argument is invalid, or there is no such file. A damaged notebook is a finding.

    Example:
        >>> agentnb.verify("analysis.ipynb").ok  # doctest: +SKIP
        True
    """
    check_seconds(seconds)
    options = RunOptions(seconds, allowed_hosts(network))
    folder = None if cwd is None else Path(cwd).expanduser().resolve()
    if folder is not None and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder.", hint="Give the folder that the notebook should run in.")
    if isinstance(notebook, dict):
        return check_notebook(notebook, folder or Path.cwd(), run=run, options=options)
    wanted = None if notebook is None else Path(notebook).expanduser().resolve()
    own = own_notebook(wanted)
    if own is not None:
        where = folder or own.path.parent
        result = check_notebook(own.text, where, path=own.path, run=run, live=own.live, options=options)
        if run:
            job_of(own.path).take(own.text, result)
        return result
    if wanted is None:
        message = "The name of this notebook is unknown."
        raise UsageError(message, hint='Specify its file: agentnb.verify("analysis.ipynb").')
    return check_notebook(read_file(wanted), folder or wanted.parent, path=wanted, run=run, options=options)


def allowed_hosts(network: Sequence[str] | None = None) -> tuple[str, ...]:
    """The hosts that a verification may reach: *network*, or what the setting names."""
    chosen = current_environment().sources()["verify_network"].value if network is None else network
    return checked_hosts(list(chosen) if isinstance(chosen, tuple) else chosen) if chosen else ()


def check_seconds(seconds: object) -> None:
    """Raise a UsageError unless *seconds* is a time limit that makes sense."""
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds <= MOST_SECONDS:  # type: ignore[operator]
        raise UsageError(
            f"seconds must be a number up to {MOST_SECONDS:g}, not {seconds!r}.", hint=f"{SECONDS:g} is the default."
        )


async def check_notebooks(folder: Path, since: float) -> TurnCheck:
    """Verify the kernel's own notebook, and those below *folder* that the turn changed."""
    results = await asyncio.to_thread(_verified, folder, since)
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
