"""``agentnb.verify``: does a notebook still run from the top, and is the result the one that it shows?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.agent.elsewhere import checked_hosts
from agentnb.errors import UsageError
from agentnb.host.environment import current_environment
from agentnb.plugins.verify.notebook_text import read_file
from agentnb.plugins.verify.own_notebook import own_notebook
from agentnb.plugins.verify.page_jobs import job_of
from agentnb.plugins.verify.result import SECONDS
from agentnb.plugins.verify.run import RunOptions
from agentnb.plugins.verify.verifying import check_notebook

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from agentnb.plugins.verify.result import Verification

MOST_SECONDS = 24 * 3600.0


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
