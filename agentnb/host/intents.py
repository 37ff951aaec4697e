"""What a client may do: the actions that it may dispatch, checked, and what each of them causes.

Anything else is rejected with a reason. The host's clock and the host's own facts win over what the client claims:
whether an answer means yes is read from the option, not from the client's word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.errors import AgentnbError
from agentnb.host.channels import wanted_mode
from agentnb.state import (
    Answerer,
    ChatInputAnswerChanged,
    ChatInputCompleted,
    ChatPendingMessageRemoved,
    ChatPendingMessageSet,
    ChatQueuedMessagesReordered,
    ChatToolCallConfirmed,
    ChatTurnCancelled,
    ChatTurnStarted,
    PendingMessageKind,
    SessionConfigChanged,
    SessionIsArchivedChanged,
    SessionIsReadChanged,
    SessionTitleChanged,
    ToolCallPendingConfirmationState,
    XConfigOptionChosen,
    XModeChanged,
)

if TYPE_CHECKING:
    from agentnb.host.conversation import Conversation, SessionOwner
    from agentnb.state import Action, ActionOrigin, Message

DISPATCHABLE = (
    ChatTurnStarted,
    ChatTurnCancelled,
    ChatPendingMessageSet,
    ChatPendingMessageRemoved,
    ChatQueuedMessagesReordered,
    ChatToolCallConfirmed,
    ChatInputAnswerChanged,
    ChatInputCompleted,
    SessionTitleChanged,
    SessionConfigChanged,
    SessionIsReadChanged,
    SessionIsArchivedChanged,
    XModeChanged,
    XConfigOptionChosen,
)
"""The actions that a client may dispatch: those that `carry_out` has a case for."""


PYTHON = "python"
"""The client id of code in the kernel."""

UNDO_SECONDS = 12.0
"""How long a tab that was closed in the chat can be brought back."""


class Rejected(AgentnbError):
    """The host does not accept a client's action."""


def carry_out(host: SessionOwner, channel: str, action: Action, origin: ActionOrigin) -> None:
    """Accept a client's *action* on *channel* and do what it asks.

    Raises:
        Rejected: If a client may not dispatch it, or it does not fit the state.
        UnknownSession: If there is no such channel.
    """
    conversation = host.find(channel)
    match action:
        case ChatTurnStarted(turn_id=turn_id, message=message):
            _prompt(conversation, turn_id, message, origin)
        case ChatPendingMessageSet():
            _set_pending(conversation, action, origin)
        case ChatInputAnswerChanged() | ChatInputCompleted():
            _answer_input(conversation, action, origin)
        case ChatTurnCancelled(turn_id=turn_id) | ChatPendingMessageRemoved(id=turn_id):
            stop = isinstance(action, ChatTurnCancelled)
            hold = isinstance(action, ChatTurnCancelled) and bool(action.hold_queue)
            if not conversation.turns.cancel(turn_id, origin, keep=stop, hold=hold):
                _reject(f"No turn {turn_id!r} runs or waits.")
        case ChatToolCallConfirmed():
            _confirm(conversation, action, origin)
        case ChatQueuedMessagesReordered():
            conversation.turns.reorder(action, origin)
        case _:
            _carry_out_for_session(conversation, action, origin)


def _carry_out_for_session(conversation: Conversation, action: Action, origin: ActionOrigin) -> None:
    match action:
        case XModeChanged() | XConfigOptionChosen():
            conversation.host.loop.spawn(_choose(conversation, action, origin))
        case SessionConfigChanged():
            _permit(conversation, action, origin)
        case SessionIsArchivedChanged():
            _archive(conversation, action, origin)
        case SessionTitleChanged() | SessionIsReadChanged():
            conversation.dispatch(replace(action, time=now_ms()), origin)
        case _:
            _reject("A client may not dispatch this action.")


def _answer_input(
    conversation: Conversation, action: ChatInputAnswerChanged | ChatInputCompleted, origin: ActionOrigin
) -> None:
    if isinstance(action, ChatInputCompleted):
        _refuse_if(conversation.inputs.complete(action, origin))
    else:
        _refuse_if(conversation.inputs.change(action, origin))


def _permit(conversation: Conversation, action: SessionConfigChanged, origin: ActionOrigin) -> None:
    if (mode := wanted_mode(action)) is None:
        _reject("Only a session's permissions can be set: ask, allow or deny.")
    conversation.permit(mode, origin, "python" if origin.client_id == PYTHON else "user")


def _archive(conversation: Conversation, action: SessionIsArchivedChanged, origin: ActionOrigin) -> None:
    """Close a tab soon: until then it can be brought back as it was."""
    if conversation.closing is not None:
        conversation.closing.cancel()
        conversation.closing = None
    conversation.dispatch(replace(action, time=now_ms()), origin)
    if action.is_archived:
        close = lambda: conversation.host.loop.spawn(conversation.close())  # noqa: E731
        conversation.closing = conversation.host.loop.later(UNDO_SECONDS, close)


def _prompt(conversation: Conversation, turn_id: str, message: Message, origin: ActionOrigin) -> None:
    if not conversation.prompt(turn_id, message, origin, look=True):
        _reject(f"The turn {turn_id!r} was started before.")


def _set_pending(conversation: Conversation, action: ChatPendingMessageSet, origin: ActionOrigin) -> None:
    if action.kind == PendingMessageKind.STEERING:
        waiting = next((each for each in conversation.chat.state.queued_messages or () if each.id == action.id), None)
        conversation.turns.steer(action.id, action.message if waiting is None else waiting.message, origin)
        return
    if not conversation.turns.edit(action.id, action.message, origin):
        _prompt(conversation, action.id, action.message, origin)


def _confirm(conversation: Conversation, action: ChatToolCallConfirmed, origin: ActionOrigin) -> None:
    call = conversation.tool_call(action.tool_call_id)
    if not isinstance(call, ToolCallPendingConfirmationState):
        _reject("That question was answered before, or is no longer open.")
    option = next((option for option in call.options or () if option.id == action.selected_option_id), None)
    if option is None:
        _reject(f"{action.selected_option_id!r} is not among the options offered.")
    approved = option.kind == "approve"
    edited = action.edited_tool_input if approved and call.editable else None
    if edited is not None and not edited.strip():
        _reject("A command that was changed must not be empty.")
    edited = None if edited == call.tool_input else edited
    accepted = replace(
        action,
        approved=approved,
        confirmed="user-action" if approved else None,
        reason=None if approved else "denied",
        edited_tool_input=edited,
        answered_by=_answerer(origin),
        time=now_ms(),
    )
    conversation.dispatch(accepted, origin)
    conversation.permissions.answer(action.tool_call_id, option, edited)


def _answerer(origin: ActionOrigin) -> Answerer:
    if origin.client_id == PYTHON:
        return Answerer(kind="python")
    return Answerer(kind="client", client_id=origin.client_id)


async def choose(conversation: Conversation, action: XModeChanged | XConfigOptionChosen, origin: ActionOrigin) -> None:
    """Ask the agent for another mode or option; the state follows what the agent accepts.

    Raises:
        AgentError: If it cannot be started, or refuses.
    """
    agent = await conversation.ready()
    session_id = conversation.session_id or ""
    if isinstance(action, XModeChanged):
        await agent.set_mode(session_id, action.mode_id)
    else:
        for each in await agent.set_config_option(session_id, action.config_id, action.value):
            conversation.dispatch(each)
    conversation.dispatch(replace(action, time=now_ms()), origin)


async def _choose(conversation: Conversation, action: XModeChanged | XConfigOptionChosen, origin: ActionOrigin) -> None:
    try:
        await choose(conversation, action, origin)
    except AgentnbError as error:
        conversation.host.reject(conversation.session, action, origin, str(error))


def _refuse_if(reason: str | None) -> None:
    if reason is not None:
        _reject(reason)


def _reject(reason: str) -> NoReturn:
    raise Rejected(reason)
