"""Turns in a kernel that nobody watches (nbconvert, papermill, nbval and others): none may be lost without an error.

Programs that run notebooks look at the outcome of each cell and at nothing else. They end the kernel seconds after the
last cell's reply, and ignore its exit status. So the end of a cell is the only place where a turn that no cell waited
for (``%agent -b``, `agentnb.Session.prompt`) can be finished, and where its failure can fail the run:

- At the end of the notebook's last cell, turns and batches that still run are waited for; what fails then fails that
  cell. Answers that no cell has shown are shown there.
- At the end of each cell, a prompt that differs from the cassette fails that cell, and what the cell gave up on (its
  wait raised a timeout) is cancelled: nobody waits for that any more.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from agentnb.api.running_notebook import has_cells_after
from agentnb.errors import (
    AgentnbError,
    CassetteBroken,
    CassetteError,
    CassetteMismatch,
    TurnCancelled,
    TurnError,
    TurnTimeout,
)
from agentnb.host.environment import current_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from agentnb.state import ErrorInfo

NOBODY_VARIABLE = "AGENTNB_AUDIENCE"
"""Environment: ``nobody`` says that nobody is there, whatever the client of the kernel says."""
NOBODY = "nobody"

_ATTRIBUTE = "_agentnb_unattended"
_COMPARED_SECONDS, _STEP_SECONDS = 10.0, 0.02
_DEFAULT_TIMEOUT = 1800.0
_CASSETTE_ERRORS = {kind.__name__: kind for kind in (CassetteBroken, CassetteMismatch)}
_LONGEST_PLACE = 80
_IS_PART: ContextVar[bool] = ContextVar("agentnb_is_part", default=False)


class Work(Protocol):
    """What runs in the background and consists of many turns: a batch."""

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        ...

    def wait(self, timeout: float | None = None) -> Any:
        """Block until it has ended; raises what failed, and TimeoutError after *timeout* seconds."""
        ...

    def cancel(self) -> None:
        """End it."""
        ...


class AwaitableWork(Work, Protocol):
    """Work that a cell can await."""

    def __await__(self) -> Generator[Any, None, Any]:
        """As :meth:`wait`."""
        ...


class UnattendedTurn(Work, Protocol):
    """A turn that nobody watches (:class:`agentnb.api.turn.FollowedTurn`)."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def state(self) -> str:
        """How it stands."""
        ...

    @property
    def error(self) -> ErrorInfo | None:
        """What went wrong, if something did."""
        ...

    def raise_for_error(self) -> object:
        """Raise if it failed, was refused or was cancelled."""
        ...


def is_watched(shell: Any) -> bool:
    """Whether somebody may see the cell that the kernel of *shell* runs.

    A client that runs notebooks by itself says so: it does not allow the kernel to ask for input
    (``allow_stdin`` of the Jupyter protocol's ``execute_request``).
    """
    if os.environ.get(NOBODY_VARIABLE) == NOBODY:
        return False
    content = (shell.kernel.get_parent() or {}).get("content") or {}
    return bool(content.get("allow_stdin", True))


@contextlib.contextmanager
def parts_of_work() -> Iterator[None]:
    """Turns that are prompted here are parts of some :class:`Work`, which is followed as a whole."""
    token = _IS_PART.set(True)
    try:
        yield
    finally:
        _IS_PART.reset(token)


def follow(turn: UnattendedTurn, agent: str) -> None:
    """See to it that *turn*, which *agent* was just prompted with, is not lost; where somebody watches, do nothing."""
    unattended = None if _IS_PART.get() else _unattended()
    if unattended is not None:
        unattended.add(turn, agent)


def follow_work(work: Work) -> None:
    """See to it that *work*, which was just begun, is not lost; where somebody watches, do nothing."""
    unattended = _unattended()
    if unattended is not None:
        unattended.add_work(work)


def show_at_end(what: Work, show: Callable[[], object]) -> None:
    """Call *show* at the end of the notebook's last cell, when *what* has ended; where somebody watches, never."""
    unattended = _unattended()
    if unattended is not None:
        unattended.show_at_end(what, show)


def give_up(what: Work) -> bool:
    """Cancel *what* when the running cell ends: code waited for it in vain. Where somebody watches, do nothing.

    Returns:
        Whether it will be cancelled.
    """
    unattended = _unattended()
    return unattended is not None and unattended.give_up(what)


def _unattended() -> UnattendedTurns | None:
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get() if get is not None else None
    if getattr(shell, "kernel", None) is None or is_watched(shell):
        return None
    if not hasattr(shell, _ATTRIBUTE):
        setattr(shell, _ATTRIBUTE, UnattendedTurns(shell))
    found: UnattendedTurns = getattr(shell, _ATTRIBUTE)
    return found


class UnattendedTurns:
    """The turns of one kernel that nobody watches.

    Args:
        shell: The kernel's IPython shell.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._turns: list[UnattendedTurn] = []
        self._new: list[UnattendedTurn] = []
        self._works: list[Work] = []
        self._given_up: list[Work] = []
        self._unshown: list[tuple[Work, Callable[[], object]]] = []
        self._places: dict[str, str] = {}  # where a turn was prompted, by its id
        self._agents: dict[str, str] = {}  # the agent that was prompted, by the turn's id
        self._matched = 0  # turns that are no longer followed and whose prompt was the recorded one
        shell.events.register("post_run_cell", self._on_cell_end)
        atexit.register(self._on_exit, os.getpid())

    def add(self, turn: UnattendedTurn, agent: str) -> None:
        """Follow *turn* with *agent*."""
        self._agents[turn.id] = agent
        self._turns.append(turn)
        self._new.append(turn)

    def add_work(self, work: Work) -> None:
        """Follow *work*."""
        self._works.append(work)

    def show_at_end(self, what: Work, show: Callable[[], object]) -> None:
        """Call *show* in the last cell, when *what* has ended."""
        self._unshown.append((what, show))

    def give_up(self, what: Work) -> bool:
        """Cancel *what* when the running cell ends, if it is followed; says whether it is."""
        is_followed = any(each is what for each in (*self._turns, *self._works))
        if is_followed:
            self._given_up.append(what)
        return is_followed

    def _on_cell_end(self, result: Any) -> None:
        """IPython's ``post_run_cell``. Code that an agent runs within a cell is no cell."""
        if current_environment().job_queue.is_running_job or result is None:
            return
        if not self._turns and not self._works and not self._unshown:
            return
        source = getattr(getattr(result, "info", None), "raw_cell", None) or ""
        self._name_place(source)
        self._cancel_given_up()
        error = result.error_before_exec or result.error_in_exec
        failures: list[BaseException] = []
        if not isinstance(error, KeyboardInterrupt):
            try:
                failures = self._settle(is_last=not has_cells_after(source, current_environment().cassette.path()))
            except KeyboardInterrupt as interrupted:
                failures = [interrupted]
        self._forget_ended(error)
        if failures and error is None:
            self._fail(result, failures)

    def _cancel_given_up(self) -> None:
        given_up, self._given_up = self._given_up, []
        for each in given_up:
            each.cancel()
        self._works = [work for work in self._works if not any(each is work for each in given_up)]

    def _settle(self, *, is_last: bool) -> list[BaseException]:
        """Wait for what must be waited for; what has failed."""
        running = [turn for turn in self._turns if not turn.done]
        if not is_last:
            self._wait_until_compared()
            return self._deviations()
        failures = self._ended(running)
        self._show_ended()
        return self._deviations() + failures

    def _ended(self, running: list[UnattendedTurn]) -> list[BaseException]:
        """Wait for turns and batches; what has failed."""
        failures: list[BaseException] = []
        deadline = time.monotonic() + (self._timeout() or threading.TIMEOUT_MAX / 2)
        for turn in running:
            try:
                turn.wait(max(0.0, deadline - time.monotonic()))
                turn.raise_for_error()
            except TurnCancelled:
                pass
            except TurnTimeout:
                turn.cancel()
                message = (
                    f"A turn did not end within {self._timeout():g} s of the notebook's last cell; it was cancelled."
                )
                failures.append(
                    TurnTimeout(
                        message, hint="Wait for it in a cell, or allow more: Agentnb.headless_timeout.", turn=turn
                    )
                )
            except CassetteError:
                pass  # among the deviations below
            except TurnError as error:
                failures.append(type(error)(f"{self._prompted(turn)}{error.message}", hint=error.hint, turn=turn))
        return failures + self._finish_works(deadline)

    def _show_ended(self) -> None:
        ended = [each for each in self._unshown if each[0].done]
        self._unshown = [each for each in self._unshown if not each[0].done]
        for _, show in ended:
            show()

    def _finish_works(self, deadline: float) -> list[BaseException]:
        """Wait for the batches; what has failed."""
        failures: list[BaseException] = []
        for work in self._works:
            try:
                work.wait(max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                work.cancel()
                message = (
                    f"A batch did not end within {self._timeout():g} s of the notebook's last cell; it was cancelled."
                )
                failures.append(
                    TurnTimeout(message, hint="Wait for it in a cell, or allow more: Agentnb.headless_timeout.")
                )
            except Exception as error:  # noqa: BLE001 - the user's inputs may raise anything
                failures.append(error)
        self._works.clear()
        return failures

    def _wait_until_compared(self) -> None:
        """Wait until the replay has compared each prompt that was sent, so that the right cell fails."""
        deadline = time.monotonic() + _COMPARED_SECONDS
        while any(turn.state == "running" for turn in self._turns) and time.monotonic() < deadline:
            matched = current_environment().cassette.matched_prompts()
            sent = sum(turn.state == "running" or _matched(turn) for turn in self._turns)
            if matched is None or matched >= self._matched + sent:
                return
            threading.Event().wait(_STEP_SECONDS)

    def _deviations(self) -> list[BaseException]:
        """The errors of turns that deviate from the cassette."""
        found: list[BaseException] = []
        for turn in self._turns:
            error = turn.error
            if error is not None and error.error_type in _CASSETTE_ERRORS:
                found.append(_CASSETTE_ERRORS[error.error_type](f"{self._prompted(turn)}{error.message}"))
        return found

    def _fail(self, result: Any, failures: list[BaseException]) -> None:
        """Make the cell one that failed: its reply, and an error among its outputs."""
        first = failures[0]
        if len(failures) > 1 and isinstance(first, AgentnbError):
            first = type(first)("\n\n".join(str(failure) for failure in failures))
        result.error_in_exec = first
        self._shell.showtraceback((type(first), first, None))

    def _forget_ended(self, error: Any) -> None:
        """Turns that have ended; a deviation in a cell that failed for another reason is kept for the next one."""
        told = str(error) if isinstance(error, CassetteError) else None
        for turn in [turn for turn in self._turns if turn.done]:
            problem = turn.error
            deviates = problem is not None and problem.error_type in _CASSETTE_ERRORS
            if deviates and error is not None and (problem is None or told != problem.message):
                continue
            self._turns.remove(turn)
            self._places.pop(turn.id, None)
            self._agents.pop(turn.id, None)
            self._matched += _matched(turn)

    def _name_place(self, source: str) -> None:
        for turn in self._new:
            self._places[turn.id] = next((line.strip() for line in source.splitlines() if line.strip()), "")
        self._new.clear()
        self._current = source

    def _prompted(self, turn: UnattendedTurn) -> str:
        """Which cell prompted *turn*, where that is not the cell that fails."""
        place = self._places.get(turn.id, "")
        if not place or place in (line.strip() for line in self._current.splitlines()):
            return ""
        return f"Prompted by the cell that begins with {place[:_LONGEST_PLACE]!r}. "

    def _timeout(self) -> float:
        """``%config Agentnb.headless_timeout`` in seconds; 0 means no limit."""
        configured = (each for each in self._shell.configurables if type(each).__name__ == "Agentnb")
        return float(getattr(next(configured, None), "headless_timeout", _DEFAULT_TIMEOUT))

    def _on_exit(self, process: int) -> None:
        """The kernel ends while turns run: nobody but a reader of the log can be told."""
        if os.getpid() == process and any(not work.done for work in self._works):
            print("agentnb: the kernel ended before a batch did", file=sys.__stderr__)
        for turn in self._turns if os.getpid() == process else ():
            if not turn.done:
                agent, place = self._agents[turn.id], self._places.get(turn.id, "")
                print(
                    f"agentnb: the kernel ended before a turn with {agent} did: {place[:_LONGEST_PLACE]}",
                    file=sys.__stderr__,
                )


def _matched(turn: UnattendedTurn) -> bool:
    """Whether *turn* has ended, and its prompt was the recorded one."""
    return turn.done and turn.error is None
