"""Execution: a piece of an agent's code, run on the main thread as a cell is, without being one."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

from agentnb.api.waiting import interrupt_main_thread, running_loop
from agentnb.clock import now_ms
from agentnb.errors import AgentnbError, UsageError
from agentnb.ipython.capture import capturing
from agentnb.kernel.code_runner import Ran, RunFailure
from agentnb.swallowed import is_swallowed

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator
    from contextlib import AbstractContextManager
    from types import FrameType, TracebackType

    from typing_extensions import Self

    from agentnb.ipython.capture import Sink
    from agentnb.kernel.code_runner import CodeWatch
    from agentnb.kernel.job_queue import Stop

T = TypeVar("T")

STEP = 0.001
AGAIN_SECONDS = 1.0  # before this, an earlier interrupt may still be pending
CLEANUP_SECONDS = 5.0
"""Seconds that interrupted code gets to clean up and show its error before it is interrupted again."""
SPARED_SECONDS = 0.05
MOST_SPARED = 20
"""Times that an interrupt that would be swallowed is postponed and sent again, before it is raised even there."""
ARRIVAL_SECONDS = 1.0
"""Seconds to wait for agentnb's own interrupt that has not arrived yet."""
LOOK_SECONDS = 20.0
"""Seconds that the running cell may take to read objects."""
_LOOK_AGAIN_SECONDS = 2.0
_LOOK_TRIES = 5

_STOPPED: dict[Stop, str] = {
    "timeout": "took too long and was interrupted",
    "user": "was interrupted by the user",
    "cancelled": "was interrupted: the turn is over",
    "stopped": "was stopped by the user",
}


class Execution:
    """Code that is ready to run (:class:`agentnb.kernel.job_queue.MainThreadWork`)."""

    def __init__(self, shell: Any, code: str, watch: CodeWatch | None = None) -> None:
        self._shell = shell
        self._code = code
        self._watch = watch
        self._signals = _Signals()
        self._task: asyncio.Task[Any] | None = None
        self._sink: Sink | None = None
        self.started_at: int | None = None

    @property
    def printed(self) -> str:
        """The text that it has printed so far, with colours; from any thread."""
        return "" if self._sink is None else self._sink.latest

    def begin(self, done: Callable[[Ran], None], *, loop_is_free: bool) -> None:
        """Run the code to its end, or start it as a task if it awaits in a running loop."""
        self.started_at = now_ms()
        shell, failed = self._shell, None
        shell.events.trigger("post_execute")  # shows the figures of the user's cell before this code runs
        try:
            transformed = shell.transform_cell(self._code)
        except Exception:  # noqa: BLE001 - told as the cell's own error
            transformed, failed = self._code, sys.exc_info()
        awaits = shell.should_run_async(self._code, transformed_cell=transformed, preprocessing_exc_tuple=failed)
        running = running_loop()
        if awaits and running is not None and not loop_is_free:
            hint = "Leave `await` out, or let the user run `%agent` in a cell of its own."
            raise UsageError("The cell that waits for this turn blocks the loop: code cannot await now.", hint=hint)
        run = self._run(transformed, failed)
        if not awaits:
            with contextlib.suppress(StopIteration):
                run.send(None)
                run.close()
                raise RuntimeError("code that does not await awaits")
            done(self._outcome)
        elif running is None:
            shell.loop_runner(run)
            done(self._outcome)
        else:
            self._signals.loop = running
            self._task = running.create_task(run)
            self._signals.on_wait = self._task.cancel
            self._task.add_done_callback(lambda _: done(self._outcome))

    def stop(self, why: Stop) -> None:
        """Interrupt the code; called from another thread."""
        self._signals.send(why)

    async def _run(self, transformed: str, failed: Any) -> None:
        shell, self._outcome = self._shell, Ran()
        before = shell.last_execution_result, shell.last_execution_succeeded, shell.displayhook.exec_result
        with capturing(shell) as sink, self._signals:
            self._sink = sink
            result: Any = None
            try:
                cell = shell.run_cell_async(
                    self._code, store_history=False, transformed_cell=transformed, preprocessing_exc_tuple=failed
                )
                result = await _Stepped(cell, self._signals, self._running)
                if sink.failure is None and self._signals.why is not None and result.error_in_exec is not None:
                    sink.failure = _bare(result.error_in_exec)  # an interrupt came while IPython showed the error
            except (KeyboardInterrupt, asyncio.CancelledError) as error:
                sink.failure = _bare(error)
            finally:
                with contextlib.suppress(KeyboardInterrupt), self._running():
                    shell.events.trigger("post_execute")
                    shell.events.trigger("post_run_cell", result)
                if self._watch is not None:
                    with contextlib.suppress(KeyboardInterrupt), self._signals.raising():
                        self._watch.finish()
                shell.last_execution_result, shell.last_execution_succeeded, shell.displayhook.exec_result = before
                self._outcome = _ran(sink, self._signals.why)
        self._signals.hand_on()

    def _running(self) -> AbstractContextManager[None]:
        return contextlib.nullcontext() if self._watch is None else self._watch.running()


class ObjectLook:
    """Looks at the user's objects (:class:`agentnb.kernel.job_queue.MainThreadWork`), which runs their own code.

    Output of that code is left out.
    """

    def __init__(self, shell: Any, look: Callable[[], Any]) -> None:
        self._shell = shell
        self._look = look
        self._signals = _Signals()

    @property
    def stopped_by(self) -> Stop | None:
        """Returns who interrupted it; None if nobody did."""
        return self._signals.why

    def begin(self, done: Callable[[Any], None], *, loop_is_free: bool) -> None:  # noqa: ARG002 - it never awaits
        """Run to the end before returning."""
        signals = self._signals
        try:
            with capturing(self._shell), signals, signals.raising():
                result = self._look()
        except AgentnbError:
            raise
        except BaseException as error:
            signals.hand_on()
            what = _STOPPED[signals.why] if signals.why is not None else f"raised {type(error).__name__}"
            raise UsageError(f"Looking at the objects {what}.") from error
        signals.hand_on()
        done(result)

    def stop(self, why: Stop) -> None:
        """Interrupt the look; called from another thread."""
        self._signals.send(why)


def look_in_time(shell: Any, look: Callable[[], T], seconds: float = LOOK_SECONDS) -> T:
    """Call *look* and return its result; on the main thread, another thread interrupts it after *seconds*.

    For the running cell, which is already on the main thread; other code queues an :class:`ObjectLook`.
    Not bounded: C code that never checks for signals, and threads other than the main one, which get no signals.
    """
    if threading.current_thread() is not threading.main_thread():
        return look()
    work, over = ObjectLook(shell, look), threading.Event()
    results: list[T] = []

    def interrupt() -> None:
        wait, tries = seconds, _LOOK_TRIES
        while tries and not over.wait(wait):  # repeatedly: code that catches every exception catches interrupts, too
            work.stop("timeout")
            wait, tries = _LOOK_AGAIN_SECONDS, tries - 1

    watch = threading.Thread(target=interrupt, name="agentnb-look", daemon=True)
    watch.start()
    try:
        work.begin(results.append, loop_is_free=False)
    except Exception as error:
        if work.stopped_by == "user":
            raise KeyboardInterrupt from error
        raise
    finally:
        over.set()
        watch.join()
    if work.stopped_by == "user":
        raise KeyboardInterrupt
    return results[0]


def _bare(error: BaseException) -> RunFailure:
    """The failure of code whose error was not shown, without its location."""
    kind = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else type(error)
    return RunFailure(name=kind.__name__, message="", traceback="")


def _ran(sink: Sink, why: Stop | None) -> Ran:
    failure = sink.failure
    stopped = why if failure is not None and failure.name in {"KeyboardInterrupt", "CancelledError"} else None
    return Ran(
        printed=sink.printed,
        result=sink.result,
        shown=tuple(sink.shown),
        failure=None if stopped else failure,
        stopped=stopped,
    )


class _Stepped:
    """Awaits a coroutine, and tells when its code runs and when it waits."""

    def __init__(
        self,
        inner: Coroutine[Any, Any, Any],
        signals: _Signals,
        running: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._inner = inner
        self._signals = signals
        self._running = running

    def __await__(self) -> Generator[Any, Any, Any]:
        send, value = self._inner.send, None
        while True:
            try:
                with self._signals.raising(), self._running():
                    awaited = send(value)
            except StopIteration as end:
                return end.value
            try:
                value, send = (yield awaited), self._inner.send
            except BaseException as error:  # noqa: BLE001 - the code's own
                value, send = error, self._inner.throw


class _Signals:
    """SIGINT while code runs: the user's interrupt, or ours from another thread (:meth:`send`)."""

    def __init__(self) -> None:
        self.why: Stop | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.on_wait: Callable[[], object] = lambda: None
        self._lock = threading.Lock()
        self._entered = self._raises = False
        self._sent = self._come = False
        self._raised = False
        self._spared = 0
        self._sent_at = 0.0
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._handle)
        with self._lock:
            self._entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._entered = False
        self._await_arrival()
        if self._is_handler:
            signal.signal(signal.SIGINT, self._before)

    @property
    def _is_handler(self) -> bool:
        return bool(signal.getsignal(signal.SIGINT) == self._handle)

    def _await_arrival(self) -> None:
        """Wait for the interrupt that was sent, because the previous handler must not get it.

        It never comes if the code has replaced this handler or blocked the signal; a blocked one is removed.
        """
        until = time.monotonic() + ARRIVAL_SECONDS
        while self._sent and not self._come and self._is_handler and time.monotonic() < until:
            if sys.platform != "win32" and signal.SIGINT in signal.sigpending():
                signal.sigwait({signal.SIGINT})
                return
            threading.Event().wait(STEP)

    @contextlib.contextmanager
    def raising(self) -> Generator[None]:
        """A context for the time the code runs: an interrupt is raised in it."""
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

    def send(self, why: Stop) -> None:
        """Interrupt the main thread, from another thread, if the code is still running."""
        with self._lock:
            now = time.monotonic()
            pause = CLEANUP_SECONDS if self._come and self._raised else AGAIN_SECONDS
            if not self._entered or (self._sent and now - self._sent_at < pause):
                return
            self.why = self.why or why
            self._sent, self._come, self._sent_at = True, False, now
            interrupt_main_thread()

    def _repeat(self) -> None:
        with self._lock:
            if self._entered:
                interrupt_main_thread()

    def hand_on(self) -> None:
        """Pass the user's interrupt on to whoever waits for the turn, too."""
        if self.why == "user" and callable(self._before) and self._before is not signal.default_int_handler:
            self._before(signal.SIGINT, None)

    def _handle(self, _signal: int, frame: FrameType | None) -> None:
        self._come = self._come or self._sent
        self.why = self.why or "user"
        if self._raises and self._spared < MOST_SPARED and is_swallowed(frame):
            self._spared += 1  # after MOST_SPARED times it is raised even there, as that code may hang
            self._come = False
            again = threading.Timer(SPARED_SECONDS, self._repeat)
            again.daemon = True
            again.start()
            return
        if self._raises:
            self._raised = True
            raise KeyboardInterrupt
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self.on_wait)
