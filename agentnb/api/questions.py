"""The open questions of an agent: permission requests and input requests (elicitations)."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from agentnb.api.columns import Table, shortened
from agentnb.api.waiting import run_beside, with_main_thread
from agentnb.errors import AgentError, UsageError
from agentnb.host.permissions.session_policy import CallbackAnswer
from agentnb.safe_json import read_json
from agentnb.state import (
    ChatInputAnswer,
    ChatInputBooleanAnswerValue,
    ChatInputCompleted,
    ChatInputNumberAnswerValue,
    ChatInputQuestion,
    ChatInputRequest,
    ChatInputSelectedAnswerValue,
    ChatInputSelectedManyAnswerValue,
    ChatInputSingleSelectQuestion,
    ChatInputSubmitted,
    ChatInputTextAnswerValue,
    ChatToolCallConfirmed,
    ConfirmationOption,
    ToolCallDetails,
    ToolCallPendingConfirmationState,
    ToolCallResponsePart,
    ToolCallRisk,
    ToolDiffContent,
    waiting_requests,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Mapping

    from agentnb.host.channels import SessionChannels
    from agentnb.host.conversation import Conversation
    from agentnb.kernel.rehearsal_result import Rehearsal
    from agentnb.state import ChatInputAnswerValue, ChatState

Do: TypeAlias = Callable[[Callable[[], Any]], None]
"""Dispatches the action that a function makes. Defined at run time, because the fields below are read then."""

Rehearse: TypeAlias = Callable[[str], Any]
"""Previews the tool call of a permission request."""

PermissionAnswer: TypeAlias = "str | ConfirmationOption"
"""``"allow"``, ``"deny"``, ``"ask"`` (the user decides), or an option of the request: itself, its id or its label."""

PermissionCallback: TypeAlias = "Callable[[PermissionRequest], PermissionAnswer | Awaitable[PermissionAnswer]]"
"""A function, sync or async, that answers permission requests (``agentnb.start(permissions=function)``)."""

_OUTCOMES: tuple[Literal["allow", "deny", "ask"], ...] = ("allow", "deny", "ask")
PREVIEW_SECONDS = 60.0
_LINE = 80
_ANSWERS = '"allow", "deny", "ask" or one of request.options'


class PermissionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A permission request from an agent.

    Attributes:
        id: The id of the tool call.
        agent: The agent's name.
        tab_id: The tab's id.
        turn_id: The turn's id.
        title: A description for the user.
        kind: ``"edit"``, ``"execute"``, ``"read"``, ``"kernel"``, … as the agent or agentnb says; None if unknown.
        command: The command or code that would run; None if none would.
        paths: The files that the request is about, absolute; also those that only the tool's input names.
        diffs: The changes that the tool call would make, each with ``path``, ``old_text`` and ``new_text``.
        options: The possible answers, each with ``id``, ``label`` and ``kind`` (``"approve"`` or ``"deny"``).
        severity: The severity: ``"none"``, ``"low"``, ``"medium"``, ``"high"`` or ``"critical"``.
        reason: The policy's reason, a sentence.
    """

    id: str
    agent: str
    tab_id: str
    turn_id: str
    title: str
    kind: str | None
    command: str | None
    paths: tuple[str, ...]
    diffs: tuple[ToolDiffContent, ...]
    options: tuple[ConfirmationOption, ...]
    severity: str
    reason: str

    def option(self, answer: object) -> ConfirmationOption | None:
        """The option that *answer* names: the option, its id or its label; None where there is none."""
        name = answer.id if isinstance(answer, ConfirmationOption) else answer
        return next((each for each in self.options if name in (each.id, each.label)), None)


class PermissionQuestion(PermissionRequest, frozen=True, kw_only=True):
    """An open permission request, from :attr:`agentnb.Session.questions`.

    Example:
        >>> for question in session.questions:  # doctest: +SKIP
        ...     question.deny()
    """

    do: Do
    _rehearse: Rehearse

    def preview(self) -> Rehearsal:
        """Returns what the code or command would do, from a run in an isolated copy that changes nothing.

        The result is like that of :func:`agentnb.rehearse`; the card in the chat shows it, too. If you then allow the
        request, the tool call's ``differences`` list what turned out differently.

        Returns:
            The preview; a notebook shows it as a table with diffs. If there is none, ``available`` is False and
            ``reason`` says why.

        Raises:
            SessionError: If the request was already answered, runs neither code nor a command, or the setting
                ``rehearse`` is ``"off"``.

        Example:
            >>> session.questions[0].preview()  # doctest: +SKIP
        """
        rehearsal: Rehearsal = self._rehearse(self.id)
        return rehearsal

    def allow(self) -> None:
        """Allow it, only once if the agent offers that.

        Raises:
            UsageError: If it was already answered, or does not offer this answer.
        """
        self._choose("approve", "allow_once")

    def deny(self) -> None:
        """Deny it, only once if the agent offers that.

        Raises:
            UsageError: If it was already answered, or does not offer this answer.
        """
        self._choose("deny", "reject_once")

    def answer(self, option: PermissionAnswer) -> None:
        """Answer the request with one of its options.

        Args:
            option: ``"allow"``, ``"deny"``, or one of :attr:`options`: the option itself, its id or its label.

        Raises:
            UsageError: If the request was already answered, or has no such option.
        """
        if option in ("allow", "deny"):
            return self.allow() if option == "allow" else self.deny()
        chosen = self.option(option)
        if chosen is None:
            known = ", ".join(repr(each.id) for each in self.options)
            raise UsageError(f"{option!r} is not among the options offered.", hint=f"They are {known}.")
        return self._answer(chosen)

    def _choose(self, kind: str, narrowest: str) -> None:
        fitting = [each for each in self.options if each.kind == kind]
        chosen = next((each for each in fitting if each.option_kind == narrowest), fitting[0] if fitting else None)
        if chosen is None:
            known = ", ".join(repr(each.id) for each in self.options)
            raise UsageError("The agent does not offer this answer.", hint=f"Choose one with answer(): {known}.")
        self._answer(chosen)

    def _answer(self, option: ConfirmationOption) -> None:
        self.do(
            lambda: ChatToolCallConfirmed(
                turn_id=self.turn_id,
                tool_call_id=self.id,
                approved=option.kind == "approve",
                selected_option_id=option.id,
            )
        )


class InputQuestion(ChatInputRequest, frozen=True, kw_only=True):
    """An open input request (ACP elicitation), from :attr:`agentnb.Session.questions`.

    Attributes:
        id: Its id.
        message: The agent's question.
        url: A web page to visit, if the request is answered there.
        questions: The single questions, each with an ``id``; None if there are none.
        answers: The answers so far, by question id.

    Example:
        >>> session.questions[0].answer({"name": "ada"})  # doctest: +SKIP
    """

    do: Do

    def answer(
        self,
        values: Mapping[str, Any] | None = None,
        *,
        response: Literal["accept", "decline", "cancel"] = "accept",
    ) -> None:
        """Answer the request.

        Args:
            values: The answers by question id: text, number, True or False, or a list of choices.
            response: ``"accept"`` to answer the request, ``"decline"`` or ``"cancel"``.

        Raises:
            UsageError: If the request is no longer open, or *values* do not answer it.
        """
        answers = self._answers(values or {})
        self.do(lambda: ChatInputCompleted(request_id=self.id, response=response, answers=answers))

    def decline(self) -> None:
        """Decline to answer.

        Raises:
            UsageError: If the request is no longer open.
        """
        self.answer(response="decline")

    def _answers(self, values: Mapping[str, Any]) -> dict[str, ChatInputAnswer]:
        known = {question.id: question for question in self.questions or ()}
        if odd := sorted(set(values) - set(known)):
            raise UsageError(f"{odd[0]!r} was not asked.", hint=f"These were asked: {', '.join(known) or 'nothing'}.")
        return {name: ChatInputSubmitted(value=_value(known[name], value)) for name, value in values.items()}


Question: TypeAlias = PermissionQuestion | InputQuestion


class QuestionTable(Table, tuple[Question, ...]):
    """The open questions of a session; a table when displayed."""

    __slots__ = ()

    _head = ("id", "asks for", "what", "answers")
    _none = "No open questions."

    def _cells(self, row: Question) -> tuple[str, ...]:
        if isinstance(row, PermissionQuestion):
            return row.id, "permission", _line(row.command or row.title), ", ".join(each.id for each in row.options)
        answers = ", ".join(each.id for each in row.questions or ())
        return row.id, "input", _line(row.message or row.url or ""), answers


def open_questions(conversation: Conversation, do: Do) -> QuestionTable:
    """The questions that are open now, permission requests first."""

    def rehearse(call_id: str) -> Rehearsal:
        late = AgentError(
            f"The preview was not ready within {PREVIEW_SECONDS:g} s.", hint="It continues; check again later."
        )
        work = conversation.rehearse(call_id)
        return with_main_thread(conversation.host, conversation.tab_id, work, PREVIEW_SECONDS, late)

    chat = conversation.chat.state
    files = conversation.permissions.files_of
    pending = (_fields(conversation.channels, chat, call, files(call.tool_call_id)) for call in _pending(chat))
    permissions = [PermissionQuestion(**fields, do=do, _rehearse=rehearse) for fields in pending]
    inputs = [InputQuestion(**msgspec.structs.asdict(each), do=do) for each in waiting_requests(chat)]
    return QuestionTable([*permissions, *inputs])


class CallbackPermissions:
    """Answers permission requests with the user's function (`agentnb.host.permissions.session_policy`).

    If the function fails or its answer is invalid, the request is denied, and the transcript says why.
    """

    def __init__(self, function: PermissionCallback, timeout: float) -> None:
        self.function = function
        self.timeout = timeout

    async def answer(self, channels: SessionChannels, call_id: str, files: tuple[str, ...]) -> CallbackAnswer:
        """Ask the function about the open permission request of the tool call *call_id*, which is about *files*."""
        chat = channels.chat.state
        call = next((each for each in _pending(chat) if each.tool_call_id == call_id), None)
        if call is None:
            return CallbackAnswer(outcome="ask")
        request = PermissionRequest(**_fields(channels, chat, call, files))
        try:
            return await run_beside(lambda: self._ask(request), self.timeout)
        except asyncio.TimeoutError:
            return _failed(f"did not answer within {self.timeout:g} s")
        except RuntimeError as error:
            return _failed(str(error))

    async def _ask(self, request: PermissionRequest) -> CallbackAnswer:
        """Call the function and read its answer, on a separate thread since both run the user's code."""
        try:
            answer: Any = self.function(request)
            if inspect.isawaitable(answer):
                answer = await answer
            option = request.option(answer) if isinstance(answer, str | ConfirmationOption) else None
            for outcome in _OUTCOMES:
                if isinstance(answer, str) and answer == outcome:
                    return CallbackAnswer(outcome=outcome)
            if option is not None:
                return CallbackAnswer(outcome="allow" if option.kind == "approve" else "deny", option=option)
            return _failed(f"returned {answer!r:.200}, not {_ANSWERS}")
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            return _failed(f"raised {type(error).__name__}: {error}")


def _failed(what: str) -> CallbackAnswer:
    reason = f"denied: the permissions callback {what}"
    return CallbackAnswer(outcome="deny", reason=reason, problem=f"The permissions callback {what}. Denied.")


def _pending(chat: ChatState) -> Iterator[ToolCallPendingConfirmationState]:
    for part in chat.active_turn.response_parts if chat.active_turn is not None else ():
        if isinstance(part, ToolCallResponsePart) and isinstance(part.tool_call, ToolCallPendingConfirmationState):
            yield part.tool_call


def _fields(
    channels: SessionChannels, chat: ChatState, call: ToolCallPendingConfirmationState, files: tuple[str, ...]
) -> dict[str, Any]:
    details = call.details or ToolCallDetails()
    risk = call.risk or ToolCallRisk(severity="medium", reason="")
    title = call.confirmation_title or call.display_name
    return {
        "id": call.tool_call_id,
        "agent": channels.agent,
        "tab_id": channels.tab_id,
        "turn_id": chat.active_turn.id if chat.active_turn is not None else "",
        "title": title if isinstance(title, str) else title.markdown,
        "kind": details.kind,
        "command": _command(call),
        "paths": files or tuple(each.path for each in details.locations or ()),
        "diffs": tuple(each for each in details.content or () if isinstance(each, ToolDiffContent)),
        "options": call.options or (),
        "severity": risk.severity,
        "reason": risk.reason,
    }


def _command(call: ToolCallPendingConfirmationState) -> str | None:
    """Returns the input shown on a card if it is a command or code; None for other tools, whose input is JSON."""
    details = call.details or ToolCallDetails()
    if call.tool_input is None or details.kind in {"edit", "delete", "move"}:
        return None
    with contextlib.suppress(ValueError):
        if isinstance(details.raw_input, dict | list) and read_json(call.tool_input) == details.raw_input:
            return None
    return call.tool_input


def _line(text: str) -> str:
    return shortened(" ".join(text.split()), _LINE)


def _value(question: ChatInputQuestion, value: Any) -> ChatInputAnswerValue:
    match value:
        case bool():
            return ChatInputBooleanAnswerValue(value=value)
        case int() | float():
            return ChatInputNumberAnswerValue(value=value)
        case str() if isinstance(question, ChatInputSingleSelectQuestion):
            return ChatInputSelectedAnswerValue(value=value)
        case str():
            return ChatInputTextAnswerValue(value=value)
        case list() | tuple():
            return ChatInputSelectedManyAnswerValue(value=tuple(map(str, value)))
        case _:
            raise UsageError(
                f"{value!r} is not an answer to {question.id!r}.", hint="Text, a number, yes or no, or a list."
            )
