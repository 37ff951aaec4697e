"""Input requests: what the agent, or we for it, ask the user, until it is answered (AHP ``chat/inputRequested``).

The agent waits, the kernel does not. The first valid answer wins; a cancelled turn answers all with ``cancel``; where
nobody is there to answer, the agent is told so at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.acp.elicitation import elicitation_content, map_elicitation, objection
from agentnb.acp.failure import RpcError
from agentnb.host.clock import now_ms
from agentnb.state import (
    ChatInputAnswerChanged,
    ChatInputCompleted,
    ChatInputRequested,
    ChatResponsePart,
    RawResponsePart,
    SystemNotificationResponsePart,
)

if TYPE_CHECKING:
    from agentnb.host.conversation import Conversation
    from agentnb.state import ActionOrigin, ChatInputRequest

NOBODY = "Nobody is there to answer: no front end is attached."

EARLY = 20
"""How many elicitations that were done before they were asked are remembered."""

Answer = tuple[str, dict[str, Any]]
"""``accept``, ``decline`` or ``cancel``, and the values by question."""


class Inputs:
    """The open input requests of one conversation.

    Args:
        conversation: Whose chat shows them.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._open: dict[str, asyncio.Future[Answer]] = {}
        self._elsewhere: dict[str, str] = {}
        self._done_early: deque[str] = deque(maxlen=EARLY)
        self._asked = 0

    async def elicit(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answer the agent's request (ACP ``elicitation/create``).

        Raises:
            RpcError: If it cannot be shown; the request is kept raw in the running turn.
        """
        try:
            request = map_elicitation(params, self.next_id())
        except RpcError:
            self._show_raw(params)
            raise
        elicitation_id = params.get("elicitationId")
        if isinstance(elicitation_id, str):
            self._elsewhere[elicitation_id] = request.id
        try:
            response, content = await self.ask(request)
        finally:
            if isinstance(elicitation_id, str):
                self._elsewhere.pop(elicitation_id, None)
        if response == "accept":
            return {"action": "accept", "content": content} if request.questions is not None else {"action": "accept"}
        return {"action": response}

    async def ask(self, request: ChatInputRequest) -> Answer:
        """Put *request* to the user and wait; ``decline`` where nobody is there."""
        if not await self._conversation.attended():
            self._say(f"{self._conversation.spec.title} asked: {request.message or 'something'} {NOBODY}")
            return "decline", {}
        return await self.put(request)

    async def put(self, request: ChatInputRequest) -> Answer:
        """As :meth:`ask`, also where nobody is there yet."""
        waiting: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[request.id] = waiting
        self._conversation.dispatch(ChatInputRequested(request=request, time=now_ms()))
        if any(self._elsewhere.get(early) == request.id for early in self._done_early):
            self._close(request.id, "accept")
        try:
            return await waiting
        except asyncio.CancelledError:  # the agent has taken it back
            self._close(request.id, "cancel")
            raise

    def change(self, action: ChatInputAnswerChanged, origin: ActionOrigin | None = None) -> str | None:
        """Take a draft or an answer to one question; returns why not, where it cannot be."""
        if action.request_id not in self._open:
            return "That question was answered before, or is no longer open."
        self._conversation.dispatch(msgspec.structs.replace(action, time=now_ms()), origin)
        return None

    def complete(self, action: ChatInputCompleted, origin: ActionOrigin | None = None) -> str | None:
        """Take the answer to a whole request; returns why not, where it cannot be."""
        request = self._request(action.request_id)
        if request is None or action.request_id not in self._open:
            return "That question was answered before, or is no longer open."
        questions = request.questions or ()
        answers = action.answers if action.answers is not None else request.answers or {}
        accepted = action.response == "accept"
        if accepted and (wrong := objection(questions, answers)):
            return wrong
        content = elicitation_content(questions, answers) if accepted else {}
        self._conversation.dispatch(msgspec.structs.replace(action, time=now_ms()), origin)
        self._settle(action.request_id, (action.response, content))
        return None

    def elicited(self, elicitation_id: str) -> None:
        """What was to be done elsewhere is done (ACP ``elicitation/complete``)."""
        request_id = self._elsewhere.get(elicitation_id)
        if request_id is not None and request_id in self._open:
            self._close(request_id, "accept")
        else:  # it overtook the question
            self._done_early.append(elicitation_id)

    def cancel_all(self) -> None:
        """Answer every open request with ``cancel`` (the turn is over)."""
        for request_id in tuple(self._open):
            self._close(request_id, "cancel")

    def _close(self, request_id: str, response: Any) -> None:
        self._conversation.dispatch(ChatInputCompleted(request_id=request_id, response=response, time=now_ms()))
        self._settle(request_id, (response, {}))

    def _settle(self, request_id: str, answer: Answer) -> None:
        waiting = self._open.pop(request_id, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def _request(self, request_id: str) -> ChatInputRequest | None:
        requests = self._conversation.chat.state.input_requests or ()
        return next((request for request in requests if request.id == request_id), None)

    def next_id(self) -> str:
        """An id for one more request."""
        self._asked += 1
        return f"input-{self._asked}"

    def _show_raw(self, params: dict[str, Any]) -> None:
        self._part(RawResponsePart(id=f"raw-{self.next_id()}", name="elicitation/create", payload=params))

    def _say(self, words: str) -> None:
        self._part(SystemNotificationResponsePart(content=words))

    def _part(self, part: RawResponsePart | SystemNotificationResponsePart) -> None:
        active = self._conversation.chat.state.active_turn
        if active is not None:
            self._conversation.dispatch(ChatResponsePart(turn_id=active.id, part=part, time=now_ms()))
