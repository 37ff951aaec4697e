"""The page's requests: begin a verification, follow it, stop it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec

from agentnb.plugins.verify.page_jobs import VerificationState, job_of
from agentnb.plugins.verify.result import SECONDS
from agentnb.ports import Request
from agentnb.server.comm.open_notebooks import path_of_notebook

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path

    from agentnb.plugins.verify.result import Verification

LONGEST_TEXT = 16 * 1024 * 1024


class BeginVerificationParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Begin to verify a notebook; if a verification is running, that goes on instead.

    Attributes:
        path: The notebook's file, absolute, or its path on the Jupyter server; empty for the kernel's own notebook.
        text: The notebook as the page has it, as JSON; empty for the saved one, with the changes that the kernel knows.
        mark: The page's mark of the code in *text*, which other pages compare with theirs; empty for none.
        fast: True to check only the names in the cells, without running any.
        seconds: How long all cells together may take, in seconds.
    """

    path: str = ""
    text: Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)] = ""
    mark: Annotated[str, msgspec.Meta(max_length=64)] = ""
    fast: bool = False
    seconds: float = SECONDS


class StateParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Returns the state of a verification; waits for news.

    Attributes:
        path: The notebook's file, as in ``verify/begin``.
        revision: The last revision that the page knows: the answer waits until there is a newer one, an hour at most;
            -1 (the default): it comes at once.
    """

    path: str = ""
    revision: int = -1


class StopVerificationParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Stop a verification; the result before it counts again.

    Attributes:
        path: The notebook's file, as in ``verify/begin``.
    """

    path: str = ""


def _begin(params: BeginVerificationParams) -> VerificationState:
    from agentnb.plugins.verify.own_notebook import current_text, own_notebook
    from agentnb.plugins.verify.run import RunOptions
    from agentnb.plugins.verify.verify import allowed_hosts
    from agentnb.plugins.verify.verifying import check_notebook

    path = path_of_notebook(params.path)
    own = own_notebook(path)
    hosts = allowed_hosts()
    text = params.text or (current_text(path) if own is None else own.text)

    def check(progress: Callable[[int, int], object], stop: threading.Event) -> Verification:
        options = RunOptions(params.seconds, hosts, progress, stop)
        live = None if own is None else own.live
        return check_notebook(text, path.parent, path=path, run=not params.fast, live=live, options=options)

    job = job_of(path)
    job.begin(text, params.mark, check)
    return job.state


async def begin(params: BeginVerificationParams) -> VerificationState:
    """Begin a verification."""
    return await asyncio.to_thread(_begin, params)


def _state(path: Path) -> VerificationState:
    from agentnb.plugins.verify.own_notebook import current_text, own_notebook

    job = job_of(path)
    if job.state.status != "ended":
        return job.state
    own = own_notebook(path)
    stale = job.is_stale(current_text(path) if own is None else own.text)
    return msgspec.structs.replace(job.state, is_stale=stale)


async def state(params: StateParams) -> VerificationState:
    """How a verification stands."""
    path = await asyncio.to_thread(path_of_notebook, params.path)
    if params.revision >= 0:
        await job_of(path).wait(params.revision)
    return await asyncio.to_thread(_state, path)


async def stop(params: StopVerificationParams) -> VerificationState:
    """Stop a verification."""
    job = job_of(await asyncio.to_thread(path_of_notebook, params.path))
    job.stop()
    return job.state


REQUESTS = (
    Request("verify/begin", BeginVerificationParams, VerificationState, begin),
    Request("verify/state", StateParams, VerificationState, state),
    Request("verify/stop", StopVerificationParams, VerificationState, stop),
)
