"""Code that is rehearsed in a fork of the kernel: it runs as a cell does, and nothing of it reaches a page."""

from __future__ import annotations

import asyncio
import base64
import gc
import io
import logging
import os
import resource
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from agentnb.host.environment import current_environment
from agentnb.ipython.capture import ShellNamespace, capturing
from agentnb.kernel.code_runner import RunFailure
from agentnb.kernel.data_checks import compare_watched, compared
from agentnb.kernel.job_queue import JobQueue
from agentnb.kernel.variables.summary import ValueSummary, difference
from agentnb.plugins.rehearsal.code import CodeNotes, Notes, begin_code
from agentnb.state import RehearsalVariable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentnb.ipython.capture import Sink
    from agentnb.kernel.rehearsal_result import Rehearsal
    from agentnb.kernel.variables.changes import NameChange

MOST_VARIABLES = 100
LONGEST_VALUE = 300
MOST_PICTURES = 10
PICTURE_DPI = 72
_RUNS_CELLS = f"{os.sep}IPython{os.sep}core{os.sep}"


def begin_in_shell(shell: Any, code: str, folder: str, *, seconds: float) -> Callable[[], Rehearsal]:
    """Begin to rehearse *code* as a cell of *shell*; on the main thread."""

    def play(notes: Notes) -> int:
        _play(shell if shell is not None else new_shell(), code, notes)
        return 0

    return begin_code(play, folder, seconds=seconds)


def new_shell() -> Any:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    os.environ["IPYTHONDIR"] = f"{os.environ['TMPDIR']}/ipython"  # IPython's folders are not changes of the code
    config = Config()
    config.HistoryManager.enabled = False
    return InteractiveShell(config=config, user_ns=vars(sys.modules["__main__"]))


def _play(shell: Any, code: str, notes: Notes) -> None:
    gc.freeze()  # the kernel's objects must not be freed here: their finalizers belong to the kernel
    cut_off(shell)
    needed = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    changes: list[NameChange] = []
    namespace = ShellNamespace(shell, JobQueue())
    watch = namespace.watch(code, changes.extend)
    comparison = current_environment().step_comparison(is_fork=True)
    compare_watched(watch, comparison, namespace.variables)
    with capturing(shell):
        shell.events.trigger("post_execute")  # shows the figures of the user's cell before this code runs
    drawn = _figures()
    with capturing(shell) as sink:
        _tell_errors_shortly(shell, sink)
        sys.stdout = sys.stderr = _own_output()
        try:
            with watch.running():
                asyncio.new_event_loop().run_until_complete(_run(shell, code))
            shell.events.trigger("post_execute")
        except BaseException as error:  # noqa: BLE001 - the code's own, SystemExit as well
            sink.failure = sink.failure or _failure(type(error), error, error.__traceback__)
        watch.finish()
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - needed
    notes.add(
        CodeNotes(
            result=_result(sink),
            error=None if sink.failure is None else f"{sink.failure.name}: {sink.failure.message}".rstrip(": "),
            traceback="" if sink.failure is None else sink.failure.traceback[-20_000:],
            variables=tuple(map(_variable, changes[:MOST_VARIABLES])),
            data_checks=compared(comparison, namespace.variables(), [each.name for each in changes]) or (),
            pictures=tuple([*_displayed_pictures(sink), *_drawn(drawn)][:MOST_PICTURES]),
            memory=more * 1024,
        )
    )


async def _run(shell: Any, code: str) -> None:
    transformed, failed = code, None
    try:
        transformed = shell.transform_cell(code)
    except Exception:  # noqa: BLE001 - told as the code's own error
        failed = sys.exc_info()
    await shell.run_cell_async(code, store_history=False, transformed_cell=transformed, preprocessing_exc_tuple=failed)


def cut_off(shell: Any) -> None:
    """Let nothing reach a page: kernel messages, streams that are held elsewhere, and the kernel's running loop."""
    asyncio._set_running_loop(None)  # noqa: SLF001 - documented for loops; the kernel's does not run here
    asyncio.set_event_loop(asyncio.new_event_loop())
    shell.system = shell.system_raw  # runs `!command` without a terminal, as there is none here
    shell.loop_runner = lambda coroutine: asyncio.new_event_loop().run_until_complete(coroutine)
    kernel = getattr(shell, "kernel", None)
    session = getattr(kernel, "session", None)
    if session is not None:
        session.send = lambda *_args, **_kwargs: None
    own = _own_output()
    for stream in {sys.stdout, sys.stderr, *_logged()}:
        if type(stream).__module__.startswith("ipykernel"):
            with suppress(AttributeError):
                stream.write, stream.flush = own.write, own.flush
    sys.stdout = sys.stderr = own
    with suppress(Exception):
        shell.history_manager.enabled = False


def _own_output() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", "backslashreplace", write_through=True)


def _logged() -> Iterable[Any]:
    loggers = [logging.root, *(each for each in logging.root.manager.loggerDict.values() if hasattr(each, "handlers"))]
    return [stream for each in loggers for one in each.handlers if (stream := getattr(one, "stream", None)) is not None]


def _tell_errors_shortly(shell: Any, sink: Sink) -> None:
    """Show exceptions as Python does: IPython's own way takes a second if it has to read large modules."""

    def tell(exception: Any = None, *_args: Any, **_options: Any) -> None:
        kind, error, trace = exception if isinstance(exception, tuple) else sys.exc_info()
        if kind is not None:
            sink.failure = _failure(kind, error, trace)

    shell.showtraceback = shell.showsyntaxerror = shell.showindentationerror = tell


def _failure(kind: type[BaseException], error: BaseException | None, trace: Any) -> RunFailure:
    while trace is not None and _RUNS_CELLS in trace.tb_frame.f_code.co_filename:
        trace = trace.tb_next
    return RunFailure(
        name=kind.__name__,
        message=str(error),
        traceback="".join(traceback.format_exception(kind, error, trace)),
    )


def _result(sink: Sink) -> str | None:
    if sink.result is not None or not sink.shown:
        return sink.result and sink.result[:20_000]
    text = sink.shown[-1].get("text/plain")
    return text[:20_000] if isinstance(text, str) else None


def _displayed_pictures(sink: Sink) -> list[str]:
    """Returns the pictures that were displayed, in base64."""
    return [each["image/png"].replace("\n", "") for each in sink.shown if isinstance(each.get("image/png"), str)]


def _figures() -> set[int]:
    pyplot = sys.modules.get("matplotlib.pyplot")
    return set() if pyplot is None else set(pyplot.get_fignums())


def _drawn(before: set[int]) -> list[str]:
    """Returns the figures that were opened and not shown."""
    pictures = []
    pyplot = sys.modules.get("matplotlib.pyplot")
    for number in sorted(_figures() - before):
        with suppress(Exception):
            file = io.BytesIO()
            pyplot.figure(number).savefig(file, format="png", dpi=PICTURE_DPI)  # type: ignore[union-attr]
            pictures.append(base64.b64encode(file.getvalue()).decode())
    return pictures


def _variable(change: NameChange) -> RehearsalVariable:
    before = None if change.before is None else change.before.summary
    after = None if change.after is None else change.after.summary
    value = None
    if change.after is not None:
        with suppress(Exception):
            value = repr(change.after.value)[:LONGEST_VALUE]
    detail = (
        (before or after or ValueSummary("")).text if before is None or after is None else difference(before, after)
    )
    return RehearsalVariable(
        name=change.name,
        status="added" if before is None else "deleted" if after is None else "changed",
        detail=detail if change.rebound else f"{detail}, changed in place",
        can_restore=change.reason is None,
        value=value,
    )
