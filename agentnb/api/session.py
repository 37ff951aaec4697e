"""A session, one conversation with one agent, and its turns, as users of Python see them."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import TimeoutError as TooLong
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, overload
from weakref import WeakValueDictionary

from msgspec.structs import replace

from agentnb.api.answers import Answer_co, TurnOutput, Wanted
from agentnb.api.arguments import check_freedom, check_permissions, check_text
from agentnb.api.attachments import attachments_of
from agentnb.api.changes import go_back
from agentnb.api.questions import CallbackPermissions, InputQuestion, QuestionTable, open_questions
from agentnb.api.session_view import SessionView
from agentnb.api.turn import FollowedTurn
from agentnb.api.unattended import follow, is_part_of_work
from agentnb.errors import SessionError, UsageError
from agentnb.host import intents
from agentnb.host.history.restore import forked
from agentnb.host.intents import FROM_PYTHON, Rejected
from agentnb.ids import new_id
from agentnb.state import (
    ChatPendingMessageSet,
    ChatQueuedMessagesReordered,
    Message,
    MessageOrigin,
    PendingMessageKind,
    SessionConfigChanged,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from typing_extensions import Self

    from agentnb.api.changes import ChangeTable, Choice
    from agentnb.api.questions import PermissionCallback
    from agentnb.host.conversation import Conversation
    from agentnb.policy.keys import Freedom
    from agentnb.state import MessageAttachment

T = TypeVar("T")
QUEUED = PendingMessageKind.QUEUED
CALLBACK_SECONDS = 60.0
"""Seconds that a permissions callback may take by default."""

Permissions: TypeAlias = "Literal['ask', 'allow', 'deny'] | PermissionCallback"
"""The fixed answer to an agent's permission requests, or the callback that answers them."""


class Turn(FollowedTurn, Generic[Answer_co]):
    """One prompt and everything that the agent did in response; made by :meth:`agentnb.Session.prompt`.

    Every read is a frozen snapshot. Iterating, with ``for`` or ``async for``, gives the text piece by piece and ends
    as :meth:`wait` does: with :class:`agentnb.TurnFailed` if the agent failed.

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

    @property
    def output(self) -> Answer_co:
        """Returns the answer as the type given in ``prompt(output=…)``; waits for the turn's end, like :meth:`wait`.

        In async code, ``await turn`` first.

        Raises:
            UsageError: If the turn was prompted without ``output=``.
            TurnFailed: If the turn ended with an error, or the answer did not fit twice.
            TurnRefused: If the agent refused to continue.
            TurnCancelled: If the turn was cancelled.
        """
        check = self._conversation.turns.checks.answers.get(self._id)
        if not isinstance(check, TurnOutput):
            raise UsageError("The turn was prompted without output=.", hint="turn.text has the answer.")
        if not self._finished:
            self.wait()
        value: Answer_co = check.value(self.raise_for_error())
        return value


class Session(SessionView):
    """One conversation with one agent. Made by :func:`agentnb.start`; usable from any thread.

    A notebook displays it as the chat widget on the session's tab.

    Example:
        >>> session = agentnb.start("eliza")  # doctest: +SKIP
        >>> session.prompt("Hello").wait().text  # doctest: +SKIP
        'Hello. I am eliza. What are you working on?'
    """

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        # One `Turn` for each turn: each follows the conversation until its turn ends.
        self._known: WeakValueDictionary[str, Turn] = WeakValueDictionary()
        self._lock = threading.Lock()

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Every turn so far, the running one last."""
        chat = self.chat
        ids = [turn.id for turn in chat.turns] + ([chat.active_turn.id] if chat.active_turn else [])
        return tuple(self._turn(turn_id) for turn_id in ids)

    @overload
    def prompt(
        self,
        text: str,
        context: Iterable[Any] = (),
        *,
        attachments: Iterable[MessageAttachment] = (),
        verify: bool = False,
        instructions: str = "",
        output: type[T],
    ) -> Turn[T]: ...

    @overload
    def prompt(
        self,
        text: str,
        context: Iterable[Any] = (),
        *,
        attachments: Iterable[MessageAttachment] = (),
        verify: bool = False,
        instructions: str = "",
        output: Any = None,
    ) -> Turn: ...

    def prompt(
        self,
        text: str,
        context: Iterable[Any] = (),
        *,
        attachments: Iterable[MessageAttachment] = (),
        verify: bool = False,
        instructions: str = "",
        output: Any = None,
    ) -> Turn:
        """Send *text* to the agent; returns at once. While another turn runs, the prompt waits in the queue.

        Args:
            text: The message to the agent.
            context: A list of objects to show the agent: figures and images (of matplotlib, PIL, IPython, or bytes) as
                pictures, a `Path` as a file, others as text (type, shape, columns, head; limited in size). A dict gives
                each a name: ``context={"train": df}``. ACP has no names for pictures.
            attachments: Ready-made attachments.
            verify: True if this turn is done only when the notebooks that it is about are verified, as with
                ``agentnb.start(verify=True)``.
            instructions: More text for the agent, below *text*; the chat shows it folded.
            output: The type of the answer: a msgspec, dataclass or pydantic type, any other type such as ``list[str]``
                or ``Literal["good", "bad"]``, or a JSON schema. :attr:`Turn.output` is its value. If the answer does
                not fit, the agent is asked once more in the same turn, with the error.

        Returns:
            The turn, running or waiting.

        Raises:
            UsageError: If *text* is not text or is empty, *context* is one object instead of a list, a name in it is
                not text or is empty, or *output* is not a type.
            SessionClosed: If the session was closed.
            SessionError: If the session is read-only (:attr:`read_only`).

        Example:
            >>> session.prompt("Which columns have gaps?", output=list[str]).output  # doctest: +SKIP
            ['age', 'income']
        """
        check_text("The prompt", text, example='session.prompt("What is in df?")')
        attached = (*attachments, *attachments_of(context))
        user = MessageOrigin(kind="user")
        message_ = Message(text=text, origin=user, attachments=attached or None)
        check: TurnOutput | None = None
        if output is not None:
            wanted = Wanted(output)
            check = TurnOutput(wanted)
            instructions = "\n\n".join(filter(None, (instructions, wanted.instruction)))
        if instructions:
            words = len(text.encode("utf-16-le")) // 2  # UTF-16 units, as in JavaScript
            message_ = replace(message_, text=f"{text}\n\n{instructions}", meta={"agentnb": {"words": words}})
        turn = Turn(self, self._conversation, new_id())
        self._known[turn.id] = turn
        self._conversation.host.loop.call(self._begin, turn, message_, check, verify, is_part_of_work())
        follow(turn, self.agent)
        return turn

    @property
    def budget(self) -> str:
        """The limits of this conversation, such as ``"200k tokens, $5"``; empty if the setting ``budget`` applies.

        Set it to change them, in a running turn too; it is stored with the conversation. Budgets in policy files apply
        as well.

        Raises:
            UsageError: If it is set to anything that is not a budget.

        Example:
            >>> session.budget = "400k tokens"  # doctest: +SKIP
        """
        return self._conversation.turns.budget.text

    @budget.setter
    def budget(self, budget: str) -> None:
        self._conversation.host.loop.call(self._conversation.turns.budget.set, budget)

    @property
    def permissions(self) -> Permissions:
        """How the agent's permission requests are answered; set it to change that, in a running turn too.

        ``"ask"``, ``"allow"``, ``"deny"`` or a function, as for :func:`agentnb.start`. It is ``"ask"`` with each of the
        three values of :attr:`freedom`.

        Raises:
            UsageError: If it is set to anything else.
            SessionClosed: If it is set after the session was closed.
        """
        callback = self._conversation.permissions.callback
        mode = self._conversation.mode
        if mode in ("allow", "deny"):
            return mode
        return callback.function if isinstance(callback, CallbackPermissions) else "ask"

    @permissions.setter
    def permissions(self, permissions: Permissions) -> None:
        mode = check_permissions(permissions)
        self._do(lambda: SessionConfigChanged(config={"permissions": mode}))
        _answer_with(self._conversation, permissions, CALLBACK_SECONDS)

    @property
    def freedom(self) -> str:
        """How freely the agent works: ``"ask"``, ``"edit"`` or ``"auto"``; set it to one of them to change that.

        A change applies from the agent's next request on, in a running turn too; open requests that it covers are
        answered. It is ``"custom"`` if the conversation's settings are none of the three. Setting it also gives the
        agent full access to the kernel if the conversation has one, and replaces a function set as :attr:`permissions`.

        Raises:
            UsageError: If it is set to anything else.
            PolicyError: If it is set to more than a policy file allows.
            SessionClosed: If it is set after the session was closed.
        """
        return self._conversation.channels.freedom

    @freedom.setter
    def freedom(self, freedom: Freedom) -> None:
        chosen = check_freedom(freedom)
        self._do(lambda: SessionConfigChanged(config={"freedom": chosen}))

    @property
    def kernel_tools(self) -> bool:
        """True if the agent may use this kernel; set it to change that, in a running turn too.

        Raises:
            UsageError: If it is set and the agent cannot have access.
            SessionClosed: If it is set after the session was closed.
        """
        return self._conversation.kernel is not None and self._conversation.channels.kernel_access != "off"

    @kernel_tools.setter
    def kernel_tools(self, on: bool) -> None:
        self._do(lambda: SessionConfigChanged(config={"kernel": "run" if on else "off"}))

    @property
    def waiting(self) -> tuple[Turn, ...]:
        """The turns waiting in the queue, in order."""
        return tuple(self._turn(waiting.id) for waiting in self.chat.queued_messages or ())

    def edit(self, turn: Turn, text: str) -> None:
        """Change the text of a prompt that waits in the queue.

        Raises:
            UsageError: If the prompt no longer waits.
        """
        self._do(lambda: ChatPendingMessageSet(kind=QUEUED, id=turn.id, message=self._edited(turn, text)))

    def reorder(self, turns: Iterable[Turn]) -> None:
        """Put waiting prompts into another order; those not named follow as they were."""
        order = tuple(turn.id for turn in turns)
        self._do(lambda: ChatQueuedMessagesReordered(order=order))

    def send_now(self, turn: Turn) -> None:
        """Send a waiting prompt to the agent at once.

        The agent takes it into the running turn if it can; otherwise that turn is cancelled and the prompt is next.

        Raises:
            UsageError: If the prompt no longer waits.
        """
        try:
            self._conversation.host.loop.call(intents.send_now, self._conversation, turn.id, FROM_PYTHON)
        except Rejected as refused:
            raise UsageError(refused.message, hint="session.waiting has those that do.") from None

    def steer(self, text: str) -> None:
        """Add a message to the running turn; if the agent does not support that, it becomes the next prompt.

        Raises:
            SessionClosed: If the session was closed.
        """
        message = Message(text=text, origin=MessageOrigin(kind="user"))
        self._conversation.host.loop.call(intents.steer, self._conversation, new_id(), message, FROM_PYTHON)

    @property
    def questions(self) -> QuestionTable:
        """Returns the agent's open questions: permission requests, then input requests (elicitations).

        Each can be answered here or in the chat; the first valid answer counts. If no front end is attached, none
        stays open: permission requests are denied at once (see :func:`agentnb.start`), input requests are declined.

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
        """Answer an input request by its id, like ``answer`` of one of :attr:`questions`.

        Args:
            request_id: The id of an input request.
            values: The answers by question id: text, number, True or False, or a list of choices.
            response: ``"accept"`` to answer the request, ``"decline"`` or ``"cancel"``.

        Raises:
            UsageError: If the request is not open, or *values* do not answer it.
        """
        matching = (each for each in self.questions if isinstance(each, InputQuestion) and each.id == request_id)
        if (request := next(matching, None)) is None:
            raise UsageError(f"The question {request_id!r} is not open.", hint="session.questions has those that are.")
        request.answer(values, response=response)

    def fork(self, title: str | None = None, timeout: float = 120.0) -> Session:
        """Copy this session to its own tab: the transcript, and what the agent knows (ACP ``session/fork``).

        Both continue independently. Answers "for the session" to permission requests are not copied.

        Args:
            title: The copy's title; by default this session's, with "(copy)".
            timeout: Seconds to wait for the agent, at most.

        Raises:
            SessionError: If a turn is running.
            NotOffered: If the agent does not support this.
            AgentError: If the agent cannot be started, refuses, or does not answer.

        Example:
            >>> other = session.fork("With a log scale")  # doctest: +SKIP
        """
        return Session(self._ask(lambda conversation: forked(conversation, title), timeout))

    def rewind(
        self, turn: Turn | None = None, *, changes: bool = False, choices: Mapping[str, Choice] | None = None
    ) -> ChangeTable:
        """Go back to before the prompt of *turn*: remove it and all later turns; the history keeps a copy of them.

        The agent continues in a new session. With the next prompt it gets the remaining turns, as text.

        Args:
            turn: The first turn to remove; None removes all.
            changes: True to also undo what these turns changed: files, cells and variables.
            choices: For changes that conflict with later ones, by path, as for :meth:`Turn.undo`.

        Returns:
            The changes that were undone.

        Raises:
            SessionError: If a turn is running.
            UsageError: If the conversation does not have *turn*.
            FilesConflict: If files changed since and cannot be merged; then nothing is undone or removed.
            KernelChangesConflict: Likewise for cells and variables.

        Example:
            >>> session.rewind(session.turns[-1], changes=True)  # doctest: +SKIP
        """
        return go_back(self._conversation, None if turn is None else turn.id, changes=changes, choices=choices)

    def cancel(self) -> None:
        """Stop the running turn, if one runs; prompts that wait are held until :meth:`continue_queue`."""
        conversation = self._conversation

        def cancel() -> None:
            if (active := self.chat.active_turn) is not None:
                intents.cancel(conversation, active.id, FROM_PYTHON, hold=True)

        conversation.host.loop.call(cancel)

    def continue_queue(self) -> None:
        """Continue with the prompts that were held when a turn was stopped; no effect if there are none.

        Waiting for one of them, with :meth:`Turn.wait` or ``await``, continues the queue, too.
        """
        self._conversation.host.loop.call(self._conversation.turns.queue.continue_queue)

    def close(self, timeout: float = 10.0) -> None:
        """Close the session and, if nobody else uses the agent's process, end that. A running turn is cancelled.

        Leaving ``with agentnb.start() as session:`` does that, too.

        Args:
            timeout: Seconds to wait for the end, at most.

        Raises:
            SessionError: If it takes longer; closing continues.
        """
        future = self._conversation.host.loop.submit(self._conversation.close())
        try:
            future.result(timeout)
        except TooLong as error:
            if future.done():
                raise
            raise self._closes_slowly(timeout) from error

    async def aclose(self, timeout: float = 10.0) -> None:
        """Like :meth:`close`, in async code: the caller's loop continues.

        Leaving ``async with agentnb.start() as session:`` does that, too.

        Args:
            timeout: Seconds to wait for the end, at most.

        Raises:
            SessionError: If it takes longer; closing continues.
        """
        future = asyncio.wrap_future(self._conversation.host.loop.submit(self._conversation.close()))
        done, _ = await asyncio.wait([future], timeout=timeout)
        if not done:
            raise self._closes_slowly(timeout)
        future.result()

    def _closes_slowly(self, timeout: float) -> SessionError:
        return SessionError(
            f"The session {self.title!r} did not close within {timeout:g} s.", hint="Wait, or continue."
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _begin(self, turn: Turn, message: Message, check: TurnOutput | None, verify: bool, is_part: bool) -> None:
        if check is not None:
            self._conversation.turns.checks.answers[turn.id] = check
        if verify:
            self._conversation.turns.checks.only.add(turn.id)
        if is_part:
            self._conversation.turns.budget.unattended.add(turn.id)
        intents.prompt(self._conversation, turn.id, message, FROM_PYTHON)
        turn._attach()  # noqa: SLF001 - the two are one

    def _edited(self, turn: Turn, text: str) -> Message:
        waiting = next((each for each in self.chat.queued_messages or () if each.id == turn.id), None)
        if waiting is None:
            raise UsageError("That prompt is no longer waiting.", hint="session.waiting has those that do.")
        return replace(waiting.message, text=text, meta=None)  # its metadata applies to the old text

    def _turn(self, turn_id: str) -> Turn:
        with self._lock:
            if (turn := self._known.get(turn_id)) is not None:
                return turn
            turn = self._known[turn_id] = Turn(self, self._conversation, turn_id)
        self._conversation.host.loop.call(turn._attach)  # noqa: SLF001
        return turn


def session_of(conversation: Conversation, permissions: Permissions, timeout: float) -> Session:
    """Returns the session of *conversation*; if *permissions* is a function, it answers permission requests."""
    _answer_with(conversation, permissions, timeout)
    return Session(conversation)


def _answer_with(conversation: Conversation, permissions: Permissions, timeout: float) -> None:
    if callable(permissions):
        conversation.permissions.callback = CallbackPermissions(permissions, timeout)
