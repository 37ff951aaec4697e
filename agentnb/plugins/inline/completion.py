"""The page's requests for a completion: one is asked for at a time, and dropped when the user types on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from agentnb.credentials import HIDDEN, Credentials
from agentnb.errors import AgentnbError
from agentnb.kernel.output_text import masked
from agentnb.ports import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator


LONGEST_ABOVE = 6_000
"""Characters of the cells above: the nearest ones."""
LONGEST_BEFORE, LONGEST_BEHIND = 4_000, 2_000
MOST_NAMES = 100


class CodeContext:
    """The texts for one completion, without secrets."""

    def __init__(self, params: CompleteParams) -> None:
        hidden = Credentials(dict(os.environ))
        self.before: str = masked(params.prefix[-LONGEST_BEFORE:], hidden)
        self.behind: str = masked(params.suffix[:LONGEST_BEHIND], hidden)
        self.above: str = masked(_nearest(params.above), hidden)
        self.names: str = masked("\n".join(_names(f"{self.above}\n{self.before}")), hidden)

    @property
    def preamble(self) -> str:
        """The names and cells that come before the cell's own text."""
        return "".join(f"{each}\n\n" for each in (self.names, self.above) if each)


def _nearest(above: tuple[str, ...]) -> str:
    kept: list[str] = []
    room = LONGEST_ABOVE
    for cell in reversed(above):
        if len(cell) > room:
            break
        kept.insert(0, cell.strip())
        room -= len(cell)
    return "\n\n".join(each for each in kept if each)


def _names(text: str) -> list[str]:
    """Returns comments such as ``# frame: DataFrame``; none if agents have no access to the kernel.

    It looks only at a value's type, which runs no code of the user.
    """
    from agentnb.host.environment import current_environment

    environment = current_environment()
    runner = environment.code_runner()
    if runner is None or not environment.sources()["kernel_tools"].value:
        return []
    held = runner.namespace.variables()
    used = sorted(held, key=lambda name: (name not in text, name))[:MOST_NAMES]
    return [f"# {name}: {type(held[name]).__name__}" for name in used]


LONGEST_TEXT = 20_000
"""The most characters before the cursor, and after it."""
MOST_ABOVE = 200
LONGEST_WAIT = 10.0
"""Seconds that a model may take."""
MOST_LINES = 12
LONGEST_COMPLETION = 1_000

_Text = Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)]
_Id = Annotated[str, msgspec.Meta(max_length=256)]


class CompleteParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Requests a completion at the cursor of a cell.

    Attributes:
        id: The completion's id, for `inline/cancel`.
        prefix: The cell's text before the cursor.
        suffix: The cell's text after the cursor.
        above: The code cells above, in their order; the page leaves out the first of many.
        cell_id: The cell.
        path: The notebook's path on the Jupyter server.
    """

    id: _Id
    prefix: _Text
    suffix: _Text = ""
    above: Annotated[tuple[_Text, ...], msgspec.Meta(max_length=MOST_ABOVE)] = ()
    cell_id: _Id = ""
    path: Annotated[str, msgspec.Meta(max_length=4_096)] = ""


class CompletionResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The completion at the cursor.

    Attributes:
        text: The text to insert; empty if nothing is suggested.
        took: How long the model took, in milliseconds.
        error: Why there is none, if something is wrong.
    """

    text: str = ""
    took: float = 0
    error: str = ""


class CancelParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Cancels a completion: the user has typed on, or the cell is gone.

    Attributes:
        id: The completion.
    """

    id: _Id


class CancelResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Nothing."""


class _Running:
    """The completion request that is in progress."""

    def __init__(self) -> None:
        self.id = ""
        self.task: asyncio.Task[tuple[str, float]] | None = None

    def begin(
        self, completion_id: str, work: Coroutine[Any, Any, tuple[str, float]]
    ) -> asyncio.Task[tuple[str, float]]:
        self.cancel()
        self.id, self.task = completion_id, asyncio.get_running_loop().create_task(work)
        return self.task

    def cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()
        self.task = None


_running = _Running()


async def complete(params: CompleteParams) -> CompletionResult:
    """Request a completion from the model or the agent that the settings name."""
    ask = _source()
    if ask is None or _is_kernel_busy():
        return CompletionResult()
    task = _running.begin(params.id, ask(params))
    try:
        text, took = await asyncio.wait_for(asyncio.shield(task), LONGEST_WAIT)
    except asyncio.TimeoutError:
        task.cancel()
        return CompletionResult(error=f"The completion took more than {LONGEST_WAIT:g} s.")
    except asyncio.CancelledError:
        if task.cancelled():
            return CompletionResult()
        task.cancel()
        raise
    except AgentnbError as error:
        return CompletionResult(error=str(error))
    return CompletionResult(text=fitting(text, params.suffix), took=took * 1000)


def _source() -> Callable[[CompleteParams], Coroutine[Any, Any, tuple[str, float]]] | None:
    from agentnb.host.environment import current_environment
    from agentnb.plugin_registry import plugins

    match current_environment().sources()["completion"].value:
        case "local" if "local" in plugins().loaded:
            from agentnb.plugins.inline.model_completion import complete_with_model

            return complete_with_model
        case "agent":
            from agentnb.plugins.inline.next_edit import complete_with_agent

            return complete_with_agent
        case _:
            return None


def _is_kernel_busy() -> bool:
    """True while a cell runs: a completion would only take its processor time."""
    from agentnb.host.environment import current_environment

    environment = current_environment()
    return environment.code_runner() is not None and environment.job_queue.is_kernel_busy


def fitting(text: str, suffix: str) -> str:
    """Returns *text* in the form to show: bounded, and without what already follows the cursor."""
    if HIDDEN in text:  # the model repeats the mark of a hidden credential
        return ""
    lines = text[:LONGEST_COMPLETION].splitlines(keepends=True)[:MOST_LINES]
    text = "".join(lines).rstrip()
    following = suffix.rstrip()
    for length in range(min(len(text), len(following)), 0, -1):
        if text.endswith(following[:length]):
            return text[:-length]
    return text


def cancel(params: CancelParams) -> CancelResult:
    """Cancel the completion, if it is the one that is running."""
    if _running.id == params.id:
        _running.cancel()
    return CancelResult()


class Stopwatch:
    """Measures the seconds that an external call takes."""

    def __init__(self) -> None:
        self.took: float = 0.0

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        since = time.perf_counter()
        try:
            yield
        finally:
            self.took += time.perf_counter() - since


REQUESTS = (
    Request("inline/complete", CompleteParams, CompletionResult, complete),
    Request("inline/cancel", CancelParams, CancelResult, cancel),
)
