"""A session, one conversation with one agent, and its turns, as users of Python see them."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import TimeoutError as TooLong
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from weakref import WeakValueDictionary

from msgspec.structs import replace

from agentnb.api.arguments import check_permissions, check_text, each_of
from agentnb.api.attachments import attachment_of
from agentnb.api.changes import carry_out as carry_out_with_changes
from agentnb.api.changes import changes_of
from agentnb.api.files import SessionFiles
from agentnb.api.questions import CallbackPermissions, InputQuestion, QuestionTable, open_questions
from agentnb.api.turn import FollowedTurn
from agentnb.api.unattended import follow
from agentnb.api.waiting import within
from agentnb.errors import SessionClosed, SessionError, UsageError
from agentnb.host import intents
from agentnb.host.agents.health import Health, examined
from agentnb.host.intents import FROM_PYTHON, Rejected, carry_out
from agentnb.host.kept_sessions import forked
from agentnb.ids import new_id
from agentnb.state import (
    ChatPendingMessageSet,
    ChatQueuedMessagesReordered,
    Message,
    MessageOrigin,
    PendingMessageKind,
    SessionConfigChanged,
    XConfigOptionChosen,
    XModeChanged,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

    from typing_extensions import Self

    from agentnb.api.changes import Change, ChangeTable, Choice
    from agentnb.api.questions import PermissionCallback
    from agentnb.host.conversation import Conversation
    from agentnb.state import Action, ChatState, MessageAttachment, SessionState

QUEUED = PendingMessageKind.QUEUED
CALLBACK_SECONDS = 60.0
"""How long a permissions callback may take where nothing else is said."""

Permissions: TypeAlias = "Literal['ask', 'allow', 'deny'] | PermissionCallback"
"""What answers an agent's permission requests."""


class Turn(FollowedTurn):
    """One prompt and all that it caused. Made by :meth:`agentnb.Session.prompt`; every read is a frozen snapshot.

    Iterating, with ``for`` or ``async for``, gives the text piece by piece and ends as :meth:`wait` does: with
    :class:`agentnb.TurnFailed` where the agent failed.

    Example:
        >>> turn = session.prompt("Summarise df")  # doctest: +SKIP
        >>> for piece in turn:  # doctest: +SKIP
        ...     print(piece, end="")
        >>> turn.stop_reason  # doctest: +SKIP
        'end_turn'
    """

    def __init__(self, session: Session, conversation: Conversation, turn_id: str) -> None:
        super().__init__(conversation, turn_id)
        self._session = session

    @property
    def session(self) -> Session:
        """The session that it belongs to."""
        return self._session


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
        # Each turn once: every `Turn` of a running turn follows the conversation until that ends.
        self._known: WeakValueDictionary[str, Turn] = WeakValueDictionary()
        self._lock = threading.Lock()

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
        barred = self._conversation.barred
        return None if barred is None else str(barred)

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

    @property
    def suggestions(self) -> tuple[str, ...]:
        """The prompts that the agent expects you to send next, at most three, the most likely first.

        Empty where the agent suggests nothing (few do), and from the next prompt on (ACP
        ``prompt_suggestions_update``).

        Example:
            >>> session.suggestions  # doctest: +SKIP
            ('Plot the residuals', 'Run the tests')
        """
        return self.chat.prompt_suggestions or ()

    def prompt(self, text: str, context: Iterable[Any] = (), *, attachments: Iterable[MessageAttachment] = ()) -> Turn:
        """Send *text* to the agent; returns at once. While a turn runs the prompt waits in the queue.

        Args:
            text: What to say.
            context: A list of objects that the agent is shown with it: figures and images (of matplotlib, PIL, IPython,
                or bytes) as pictures, a `Path` as a file, others as text (type, shape, columns, head; capped in size).
            attachments: Attachments that are ready-made.

        Returns:
            The turn, running or waiting.

        Raises:
            UsageError: If *text* is no text or is empty, or *context* is one object instead of a list.
            SessionClosed: If the session was closed.
            SessionError: If it is only to be read (:attr:`read_only`).
        """
        check_text("The prompt", text, example='session.prompt("What is in df?")')
        attached = (*attachments, *(attachment_of(value) for value in each_of(context)))
        user = MessageOrigin(kind="user")
        message_ = Message(text=text, origin=user, attachments=attached or None)
        turn = Turn(self, self._conversation, new_id())
        self._known[turn.id] = turn
        self._conversation.host.loop.call(self._begin, turn, message_)
        follow(turn, self.agent)
        return turn

    @property
    def files(self) -> SessionFiles:
        """The files of its workspace: ``list``, ``read``, ``diff``."""
        return SessionFiles(self._conversation)

    @property
    def permissions(self) -> Permissions:
        """What answers the agent's permission requests; set it to change that. What is asked already stays open.

        ``"ask"``, ``"allow"``, ``"deny"`` or a function, as for :func:`agentnb.start`.

        Raises:
            UsageError: If it is set to anything else.
            SessionClosed: If it is set and the session was closed.
        """
        callback = self._conversation.permissions.callback
        return callback.function if isinstance(callback, CallbackPermissions) else self._conversation.mode

    @permissions.setter
    def permissions(self, permissions: Permissions) -> None:
        mode = check_permissions(permissions)
        self._do(lambda: SessionConfigChanged(config={"permissions": mode}))
        _answer_with(self._conversation, permissions, CALLBACK_SECONDS)

    @property
    def waiting(self) -> tuple[Turn, ...]:
        """The turns that wait in the queue, first in line first."""
        return tuple(self._turn(waiting.id) for waiting in self.chat.queued_messages or ())

    @property
    def changes(self) -> ChangeTable:
        """What the turns of the conversation changed in all, one row for each file, cell or variable.

        As :attr:`Turn.changes`, from before the first turn to after the last. While a turn runs the table has those of
        the turns before it, ``is_known`` is False, and a note says so.

        Example:
            >>> session.changes  # doctest: +SKIP
        """
        return changes_of(self._conversation, None)

    def undo(self, *items: Change | str | os.PathLike[str], choices: Mapping[str, Choice] | None = None) -> ChangeTable:
        """Undo what the conversation changed: all, or only *items*. As :meth:`Turn.undo`, of every turn.

        Example:
            >>> session.undo("fit.py")  # doctest: +SKIP
        """
        return carry_out_with_changes(self._conversation, "undo", None, items, choices=choices)

    def redo(self, *items: Change | str | os.PathLike[str], choices: Mapping[str, Choice] | None = None) -> ChangeTable:
        """Do again what was undone: all, or only *items*. As :meth:`Turn.redo`, of every turn."""
        return carry_out_with_changes(self._conversation, "redo", None, items, choices=choices)

    def keep(self, *items: Change | str | os.PathLike[str]) -> ChangeTable:
        """Accept what the conversation changed: all, or only *items*. As :meth:`Turn.keep`, of every turn."""
        return carry_out_with_changes(self._conversation, "keep", None, items)

    def edit(self, turn: Turn, text: str) -> None:
        """Change the text of a prompt that waits in the queue.

        Raises:
            UsageError: If it no longer waits.
        """
        self._do(lambda: ChatPendingMessageSet(kind=QUEUED, id=turn.id, message=self._edited(turn, text)))

    def reorder(self, turns: Iterable[Turn]) -> None:
        """Put waiting prompts into another order; those not named follow as they were."""
        order = tuple(turn.id for turn in turns)
        self._do(lambda: ChatQueuedMessagesReordered(order=order))

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
    def questions(self) -> QuestionTable:
        """What the agent asks and nobody has answered yet: permission requests, then input requests (elicitations).

        Each can be answered here as in the chat; the first valid answer counts. Where no front end is attached nothing
        stays open: permission requests are denied at once (see :func:`agentnb.start`), input requests declined.

        Example:
            >>> session.questions[0].allow()  # doctest: +SKIP
        """
        return open_questions(self._conversation, self._do)

    def answer(
        self,
        request_id: str,
        values: Mapping[str, Any] | None = None,
        *,
        response: Literal["accept", "decline", "cancel"] = "accept",
    ) -> None:
        """Answer an input request: as ``answer`` of one of :attr:`questions`, by its id.

        Args:
            request_id: The id of an input request.
            values: The answers by question id: text, number, yes or no, or a list of choices.
            response: Whether it is answered, declined, or broken off.

        Raises:
            UsageError: If it is not open, or *values* do not answer it.
        """
        asked = (each for each in self.questions if isinstance(each, InputQuestion) and each.id == request_id)
        if (request := next(asked, None)) is None:
            raise UsageError(f"The question {request_id!r} is not open.", hint="session.questions has those that are.")
        request.answer(values, response=response)

    # --- its agent ---

    def open(self, timeout: float = 120.0) -> None:
        """Start the agent and open its session before the first prompt; then `session.state` says what it offers.

        A session that is open is left as it is. In the chat this happens when someone goes to the box to write in.

        Args:
            timeout: Seconds to wait for that, at most.

        Raises:
            AgentError: If it cannot be started, or wants a login first.

        Example:
            >>> session.open()  # doctest: +SKIP
            >>> [mode.name for mode in session.state.modes.available_modes]  # doctest: +SKIP
            ['Plan', 'Build']
        """
        self._see_that_it_is_open()
        conversation = self._conversation
        within(conversation.host, conversation.ready(), timeout, conversation.spec.title)

    def set_mode(self, mode_id: str, timeout: float = 60.0) -> None:
        """Have the agent work in another mode (`session.state.modes`).

        Args:
            mode_id: The mode.
            timeout: Seconds to wait for the agent, at most.

        Raises:
            AgentError: If the agent cannot be started, or refuses.
        """
        self._choose(XModeChanged(mode_id=mode_id), timeout)

    def set_option(self, config_id: str, value: str | bool, timeout: float = 60.0) -> None:
        """Have the agent take another value of an option (`session.state.config_options`), such as the model.

        Args:
            config_id: The option.
            value: Its value.
            timeout: Seconds to wait for the agent, at most.

        Raises:
            AgentError: If the agent cannot be started, or refuses.
        """
        self._choose(XConfigOptionChosen(config_id=config_id, value=value), timeout)

    def login(self, method: str | None = None, timeout: float = 600.0) -> None:
        """Log in at the agent, in a way that it can do by itself (a browser window, say).

        Args:
            method: The way's id or name; not needed where there is only one.
            timeout: Seconds to wait for that, at most.

        Raises:
            UsageError: If there are several ways and none is named, or it is a command to type, which is named.
            AgentError: If the agent cannot be started, or does not accept the login.
        """
        self._see_that_it_is_open()
        conversation = self._conversation
        within(conversation.host, intents.login(conversation, method), timeout, conversation.spec.title)

    def fork(self, title: str | None = None, timeout: float = 120.0) -> Session:
        """A copy of this session in a tab of its own: what was said, and what the agent knows (ACP ``session/fork``).

        Both go their own ways from here. Answers "for the session" to permission requests are not copied.

        Args:
            title: The copy's title; by default this one's, with "(copy)".
            timeout: Seconds to wait for the agent, at most.

        Raises:
            SessionError: If a turn runs.
            NotOffered: If the agent does not offer it.
            AgentError: If it cannot be started, refuses, or does not answer.

        Example:
            >>> other = session.fork("With a log scale")  # doctest: +SKIP
        """
        self._see_that_it_is_open()
        conversation = self._conversation
        return Session(within(conversation.host, forked(conversation, title), timeout, conversation.spec.title))

    def extension(
        self, method: str, params: Mapping[str, Any] | None = None, *, notify: bool = False, timeout: float = 60.0
    ) -> Any:
        """Ask the agent something that ACP leaves to the two sides (extension methods).

        Args:
            method: The method, ``_name/method``: it begins with an underscore.
            params: Its parameters. ``sessionId`` is added where there is none.
            notify: Whether to tell rather than ask: then nobody answers.
            timeout: Seconds to wait for the answer, at most.

        Returns:
            The agent's answer, as sent; None with *notify*.

        Raises:
            UsageError: If *method* does not begin with an underscore.
            AgentRefused: If the agent does not know it, or refuses.
            AgentError: If the agent cannot be started, or does not answer in time.

        Example:
            >>> session.extension("_goose/health")  # doctest: +SKIP
            {'status': 'ok'}
        """
        self._see_that_it_is_open()
        conversation = self._conversation
        work = intents.extend(conversation, method, dict(params or {}), notify=notify, timeout=timeout)
        return within(conversation.host, work, timeout, conversation.spec.title)

    def on_extension(self, method: str, handler: Callable[[dict[str, Any]], Any] | None) -> None:
        """Answer an extension method that the agent calls; one that nobody answers is refused as unknown.

        What the agent tells by extension *notifications* is kept as it came: in the turn, or in ``state.meta``.

        Args:
            method: The method, ``_name/method``.
            handler: Gets the parameters, on a thread of its own; what it returns must be JSON, and is the answer. The
                agent gets an error where it raises, or does not return within 60 seconds. None removes the handler.

        Raises:
            UsageError: If *method* does not begin with an underscore.

        Example:
            >>> session.on_extension("_zoo/feed", lambda params: {"fed": params["animal"]})  # doctest: +SKIP
        """
        self._conversation.host.loop.call(self._conversation.extensions.register, method, handler)

    def health(self) -> Health:
        """How the agent's process is: its state, its age, its deaths, its silence and its last output on stderr."""
        return self._conversation.host.loop.call(examined, self._conversation)

    def restart(self, timeout: float = 60.0) -> None:
        """End the agent's process and start it anew; the transcript stays, and so does what waits.

        An agent that can takes the session up again; else the next turn says that it has forgotten.

        Args:
            timeout: Seconds to wait for that, at most.

        Raises:
            AgentError: If it cannot be started.
        """
        self._see_that_it_is_open()
        conversation = self._conversation
        within(conversation.host, intents.restart(conversation), timeout, conversation.spec.title)

    def cancel(self) -> None:
        """Stop the running turn, if one runs; prompts that wait are held until :meth:`continue_queue`."""
        self._conversation.host.loop.call(self._cancel)

    def continue_queue(self) -> None:
        """Go on with the prompts that are held since a turn was stopped; no effect where none is.

        Waiting for one of them, with :meth:`Turn.wait` or ``await``, goes on too.
        """
        self._conversation.host.loop.call(intents.continue_queue, self._conversation)

    def close(self, timeout: float = 10.0) -> None:
        """Free the agent's session and, if nobody else uses it, end its process. A running turn is cancelled.

        Leaving ``with agentnb.start() as session:`` does that, too.

        Args:
            timeout: Seconds to wait for that, at most.

        Raises:
            SessionError: If it takes longer; it goes on.
        """
        future = self._conversation.host.loop.submit(intents.close(self._conversation))
        try:
            future.result(timeout)
        except TooLong as error:
            if future.done():
                raise
            raise self._closes_slowly(timeout) from error

    async def aclose(self, timeout: float = 10.0) -> None:
        """As :meth:`close`, in async code: the caller's loop goes on.

        Leaving ``async with agentnb.start() as session:`` does that, too.

        Args:
            timeout: Seconds to wait for that, at most.

        Raises:
            SessionError: If it takes longer; it goes on.
        """
        future = asyncio.wrap_future(self._conversation.host.loop.submit(intents.close(self._conversation)))
        done, _ = await asyncio.wait([future], timeout=timeout)
        if not done:
            raise self._closes_slowly(timeout)
        future.result()

    def _closes_slowly(self, timeout: float) -> SessionError:
        return SessionError(f"The session {self.title!r} did not close within {timeout:g} s.", hint="Wait, or go on.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        from agentnb.comm import frontend

        view: tuple[dict[str, Any], dict[str, Any]] | None = frontend.chat_view(self.tab_id)._repr_mimebundle_(**kwargs)
        return view and ({**view[0], "text/plain": repr(self)}, view[1])

    def _display_(self) -> Any:
        """What marimo shows for it: the chat, on its tab."""
        from agentnb.comm import frontend

        return frontend.chat_view(self.tab_id)

    def __repr__(self) -> str:
        return f"<Session {self.title!r} with {self.agent}>"

    def _begin(self, turn: Turn, message: Message) -> None:
        intents.prompt(self._conversation, turn.id, message, FROM_PYTHON)
        turn._attach()  # noqa: SLF001 - the two are one

    def _see_that_it_is_open(self) -> None:
        if self.closed:
            raise SessionClosed(f"The session {self.title!r} is closed.", hint="Start another with agentnb.start().")

    def _choose(self, action: XModeChanged | XConfigOptionChosen, timeout: float) -> None:
        self._see_that_it_is_open()
        conversation = self._conversation
        within(conversation.host, intents.choose(conversation, action, FROM_PYTHON), timeout, conversation.spec.title)

    def _cancel(self) -> None:
        if (active := self.chat.active_turn) is not None:
            intents.cancel(self._conversation, active.id, FROM_PYTHON, hold=True)

    def _do(self, make: Callable[[], Action]) -> None:
        """Do what a click in a view does; raise where it is refused.

        Args:
            make: Makes the action, on the host's thread: nothing changes between a look at the state and the action.
        """
        self._see_that_it_is_open()
        conversation = self._conversation
        try:
            conversation.host.loop.call(
                lambda: carry_out(conversation.host, conversation.chat.uri, make(), FROM_PYTHON)
            )
        except Rejected as refused:
            raise UsageError(refused.message) from None

    def _edited(self, turn: Turn, text: str) -> Message:
        waiting = next((each for each in self.chat.queued_messages or () if each.id == turn.id), None)
        if waiting is None:
            raise UsageError("That prompt is no longer waiting.", hint="session.waiting has those that do.")
        return replace(waiting.message, text=text)

    def _turn(self, turn_id: str) -> Turn:
        with self._lock:
            if (turn := self._known.get(turn_id)) is not None:
                return turn
            turn = self._known[turn_id] = Turn(self, self._conversation, turn_id)
        self._conversation.host.loop.call(turn._attach)  # noqa: SLF001
        return turn


def session_of(conversation: Conversation, permissions: Permissions, timeout: float) -> Session:
    """The session of *conversation*, whose permission requests a function answers where *permissions* is one."""
    _answer_with(conversation, permissions, timeout)
    return Session(conversation)


def _answer_with(conversation: Conversation, permissions: Permissions, timeout: float) -> None:
    if callable(permissions):
        conversation.permissions.callback = CallbackPermissions(permissions, timeout)
