"""Captures what code shows, and the names that it sees in the user's shell."""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import getpass
import re
import sys
import time
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from IPython.core.inputtransformer2 import TransformerManager

from agentnb.api.waiting import interrupt_main_thread
from agentnb.ipython.cell_outputs import encoded
from agentnb.ipython.mentions import visible
from agentnb.kernel.code_runner import RunFailure
from agentnb.kernel.output_text import without_colours
from agentnb.kernel.variables.keeper import Keeper
from agentnb.kernel.variables.kinds import Reach
from agentnb.kernel.variables.watch import VariableWatch, Watches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agentnb.kernel.code_runner import CellWatch
    from agentnb.kernel.job_queue import JobQueue
    from agentnb.kernel.variables.changes import NameChange


MOST_PRINTED = 200_000
"""Characters of printed output that are kept, half from its beginning and half from its end."""
MOST_SHOWN = 50
MOST_LATEST = 4_000
"""Characters that are shown from the end of the printed output while the code runs."""

_sink: contextvars.ContextVar[Sink | None] = contextvars.ContextVar("agentnb_sink", default=None)


class Sink:
    """Receives the output of one piece of code."""

    def __init__(self) -> None:
        self.shown: list[dict[str, Any]] = []
        self.result: str | None = None
        self.failure: RunFailure | None = None
        self._head: list[str] = []
        self._tail: list[str] = []
        self._room = MOST_PRINTED // 2
        self._held = self._left_out = 0

    @property
    def printed(self) -> str:
        cut = [f"\n… ({self._left_out:,} characters left out) …\n"] if self._left_out else []
        return without_colours("".join([*self._head, *cut, *self._tail]))

    @property
    def latest(self) -> str:
        """The tail of what was printed so far, unaltered; callable from any thread."""
        return "".join([*self._head, *self._tail])[-MOST_LATEST:]

    def write(self, text: str) -> int:
        head, tail = text[: self._room], text[self._room :]
        if head:
            self._head.append(head)
            self._room -= len(head)
        if tail:
            self._tail.append(tail)
            self._held += len(tail)
            if self._held > MOST_PRINTED:
                self._trim()
        return len(text)

    def _trim(self) -> None:
        held = "".join(self._tail)
        kept = held[-(MOST_PRINTED // 2) :]
        self._left_out += len(held) - len(kept)
        self._tail, self._held = [kept], len(kept)

    def show(self, bundle: dict[str, Any]) -> None:
        if len(self.shown) < MOST_SHOWN:
            self.shown.append({kind: encoded(value) for kind, value in bundle.items()})


class _Echo:
    """A second target of one of ipykernel's streams, beside the page."""

    def __init__(self, before: Any, write: Callable[[str], object]) -> None:
        self._before = before
        self._write = write

    def write(self, text: str) -> None:
        self._write(str(text))
        if self._before is not None:
            self._before.write(text)

    def flush(self) -> None:
        if self._before is not None:
            self._before.flush()


@contextlib.contextmanager
def copied(write: Callable[[str], object]) -> Iterator[None]:
    """Pass what is printed while the body runs to *write*, on any thread; it still goes to the page."""
    streams = [each for each in (sys.stdout, sys.stderr) if hasattr(each, "echo")]
    with contextlib.ExitStack() as stack:
        for stream in streams:
            stack.enter_context(_replaced(stream, "echo", _Echo(stream.echo, write)))
        yield


class _Stream:
    """A stream that writes into the sink of the code that prints, or else where it wrote before."""

    def __init__(self, before: Any) -> None:
        self._before = before

    def write(self, text: str) -> Any:
        sink = _sink.get()
        return self._before.write(text) if sink is None else sink.write(str(text))

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._before, name)


@contextlib.contextmanager
def capturing(shell: Any) -> Iterator[Sink]:
    """Capture what code in this context prints, displays, returns and raises while the body runs."""
    sink = Sink()
    token = _sink.set(sink)
    try:
        with contextlib.ExitStack() as stack:
            for owner, name, make in _REPLACED:
                target = owner(shell)
                stack.enter_context(_replaced(target, name, make(shell, getattr(target, name))))
            yield sink
    finally:
        with contextlib.suppress(ValueError):  # ended in another context, which has nothing to reset
            _sink.reset(token)


@contextlib.contextmanager
def _replaced(target: Any, name: str, new: Any) -> Iterator[None]:
    inherited = name not in vars(target) and isinstance(getattr(type(target), name, None), FunctionType)
    before = getattr(target, name)
    setattr(target, name, new)
    try:
        yield
    finally:
        if getattr(target, name) is new:  # otherwise other code has replaced it meanwhile and will restore this one
            if inherited:
                delattr(target, name)
            else:
                setattr(target, name, before)


def _split(mine: Callable[..., Any]) -> Callable[[Any, Any], Callable[..., Any]]:
    """Returns a function that makes one that calls *mine* for captured code, and the previous one for other code."""

    def make(shell: Any, before: Any) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            sink = _sink.get()
            return before(*args, **kwargs) if sink is None else mine(sink, shell, *args, **kwargs)

        return call

    return make


def _result(sink: Sink, shell: Any, value: Any = None) -> None:
    if value is None:
        return
    bundle, _ = shell.display_formatter.format(value)
    if not bundle:  # the object has displayed itself
        return
    sink.result = bundle.get("text/plain", repr(value))
    if bundle.keys() - {"text/plain"}:
        sink.show(bundle)
        sink.result = None


def _published(sink: Sink, _shell: Any, data: dict[str, Any], *_args: Any, **_kwargs: Any) -> None:
    sink.show(dict(data))


def _cleared(_sink: Sink, _shell: Any, *_args: Any, **_kwargs: Any) -> None:
    """The user's cell is not cleared by somebody else's code."""


def _raised(sink: Sink, shell: Any, kind: type[BaseException], value: BaseException, lines: list[str]) -> None:
    # This code is not a cell, but IPython gives it the number of the user's next cell.
    number = rf"(?:Cell|Input) In ?\[{shell.execution_count}\]"
    text = re.sub(number, "This code", without_colours("\n".join(map(str, lines))))
    sink.failure = RunFailure(name=kind.__name__, message=str(value), traceback=text)


def _refuse_input(*_args: Any, **_kwargs: Any) -> Any:
    raise RuntimeError("This code was started by an agent, so it cannot ask for input.")


def _stream(_shell: Any, before: Any) -> Any:
    return _Stream(before)


_REPLACED: tuple[tuple[Callable[[Any], Any], str, Callable[[Any, Any], Any]], ...] = (
    (lambda _: sys, "stdout", _stream),
    (lambda _: sys, "stderr", _stream),
    (lambda _: sys, "displayhook", _split(_result)),
    (lambda shell: shell.display_trap, "hook", _split(_result)),
    (lambda shell: shell.display_pub, "publish", _split(_published)),
    (lambda shell: shell.display_pub, "clear_output", _split(_cleared)),
    (lambda shell: shell, "_showtraceback", _split(_raised)),
    (lambda _: builtins, "input", _split(_refuse_input)),
    (lambda _: getpass, "getpass", _split(_refuse_input)),
)


LATE_SECONDS = 5.0
"""The most seconds from a cell's end until a cell that waited behind it begins."""


class _ExpectedCell(NamedTuple):
    """A cell that a page is about to run for an agent."""

    cell_id: str
    source: str
    watch: CellWatch
    late: bool


class _WatchedCell:
    """A cell that a page runs for an agent, while it runs."""

    def __init__(self, cell_id: str, watch: CellWatch) -> None:
        self.cell_id = cell_id
        self.depth = 1
        self._watch = watch
        self._running = contextlib.ExitStack()
        self._running.enter_context(copied(watch.write))
        self._running.enter_context(watch.running())

    def close(self) -> None:
        self._running.close()
        self._watch.finish()


class ShellNamespace:
    """The user's variables in one shell (implements :class:`agentnb.kernel.code_runner.Namespace`)."""

    def __init__(self, shell: Any, job_queue: JobQueue) -> None:
        self._shell = shell
        self._job_queue = job_queue
        self._watches: Watches | None = None
        self._released: list[object] = []
        self._expected: list[_ExpectedCell] = []
        self._cell: _WatchedCell | None = None
        self._idle_since = 0.0

    def variables(self) -> dict[str, Any]:
        """The user's own variables, as ``%whos`` lists them: none that are private or that IPython put there."""
        held = {name: value for name, value in [*self._shell.user_ns.items()] if isinstance(name, str)}
        hidden = self._shell.user_ns_hidden
        return {name: held[name] for name in visible(held) if held[name] is not hidden.get(name, _nothing)}

    def bind(self, name: str, value: Any) -> None:
        self._shell.user_ns[name] = value

    def unbind(self, name: str) -> None:
        self._shell.user_ns.pop(name, None)

    def watch(self, code: str, ended: Callable[[Sequence[NameChange]], object]) -> VariableWatch:
        return VariableWatch(self.variables, _reach(code), self._following(), ended)

    def unrestorable(self, code: str, limit: int) -> tuple[str, ...]:
        """The names that *code* can reach and that could not be restored; from any thread."""
        names = self.variables()
        return tuple(Keeper(names, limit, mode="plan").keep(_reach(code).of(names)).lost)

    def watch_cell(self, cell_id: str, source: str, watch: CellWatch, *, late: bool) -> Callable[[], None]:
        """Watch the next run of the cell, as reported by IPython's events."""
        self._following()
        expected = _ExpectedCell(cell_id, source, watch, late)
        self._expected.append(expected)
        self._idle_since = time.monotonic()

        def end() -> None:
            with contextlib.suppress(ValueError):
                self._expected.remove(expected)

        return end

    def stop_cell(self, cell_id: str) -> bool:
        """Interrupt the cell as Jupyter's own interrupt does; from any thread."""
        cell = self._cell
        if cell is None or cell.cell_id != cell_id:
            return False
        interrupt_main_thread()
        return True

    def release(self, objects: Sequence[object]) -> None:
        """Free *objects* on the main thread: as soon as its loop is free, else around the next cell."""
        self._released.extend(objects)
        if self._job_queue.schedule is not None:
            self._job_queue.schedule(self._released.clear)

    def _following(self) -> Watches:
        """The watches of this shell, which are notified of its cells from now on."""
        if self._watches is None:
            self._watches = Watches()
            self._shell.events.register("pre_run_cell", self._cell_begins)
            self._shell.events.register("post_run_cell", self._cell_ended)
        return self._watches

    def _cell_begins(self, info: Any) -> None:
        self._released.clear()
        if self._cell is not None:
            self._cell.depth += 1  # code in the cell runs another cell
            return
        watches = self._following()
        expected = None if watches.is_running else self._expected_as(info)
        if expected is None:
            watches.user_cell_begins()
            return
        self._expected.remove(expected)
        self._cell = _WatchedCell(expected.cell_id, expected.watch)

    def _cell_ended(self, _result: Any) -> None:
        if self._cell is not None:
            self._cell.depth -= 1
            if not self._cell.depth:
                self._cell.close()
                self._cell = None
        else:
            self._following().user_cell_ended()
        self._idle_since = time.monotonic()
        self._released.clear()

    def _expected_as(self, info: Any) -> _ExpectedCell | None:
        if time.monotonic() - self._idle_since > LATE_SECONDS:
            # The previous cell ended long ago and this one did not run: the queue was stopped.
            self._expected = [each for each in self._expected if not each.late]
        cell_id, source = getattr(info, "cell_id", None), getattr(info, "raw_cell", None)
        return next((each for each in self._expected if each.source == source and each.cell_id == cell_id), None)


def _reach(code: str) -> Reach:
    try:
        return Reach(TransformerManager().transform_cell(code))
    except Exception:  # noqa: BLE001 - what IPython cannot read does not run
        return Reach(code)


_nothing = object()
