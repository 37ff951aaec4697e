"""A turn of a conversation that code can wait for, await or iterate until it ends.

It knows its conversation but not :class:`agentnb.Session`, so code that follows turns needs no session. Users get a
:class:`agentnb.Turn`, which adds the session.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any

from agentnb.api.turn_view import TurnView
from agentnb.api.unattended import give_up
from agentnb.api.waiting import POLL_SECONDS, CountedInterrupts, nest, running_loop, start_user_code
from agentnb.errors import TurnTimeout
from agentnb.host.changes.change_tracker import END_SECONDS
from agentnb.state import MarkdownResponsePart

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Iterator

    from typing_extensions import Self

    from agentnb.host.conversation import Conversation

SETTLE_SECONDS = 0.25  # time for a cancelled agent's last output in wait()


class FollowedTurn(TurnView):
    """One prompt and everything that the agent did in response; every read is a frozen snapshot.

    Args:
        conversation: The turn's conversation.
        turn_id: The turn's id.
    """

    def __init__(self, conversation: Conversation, turn_id: str) -> None:
        super().__init__(conversation, turn_id)
        self._job_queue = conversation.host.environment.job_queue
        self._changed = threading.Condition()
        self._callbacks: list[Callable[[Self], None]] = []
        self._listeners: list[Callable[[], None]] = []
        self._finished = False
        self._settling: asyncio.TimerHandle | None = None
        self._work = False
        self._changes = 0
        self._unwatch: Callable[[], None] = lambda: None

    def _attach(self) -> None:
        """Follow the conversation; to be called on the host's thread."""
        self._unwatch = self._conversation.watch(self._on_change)
        self._on_change()

    def add_done_callback(self, callback: Callable[[Self], None]) -> None:
        """Call *callback* with this turn once it has ended; at once if it already has.

        It runs on its own thread: it may block, and an error that it raises is logged (``agentnb.api``) and stops
        nothing else. Several callbacks run at the same time, in no fixed order.
        """
        self._conversation.host.loop.call(self._add_callback, callback)

    def wait(self, timeout: float | None = None, *, check: bool = True) -> Self:
        """Block until the turn has ended.

        If an asyncio loop already runs on this thread, it continues (by nest-asyncio), and so do your own tasks. An
        interrupt (Ctrl-C, the kernel's stop button) cancels the turn.

        Only a failure raises. A turn that was cancelled, that the agent refused, or that reached a limit
        (``max_tokens``, ``max_turn_requests``) is returned: :attr:`stop_reason` says which, and
        :meth:`raise_for_error` raises for the first two.

        Args:
            timeout: Seconds to wait; None waits forever.
            check: True to raise if the turn failed; if False, look at :attr:`error`.

        Returns:
            This turn.

        Raises:
            TurnFailed: With *check*, if the turn ended with an error. The error's ``turn`` is this turn.
            BudgetExceeded: Likewise, if it reached a limit of a budget and nobody could be asked.
            TurnTimeout: If it has not ended by then; it continues. If nobody watches the notebook (nbconvert,
                papermill), it is cancelled at the end of the cell whose wait timed out.
            CassetteMismatch: If it differs from the cassette that is replayed, whatever *check* is: this is
                a failure of the test, not of the agent.
            CassetteBroken: If that cassette cannot be used.
            UsageError: In a fork of the process that started the session: the turn's end is not known there.
        """
        self._see_that_its_end_is_told()
        try:
            with awaited(self):
                self._wait(timeout)
        except KeyboardInterrupt:
            self.cancel()
            raise
        self._raise_if_failed(self.snapshot, check=check)
        self._warn()
        return self

    async def wait_async(self, timeout: float | None = None, *, check: bool = True) -> Self:
        """Like :meth:`wait`, in async code. ``await turn`` is the same with the defaults.

        A task that is cancelled while it waits cancels the turn, as it would cancel a task that it awaits. So
        ``asyncio.wait_for(turn, 60)`` cancels the turn after a minute; ``asyncio.shield(turn)`` lets it continue.

        Args:
            timeout: Seconds to wait, after which the turn continues; None waits forever.
            check: True to raise if the turn failed.

        Raises:
            TurnFailed: As for :meth:`wait`.
            TurnTimeout: As for :meth:`wait`.
            CassetteMismatch: As for :meth:`wait`.
            CassetteBroken: As for :meth:`wait`.
            UsageError: As for :meth:`wait`.

        Example:
            >>> turn = await session.prompt("Hello").wait_async(60, check=False)  # doctest: +SKIP
        """
        self._see_that_its_end_is_told()
        try:
            with awaited(self):
                await self._wait_async(timeout)
        except asyncio.CancelledError:
            self.cancel()
            raise
        self._raise_if_failed(self.snapshot, check=check)
        self._warn()
        return self

    def _warn(self) -> None:
        """Warn once about a budget that is nearly used up."""
        loop = self._conversation.host.loop
        for each in () if loop.forked else loop.call(self._conversation.turns.budget.take_warnings, self._id):
            warnings.warn(each, stacklevel=3)

    def _wait(self, timeout: float | None) -> None:
        if running_loop() is not None and nest():
            asyncio.get_event_loop().run_until_complete(self._wait_async(timeout))
        else:
            self._wait_blocking(timeout)

    def __await__(self) -> Generator[Any, None, Self]:
        return self.wait_async().__await__()

    def __iter__(self) -> Iterator[str]:
        with awaited(self):
            for piece, seen in self._pieces():
                if piece:
                    yield piece
                else:
                    with self._job_queue.waiting(self._conversation.tab_id, self._wake):
                        self._wait_for_change(seen, POLL_SECONDS)

    async def __aiter__(self) -> AsyncIterator[str]:
        with awaited(self), self._listening() as changed:
            for piece, _ in self._pieces():
                if piece:
                    yield piece
                    continue
                try:
                    with self._job_queue.waiting(self._conversation.tab_id):
                        await changed.wait()
                except asyncio.CancelledError:
                    self.cancel()
                    raise
                changed.clear()

    def _pieces(self) -> Iterator[tuple[str, int]]:
        """Yield the new text until the turn has ended, each character once; empty if the caller must wait.

        The second item is the number of changes seen before the text was read.
        """
        read: dict[str, int] = {}
        while True:
            self._see_that_its_end_is_told()
            seen, done = self._changes, self._finished
            parts = self._parts(MarkdownResponsePart)
            piece = "".join(part.content[read.get(part.id, 0) :] for part in parts)
            read = {part.id: max(len(part.content), read.get(part.id, 0)) for part in parts}
            if done and not piece:
                self._raise_if_failed(self.snapshot)
                return
            yield piece, seen

    def _see_that_its_end_is_told(self) -> None:
        if not self._finished:
            self._conversation.host.loop.see_that_it_runs_here()

    def _add_callback(self, callback: Callable[[Self], None]) -> None:
        if self._finished:
            start_user_code(callback, self)
        else:
            self._callbacks.append(callback)

    def _on_change(self) -> None:
        if not self._finished and self.done:
            self._finish_when_settled()
        with self._changed:
            self._changes += 1
            self._changed.notify_all()
        for listener in tuple(self._listeners):
            listener()

    def _finish_when_settled(self) -> None:
        """Finish once everything that belongs to the turn is here, but do not wait long.

        A cancelled agent may still send some text. And the caller's next changes are not the turn's: the last snapshot
        is taken first.
        """
        conversation = self._conversation
        is_silent = self.state != "cancelled" or conversation.turns.settled
        if is_silent and conversation.changes.is_settled(self._id):
            self._finish()
        elif self._settling is None:
            seconds = END_SECONDS if is_silent else SETTLE_SECONDS
            self._settling = conversation.host.loop.later(seconds, self._finish)

    def _finish(self) -> None:
        if self._finished:
            return
        if self._settling is not None:
            self._settling.cancel()  # the timer holds a reference to this turn
        self._unwatch()
        with self._changed:
            self._finished = True
            self._changed.notify_all()
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            start_user_code(callback, self)
        for listener in tuple(self._listeners):
            listener()

    def _wait_blocking(self, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        with CountedInterrupts() as interrupts, self._job_queue.waiting(self._conversation.tab_id, self._wake):
            while not self._finished:
                if interrupts.count:
                    raise KeyboardInterrupt
                left = POLL_SECONDS if deadline is None else min(POLL_SECONDS, deadline - time.monotonic())
                if left <= 0:
                    raise self._timeout(timeout)
                self._wait_for_change(self._changes, left)

    def _wait_for_change(self, seen: int, seconds: float) -> None:
        """Wait for more changes than *seen*, at most *seconds*; meanwhile, an agent's jobs are run on this thread."""
        with self._changed:
            if self._changes == seen and not self._finished and not self._work:
                self._changed.wait(seconds)
            work, self._work = self._work, False
        if work:
            self._job_queue.run_pending(loop_is_free=False)

    def _wake(self) -> None:
        with self._changed:
            self._work = True
            self._changed.notify_all()

    async def _wait_async(self, timeout: float | None) -> None:
        with self._listening(at_end=True) as changed, self._job_queue.waiting(self._conversation.tab_id):
            try:
                await asyncio.wait_for(self._until_finished(changed), timeout)
            except asyncio.TimeoutError:
                raise self._timeout(timeout) from None

    async def _until_finished(self, changed: asyncio.Event) -> None:
        while not self._finished:
            await changed.wait()
            changed.clear()

    @contextlib.contextmanager
    def _listening(self, *, at_end: bool = False) -> Iterator[asyncio.Event]:
        """Yield an event of the caller's loop, set at every change of this turn; with *at_end*, only at its end."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def listener() -> None:
            if at_end and not self._finished:
                return  # waking the caller's loop for each chunk costs more than the chunk
            with contextlib.suppress(RuntimeError):  # the caller's loop was closed meanwhile
                loop.call_soon_threadsafe(changed.set)

        self._listeners.append(listener)
        changed.set()
        try:
            yield changed
        finally:
            self._listeners.remove(listener)

    def _timeout(self, timeout: float | None) -> TurnTimeout:
        message = f"The turn did not end in {timeout:g} s; it is still running."
        hint = "Wait again with turn.wait(), or stop it with turn.cancel()."
        if give_up(self):
            hint = "Wait again in this cell: no user is attached, so the turn is cancelled when the cell ends."
        return TurnTimeout(message, hint=hint, turn=self)


@contextlib.contextmanager
def awaited(turn: FollowedTurn) -> Iterator[None]:
    """Mark *turn* as awaited during the block: stopping the turn before it does not hold it in the queue."""
    conversation = turn._conversation  # noqa: SLF001 - the two are one
    conversation.turns.queue.awaited.append(turn.id)
    try:
        if any(waiting.held and waiting.id == turn.id for waiting in conversation.chat.state.queued_messages or ()):
            conversation.host.loop.call(conversation.turns.queue.continue_queue)
        yield
    finally:
        conversation.turns.queue.awaited.remove(turn.id)
