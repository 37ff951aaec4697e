"""The `%agent` magic: sends a prompt, and waits for its end."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import sys
import time
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from IPython.display import display

from agentnb.api.turn import awaited
from agentnb.api.unattended import show_at_end
from agentnb.api.waiting import CountedInterrupts, raise_later
from agentnb.errors import TurnTimeout, UsageError
from agentnb.host.environment import current_environment
from agentnb.ipython.arguments import parse
from agentnb.ipython.cell_errors import expanded
from agentnb.ipython.config import say
from agentnb.ipython.execution import LOOK_SECONDS, look_in_time
from agentnb.ipython.mentions import attachments, represented, scope_of
from agentnb.ipython.record import record, value_record, workspace
from agentnb.ipython.turn_display import Audience, audience_of, display_for, in_notebook, is_unattended
from agentnb.plugin_registry import plugins

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from agentnb.api.session import Turn
    from agentnb.api.unattended import AwaitableWork
    from agentnb.ipython.arguments import Arguments
    from agentnb.ipython.config import Agentnb
    from agentnb.ipython.tabs import Tabs
    from agentnb.ipython.turn_display import TurnDisplay


TICK_S = 0.2
"""Seconds between two checks of a waiting cell: it shows new output and, while it blocks, lets Ctrl-C through."""
_WORK = "work"
GRACE_S = 3.0
"""Seconds that a cancelled turn may take to end before the cell continues without it."""


class AgentInterrupted(KeyboardInterrupt):
    """The user interrupted a cell that waited for an agent."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


async def await_turn(turn: Turn, tick: Callable[[], None], *, timeout: float | None = None, kernel: Any = None) -> None:
    """Wait until *turn* has ended while the loop keeps running, so that clicks are handled."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    context = contextvars.copy_context()  # it determines which cell gets printed text

    def on_interrupt(count: int) -> None:
        if count > 1:
            ended.set()
        else:
            turn.cancel()
            loop.call_later(GRACE_S, ended.set)

    def handle(count: int) -> None:
        loop.call_soon_threadsafe(on_interrupt, count, context=context)

    with CountedInterrupts(handle, always=True) as interrupts:
        turn.add_done_callback(lambda _: _set_from_thread(loop, ended))
        try:
            with awaited(turn), current_environment().job_queue.waiting(turn.session.tab_id):
                async with pumping(kernel):
                    timely = await _ticking(ended, tick, timeout)
                    if not timely and not interrupts.count:
                        turn.cancel()
                        await _ticking(ended, tick, GRACE_S)
        except asyncio.CancelledError:
            turn.cancel()
            raise
    _raise_if(turn, interrupted=interrupts.count > 0, timeout=None if timely else timeout)


def block_on(turn: Turn, tick: Callable[[], None], *, timeout: float | None = None) -> None:
    """Wait until *turn* has ended, blocking this thread; otherwise like `await_turn`."""
    news: SimpleQueue[str] = SimpleQueue()  # put() is safe in a signal handler, Event.set() is not
    job_queue = current_environment().job_queue
    timely = True

    def handle(count: int) -> None:
        raise_later(count)
        news.put("interrupted")

    with CountedInterrupts(handle) as interrupts:
        turn.add_done_callback(lambda _: news.put("ended"))
        try:
            with awaited(turn), job_queue.waiting(turn.session.tab_id, partial(news.put, _WORK)):
                what = _blocked(news, tick, timeout)
                timely = what is not None
                if what != "ended":
                    turn.cancel()
                    _blocked(news, tick, GRACE_S)
        except KeyboardInterrupt:  # the second interrupt stops waiting for the turn
            turn.cancel()
    _raise_if(turn, interrupted=interrupts.count > 0, timeout=None if timely else timeout)


def _raise_if(turn: Turn, *, interrupted: bool, timeout: float | None) -> None:
    if interrupted:
        raise AgentInterrupted(
            "The turn was cancelled."
            if turn.done
            else "agentnb stopped waiting; the agent has not confirmed that the turn ended."
        )
    if timeout is not None:
        raise TurnTimeout(
            f"The turn did not end in {timeout:g} s and was cancelled.", hint="Give it more with --timeout."
        )


async def _ticking(ended: asyncio.Event, tick: Callable[[], None], timeout: float | None) -> bool:
    deadline = time.monotonic() + timeout if timeout is not None else None
    while not ended.is_set():
        left = TICK_S if deadline is None else min(TICK_S, deadline - time.monotonic())
        if left <= 0:
            return False
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(ended.wait(), left)
        tick()
    return True


def _blocked(news: SimpleQueue[str], tick: Callable[[], None], timeout: float | None) -> str | None:
    """The next of *news*; None if there is none within *timeout* seconds."""
    deadline = time.monotonic() + timeout if timeout is not None else None
    what = None
    while what is None:
        left = TICK_S if deadline is None else min(TICK_S, deadline - time.monotonic())
        if left <= 0:
            return None
        with contextlib.suppress(Empty):
            what = news.get(timeout=left)
        if what == _WORK:
            current_environment().job_queue.run_pending(loop_is_free=False)
            what = None
        tick()
    return what


def _set_from_thread(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
        loop.call_soon_threadsafe(event.set)


@contextlib.asynccontextmanager
async def pumping(kernel: Any) -> AsyncIterator[None]:
    """Handle the kernel's messages while the body awaits; nothing to do on ipykernel 7, which does that itself."""
    if not all(hasattr(kernel, name) for name in ("msg_queue", "dispatch_shell", "session", "set_parent")):
        yield
        return
    stop = asyncio.Event()
    task = asyncio.ensure_future(_Pump(kernel).run(stop))
    try:
        yield
    finally:
        stop.set()
        await task


class _Pump:
    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._held: list[Any] = []
        self._parent = kernel.get_parent("shell")
        self._ident = kernel._parent_ident["shell"]  # noqa: SLF001 - no public way to it

    async def run(self, stop: asyncio.Event) -> None:
        stopped = asyncio.ensure_future(stop.wait())
        try:
            while not stopped.done():
                await self._next(stopped)
        finally:
            stopped.cancel()
            self._give_back()

    async def _next(self, stopped: asyncio.Future[Any]) -> None:
        arrival = asyncio.ensure_future(self._kernel.msg_queue.get())
        await asyncio.wait({arrival, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not arrival.done():
            arrival.cancel()
        else:
            await self._take(arrival.result())

    async def _take(self, queued: Any) -> None:
        _, dispatch, arguments = queued
        if dispatch != self._kernel.dispatch_shell or self._kind(arguments[0]) == "execute_request":
            self._held.append(queued)
            return
        try:
            await dispatch(*arguments)
        finally:
            # From here on, printed text belongs to the cell again; the kernel is still busy with it.
            self._kernel.set_parent(self._ident, self._parent, channel="shell")
            self._kernel._publish_status("busy", "shell", parent=self._parent)  # noqa: SLF001

    def _kind(self, frames: list[Any]) -> str:
        """A message's type, without using up its signature."""
        session = self._kernel.session
        _, rest = session.feed_identities(frames, copy=False)
        return str(session.unpack(rest[1].bytes).get("msg_type"))

    def _give_back(self) -> None:
        queue = self._kernel.msg_queue
        while not queue.empty():
            self._held.append(queue.get_nowait())
        for queued in self._held:
            queue.put_nowait(queued)


class PromptCommand:
    def __init__(self, shell: Any, settings: Agentnb, tabs: Tabs, displayed_ids: set[str]) -> None:
        self.shell = shell
        self.settings = settings
        self.tabs = tabs
        self._displayed_ids = displayed_ids
        self.look_seconds = LOOK_SECONDS
        self._unshown: set[str] = set()

    def run(self, line: str, cell: str | None) -> Turn | AwaitableWork:
        """Prompt the agent, and block the thread until the turn, or the batch, ends."""
        arguments = parse(line, cell)
        batch = self._batch(arguments)
        if batch is not None:
            return _begun(batch) if arguments.background else batch.wait()
        turn = self._begin(arguments)
        if arguments.background:
            return self._leave_running(turn)
        view = self._display_for(turn, blocking=True)
        try:
            view.open()
            block_on(turn, view.tick, timeout=self._timeout(arguments))
        except KeyboardInterrupt:
            turn.cancel()  # an interrupt before or after the wait
            raise
        finally:
            view.close()
        return turn.raise_for_error()

    async def run_awaited(self, line: str, cell: str | None) -> Turn | AwaitableWork:
        """Prompt the agent, and await the turn, or the batch; clicks in the page are handled meanwhile."""
        arguments = parse(line, cell)
        batch = self._batch(arguments)
        if batch is not None:
            return _begun(batch) if arguments.background else await batch
        turn = self._begin(arguments)
        if arguments.background:
            return self._leave_running(turn)
        view = self._display_for(turn, blocking=False)
        kernel = getattr(self.shell, "kernel", None)
        view.open()
        try:
            await await_turn(turn, view.tick, timeout=self._timeout(arguments), kernel=kernel)
        finally:
            view.close()
        return turn.raise_for_error()

    def show(self, turn: Turn) -> None:
        """Display *turn* as the value of a cell, unless that cell has shown it already."""
        if turn.id not in self._displayed_ids:
            if turn.done:
                self._unshown.discard(turn.id)
            display(value_record(turn), raw=True)
        elif audience_of(self.shell) is Audience.TERMINAL:
            sys.stdout.write(f"{turn!r}\n")  # the terminal has printed its "Out[3]: " already

    def _batch(self, arguments: Arguments) -> AwaitableWork | None:
        """Begin the work of the plug-in whose word begins the prompt; None if an agent is prompted."""
        first = arguments.prompt.split(None, 1)[:1]
        for plugin, word in plugins().offers("prompt_words"):
            if [word.name] == first:
                with plugins().guard(plugin.name, f"`%%agent {word.name}`"):
                    batch: AwaitableWork | None = word.begin(arguments, self.shell, self.settings)
                if batch is not None and arguments.output:
                    self.shell.user_ns[arguments.output] = batch
                return batch
        return None

    def _begin(self, arguments: Arguments) -> Turn:
        session = self.tabs.choose(arguments)
        if not arguments.background:
            current_environment().job_queue.check_can_wait(session.tab_id)
        prompt = expanded(arguments.prompt, self.shell, edits=session.kernel_tools)
        scope = scope_of(self.shell, workspace(session), self._represented)
        attached = attachments(prompt.text, arguments.context, scope)
        turn = session.prompt(
            prompt.text, attachments=attached, verify=arguments.verify, instructions=prompt.instructions
        )
        if arguments.output:
            self.shell.user_ns[arguments.output] = turn
        self._displayed_ids.add(turn.id)
        return turn

    def _represented(self, value: Any, name: str) -> str | None:
        try:
            return look_in_time(self.shell, lambda: represented(value, name), self.look_seconds)
        except UsageError as error:
            say(f"@{name} was attached without its value. {error.message} Mention a part of it instead.")
            return f"{name}: {type(value).__name__}. Its value is not shown: {error.message}"

    def _display_for(self, turn: Turn, *, blocking: bool) -> TurnDisplay:
        audience, replaces = audience_of(self.shell), in_notebook(self.shell)
        return display_for(turn, audience, self.settings.view, blocking=blocking, replaces=replaces)

    def _timeout(self, arguments: Arguments) -> float | None:
        alone = self.settings.headless_timeout if is_unattended(self.shell) else None
        return arguments.timeout or self.settings.timeout or alone or None

    def _leave_running(self, turn: Turn) -> Turn:
        """Let *turn* run on behind the next cells; show it here if there is a page, else in the last cell."""
        view = self._display_for(turn, blocking=False)
        if audience_of(self.shell) is Audience.PAGE and in_notebook(self.shell):
            view.open()
            turn.add_done_callback(lambda _: view.close())
        else:
            name = self.tabs.name_of(turn.session)
            words = f"Runs in the background, in the tab {name!r}. `%agents cancel` stops it, `await turn` waits."
            display({"text/plain": words}, raw=True)
            self._unshown.add(turn.id)
            show_at_end(turn, partial(self._show_unshown, turn))
        return turn

    def _show_unshown(self, turn: Turn) -> None:
        if turn.id in self._unshown:
            self._unshown.discard(turn.id)
            display(record(turn), raw=True)


def _begun(batch: AwaitableWork) -> AwaitableWork:
    show_at_end(batch, partial(display, batch))
    return batch
