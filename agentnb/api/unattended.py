"""Makes sure that no turn is lost without an error in a kernel that nobody watches (nbconvert, papermill, nbval …).

Programs that run notebooks look only at the outcome of each cell. They end the kernel seconds after the last cell's
reply, and ignore its exit status. So a turn that no cell waited for (``%agent -b``, `agentnb.Session.prompt`) can be
finished, and its failure can fail the run, only at the end of a cell:

- The end of the notebook's last cell waits for turns and batches that still run; if one fails, that cell fails. Answers
  that no cell has shown are shown there.
- At the end of each cell, a prompt that differs from the cassette fails that cell, and a turn or batch whose wait in
  the cell raised a timeout is cancelled: nobody waits for it any more.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

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
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from agentnb.api.turn import FollowedTurn
    from agentnb.state import ErrorInfo

NOBODY_VARIABLE = "AGENTNB_AUDIENCE"
"""Environment: ``nobody`` means that no user is present, whatever the kernel's client reports."""
NOBODY = "nobody"

_ATTRIBUTE = "_agentnb_unattended"
_COMPARED_SECONDS, _STEP_SECONDS = 10.0, 0.02
_DEFAULT_TIMEOUT = 1800.0
CASSETTE_ERRORS = {kind.__name__: kind for kind in (CassetteBroken, CassetteMismatch)}
_LONGEST_PLACE = 80
_IS_PART: ContextVar[bool] = ContextVar("agentnb_is_part", default=False)
NOTEBOOK_VARIABLE = "AGENTNB_NOTEBOOK"
"""Environment: the notebook that runs; the pytest plugin sets it."""

_SUFFIX = ".ipynb"
_MOST_NOTEBOOKS = 50  # in one folder
_LARGEST_BYTES = 50_000_000
_SKIPPED = "NBVAL_SKIP"


class Work(Protocol):
    """What runs in the background: a turn, or a batch, which consists of many."""

    @property
    def done(self) -> bool: ...

    def wait(self, timeout: float | None = None) -> Any:
        """Block until the work has ended; raises its error, and TimeoutError after *timeout* seconds."""
        ...

    def cancel(self) -> None: ...


class AwaitableWork(Work, Protocol):
    """Work that a cell can await."""

    def __await__(self) -> Generator[Any, None, Any]:
        """Like :meth:`wait`."""
        ...


class _Prompted:
    """A turn that nobody watches: the agent that was prompted, and the first line of the cell that prompted it."""

    def __init__(self, turn: FollowedTurn, agent: str) -> None:
        self.turn = turn
        self.agent = agent
        self.place: str | None = None

    @property
    def deviation(self) -> ErrorInfo | None:
        """Returns the turn's error if it is a deviation from the cassette, else None."""
        error = self.turn.error
        return error if error is not None and error.error_type in CASSETTE_ERRORS else None

    @property
    def matched(self) -> bool:
        """True if the turn has ended and its prompt was the recorded one."""
        return self.turn.done and self.turn.error is None


def current_shell() -> Any:
    """Returns the IPython shell; None outside IPython."""
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get() if get is not None else None


def is_watched(shell: Any) -> bool:
    """True if somebody may see the cell that the kernel of *shell* runs.

    A client that runs notebooks without a user does not allow the kernel to ask for input
    (``allow_stdin`` of the Jupyter protocol's ``execute_request``).
    """
    if os.environ.get(NOBODY_VARIABLE) == NOBODY:
        return False
    content = (shell.kernel.get_parent() or {}).get("content") or {}
    return bool(content.get("allow_stdin", True))


@contextlib.contextmanager
def parts_of_work() -> Iterator[None]:
    """Mark turns prompted in the block as parts of a :class:`Work`, which is followed as a whole."""
    token = _IS_PART.set(True)
    try:
        yield
    finally:
        _IS_PART.reset(token)


def is_part_of_work() -> bool:
    """True if turns prompted here are parts of a :class:`Work`: nobody is asked about an individual turn."""
    return _IS_PART.get()


def follow(turn: FollowedTurn, agent: str) -> None:
    """Make sure that *turn*, just prompted with *agent*, is not lost; does nothing if somebody is watching."""
    unattended = None if _IS_PART.get() else _unattended()
    if unattended is not None:
        unattended.turns.append(_Prompted(turn, agent))


def follow_work(work: Work) -> None:
    """Make sure that *work*, which has just begun, is not lost; does nothing if somebody is watching."""
    if not _IS_PART.get() and (unattended := _unattended()) is not None:
        unattended.works.append(work)


def show_at_end(what: Work, show: Callable[[], object]) -> None:
    """Call *show* at the end of the notebook's last cell, once *what* has ended; never if somebody is watching."""
    if (unattended := _unattended()) is not None:
        unattended.unshown.append((what, show))


def give_up(what: Work) -> bool:
    """Cancel *what* at the end of the running cell, whose code waited in vain; no effect if somebody is watching."""
    unattended = _unattended()
    return unattended is not None and unattended.give_up(what)


def _unattended() -> UnattendedTurns | None:
    shell = current_shell()
    if getattr(shell, "kernel", None) is None or is_watched(shell):
        return None
    if not hasattr(shell, _ATTRIBUTE):
        setattr(shell, _ATTRIBUTE, UnattendedTurns(shell))
    unattended: UnattendedTurns = getattr(shell, _ATTRIBUTE)
    return unattended


class UnattendedTurns:
    """The turns of one kernel that nobody watches."""

    def __init__(self, shell: Any) -> None:
        self.turns: list[_Prompted] = []
        self.works: list[Work] = []
        self.unshown: list[tuple[Work, Callable[[], object]]] = []
        self._shell = shell
        self._given_up: list[Work] = []
        self._current = ""
        self._matched = 0  # matching prompts of turns that are no longer followed
        shell.events.register("post_run_cell", self._on_cell_end)
        atexit.register(self._on_exit, os.getpid())

    def give_up(self, what: Work) -> bool:
        """Cancel *what* when the running cell ends, if it is followed; returns True if it is."""
        is_followed = any(each is what for each in (*(prompted.turn for prompted in self.turns), *self.works))
        if is_followed:
            self._given_up.append(what)
        return is_followed

    def _on_cell_end(self, result: Any) -> None:
        """Handle IPython's ``post_run_cell``; code that an agent runs within a cell does not count as a cell."""
        if current_environment().job_queue.is_running_job or result is None:
            return
        if not self.turns and not self.works and not self.unshown:
            return
        source = getattr(getattr(result, "info", None), "raw_cell", None) or ""
        self._name_place(source)
        self._cancel_given_up()
        error = result.error_before_exec or result.error_in_exec
        failures: list[BaseException] = []
        if not isinstance(error, KeyboardInterrupt):
            try:
                failures = self._settle(is_last=not _has_cells_after(source, current_environment().cassette.path()))
            except KeyboardInterrupt as interrupted:
                failures = [interrupted]
        self._forget_ended(error)
        if failures and error is None:
            self._fail(result, failures)

    def _cancel_given_up(self) -> None:
        given_up, self._given_up = self._given_up, []
        for each in given_up:
            each.cancel()
        self.works = [work for work in self.works if not any(each is work for each in given_up)]

    def _settle(self, *, is_last: bool) -> list[BaseException]:
        """Wait for everything that this cell must wait for; returns the failures."""
        if not is_last:
            self._wait_until_compared()
            return self._deviations()
        deadline = time.monotonic() + (self._timeout() or threading.TIMEOUT_MAX / 2)
        running = [prompted for prompted in self.turns if not prompted.turn.done]
        failures = [failure for each in running for failure in self._ended(each, deadline)]
        failures += [failure for work in self.works for failure in self._finished(work, deadline)]
        self.works.clear()
        ended = [show for what, show in self.unshown if what.done]
        self.unshown = [each for each in self.unshown if not each[0].done]
        for show in ended:
            show()
        return self._deviations() + failures

    def _ended(self, prompted: _Prompted, deadline: float) -> Iterator[BaseException]:
        """Wait for a turn; yields its failure, unless that is a deviation, which :meth:`_deviations` returns."""
        turn = prompted.turn
        try:
            turn.wait(max(0.0, deadline - time.monotonic()))
            turn.raise_for_error()
        except TurnTimeout:
            turn.cancel()
            yield self._too_late("A turn", turn)
        except (TurnCancelled, CassetteError):
            pass
        except TurnError as error:
            yield type(error)(f"{self._prompted(prompted)}{error.message}", hint=error.hint, turn=turn)

    def _finished(self, work: Work, deadline: float) -> Iterator[BaseException]:
        """Wait for a batch; yields its failure."""
        try:
            work.wait(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            work.cancel()
            yield self._too_late("A batch")
        except Exception as error:  # noqa: BLE001 - the user's inputs may raise anything
            yield error

    def _too_late(self, what: str, turn: FollowedTurn | None = None) -> TurnTimeout:
        message = f"{what} did not end within {self._timeout():g} s of the notebook's last cell; it was cancelled."
        return TurnTimeout(message, hint="Wait for it in a cell, or allow more: Agentnb.headless_timeout.", turn=turn)

    def _wait_until_compared(self) -> None:
        """Wait until the replay has compared every prompt sent, so that the right cell fails."""
        deadline = time.monotonic() + _COMPARED_SECONDS
        while any(each.turn.state == "running" for each in self.turns) and time.monotonic() < deadline:
            matched = current_environment().cassette.matched_prompts()
            sent = sum(each.turn.state == "running" or each.matched for each in self.turns)
            if matched is None or matched >= self._matched + sent:
                return
            threading.Event().wait(_STEP_SECONDS)

    def _deviations(self) -> list[BaseException]:
        deviations = ((each, error) for each in self.turns if (error := each.deviation) is not None)
        return [
            CASSETTE_ERRORS[str(error.error_type)](f"{self._prompted(each)}{error.message}")
            for each, error in deviations
        ]

    def _fail(self, result: Any, failures: list[BaseException]) -> None:
        """Make the cell fail: in its reply, and with an error in its output."""
        first = failures[0]
        if len(failures) > 1 and isinstance(first, AgentnbError):
            first = type(first)("\n\n".join(str(failure) for failure in failures))
        result.error_in_exec = first
        self._shell.showtraceback((type(first), first, None))

    def _forget_ended(self, error: Any) -> None:
        """Forget turns that have ended; if the cell failed for another reason, keep a deviation for the next one."""
        reason = str(error) if isinstance(error, CassetteError) else None
        for each in [each for each in self.turns if each.turn.done]:
            deviation = each.deviation
            if deviation is None or error is None or reason == deviation.message:
                self.turns.remove(each)
                self._matched += each.matched

    def _name_place(self, source: str) -> None:
        self._current = source
        for each in self.turns:
            if each.place is None:
                each.place = next((line.strip() for line in source.splitlines() if line.strip()), "")

    def _prompted(self, prompted: _Prompted) -> str:
        """Returns a sentence on the cell that prompted the turn; '' if it is the cell that fails."""
        place = prompted.place
        if not place or place in (line.strip() for line in self._current.splitlines()):
            return ""
        return f"Prompted by the cell that begins with {place[:_LONGEST_PLACE]!r}. "

    def _timeout(self) -> float:
        """``%config Agentnb.headless_timeout`` in seconds; 0 means no limit."""
        configured = (each for each in self._shell.configurables if type(each).__name__ == "Agentnb")
        return float(getattr(next(configured, None), "headless_timeout", _DEFAULT_TIMEOUT))

    def _on_exit(self, process: int) -> None:
        """Report turns that still run when the kernel ends; only a reader of the process's stderr can see it."""
        if os.getpid() != process:
            return
        ends = ["a batch did"] if any(not work.done for work in self.works) else []
        left = (each for each in self.turns if not each.turn.done)
        ends += [f"a turn with {each.agent} did: {(each.place or '')[:_LONGEST_PLACE]}" for each in left]
        for end in ends:
            print(f"agentnb: the kernel ended before {end}", file=sys.__stderr__)


def _has_cells_after(source: str, cassette: Path | None) -> bool:
    """True if code cells that will certainly run come after the cell with this *source*.

    False if no notebook with this cell is found. Cells with tags do not count: the program that runs the notebook may
    leave them out.
    """
    for path in _candidates(cassette):
        cells = _code_cells(path)
        places = [number for number, (text, _) in enumerate(cells) if text == source.strip()]
        if places:
            return any(is_certain for _, is_certain in cells[places[-1] + 1 :])
    return False


def _candidates(cassette: Path | None) -> Iterator[Path]:
    """Yield the paths where the notebook may be, the most likely first."""
    if named := os.environ.get(NOTEBOOK_VARIABLE):
        yield Path(named)
    if cassette is not None:
        yield cassette.with_name(cassette.name.removesuffix(".jsonl").removesuffix(".cassette") + _SUFFIX)
    yield from _on_command_line()
    if session := os.environ.get("JPY_SESSION_NAME"):
        yield Path(session)
    folder = Path(getattr(current_shell(), "starting_dir", None) or ".")
    yield from sorted(folder.glob(f"*{_SUFFIX}"))[:_MOST_NOTEBOOKS]


def _on_command_line() -> Iterator[Path]:
    """Yield paths from the command that started this kernel: nbconvert, papermill and others name the notebook."""
    try:
        parent: Any = import_module("psutil").Process().parent()
        words, folder = parent.cmdline()[1:], parent.cwd()
    except Exception:  # noqa: BLE001 - psutil is not installed, or the system does not tell
        return
    for word in words:
        if not word.startswith("-") and "\n" not in word:
            yield Path(folder, word) if word.endswith(_SUFFIX) else Path(folder, f"{word}{_SUFFIX}")


def _code_cells(path: Path) -> list[tuple[str, bool]]:
    """Returns the code cells of the notebook at *path*: the source, and True if the cell certainly runs."""
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            return []
        cells = read_json(path.read_bytes())["cells"]
        return [_code_cell(cell) for cell in cells if cell["cell_type"] == "code"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []


def _code_cell(cell: dict[str, Any]) -> tuple[str, bool]:
    source = "".join(cell["source"]).strip()
    tags = (cell.get("metadata") or {}).get("tags")
    return source, bool(source) and not tags and _SKIPPED not in source
