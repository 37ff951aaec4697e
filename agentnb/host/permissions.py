"""Questions that wait for an answer: the agent's permission requests, and what our own doors ask.

The agent waits, the kernel does not. Each open question is a tool call in ``pending-confirmation``; the first valid
answer wins, and a cancelled turn answers all of them with ACP's ``cancelled``.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agentnb.acp.mapper import map_permission, permission_outcome
from agentnb.errors import PermissionDenied
from agentnb.host.clock import now_ms
from agentnb.policy.decision import choose_option, decide
from agentnb.policy.door import Door
from agentnb.state import (
    ChatToolCallComplete,
    ChatToolCallConfirmed,
    ChatToolCallReady,
    ChatToolCallStart,
    ConfirmationOption,
    ToolCallDetails,
    ToolCallLocation,
    ToolCallPendingConfirmationState,
    ToolCallResponsePart,
    ToolCallResult,
    ToolCallRunningState,
    ToolCallStreamingState,
)

if TYPE_CHECKING:
    from agentnb.host.conversation import Conversation
    from agentnb.state import ActiveTurn

CANCELLED: dict[str, Any] = {"outcome": {"outcome": "cancelled"}}
ALLOW = ConfirmationOption(id="allow", label="Allow", kind="approve", option_kind="allow_once")
OWN = "agentnb-"  # how the ids of our own cards begin
REJECT = ConfirmationOption(id="reject", label="Reject", kind="deny", option_kind="reject_once")


class Permissions:
    """The open questions of one conversation.

    Args:
        conversation: Whose chat shows the questions, and whose policy answers what need not be asked.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._open: dict[str, asyncio.Future[ConfirmationOption | None]] = {}
        self._granted: set[tuple[str, str]] = set()
        self._asked = 0

    async def request(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answer the agent's request (ACP ``session/request_permission``)."""
        turn = self._speaking_turn()
        if turn is None:
            return CANCELLED
        await self._until_free(str(params.get("toolCall", {}).get("toolCallId", "")))
        call_id, actions = map_permission(params, self._conversation.chat.state, turn.id, now_ms())
        for action in actions:
            self._conversation.dispatch(action)
        options = self._options(call_id)
        door = Door(kind="permission", title=_title(params), command=None, path=None)
        chosen = await self._decide(turn.id, call_id, door, options)
        return CANCELLED if chosen is None else permission_outcome(chosen.id)

    async def authorize(self, door: Door) -> None:
        """Let the agent through one of our doors, or raise.

        Raises:
            PermissionDenied: If the policy or the user says no, or the turn is over.
        """
        turn = self._speaking_turn()
        if turn is None:
            message = f"{door.title}: refused, no turn is running."
            raise PermissionDenied(message, hint="Ask again within a turn.")
        if door.kind == "read" or self._is_granted(turn, door):
            return
        call_id = self._card(turn, door)
        chosen = await self._decide(turn.id, call_id, door, (ALLOW, REJECT))
        if chosen is None or chosen.kind != "approve":
            raise PermissionDenied(f"{door.title}: {self._why_not(call_id)}")
        self._close_card(turn.id, call_id)

    def answer(self, call_id: str, option: ConfirmationOption) -> None:
        """Settle the open question of tool call *call_id* with *option*."""
        waiting = self._open.pop(call_id, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(option)

    def cancel_all(self) -> None:
        """Answer every open question with ``cancelled`` (the turn is over)."""
        waiting, self._open = self._open, {}
        for future in waiting.values():
            if not future.done():
                future.set_result(None)

    def forget_grants(self) -> None:
        """A new turn begins: what was allowed once is allowed no more."""
        self._granted.clear()

    def _speaking_turn(self) -> ActiveTurn | None:
        """The running turn, if it is the one that the agent works on: after a cancel it may still be at the old one."""
        turn = self._conversation.chat.state.active_turn
        return turn if turn is not None and turn.id == self._conversation.turns.speaking else None

    async def _decide(
        self, turn_id: str, call_id: str, door: Door, options: tuple[ConfirmationOption, ...]
    ) -> ConfirmationOption | None:
        mode = self._conversation.mode
        attended = mode == "ask" and await self._conversation.attended()
        decision = decide(mode, attached=attended, door=door)
        if self._speaking_turn() is None:
            return None
        if decision.outcome == "ask":
            chosen = await self._ask(call_id)
        else:
            chosen = _choose(options, allow=decision.outcome == "allow")
            self._conversation.dispatch(_confirmed(turn_id, call_id, chosen, decision.reason))
        if chosen is not None and chosen.kind == "approve":
            self._granted.add(("call", call_id))
        return chosen

    async def _ask(self, call_id: str) -> ConfirmationOption | None:
        waiting: asyncio.Future[ConfirmationOption | None] = asyncio.get_running_loop().create_future()
        self._open[call_id] = waiting
        return await waiting

    async def _until_free(self, call_id: str) -> None:
        while (waiting := self._open.get(call_id)) is not None:
            await asyncio.wait([waiting])

    def _options(self, call_id: str) -> tuple[ConfirmationOption, ...]:
        call = self._conversation.tool_call(call_id)
        return call.options or () if isinstance(call, ToolCallPendingConfirmationState) else ()

    def _why_not(self, call_id: str) -> str:
        call = self._conversation.tool_call(call_id)
        reason = getattr(call, "reason_message", None)
        return reason if isinstance(reason, str) else "the user said no."

    def _is_granted(self, turn: ActiveTurn, door: Door) -> bool:
        calls = [part.tool_call for part in turn.response_parts if isinstance(part, ToolCallResponsePart)]
        return any(("call", call.tool_call_id) in self._granted and door.covered_by(call) for call in calls)

    def _card(self, turn: ActiveTurn, door: Door) -> str:
        """Put the question on the tool call that it belongs to, else on one of our own."""
        calls = (part.tool_call for part in reversed(turn.response_parts) if isinstance(part, ToolCallResponsePart))
        begun = (call for call in calls if isinstance(call, ToolCallStreamingState | ToolCallRunningState))
        call_id = next((call.tool_call_id for call in begun if door.covered_by(call)), None)
        if call_id is None:
            call_id = self._own_call(turn.id, door)
        self._conversation.dispatch(
            ChatToolCallReady(
                turn_id=turn.id,
                tool_call_id=call_id,
                invocation_message=door.title,
                confirmation_title=door.title,
                tool_input=door.command,
                options=(ALLOW, REJECT),
                time=now_ms(),
            )
        )
        return call_id

    def _close_card(self, turn_id: str, call_id: str) -> None:
        """A card of our own has no more to say once it is answered; the agent's own tool call goes on."""
        if call_id.startswith(OWN):
            result = ToolCallResult(success=True, past_tense_message="Allowed")
            self._conversation.dispatch(
                ChatToolCallComplete(turn_id=turn_id, tool_call_id=call_id, result=result, time=now_ms())
            )

    def _own_call(self, turn_id: str, door: Door) -> str:
        self._asked += 1
        call_id = f"{OWN}{door.kind}-{self._asked}"
        locations = (ToolCallLocation(path=door.path),) if door.path else None
        kind = "execute" if door.kind == "terminal" else "edit"
        self._conversation.dispatch(
            ChatToolCallStart(
                turn_id=turn_id,
                tool_call_id=call_id,
                tool_name=kind,
                display_name=door.title,
                details=ToolCallDetails(kind=kind, locations=locations, content=door.preview),
                time=now_ms(),
            )
        )
        return call_id


def _title(params: dict[str, Any]) -> str:
    call = params.get("toolCall")
    title = call.get("title") if isinstance(call, dict) else None
    return title if isinstance(title, str) and title else "the agent's request"


def _choose(options: tuple[ConfirmationOption, ...], *, allow: bool) -> ConfirmationOption | None:
    chosen = choose_option(options, allow=allow)
    return choose_option(options, allow=False) if chosen is None and allow else chosen


def _confirmed(turn_id: str, call_id: str, chosen: ConfirmationOption | None, reason: str) -> ChatToolCallConfirmed:
    approved = chosen is not None and chosen.kind == "approve"
    return ChatToolCallConfirmed(
        turn_id=turn_id,
        tool_call_id=call_id,
        approved=approved,
        confirmed="setting" if approved else None,
        reason=None if approved else "denied",
        reason_message=None if approved else reason,
        selected_option_id=chosen.id if chosen is not None else None,
        time=now_ms(),
    )
