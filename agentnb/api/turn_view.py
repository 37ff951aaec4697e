"""A view of a turn: its state, what the agent said and did, what it changed; and undoing that."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from agentnb.api.changes import carry_out, changes_of, data_checks_of, files_of
from agentnb.api.files import FileChangeTable
from agentnb.api.unattended import CASSETTE_ERRORS
from agentnb.errors import BudgetExceeded, TurnCancelled, TurnFailed, TurnRefused
from agentnb.host.files.changes import changes
from agentnb.host.intents import FROM_PYTHON, Rejected, cancel
from agentnb.state import (
    ActiveTurn,
    MarkdownResponsePart,
    PlanResponsePart,
    ReasoningResponsePart,
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallDetails,
    ToolCallPendingResultConfirmationState,
    ToolCallResponsePart,
    ToolCallRunningState,
    ToolTerminalContent,
    ToolTextContent,
    find_turn,
)
from agentnb.state import Turn as FinishedTurn

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from typing_extensions import Self

    from agentnb.api.changes import Change, ChangeTable, Choice
    from agentnb.host.conversation import Conversation
    from agentnb.kernel.data_checks import DataChecks
    from agentnb.state import (
        ErrorInfo,
        PlanEntry,
        TerminalView,
        ToolCallLocation,
        ToolCallRehearsal,
        ToolCallState,
        ToolContent,
        UsageInfo,
    )


ToolCallStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed", "cancelled"]
"""The state of a tool call; ``"cancelled"``: it was denied, or the turn ended before it."""


class ToolCall(NamedTuple):
    """One tool call (ACP ``ToolCall``).

    Attributes:
        id: The agent's id for it.
        title: A description for people.
        kind: ``"read"``, ``"edit"``, ``"execute"``, … as the agent says.
        status: ``"pending"``, ``"in_progress"``, ``"completed"``, ``"failed"``, or ``"cancelled"`` if it was denied
            or the turn ended before it did.
        locations: Files that it touches, each with ``path`` and ``line``.
        content: Its results: text, diffs, terminals, other blocks.
        raw_input: The tool's input, as sent.
        raw_output: The tool's output, as sent.
        reason: The reason for its cancellation; None if it was not cancelled.
        output: Its results as text: its text content and the output of its terminals, in order.
        exit_code: The exit code of its last terminal's command; None if there is none, or none yet.
        ran_without_asking: True if the agent ran it without asking although the session's permissions are ``"ask"`` or
            ``"deny"``.
        preview: The preview from before it was allowed; None if there was none.
        differences: Sentences on how the result differs from the preview; None if they were not compared.
    """

    id: str
    title: str
    kind: str | None
    status: ToolCallStatus
    locations: tuple[ToolCallLocation, ...]
    content: tuple[ToolContent, ...]
    raw_input: Any
    raw_output: Any
    reason: str | None
    output: str = ""
    exit_code: int | None = None
    ran_without_asking: bool = False
    preview: ToolCallRehearsal | None = None
    differences: tuple[str, ...] | None = None

    @property
    def text(self) -> str:
        """The text among its content, joined."""
        return "\n".join(item.text for item in self.content if isinstance(item, ToolTextContent))


def tool_call(state: ToolCallState, terminals: Iterable[TerminalView] = ()) -> ToolCall:
    details = state.details or ToolCallDetails()
    content = details.content or ()
    terminals_by_id = {each.id: each for each in terminals}
    own = [
        terminals_by_id[each.terminal_id]
        for each in content
        if isinstance(each, ToolTerminalContent) and each.terminal_id in terminals_by_id
    ]
    return ToolCall(
        id=state.tool_call_id,
        title=state.display_name,
        kind=details.kind,
        status=_status(state),
        locations=details.locations or (),
        content=content,
        raw_input=details.raw_input,
        raw_output=details.raw_output,
        reason=_reason(state),
        output="\n".join(filter(None, (_text(item, terminals_by_id) for item in content))),
        exit_code=own[-1].exit_code if own else None,
        ran_without_asking=bool(details.ran_without_asking),
        preview=details.rehearsal,
        differences=details.differences,
    )


def _text(item: ToolContent, terminals: Mapping[str, TerminalView]) -> str:
    match item:
        case ToolTextContent(text=text):
            return text
        case ToolTerminalContent(terminal_id=name) if name in terminals:
            return terminals[name].output
        case _:
            return ""


def _status(state: ToolCallState) -> ToolCallStatus:
    match state:
        case ToolCallCompletedState(success=success) | ToolCallPendingResultConfirmationState(success=success):
            return "completed" if success else "failed"
        case ToolCallRunningState():
            return "in_progress"
        case ToolCallCancelledState():
            return "cancelled"
        case _:
            return "pending"


def _reason(state: ToolCallState) -> str | None:
    if not isinstance(state, ToolCallCancelledState):
        return None
    message = state.reason_message
    return message if isinstance(message, str) else (message.markdown if message else str(state.reason))


Snapshot: TypeAlias = FinishedTurn | ActiveTurn
TurnState: TypeAlias = Literal["queued", "running", "complete", "cancelled", "error"]


class TurnView:
    """One prompt and everything that the agent did in response; every read is a frozen snapshot.

    Args:
        conversation: The turn's conversation.
        turn_id: The turn's id.
    """

    def __init__(self, conversation: Conversation, turn_id: str) -> None:
        self._conversation = conversation
        self._id = turn_id

    @property
    def id(self) -> str:
        """The turn's id, a UUID."""
        return self._id

    @property
    def snapshot(self) -> Snapshot | None:
        """Returns the turn's current state; None while it waits in the queue."""
        return self._read()[0]

    @property
    def state(self) -> TurnState:
        """``"queued"``, ``"running"``, ``"complete"``, ``"cancelled"`` or ``"error"``."""
        return self._read()[1]

    @property
    def done(self) -> bool:
        """True if the turn has ended, one way or another."""
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
        """Returns all tool calls, in order."""
        chat = self._conversation.chat.state
        turn = find_turn(chat, self._id)
        parts = turn.response_parts if turn is not None else ()
        calls = (part.tool_call for part in parts if isinstance(part, ToolCallResponsePart))
        return tuple(tool_call(call, chat.terminals or ()) for call in calls)

    @property
    def files(self) -> FileChangeTable:
        """Returns the files that it changed, by path: kind, lines added and removed, diff; a table when displayed.

        They are the files of :attr:`changes`, if those are known. While the turn runs, and if its changes were not
        tracked, they are those that its tool calls report; files that a command changes are then missing.
        """
        if (files := files_of(self._conversation, self._id)) is not None:
            return FileChangeTable(files)
        snapshot = self.snapshot
        return FileChangeTable(changes(snapshot.response_parts if snapshot is not None else (), self._conversation.cwd))

    @property
    def changes(self) -> ChangeTable:
        """Returns the files, cells and variables that differ after the turn; a table when displayed.

        They are found by comparing the workspace before and after, however the agent made the changes. After the turn
        this waits until the comparison is done. While the turn runs or waits, and if its changes were not tracked, the
        table is empty, its ``is_known`` is False, and its ``notes`` say so. Not covered: environments, caches, and
        ignored files that no tool call named; the table's ``notes`` say what else.

        Raises:
            ChangesError: If the changes could not be determined.

        Example:
            >>> turn.changes  # doctest: +SKIP
            kind  name    status   added  removed  by         state
            file  fit.py  changed  +2     -1       tool call
            >>> print(turn.changes[0].diff)  # doctest: +SKIP
        """
        return changes_of(self._conversation, self._id)

    @property
    def data_checks(self) -> DataChecks:
        """Returns possible problems in the tables that the turn changed, compared with the tables before it.

        Rows repeated by a join, rows loaded twice, lost groups, new nulls, other units … as :func:`agentnb.compare`
        finds them. After the turn this waits until the comparison is done.

        Example:
            >>> turn.data_checks  # doctest: +SKIP
            `orders` rows 10,412 → 31,980: `id` is not unique in `customers` (3 keys)
        """
        return data_checks_of(self._conversation, self._id)

    @property
    def plan(self) -> tuple[PlanEntry, ...]:
        """Returns the entries of the latest plan; empty if there is none."""
        plans = self._parts(PlanResponsePart)
        return plans[-1].entries if plans else ()

    @property
    def usage(self) -> UsageInfo | None:
        """Returns the tokens used; None if the agent does not report them."""
        snapshot = self.snapshot
        return snapshot.usage if snapshot is not None else None

    @property
    def stop_reason(self) -> str | None:
        """Returns the turn's stop reason, in ACP's words (``"end_turn"``, ``"cancelled"``, …); None while it runs."""
        snapshot, state = self._read()
        if isinstance(snapshot, FinishedTurn):
            return snapshot.stop_reason or state
        return "cancelled" if state == "cancelled" else None

    @property
    def error(self) -> ErrorInfo | None:
        """Returns the error; None if there was none."""
        snapshot = self.snapshot
        return snapshot.error if isinstance(snapshot, FinishedTurn) else None

    # --- what can be done with it ---

    def cancel(self) -> None:
        """Tell the agent to stop the turn, and answer open questions with "cancelled". No effect once it has ended.

        Prompts that wait behind it are held until :meth:`Session.continue_queue` or until code waits for one of them.
        """
        with contextlib.suppress(Rejected):  # the turn has ended
            self._conversation.host.loop.call(partial(cancel, self._conversation, self._id, FROM_PYTHON, hold=True))

    def undo(
        self,
        *items: Change | str | os.PathLike[str],
        onwards: bool = False,
        choices: Mapping[str, Choice] | None = None,
    ) -> ChangeTable:
        """Undo what the turn changed: all, or only *items*. All files are restored, or none.

        Later changes are not overwritten: texts are merged, and if that is not possible, nothing is done.

        Args:
            items: Items of :attr:`changes`, or paths and names; by default everything that can be undone.
            onwards: True to also undo the changes of all later turns: back to before this message.
            choices: For files that changed since and cannot be merged, by path: ``"mine"`` leaves the file as it is
                now, ``"theirs"`` replaces it with the result of undo.

        Returns:
            The changes that were undone; :meth:`redo` applies them again.

        Raises:
            FilesConflict: If files changed since and cannot be merged; its ``conflicts`` show the three versions.
            SessionError: If a turn runs in the workspace.
            UsageError: If an item is not a change of the turn.
            ChangesError: If an item cannot be undone.

        Example:
            >>> turn.undo("fit.py")  # doctest: +SKIP
            >>> turn.undo(choices={"fit.py": "theirs"})  # doctest: +SKIP
        """
        return carry_out(self._conversation, "undo", self._id, items, onwards=onwards, choices=choices)

    def redo(self, *items: Change | str | os.PathLike[str], choices: Mapping[str, Choice] | None = None) -> ChangeTable:
        """Redo what was undone: all, or only *items*. Arguments and errors are as for :meth:`undo`.

        Example:
            >>> turn.redo()  # doctest: +SKIP
        """
        return carry_out(self._conversation, "redo", self._id, items, choices=choices)

    def keep(self, *items: Change | str | os.PathLike[str]) -> ChangeTable:
        """Accept what the turn changed: all, or only *items*. ``undo()`` then no longer reverts it.

        A kept change can still be undone by its name as long as its contents are stored.

        Example:
            >>> turn.keep()  # doctest: +SKIP
        """
        return carry_out(self._conversation, "keep", self._id, items)

    def raise_for_error(self) -> Self:
        """Raise an error if the turn failed, was refused or was cancelled.

        Returns:
            This turn, if it still runs or ended in any other way (such as ``max_tokens``).

        Raises:
            TurnFailed: If the turn ended with an error.
            CassetteMismatch: If the turn differs from the cassette that is replayed.
            CassetteBroken: If that cassette cannot be used.
            TurnRefused: If the agent refused to continue.
            TurnCancelled: If the turn was cancelled.
        """
        snapshot, state = self._read()
        self._raise_if_failed(snapshot)
        if isinstance(snapshot, FinishedTurn) and snapshot.stop_reason == "refusal":
            message = "The agent refused to continue."
            raise TurnRefused(message, hint="Rephrase the prompt, or ask another agent.", turn=self)
        if state == "cancelled":
            raise TurnCancelled("The turn was cancelled.", hint="Prompt again to continue.", turn=self)
        return self

    def _display_(self) -> Any:
        """Returns what marimo shows for the turn: a live view (marimo's protocol for self-displaying objects)."""
        from agentnb.server.comm import frontend

        return frontend.turn_view(self._conversation.chat.state.resource, self._id)

    def __repr__(self) -> str:
        return f"<Turn {self.state}: {self._conversation.spec.name}>"

    def _read(self) -> tuple[Snapshot | None, TurnState]:
        """Returns the turn and its state from a single read of the chat, which the host's thread changes meanwhile."""
        chat = self._conversation.chat.state
        turn = find_turn(chat, self._id)
        if turn is not None:
            return turn, "running" if isinstance(turn, ActiveTurn) else turn.state
        queued = any(message.id == self._id for message in chat.queued_messages or ())
        return None, "queued" if queued else "cancelled"

    def _parts(self, kind: type[Any]) -> list[Any]:
        snapshot = self.snapshot
        return [part for part in snapshot.response_parts if isinstance(part, kind)] if snapshot is not None else []

    def _raise_if_failed(self, snapshot: Snapshot | None, *, check: bool = True) -> None:
        error = snapshot.error if isinstance(snapshot, FinishedTurn) else None
        if error is not None and error.error_type in CASSETTE_ERRORS:
            raise CASSETTE_ERRORS[error.error_type](error.message)
        if error is not None and check:
            kind = BudgetExceeded if error.error_type == BudgetExceeded.__name__ else TurnFailed
            raise kind(error.message, turn=self)
