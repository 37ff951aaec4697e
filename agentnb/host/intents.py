"""The single entry point for what pages and Python code want to do.

Anything else is rejected with a reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from msgspec.structs import replace

from agentnb.acp.agent import extension
from agentnb.clock import now_ms
from agentnb.errors import AgentnbError, PolicyError
from agentnb.host.agents.session_opening import log_in_with, model_choice
from agentnb.host.channels import CELL_REVIEW, FREEDOM, KERNEL, PAIRING, PERMISSIONS, ROOT, SENSITIVE, wanted_setting
from agentnb.host.turns.rewind import rewind
from agentnb.policy.keys import EDITS, TITLES, capped
from agentnb.policy.workspace import PROJECT
from agentnb.state import (
    ActionOrigin,
    Answerer,
    ChatInputAnswerChanged,
    ChatInputCompleted,
    ChatPendingMessageRemoved,
    ChatPendingMessageSet,
    ChatQueuedMessagesReordered,
    ChatToolCallConfirmed,
    ChatTruncated,
    ChatTurnCancelled,
    ChatTurnStarted,
    PendingMessageKind,
    RootConfigChanged,
    SessionConfigChanged,
    SessionIsArchivedChanged,
    SessionIsReadChanged,
    SessionTitleChanged,
    ToolCallPendingConfirmationState,
    XConfigOptionChosen,
    XModeChanged,
)
from agentnb.state.session_state import model_id

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agentnb.host.channels import Channel, KernelAccess
    from agentnb.host.conversation import Conversation
    from agentnb.host.host import Host
    from agentnb.policy.keys import CellReview, Freedom, Mode
    from agentnb.policy.rules import Outcome
    from agentnb.state import Action, Message

PYTHON = "python"
"""The client id of code in the kernel."""

FROM_PYTHON = ActionOrigin(client_id=PYTHON, client_seq=0)
"""The origin of actions by code in the kernel."""

REMOTE = "remote:"
"""The prefix of the ids of clients that are connected from elsewhere; the client's name and a colon follow. Only the
host creates such ids: the client's own id comes last."""

UNDO_SECONDS = 12.0
"""Seconds in which a tab that was closed in the chat can be reopened."""


class Rejected(AgentnbError):
    """The host does not accept what a client wants."""


def carry_out(host: Host, channel: str, action: Action, origin: ActionOrigin) -> None:
    """Accept a client's *action* on *channel* and do what it asks."""
    if isinstance(action, RootConfigChanged):
        _root_config(host, channel, action, origin)
        return
    intent = _INTENTS.get(type(action))
    if intent is None:
        _reject("A client may not dispatch this action.")
    intent(host.find(channel), action, origin)


# --- turns and the queue ---


def prompt(conversation: Conversation, turn_id: str, message: Message, origin: ActionOrigin) -> None:
    if not conversation.prompt(turn_id, message, origin, look=origin.client_id != PYTHON):
        _reject(f"The turn {turn_id!r} was started before.")


def steer(conversation: Conversation, message_id: str, message: Message, origin: ActionOrigin) -> None:
    waiting = conversation.channels.queued(message_id)
    conversation.turns.steer(message_id, message if waiting is None else waiting, origin)


def send_now(conversation: Conversation, message_id: str, origin: ActionOrigin) -> None:
    if not conversation.turns.send_now(message_id, origin):
        _reject("That prompt is no longer waiting.")


def cancel(
    conversation: Conversation, turn_id: str, origin: ActionOrigin, *, keep: bool = False, hold: bool = False
) -> None:
    """End a running turn, or take it out of the queue; see :meth:`Turns.cancel`."""
    if not conversation.turns.cancel(turn_id, origin, keep=keep, hold=hold):
        _reject(f"No turn {turn_id!r} is running or waiting.")


def _pending_set(conversation: Conversation, action: ChatPendingMessageSet, origin: ActionOrigin) -> None:
    if action.kind == PendingMessageKind.STEERING:
        steer(conversation, action.id, action.message, origin)
    elif not conversation.turns.queue.edit(action.id, action.message, origin):
        prompt(conversation, action.id, action.message, origin)


def _truncate(conversation: Conversation, action: ChatTruncated, origin: ActionOrigin) -> None:
    """Cut the transcript; the changes that the turns made stay."""
    ids = [turn.id for turn in conversation.chat.state.turns]
    if action.turn_id is not None and action.turn_id not in ids:
        _reject(f"This conversation has no turn {action.turn_id!r}.")
    later = ids[ids.index(action.turn_id) + 1 :] if action.turn_id is not None else ids
    if not later:
        _reject("There are no turns after that one.")
    _attempt(
        lambda: rewind(conversation, later[0], origin=origin), conversation.host, conversation.chat, action, origin
    )


# --- the agent ---


async def restart(conversation: Conversation) -> None:
    """Stop the agent's process and start it anew; a running turn is stopped."""
    if (active := conversation.chat.state.active_turn) is not None:
        conversation.turns.cancel(active.id)
    await conversation.lifecycle.restart()


async def login(conversation: Conversation, method: str | None) -> None:
    """Log in to the agent with *method*, without asking, then open the session."""
    await log_in_with(await conversation.host.agents.acquire(conversation.configuration, conversation.tab_id), method)
    await conversation.ready()


async def extend(
    conversation: Conversation, method: str, params: dict[str, Any], *, notify: bool, timeout: float
) -> Any:
    """Send the agent an extension request, or with *notify* a notification; *params* need not name the session."""
    extension(method)
    agent = await conversation.ready()
    session_id = conversation.session_id or ""
    if not notify:
        return await agent.extend(session_id, method, params, timeout)
    agent.tell(session_id, method, params)
    return None


# --- questions ---


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
    remote = remote_name(origin.client_id)
    by = "user" if remote is None else f"client {remote}"
    conversation.permissions.answer(action.tool_call_id, option, edited, by=by)


def _answerer(origin: ActionOrigin) -> Answerer:
    if origin.client_id == PYTHON:
        return Answerer(kind="python")
    return Answerer(kind="client", client_id=origin.client_id, name=remote_name(origin.client_id))


def remote_name(client_id: str) -> str | None:
    """The name of a client that is connected from elsewhere, such as ``"phone"``; None for a page of this kernel."""
    return client_id.removeprefix(REMOTE).partition(":")[0] if client_id.startswith(REMOTE) else None


# --- the session ---


def _permit(conversation: Conversation, action: SessionConfigChanged, origin: ActionOrigin) -> None:
    by = "python" if origin.client_id == PYTHON else "user"
    name, value = wanted_setting(action)
    if name == FREEDOM:
        set_freedom(conversation, value, origin, by)
    elif name == SENSITIVE:
        _set_sensitive(conversation, value, origin, by)
    elif name == PERMISSIONS:
        set_permissions(conversation, value, origin, by)
    elif name in {KERNEL, CELL_REVIEW} and conversation.kernel is None:
        _reject("This conversation can't access the kernel.")
    elif name == KERNEL:
        use_kernel(conversation, value, origin, by)
    elif name == CELL_REVIEW:
        _set_cell_review(conversation, value, origin, by)
    else:
        _reject("Only freedom, permissions, kernel access, cell review and sensitive files can be set.")


def set_freedom(conversation: Conversation, freedom: Freedom, origin: ActionOrigin | None, by: str) -> None:
    """Set how freely the agent works, from its next request on."""
    _demand_freedom(conversation, freedom)
    environment = conversation.environment
    if freedom == "ask" and conversation.host.policy.review(conversation.cwd, environment.cell_review()) == "after":
        environment.choose_cell_review("first")
    if conversation.kernel is not None and conversation.channels.kernel_access != "run":
        use_kernel(conversation, "run", origin, by)
    set_permissions(conversation, freedom, origin, by)


def _demand_freedom(conversation: Conversation, mode: Mode) -> None:
    ceiling = conversation.host.policy.ceiling(conversation.cwd)
    if capped(mode, ceiling) != mode:
        message = f"A policy file limits agents to {TITLES[ceiling or '']} here."
        raise PolicyError(message, hint="`%agents policy` says which file.")


def set_permissions(conversation: Conversation, mode: Mode, origin: ActionOrigin | None, by: str) -> None:
    """Let *mode* answer permission requests from now on, including open ones that it covers."""
    _demand_freedom(conversation, mode)
    if mode != conversation.mode:
        outcome: Outcome = "deny" if mode == "deny" else "allow" if mode == "allow" else "ask"
        conversation.policy.record_setting("permissions", conversation.mode, mode, outcome, by)
    conversation.permissions.callback = None
    conversation.channels.configure({PERMISSIONS: mode}, origin)
    conversation.show_review()
    conversation.asking.permissions_changed()
    conversation.host.loop.spawn(conversation.lifecycle.make_ask())
    conversation.permissions.reconsider()


def _set_sensitive(conversation: Conversation, patterns: list[str], origin: ActionOrigin, by: str) -> None:
    """Set which files are sensitive in this conversation besides those that always are."""
    before, after = ", ".join(conversation.channels.sensitive), ", ".join(patterns)
    conversation.policy.record_setting("sensitive files", before or "none", after or "none", "ask", by)
    conversation.channels.configure({SENSITIVE: [*patterns]}, origin)


def use_kernel(conversation: Conversation, access: KernelAccess, origin: ActionOrigin | None, by: str) -> None:
    """Set what the agent may do with its kernel tools from now on; what is already running continues."""
    before = conversation.channels.kernel_access
    if access != before:
        outcome: Outcome = "deny" if access == "off" else "allow"
        conversation.policy.record_setting("kernel access", before, access, outcome, by)
    conversation.channels.configure({KERNEL: access}, origin)
    conversation.show_customizations()


def _set_cell_review(conversation: Conversation, review: CellReview, origin: ActionOrigin, by: str) -> None:
    """Set when changes of cells are reviewed in this kernel, from the next change on."""
    host, before = conversation.host, conversation.channels.shown_review
    if host.policy.review(conversation.cwd, review) != review:
        message = "This project's policy file requires that cell changes are reviewed first."
        raise PolicyError(message, hint=f'Remove cell_review = "first" from {PROJECT} to choose otherwise.')
    if conversation.mode in EDITS:
        _reject(f"{TITLES[conversation.mode]} makes cell edits at once. Choose Ask first.")
    conversation.policy.record_setting("cell review", before, review, "allow" if review == "after" else "ask", by)
    conversation.channels.configure({CELL_REVIEW: review}, origin)
    host.environment.choose_cell_review(review)


def _root_config(host: Host, channel: str, action: RootConfigChanged, origin: ActionOrigin) -> None:
    on = action.config.get(PAIRING)
    if not isinstance(on, bool) or len(action.config) != 1 or channel != ROOT:
        _reject("The only setting of the host that can be changed is whether the kernel is paired.")
    if on:
        _attempt(lambda: host.pairing.start(origin), host, host.root, action, origin)
    else:
        host.pairing.stop(origin=origin)


def _archive(conversation: Conversation, action: SessionIsArchivedChanged, origin: ActionOrigin) -> None:
    """Close a tab after a delay, in which it can be brought back as it was."""
    if conversation.closing is not None:
        conversation.closing.cancel()
        conversation.closing = None
    conversation.dispatch(replace(action, time=now_ms()), origin)
    if action.is_archived:
        loop = conversation.host.loop
        conversation.closing = loop.later(UNDO_SECONDS, lambda: loop.spawn(conversation.close()))


def _dispatch(
    conversation: Conversation, action: SessionTitleChanged | SessionIsReadChanged, origin: ActionOrigin
) -> None:
    conversation.dispatch(replace(action, time=now_ms()), origin)


async def choose(conversation: Conversation, action: XModeChanged | XConfigOptionChosen, origin: ActionOrigin) -> None:
    """Ask the agent for another mode or option; the state changes once the agent accepts."""
    agent = await conversation.ready()
    session_id = conversation.session_id or ""
    conversation.asking.user_chose(action)
    await conversation.lifecycle.choices.choose(agent, session_id, action, origin)
    conversation.lifecycle.show_asking()


async def choose_model(conversation: Conversation, model: str, origin: ActionOrigin) -> None:
    """Have the agent use *model*, an id or a name, from the next prompt on, or at its start if it does not run yet."""
    lifecycle = conversation.lifecycle
    if not lifecycle.opening.was_ready:
        lifecycle.choices.model = model
    await conversation.ready()
    action = model_choice(model, conversation.session.state, conversation.spec.title)
    if action.value != model_id(conversation.session.state):
        await choose(conversation, action, origin)
    lifecycle.choices.model = model


def _choose(conversation: Conversation, action: XModeChanged | XConfigOptionChosen, origin: ActionOrigin) -> None:
    _attempt(lambda: choose(conversation, action, origin), conversation.host, conversation.session, action, origin)


def _attempt(
    work: Callable[[], Awaitable[object]], host: Host, channel: Channel[Any], action: Action, origin: ActionOrigin
) -> None:
    """Begin *work*; if it fails, tell the client that its *action* was rejected."""

    async def attempt() -> None:
        try:
            await work()
        except AgentnbError as error:
            host.reject(channel, action, origin, str(error))

    host.loop.spawn(attempt())


def _refuse_if(reason: str | None) -> None:
    if reason is not None:
        _reject(reason)


def _reject(reason: str) -> NoReturn:
    raise Rejected(reason)


_INTENTS: dict[type[Any], Callable[[Conversation, Any, ActionOrigin], None]] = {
    ChatTurnStarted: lambda tab, action, origin: prompt(tab, action.turn_id, action.message, origin),
    ChatTurnCancelled: lambda tab, action, origin: cancel(
        tab, action.turn_id, origin, keep=True, hold=bool(action.hold_queue)
    ),
    ChatPendingMessageSet: _pending_set,
    ChatPendingMessageRemoved: lambda tab, action, origin: cancel(tab, action.id, origin),
    ChatQueuedMessagesReordered: lambda tab, action, origin: tab.turns.queue.reorder(action, origin),
    ChatToolCallConfirmed: _confirm,
    ChatTruncated: _truncate,
    ChatInputAnswerChanged: lambda tab, action, origin: _refuse_if(tab.inputs.change(action, origin)),
    ChatInputCompleted: lambda tab, action, origin: _refuse_if(tab.inputs.complete(action, origin)),
    SessionTitleChanged: _dispatch,
    SessionConfigChanged: _permit,
    SessionIsReadChanged: _dispatch,
    SessionIsArchivedChanged: _archive,
    XModeChanged: _choose,
    XConfigOptionChosen: _choose,
}
DISPATCHABLE: tuple[type[Any], ...] = (*_INTENTS, RootConfigChanged)
"""The actions that a client may dispatch."""
