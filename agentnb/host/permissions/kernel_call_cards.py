"""The cards of questions that our own services ask, and of kernel tools above all: from the question to the tool's end.

A question stands on the agent's tool call where that is known, else on a card of our own. A kernel tool can be called
over MCP before the agent announces it over ACP: then its card is our own until the agent's tool call replaces it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.host.permissions import cards
from agentnb.host.permissions.permission_request import asked_request
from agentnb.kernel.tools import TURN_IS_OVER
from agentnb.state import (
    Parts,
    ToolCallDetails,
    ToolCallPendingConfirmationState,
    ToolCallRunningState,
    ToolCallStreamingState,
)

if TYPE_CHECKING:
    from agentnb.host.channels import SessionChannels
    from agentnb.host.permissions.grants import PendingPermission
    from agentnb.policy.request import PolicyRequest
    from agentnb.state import ActiveTurn, ChatToolCallReady, ToolCallRun, ToolCallState


class KernelCallCards:
    """The cards of one session."""

    def __init__(self, channels: SessionChannels, waiting: dict[str, PendingPermission], cwd: str) -> None:
        self._channels = channels
        self._waiting = waiting
        self._cwd = cwd
        self._asked = 0
        self._own: dict[str, PendingPermission] = {}
        self._running: dict[tuple[str, str], list[tuple[str, str]]] = {}

    # --- the question ---

    def asked(self, turn: ActiveTurn, request: PolicyRequest) -> ChatToolCallReady:
        """The question, on the tool call that it belongs to, else on one of our own."""
        begun = Parts.of(turn.response_parts).begun_calls()
        call = next((call for call in begun if not request.again and cards.belongs(request, call)), None)
        if call is None:
            self._asked += 1
            call_id = f"{cards.OWN}{request.kind}-{self._asked}"
            self._channels.dispatch(cards.own_call(turn.id, call_id, request))
            return cards.question(turn.id, call_id, request)
        shown = cards.preview(turn.id, call, request)
        if shown is not None:
            self._channels.dispatch(shown)
        return cards.question(turn.id, call.tool_call_id, request)

    def waits(self, question: PendingPermission) -> None:
        """*question* is being asked; where it is about a kernel tool, the agent may still announce that."""
        if question.request.call is not None and question.call_id.startswith(cards.OWN):
            self._own[question.call_id] = question

    def allowed(self, turn_id: str, question: PendingPermission) -> None:
        """*question* was answered with yes: a kernel tool runs now, anything else is done by who asked."""
        call = question.request.call
        if call is None:
            self._close(turn_id, question.call_id)
        elif question.call_id.startswith(cards.OWN):
            self._running.setdefault(call, []).append((turn_id, question.call_id))

    def join(self, turn_id: str, call_id: str, *, keep_open: bool) -> None:
        """Show the agent's tool call *call_id* and the card of the kernel tool that it called as one."""
        if not self._own:
            return
        call = self._channels.tool_call(call_id)
        begun = isinstance(call, ToolCallStreamingState | ToolCallRunningState)
        if call is None or not begun or call_id in self._own:
            return
        found = next((each for each, own in self._own.items() if cards.belongs(own.request, call)), None)
        card = None if found is None else self._channels.tool_call(found)
        if isinstance(card, ToolCallStreamingState):  # it is previewed, and may never be asked
            return
        if found is None or card is None or (keep_open and isinstance(card, ToolCallPendingConfirmationState)):
            return
        question = self._own.pop(found)
        if (shown := cards.preview(turn_id, call, question.request)) is not None:
            self._channels.dispatch(shown)
        question.call_id = call_id
        if self._waiting.pop(found, None) is not None:
            self._waiting[call_id] = question
        for action in cards.moved(turn_id, call_id, card, question.request):
            self._channels.dispatch(action)

    # --- while it runs ---

    def progressed(self, call: tuple[str, str], run: ToolCallRun) -> None:
        """Show on the tool call of a kernel tool how the code stands that it runs."""
        self.show(call, ToolCallDetails(run=run))

    def show(self, call: tuple[str, str], shown: ToolCallDetails) -> None:
        """Show *shown* on the tool call of a kernel tool, where one is known for it."""
        if (found := self._card_of(call)) is not None:
            turn_id, call_id = found
            self._channels.dispatch(cards.show_details(turn_id, call_id, shown))

    def call_of(self, call_id: str) -> tuple[str, str] | None:
        """The kernel tool, and its arguments, that runs for the tool call *call_id*; None where none does."""
        own = next((call for call, shown in self._running.items() if any(each[1] == call_id for each in shown)), None)
        found = self._channels.tool_call(call_id)
        if own is not None or found is None:
            return own
        return asked_request(found, found.display_name, self._cwd, kernel=True).call

    # --- the end ---

    def finished(self, call: tuple[str, str], failure: str | None) -> None:
        """Complete our own card of a kernel tool call that was allowed; a failed one also on the agent's tool call.

        Some agents report code that raised as completed, because it was answered: this comes before, and counts.
        """
        if cards_of_call := self._running.get(call):
            self._close(*cards_of_call.pop(0), failure)
        turn = self._channels.chat.state.active_turn
        if turn is None or failure is None or failure == TURN_IS_OVER:
            return
        if same := self._begun(turn, call):
            for action in cards.failed(turn.id, same[-1], failure):
                self._channels.dispatch(action)

    def forget(self) -> None:
        """A new turn begins, with none of the cards of the one before."""
        self._own.clear()
        self._running.clear()

    def _card_of(self, call: tuple[str, str]) -> tuple[str, str] | None:
        """The turn and the id of the tool call that shows the kernel tool *call*, which runs."""
        for turn_id, call_id in self._running.get(call, ()):
            if self._channels.tool_call(call_id) is not None:
                return turn_id, call_id
        turn = self._channels.chat.state.active_turn
        same = self._begun(turn, call) if turn is not None else []
        return (turn.id, same[-1].tool_call_id) if turn is not None and same else None

    def _begun(self, turn: ActiveTurn, call: tuple[str, str]) -> list[ToolCallState]:
        """The agent's tool calls that are *call*; the latest comes first, since a kernel's end as they began."""
        begun = Parts.of(turn.response_parts).begun_calls()
        return [each for each in begun if asked_request(each, each.display_name, self._cwd, kernel=True).call == call]

    def _close(self, turn_id: str, call_id: str, failure: str | None = None) -> None:
        """Complete a card of our own: once it is answered, or once the kernel tool has ended."""
        if call_id.startswith(cards.OWN):
            self._channels.dispatch(cards.ended(turn_id, call_id, failure))
