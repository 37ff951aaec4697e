"""A session: one conversation with one agent, seen from Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.api.describe import describe
from agentnb.api.turn import Turn
from agentnb.errors import UsageError
from agentnb.ids import new_id
from agentnb.state import Message, MessageOrigin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.host.conversation import Conversation
    from agentnb.state import ChatState, MessageAttachment, SessionState


class Session:
    """One conversation with one agent. Made by :func:`agentnb.start`; usable from any thread.

    Displayed in a notebook it is the chat widget on its own tab.

    Example:
        >>> session = agentnb.start("eliza")  # doctest: +SKIP
        >>> session.prompt("Hello").wait().text  # doctest: +SKIP
        'Hello. I am eliza. What are you working on?'
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

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
            context: Objects that the agent is shown with it (type, shape, columns, head; capped in size).
            attachments: Attachments that are ready-made.

        Returns:
            The turn, running or waiting.

        Raises:
            UsageError: If *text* is empty.
            SessionClosed: If the session was closed.
        """
        if not text.strip():
            message = "The prompt is empty."
            raise UsageError(message, hint='Say something: session.prompt("What is in df?").')
        attached = (*attachments, *(describe(value) for value in context))
        user = MessageOrigin(kind="user")
        message_ = Message(text=text, origin=user, attachments=attached or None)
        turn = Turn(self, self._conversation, new_id())
        self._conversation.host.loop.call(self._begin, turn, message_)
        return turn

    def cancel(self) -> None:
        """Stop the running turn, if one runs."""
        active = self.chat.active_turn
        if active is not None:
            self._conversation.host.loop.call(self._conversation.turns.cancel, active.id)

    def close(self, timeout: float = 10.0) -> None:
        """Free the agent's session and, if nobody else uses it, end its process.

        Args:
            timeout: Seconds to wait for that, at most.
        """
        self._conversation.host.loop.submit(self._conversation.close()).result(timeout)

    def restart(self, timeout: float = 60.0) -> None:
        """End the agent's process and start it anew; the transcript stays, the agent has forgotten.

        Args:
            timeout: Seconds to wait for that, at most.

        Raises:
            AgentError: If it cannot be started.
        """
        self._conversation.host.loop.submit(self._conversation.restart()).result(timeout)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        from agentnb.comm import frontend

        return frontend.chat_view(self)._repr_mimebundle_(**kwargs)

    def __repr__(self) -> str:
        return f"<Session {self.title!r} with {self.agent}>"

    def _begin(self, turn: Turn, message: Message) -> None:
        self._conversation.prompt(turn.id, message)
        turn._attach()  # noqa: SLF001 - the two are one

    def _turn(self, turn_id: str) -> Turn:
        turn = Turn(self, self._conversation, turn_id)
        self._conversation.host.loop.call(turn._attach)  # noqa: SLF001
        return turn
