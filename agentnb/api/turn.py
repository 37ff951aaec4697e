"""A turn of a conversation: one prompt and all that it caused, followed until it ends.

It knows its conversation and not :class:`agentnb.Session`, so that whoever follows turns needs no session. Users get a
:class:`agentnb.Turn`, which adds the session.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from agentnb.api.changes import carry_out, changes_of, files_of
from agentnb.api.files import FileChangeTable
from agentnb.api.interrupts import CountedInterrupts
from agentnb.api.loops import nest, running_loop
from agentnb.api.text_reader import TextReader
from agentnb.api.tool_call import ToolCall, tool_call
from agentnb.api.unattended import give_up
from agentnb.api.user_code import start_user_code
from agentnb.errors import CassetteBroken, CassetteMismatch, TurnCancelled, TurnFailed, TurnRefused, TurnTimeout
from agentnb.host.changes.change_tracker import END_SECONDS
from agentnb.host.files.changes import changes
from agentnb.host.intents import FROM_PYTHON, Rejected, cancel
from agentnb.state import (
    ActiveTurn,
    MarkdownResponsePart,
    PlanResponsePart,
    ReasoningResponsePart,
    ToolCallResponsePart,
    find_turn,
)
from agentnb.state import Turn as FinishedTurn

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping

    from typing_extensions import Self

    from agentnb.api.changes import Change, ChangeTable, Choice
    from agentnb.host.conversation import Conversation
    from agentnb.state import ChatState, ErrorInfo, PlanEntry, UsageInfo

    Snapshot = FinishedTurn | ActiveTurn

SETTLE_SECONDS = 0.25  # how long wait() lets a cancelled agent write its last output
TurnState: TypeAlias = Literal["queued", "running", "complete", "cancelled", "error"]
"""How far a turn is."""

_STATES: dict[str, TurnState] = {"complete": "complete", "cancelled": "cancelled", "error": "error"}
_OF_CASSETTES = {kind.__name__: kind for kind in (CassetteBroken, CassetteMismatch)}
POLL_SECONDS = 0.2  # a blocked main thread looks up this often, so that Ctrl-C comes through on every platform


class FollowedTurn:
    """One prompt and all that it caused; every read is a frozen snapshot.

    Args:
        conversation: The conversation that it belongs to.
        turn_id: Its id.
    """

    def __init__(self, conversation: Conversation, turn_id: str) -> None:
        self._conversation = conversation
        self._id = turn_id
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
        """Follow the conversation; on the host's thread."""
        self._unwatch = self._conversation.watch(self._on_change)
        self._on_change()

    # --- what it is ---

    @property
    def id(self) -> str:
        """The turn's id, a UUID."""
        return self._id

    @property
    def snapshot(self) -> Snapshot | None:
        """The turn's state as it is now; None while it waits in the queue."""
        return self._read()[0]

    @property
    def state(self) -> TurnState:
        """``"queued"``, ``"running"``, ``"complete"``, ``"cancelled"`` or ``"error"``."""
        return self._read()[1]

    @property
    def done(self) -> bool:
        """Whether it has ended, one way or another."""
        return self.state not in ("queued", "running")

    @property
    def text(self) -> str:
        """The agent's message text, exactly as sent, joined."""
        return "".join(part.content for part in self._parts(MarkdownResponsePart))

    @property
    def thoughts(self) -> str:
        """The agent's thinking, joined."""
        return "".join(part.content for part in self._parts(ReasoningResponsePart))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Every tool call, in order."""
        chat = self._conversation.chat.state
        snapshot, _ = _found(chat, self._id)
        parts = snapshot.response_parts if snapshot is not None else ()
        calls = (part.tool_call for part in parts if isinstance(part, ToolCallResponsePart))
        return tuple(tool_call(call, chat.terminals or ()) for call in calls)

    @property
    def files(self) -> FileChangeTable:
        """The files that it changed, by path: kind, lines added and removed, diff; a table when displayed.

        The files of :attr:`changes`, where they are known: those that were found by looking. While it runs, and where
        nobody looked, what its tool calls show; a command that changes files shows none of them then.
        """
        if (found := files_of(self._conversation, self._id)) is not None:
            return FileChangeTable(found)
        snapshot = self.snapshot
        return FileChangeTable(changes(snapshot.response_parts if snapshot is not None else (), self._conversation.cwd))

    @property
    def changes(self) -> ChangeTable:
        """What is other after the turn than before: files, cells and variables; a table when displayed.

        Found by looking at the workspace before and after, whatever way the agent did it. After the turn it waits until
        the comparison is done. While the turn runs or waits, and where nobody looked, nothing is known: the table is
        empty, its ``is_known`` is False, and its ``notes`` say so. Not covered are environments, caches and ignored
        files that no tool call named; the table's ``notes`` say what else is not.

        Raises:
            ChangesError: If it could not be found out.

        Example:
            >>> turn.changes  # doctest: +SKIP
            kind  name    status   added  removed  by         state
            file  fit.py  changed  +2     -1       tool call
            >>> print(turn.changes[0].diff())  # doctest: +SKIP
        """
        return changes_of(self._conversation, self._id)

    @property
    def plan(self) -> tuple[PlanEntry, ...]:
        """The entries of the latest plan; empty where there is none."""
        plans = self._parts(PlanResponsePart)
        return plans[-1].entries if plans else ()

    @property
    def usage(self) -> UsageInfo | None:
        """Tokens used, where the agent says so."""
        snapshot = self.snapshot
        return snapshot.usage if snapshot is not None else None

    @property
    def stop_reason(self) -> str | None:
        """Why it ended, in ACP's words (``"end_turn"``, ``"cancelled"``, …); None while it runs."""
        snapshot, state = self._read()
        if isinstance(snapshot, FinishedTurn):
            return snapshot.stop_reason or state
        return "cancelled" if state == "cancelled" else None

    @property
    def error(self) -> ErrorInfo | None:
        """What went wrong, where something did."""
        snapshot = self.snapshot
        return snapshot.error if isinstance(snapshot, FinishedTurn) else None

    # --- what can be done with it ---

    def cancel(self) -> None:
        """Stop it: the agent is told, open questions are answered with "cancelled". No effect once it has ended.

        Prompts that wait behind it are held until :meth:`Session.continue_queue` or until code waits for one of them.
        """
        with contextlib.suppress(Rejected):  # it has ended
            self._conversation.host.loop.call(partial(cancel, self._conversation, self._id, FROM_PYTHON, hold=True))

    def undo(
        self,
        *items: Change | str | os.PathLike[str],
        onwards: bool = False,
        choices: Mapping[str, Choice] | None = None,
    ) -> ChangeTable:
        """Undo what it changed: all, or only *items*. All files are brought back, or none.

        What changed since is not overwritten: texts are merged, and where that is not possible nothing is done.

        Args:
            items: Items of :attr:`changes`, or paths and names; all that can be undone where none is given.
            onwards: Whether the changes of all later turns are undone, too: back to before this message.
            choices: For files that changed since and cannot be merged, by path: ``"mine"`` leaves the file as it is
                now, ``"theirs"`` takes what undo would make of it.

        Returns:
            The changes that were undone; :meth:`redo` does them again.

        Raises:
            FilesConflict: If files changed since and cannot be merged; its ``conflicts`` show the three versions.
            SessionError: If a turn runs in the workspace.
            UsageError: If an item is no change of the turn.
            ChangesError: If an item cannot be undone.

        Example:
            >>> turn.undo("fit.py")  # doctest: +SKIP
            >>> turn.undo(choices={"fit.py": "theirs"})  # doctest: +SKIP
        """
        return carry_out(self._conversation, "undo", self._id, items, onwards=onwards, choices=choices)

    def redo(self, *items: Change | str | os.PathLike[str], choices: Mapping[str, Choice] | None = None) -> ChangeTable:
        """Do again what was undone: all, or only *items*. Arguments and errors as for :meth:`undo`.

        Example:
            >>> turn.redo()  # doctest: +SKIP
        """
        return carry_out(self._conversation, "redo", self._id, items, choices=choices)

    def keep(self, *items: Change | str | os.PathLike[str]) -> ChangeTable:
        """Accept what it changed: all, or only *items*. ``undo()`` leaves that alone from now on.

        A kept change can still be undone by its name as long as its contents are stored.

        Example:
            >>> turn.keep()  # doctest: +SKIP
        """
        return carry_out(self._conversation, "keep", self._id, items)

    def raise_for_error(self) -> Self:
        """Raise if it failed, was refused or was cancelled.

        Returns:
            This turn: one that runs, or ended in any other way (``max_tokens`` among them).

        Raises:
            TurnFailed: If it ended with an error.
            CassetteMismatch: If it is not as recorded in the cassette that is replayed.
            CassetteBroken: If that cassette cannot be used.
            TurnRefused: If the agent refused to go on.
            TurnCancelled: If it was cancelled.
        """
        snapshot, state = self._read()
        self._raise_if_failed(snapshot)
        if isinstance(snapshot, FinishedTurn) and snapshot.stop_reason == "refusal":
            message = "The agent refused to continue."
            raise TurnRefused(message, hint="Rephrase the prompt, or ask another agent.", turn=self)
        if state == "cancelled":
            raise TurnCancelled("The turn was cancelled.", hint="Prompt again to go on.", turn=self)
        return self

    def add_done_callback(self, callback: Callable[[Self], None]) -> None:
        """Call *callback* with this turn once it has ended; at once if it has.

        It runs on a thread of its own: it may block, and what it raises is logged (``agentnb.api``) and ends nothing
        else. Several callbacks run side by side, in no promised order.
        """
        self._conversation.host.loop.call(self._add_callback, callback)

    def wait(self, timeout: float | None = None, *, check: bool = True) -> Self:
        """Block until it has ended.

        Where an asyncio loop already runs on this thread, that loop goes on (by nest-asyncio), so that your own tasks
        do. An interrupt (Ctrl-C, the kernel's stop button) cancels the turn.

        Only a failure raises. A turn that was cancelled, that the agent refused, or that reached a limit
        (``max_tokens``, ``max_turn_requests``) is returned: :attr:`stop_reason` says which, and
        :meth:`raise_for_error` raises for the first two.

        Args:
            timeout: Seconds; None waits for ever.
            check: Whether a failed turn raises; else look at :attr:`error`.

        Returns:
            This turn.

        Raises:
            TurnFailed: With *check*, if it ended with an error. The error's ``turn`` is this turn.
            TurnTimeout: If it has not ended by then; it goes on. Where nobody watches the notebook (nbconvert,
                papermill), it is cancelled when the cell that gave up ends.
            CassetteMismatch: If it is not as recorded in the cassette that is replayed, whatever *check* says: this
                failure is the test's, not the agent's.
            CassetteBroken: If that cassette cannot be used.
            UsageError: In a fork of the process that started the session: its end is not told there.
        """
        self._see_that_its_end_is_told()
        try:
            with awaited(self):
                self._wait(timeout)
        except KeyboardInterrupt:
            self.cancel()
            raise
        self._raise_if_failed(self.snapshot, check=check)
        return self

    async def wait_async(self, timeout: float | None = None, *, check: bool = True) -> Self:
        """As :meth:`wait`, in async code. ``await turn`` is the same with the defaults.

        A task that is cancelled while it waits cancels the turn, as it would cancel a task that it awaits. So
        ``asyncio.wait_for(turn, 60)`` cancels the turn after a minute; ``asyncio.shield(turn)`` lets it go on.

        Args:
            timeout: Seconds; None waits for ever. The turn goes on then.
            check: Whether a failed turn raises.

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
        return self

    def _wait(self, timeout: float | None) -> None:
        if running_loop() is not None and nest():
            asyncio.get_event_loop().run_until_complete(self._wait_async(timeout))
        else:
            self._wait_blocking(timeout)

    def __await__(self) -> Generator[Any, None, Self]:
        return self.wait_async().__await__()

    def __iter__(self) -> Iterator[str]:
        reader = TextReader()
        with awaited(self):
            while True:
                self._see_that_its_end_is_told()
                seen, done = self._changes, self._finished
                if piece := reader.read(self._parts(MarkdownResponsePart)):
                    yield piece
                elif done:
                    self._raise_if_failed(self.snapshot)
                    return
                else:
                    with self._job_queue.waiting(self._conversation.tab_id, self._wake):
                        self._wait_for_change(seen, POLL_SECONDS)

    async def __aiter__(self) -> AsyncIterator[str]:
        reader = TextReader()
        with awaited(self), self._listening() as changed:
            while True:
                self._see_that_its_end_is_told()
                done = self._finished
                if piece := reader.read(self._parts(MarkdownResponsePart)):
                    yield piece
                elif done:
                    self._raise_if_failed(self.snapshot)
                    return
                else:
                    try:
                        with self._job_queue.waiting(self._conversation.tab_id):
                            await changed.wait()
                    except asyncio.CancelledError:
                        self.cancel()
                        raise
                    changed.clear()

    def _display_(self) -> Any:
        """What marimo shows for it: the turn, live (its protocol for objects that know how to display themselves)."""
        from agentnb.comm import frontend

        return frontend.turn_view(self._conversation.chat.state.resource, self._id)

    def __repr__(self) -> str:
        return f"<Turn {self.state}: {self._conversation.spec.name}>"

    # --- inside ---

    def _read(self) -> tuple[Snapshot | None, TurnState]:
        """The turn and its state, both from one look at the chat: the host's thread changes it meanwhile."""
        return _found(self._conversation.chat.state, self._id)

    def _parts(self, kind: type[Any]) -> list[Any]:
        snapshot = self.snapshot
        return [part for part in snapshot.response_parts if isinstance(part, kind)] if snapshot is not None else []

    def _raise_if_failed(self, snapshot: Snapshot | None, *, check: bool = True) -> None:
        error = snapshot.error if isinstance(snapshot, FinishedTurn) else None
        if error is not None and error.error_type in _OF_CASSETTES:
            raise _OF_CASSETTES[error.error_type](error.message)
        if error is not None and check:
            raise TurnFailed(error.message, turn=self)

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
        """Wait for what still belongs to the turn, but not for long.

        A cancelled agent may still say a word or two. And what the caller writes next is not the turn's change: the
        last snapshot is taken first.
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
            self._settling.cancel()  # it holds this turn
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
        """Wait for more changes than were *seen*; meanwhile an agent's work is done on this thread."""
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

    async def _wait_async(self, timeout: float | None) -> Self:
        with self._listening(at_end=True) as changed, self._job_queue.waiting(self._conversation.tab_id):
            try:
                await asyncio.wait_for(self._until_finished(changed), timeout)
            except asyncio.TimeoutError:
                raise self._timeout(timeout) from None
        return self

    async def _until_finished(self, changed: asyncio.Event) -> None:
        while not self._finished:
            await changed.wait()
            changed.clear()

    @contextlib.contextmanager
    def _listening(self, *, at_end: bool = False) -> Iterator[asyncio.Event]:
        """An event of the caller's loop, set at every change of this turn, or at its end alone."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def listener() -> None:
            if at_end and not self._finished:
                return  # to wake the caller's loop for each piece of an answer costs more than the piece
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


def _found(chat: ChatState, turn_id: str) -> tuple[Snapshot | None, TurnState]:
    turn = find_turn(chat, turn_id)
    if turn is not None:
        return turn, "running" if isinstance(turn, ActiveTurn) else _STATES[str(turn.state)]
    queued = any(message.id == turn_id for message in chat.queued_messages or ())
    return None, "queued" if queued else "cancelled"


@contextlib.contextmanager
def awaited(turn: FollowedTurn) -> Iterator[None]:
    """While the block runs, code waits for *turn*: a stop of the turn before it does not hold it in the queue."""
    conversation = turn._conversation  # noqa: SLF001 - the two are one
    conversation.turns.awaited.append(turn.id)
    try:
        if any(waiting.held and waiting.id == turn.id for waiting in conversation.chat.state.queued_messages or ()):
            conversation.host.loop.call(conversation.turns.continue_queue)
        yield
    finally:
        conversation.turns.awaited.remove(turn.id)
