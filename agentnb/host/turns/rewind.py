"""Goes back in a conversation, and tells the agent what was said before.

The log gets a copy of the conversation as it was. The agent begins a new session, which it is given the rest of the
transcript for: ACP copies a session only as a whole.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.errors import AgentnbError, SessionError, UsageError
from agentnb.host.changes.undo import Outcome
from agentnb.ids import new_id
from agentnb.state import (
    ChatTruncated,
    MarkdownResponsePart,
    SessionTitleChanged,
    SimpleMessageAttachment,
    ToolCallCompletedState,
    ToolCallResponsePart,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agentnb.changes.model import Choice
    from agentnb.host.conversation import Conversation
    from agentnb.log.store import LogStore
    from agentnb.state import ActionOrigin, Message, Turn


LABEL = "The conversation so far"
MOST_CHARACTERS = 100_000
LONGEST_TEXT = 20_000
LONGEST_CALL_TITLE = 200
_LEFT_OUT = "(Earlier messages are left out.)"


def with_transcript(message: Message, turns: Sequence[Turn]) -> Message:
    """*message*, with the earlier conversation as its first attachment; the chat shows the message without it."""
    attachment = SimpleMessageAttachment(label=LABEL, model_representation=transcript(turns))
    return replace(message, attachments=(attachment, *(message.attachments or ())))


def transcript(turns: Sequence[Turn]) -> str:
    """The turns as text; only the latest ones if not all fit."""
    texts: list[str] = []
    left = MOST_CHARACTERS
    for turn in reversed(turns):
        text = "\n\n".join(_of_turn(turn))
        left -= len(text)
        if left < 0 and texts:
            return "\n\n".join((_LEFT_OUT, *reversed(texts)))
        texts.append(text)
    return "\n\n".join(reversed(texts))


def _of_turn(turn: Turn) -> Iterator[str]:
    yield f"User: {_shortened(turn.message.text, LONGEST_TEXT)}"
    for part in turn.response_parts:
        if isinstance(part, MarkdownResponsePart):
            yield f"Assistant: {_shortened(part.content, LONGEST_TEXT)}"
        elif isinstance(part, ToolCallResponsePart):
            call = part.tool_call
            has_failed = isinstance(call, ToolCallCompletedState) and not call.success
            title = _shortened(call.display_name or call.tool_name, LONGEST_CALL_TITLE)
            yield f"[{'Failed tool' if has_failed else 'Tool'} call: {title}]"
    if turn.state != "complete":
        yield f"[The turn ended: {turn.state}.]"


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


BEFORE = " (before going back)"
"""Stands behind the title of what was cut, in the history."""
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

    With *changes* nothing is cut where what the turns changed cannot be undone without a choice.

    Raises:
        FilesConflict: If a file was changed since, and *choices* lack it.
        KernelChangesConflict: Likewise for cells and variables.
        SessionError: If a turn runs, or the conversation is only to be read.
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
