"""Goes back in a conversation: cuts the transcript before a message and, if wanted, undoes what the cut turns changed.

The log gets a copy of the conversation as it was. The agent begins a new session and gets the rest of the transcript,
since ACP copies a session only as a whole.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.errors import AgentnbError, SessionError, UsageError
from agentnb.host.changes.undo import Outcome
from agentnb.ids import new_id
from agentnb.state import ChatTruncated, SessionTitleChanged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.changes.model import Choice
    from agentnb.host.conversation import Conversation
    from agentnb.log.store import LogStore
    from agentnb.state import ActionOrigin, Turn


BEFORE = " (before going back)"
"""The suffix of the removed part's title in the history."""
CLEARED = " (cleared)"
LONGEST_TITLE = 160
FLUSH_SECONDS = 5.0
NOTHING_UNDONE = Outcome((), "")


class RewindPoint(NamedTuple):
    """A place in a transcript: the last turn that stays, if any, and those that go."""

    last: str | None
    cut: tuple[Turn, ...]


async def rewind(
    conversation: Conversation,
    turn_id: str | None,
    *,
    changes: bool = False,
    choices: Mapping[str, Choice] | None = None,
    origin: ActionOrigin | None = None,
    by: str = "user",
) -> Outcome:
    """Go back to before the message of turn *turn_id*, or with None to the beginning.

    With *changes*, nothing is cut if the turns' changes cannot be undone without a choice.

    Raises:
        FilesConflict: If a file was changed since, and *choices* lack it.
        KernelChangesConflict: Likewise for cells and variables.
        SessionError: If a turn runs, or the conversation is read-only.
        UsageError: If there is no such turn.
    """
    _refuse_while_busy(conversation)
    place = _place(conversation, turn_id)
    if not place.cut:
        return NOTHING_UNDONE
    copy = await _keep_copy(conversation, place)
    try:
        outcome = await _undo(conversation, place, choices, by) if changes else NOTHING_UNDONE
    except BaseException:
        if copy is not None:
            store, uri = copy
            await asyncio.to_thread(store.forget, uri)
        raise
    await _cut(conversation, place, origin)
    return outcome


async def finish(conversation: Conversation) -> None:
    """Complete a rewind that an earlier kernel began; if that is not possible, drop it."""
    tracker = conversation.changes
    begun = tracker.record.rewinding
    if begun is None or all(each.id != begun for each in conversation.chat.state.turns):
        return
    try:
        _refuse_while_busy(conversation)
        place = _place(conversation, begun)
        await _undo(conversation, place, None, "user")
        _refuse_while_busy(conversation)
    except AgentnbError as error:
        await tracker.save(replace(tracker.record, rewinding=None))
        last = conversation.chat.state.turns[-1].id
        conversation.channels.say(last, f"The kernel ended while the conversation went back. {error}")
        return
    await _cut(conversation, place, None)


def _refuse_while_busy(conversation: Conversation) -> None:
    if conversation.barred is not None:
        raise SessionError(conversation.barred.message, hint=conversation.barred.hint)
    if not conversation.takes_prompts:
        raise SessionError("This agent works in a terminal.", hint="Go back there; undo its changes here.")
    if conversation.chat.state.active_turn is not None:
        raise SessionError(
            "A turn is running in this conversation.", hint="Stop it, or wait until it ends, then go back."
        )


def _place(conversation: Conversation, turn_id: str | None) -> RewindPoint:
    turns = conversation.chat.state.turns
    if turn_id is None:
        return RewindPoint(None, turns)
    at = next((at for at, turn in enumerate(turns) if turn.id == turn_id), None)
    if at is None:
        raise UsageError(f"This conversation has no turn {turn_id!r}.", hint="It may have been cut already.")
    return RewindPoint(turns[at - 1].id if at else None, turns[at:])


async def _keep_copy(conversation: Conversation, place: RewindPoint) -> tuple[LogStore, str] | None:
    """Log a copy of the whole conversation, with the agent's session; None if there is no log."""
    if (recorder := conversation.host.recorder) is None:
        return None
    uri = conversation.session.uri
    copy = f"{uri.rpartition('/')[0]}/{new_id()}"
    session_id = conversation.session_id or conversation.previous_session
    title = conversation.channels.title[:LONGEST_TITLE] + (BEFORE if place.last is not None else CLEARED)

    stay = len(conversation.chat.state.turns) - len(place.cut)

    def keep() -> None:
        recorder.flush(FLUSH_SECONDS)
        recorder.store.duplicate(uri, copy, title, now_ms(), agent_session=session_id, used_from=stay)

    await asyncio.to_thread(keep)
    return recorder.store, copy


async def _undo(
    conversation: Conversation, place: RewindPoint, choices: Mapping[str, Choice] | None, by: str
) -> Outcome:
    tracker = conversation.changes
    await tracker.compared()
    cut = {turn.id for turn in place.cut}
    if not any(turn.turn_id in cut for turn in tracker.record.turns):
        return NOTHING_UNDONE
    await tracker.save(replace(tracker.record, rewinding=place.cut[0].id))
    try:
        return await conversation.undo.do("undo", among=cut, choices=choices, by=by)
    except AgentnbError:
        await tracker.save(replace(tracker.record, rewinding=None))
        raise


async def _cut(conversation: Conversation, place: RewindPoint, origin: ActionOrigin | None) -> None:
    conversation.dispatch(ChatTruncated(turn_id=place.last, time=now_ms()), origin)
    if place.last is None:
        conversation.unname()
        conversation.dispatch(SessionTitleChanged(title=conversation.spec.title, time=now_ms()))
    await conversation.lifecycle.begin_anew()
