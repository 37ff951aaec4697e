"""A session: one conversation with one agent, seen from Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakValueDictionary

from msgspec.structs import replace

from agentnb.api.agent_controls import AgentControls
from agentnb.api.answers import answers_from
from agentnb.api.arguments import check_permissions, check_text, each_of
from agentnb.api.describe import describe
from agentnb.api.files import SessionFiles
from agentnb.api.turn import Turn
from agentnb.api.unattended import follow
from agentnb.errors import SessionClosed, UsageError
from agentnb.host import intents
from agentnb.host.intents import FROM_PYTHON, Rejected, carry_out
from agentnb.ids import new_id
from agentnb.state import (
    ChatInputCompleted,
    ChatPendingMessageSet,
    ChatQueuedMessagesReordered,
    Message,
    MessageOrigin,
    PendingMessageKind,
    SessionConfigChanged,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentnb.host.conversation import Conversation
    from agentnb.state import Action, ChatInputRequest, ChatState, MessageAttachment, SessionState


class Session(AgentControls):
    """One conversation with one agent. Made by :func:`agentnb.start`; usable from any thread.

    Displayed in a notebook it is the chat widget on its own tab.

    Example:
        >>> session = agentnb.start("eliza")  # doctest: +SKIP
        >>> session.prompt("Hello").wait().text  # doctest: +SKIP
        'Hello. I am eliza. What are you working on?'
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        # Each turn once: every `Turn` of a running turn follows the conversation until that ends.
        self._known: WeakValueDictionary[str, Turn] = WeakValueDictionary()

    @property
    def tab_id(self) -> str:
        """The tab's id, a UUID; the last part of the session's channel."""
        return self._conversation.tab_id

    @property
    def agent(self) -> str:
        """The agent's name in the catalogue."""
        return self._conversation.spec.name

    @property
    def title(self) -> str:
        """The tab's title."""
        return self._conversation.session.state.summary.title

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._conversation.closed

    @property
    def kernel_tools(self) -> bool:
        """Whether its agent has tools for this kernel."""
        return self._conversation.kernel is not None

    @property
    def read_only(self) -> str | None:
        """Why the session can only be read, as :func:`agentnb.resume` found it; None where it can go on."""
        return None if self._conversation.barred is None else str(self._conversation.barred)

    @property
    def gap(self) -> str | None:
        """What of the session was lost when the log was damaged, and why; None where nothing was."""
        return self._conversation.chat.gap

    @property
    def state(self) -> SessionState:
        """A frozen snapshot of the session (AHP ``SessionState``)."""
        return self._conversation.session.state

    @property
    def chat(self) -> ChatState:
        """A frozen snapshot of the conversation (AHP ``ChatState``)."""
        return self._conversation.chat.state

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Every turn so far, the running one last."""
        chat = self.chat
        ids = [turn.id for turn in chat.turns] + ([chat.active_turn.id] if chat.active_turn else [])
        return tuple(self._turn(turn_id) for turn_id in ids)

    @property
    def queue(self) -> tuple[str, ...]:
        """The texts of the prompts that wait, first in line first."""
        return tuple(waiting.message.text for waiting in self.chat.queued_messages or ())

    def prompt(self, text: str, context: Iterable[Any] = (), *, attachments: Iterable[MessageAttachment] = ()) -> Turn:
        """Send *text* to the agent; returns at once. While a turn runs the prompt waits in the queue.

        Args:
            text: What to say.
            context: A list of objects that the agent is shown with it (type, shape, columns, head; capped in size).
            attachments: Attachments that are ready-made.

        Returns:
            The turn, running or waiting.

        Raises:
            UsageError: If *text* is no text or is empty, or *context* is one object instead of a list.
            SessionClosed: If the session was closed.
            SessionError: If it is only to be read (:attr:`read_only`).
        """
        check_text("The prompt", text, example='session.prompt("What is in df?")')
        attached = (*attachments, *(describe(value) for value in each_of(context)))
        user = MessageOrigin(kind="user")
        message_ = Message(text=text, origin=user, attachments=attached or None)
        turn = Turn(self, self._conversation, new_id())
        self._known[turn.id] = turn
        self._conversation.host.loop.call(self._begin, turn, message_)
        follow(turn)
        return turn

    @property
    def files(self) -> SessionFiles:
        """The files of its workspace: ``list``, ``read``, ``diff``."""
        return SessionFiles(self._conversation)

    @property
    def permissions(self) -> Literal["ask", "allow", "deny"]:
        """What answers the agent's permission requests; set it to change that. What is asked already stays open.

        Raises:
            UsageError: If it is set to anything but ``"ask"``, ``"allow"`` or ``"deny"``.
            SessionClosed: If it is set and the session was closed.
        """
        return self._conversation.mode

    @permissions.setter
    def permissions(self, mode: Literal["ask", "allow", "deny"]) -> None:
        check_permissions(mode)
        self._do(SessionConfigChanged(config={"permissions": mode}))

    @property
    def waiting(self) -> tuple[Turn, ...]:
        """The turns that wait in the queue, first in line first."""
        return tuple(self._turn(waiting.id) for waiting in self.chat.queued_messages or ())

    def edit(self, turn: Turn, text: str) -> None:
        """Change the text of a prompt that waits in the queue.

        Raises:
            UsageError: If it no longer waits.
        """
        self._do(ChatPendingMessageSet(kind=PendingMessageKind.QUEUED, id=turn.id, message=self._edited(turn, text)))

    def reorder(self, turns: Iterable[Turn]) -> None:
        """Put waiting prompts into another order; those not named follow as they were."""
        self._do(ChatQueuedMessagesReordered(order=tuple(turn.id for turn in turns)))

    def send_now(self, turn: Turn) -> None:
        """Bring a waiting prompt to the agent at once.

        An agent that can takes it into the running turn; else the running turn is cancelled and it is the next.

        Raises:
            UsageError: If it no longer waits.
        """
        try:
            self._conversation.host.loop.call(intents.send_now, self._conversation, turn.id, FROM_PYTHON)
        except Rejected as refused:
            raise UsageError(refused.message, hint="session.waiting has those that do.") from None

    def steer(self, text: str) -> None:
        """Say something into the running turn; where the agent cannot take that, it is the next prompt.

        Raises:
            SessionClosed: If the session was closed.
        """
        message = Message(text=text, origin=MessageOrigin(kind="user"))
        self._conversation.host.loop.call(intents.steer, self._conversation, new_id(), message, FROM_PYTHON)

    @property
    def questions(self) -> tuple[ChatInputRequest, ...]:
        """What the agent asks and nobody has answered yet."""
        return self.chat.input_requests or ()

    def answer(
        self,
        request_id: str,
        values: Mapping[str, Any] | None = None,
        *,
        response: Literal["accept", "decline", "cancel"] = "accept",
    ) -> None:
        """Answer what the agent asks.

        Args:
            request_id: The request, one of :attr:`questions`.
            values: The answers by question id: text, number, yes or no, or a list of choices.
            response: Whether it is answered, declined, or broken off.

        Raises:
            UsageError: If it is not open, or *values* do not answer it.
        """
        request = next((request for request in self.questions if request.id == request_id), None)
        if request is None:
            raise UsageError(f"The question {request_id!r} is not open.", hint="session.questions has those that are.")
        answers = answers_from(request, values or {})
        self._do(ChatInputCompleted(request_id=request_id, response=response, answers=answers))

    def cancel(self) -> None:
        """Stop the running turn, if one runs; prompts that wait are held until :meth:`continue_queue`."""
        active = self.chat.active_turn
        if active is not None:
            self._turn(active.id).cancel()

    def continue_queue(self) -> None:
        """Go on with the prompts that are held since a turn was stopped; no effect where none is.

        Waiting for one of them, with :meth:`Turn.wait` or ``await``, goes on too.
        """
        self._conversation.host.loop.call(intents.continue_queue, self._conversation)

    def close(self, timeout: float = 10.0) -> None:
        """Free the agent's session and, if nobody else uses it, end its process.

        Args:
            timeout: Seconds to wait for that, at most.
        """
        self._conversation.host.loop.submit(intents.close(self._conversation)).result(timeout)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        from agentnb.comm import frontend

        view: tuple[dict[str, Any], dict[str, Any]] | None = frontend.chat_view(self)._repr_mimebundle_(**kwargs)
        return view and ({**view[0], "text/plain": repr(self)}, view[1])

    def __repr__(self) -> str:
        return f"<Session {self.title!r} with {self.agent}>"

    def _begin(self, turn: Turn, message: Message) -> None:
        intents.prompt(self._conversation, turn.id, message, FROM_PYTHON)
        turn._attach()  # noqa: SLF001 - the two are one

    def _see_that_it_is_open(self) -> None:
        if self.closed:
            raise SessionClosed(f"The session {self.title!r} is closed.", hint="Start another with agentnb.start().")

    def _do(self, action: Action) -> None:
        """What a click in a view does; refused, it raises."""
        self._see_that_it_is_open()
        conversation = self._conversation
        try:
            conversation.host.loop.call(carry_out, conversation.host, conversation.chat.uri, action, FROM_PYTHON)
        except Rejected as refused:
            raise UsageError(refused.message) from None

    def _edited(self, turn: Turn, text: str) -> Message:
        waiting = next((each for each in self.chat.queued_messages or () if each.id == turn.id), None)
        if waiting is None:
            raise UsageError("That prompt no longer waits.", hint="session.waiting has those that do.")
        return replace(waiting.message, text=text)

    def _turn(self, turn_id: str) -> Turn:
        if (turn := self._known.get(turn_id)) is None:
            turn = self._known[turn_id] = Turn(self, self._conversation, turn_id)
            self._conversation.host.loop.call(turn._attach)  # noqa: SLF001
        return turn
