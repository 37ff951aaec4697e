"""Messages that wait for their turn, and the mentions in them.

A message with a mention waits in the queue while another thread inspects the user's objects. Until then the user can
take it back like any other message.
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.events.kinds import TURN_QUEUED
from agentnb.host.environment import LOOK_SECONDS
from agentnb.kernel.output_text import LEFT_OUT, picture_tokens
from agentnb.state import (
    ChatPendingMessageRemoved,
    ChatPendingMessageSet,
    ChatQueuedMessagesReordered,
    Message,
    MessageEmbeddedResourceAttachment,
    MessageOrigin,
    PendingMessageKind,
    SimpleMessageAttachment,
)
from agentnb.state.codec import encodable
from agentnb.state.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from agentnb.acp.agent import Agent
    from agentnb.host.agents.agent_lifecycle import AgentLifecycle
    from agentnb.host.channels import SessionChannels
    from agentnb.host.environment import Environment, Shell
    from agentnb.host.loop import HostLoop
    from agentnb.state import ActionOrigin, MessageAttachment


_CHARACTERS_OF_TOKEN = 4

Attachments = tuple["MessageAttachment", ...]


class MentionResolution:
    def __init__(
        self,
        channels: SessionChannels,
        environment: Environment,
        loop: HostLoop,
        *,
        cwd: Path,
        resolved: Callable[[], None],
    ) -> None:
        self.seconds = LOOK_SECONDS
        self._channels = channels
        self._environment = environment
        self._loop = loop
        self._cwd = cwd
        self._resolved = resolved
        self._going: dict[str, asyncio.Task[None]] = {}
        self._mentions: dict[str, Attachments] = {}
        self._notes: dict[str, str] = {}

    def wanted(self, message: Message) -> bool:
        return "@" in message.text and self._environment.shell is not None

    def going(self, message_id: str) -> bool:
        return message_id in self._going

    def begin(self, message_id: str) -> None:
        """Resolve the mentions of the waiting message *message_id*, discarding earlier results."""
        self.take(message_id)
        self._going[message_id] = self._loop.spawn(self._look(message_id))

    def take(self, message_id: str) -> str | None:
        """*message_id* no longer waits: stop resolving its mentions, and return the note on what failed, if any."""
        if (task := self._going.pop(message_id, None)) is not None:
            task.cancel()
        self._mentions.pop(message_id, None)
        return self._notes.pop(message_id, None)

    def own(self, message_id: str, message: Message) -> Attachments:
        """The attachments of the waiting *message* that do not come from mentions in its text."""
        mentions = self._mentions.get(message_id, ())
        attached = message.attachments or ()
        return tuple(each for each in attached if each not in mentions and getattr(each, "range", None) is None)

    async def _look(self, message_id: str) -> None:
        shell, message = self._environment.shell, self._channels.queued(message_id)
        if shell is None or message is None:
            return
        try:
            look = asyncio.to_thread(_attached, shell, message.text, self._cwd)
            mentions, trouble = await asyncio.wait_for(look, self.seconds)
        except asyncio.TimeoutError:
            mentions, trouble = (), f"looking at it took more than {self.seconds:g} s"
        except RuntimeError as error:  # no thread can be started: the kernel is ending
            mentions, trouble = (), str(error)
        del self._going[message_id]
        if trouble is not None:
            self._notes[message_id] = f"The @ mentions in this message are not attached: {trouble}."
        message = self._channels.queued(message_id)
        if mentions and message is not None:
            self._mentions[message_id] = mentions
            whole = replace(message, attachments=(*(message.attachments or ()), *mentions))
            action = ChatPendingMessageSet(kind=PendingMessageKind.QUEUED, id=message_id, message=whole, time=now_ms())
            self._channels.dispatch(action)
        self._resolved()


def _attached(shell: Shell, text: str, cwd: Path) -> tuple[Attachments, str | None]:
    """Returns what *text* mentions, or why that failed, since the user's objects may do anything when inspected."""
    try:
        return tuple(encodable(each) for each in shell.mentions.attach(text, cwd)), None
    except BaseException as error:  # noqa: BLE001 - a look must not end the kernel either
        return (), f"looking at it raised {type(error).__name__}"


class MentionPreview(Wire, frozen=True, kw_only=True):
    """One attachment that a draft's mention would give."""

    label: str
    kind: str
    left_out: tuple[str, ...]
    is_taken: bool
    tokens: Annotated[int, msgspec.Meta(ge=0)] | None = None
    text: str | None = None
    data: str | None = None
    content_type: str | None = None


def previews(
    attached: Iterable[MessageAttachment], agent: Agent | None, label: str | None
) -> tuple[MentionPreview, ...]:
    """The attachments in the form for a page (``previewMentions``)."""
    each = tuple(attached)
    message = Message(text="", origin=MessageOrigin(kind="user"), attachments=each)
    not_taken = frozenset(agent.capabilities.not_taken(message)) if agent is not None else frozenset[str]()
    return tuple(_preview(one, is_taken=one.label not in not_taken, is_open=one.label == label) for one in each)


def _preview(one: MessageAttachment, *, is_taken: bool, is_open: bool) -> MentionPreview:
    preview = MentionPreview(
        label=one.label,
        kind=one.display_kind or "document",
        left_out=tuple(str(sentence) for sentence in (one.meta or {}).get(LEFT_OUT, ())),
        is_taken=is_taken,
    )
    if isinstance(one, SimpleMessageAttachment):
        text = one.model_representation or ""
        tokens = math.ceil(len(text) / _CHARACTERS_OF_TOKEN)
        return replace(preview, tokens=tokens, text=text if is_open else None)
    if isinstance(one, MessageEmbeddedResourceAttachment):
        tokens = picture_tokens(one.data, one.content_type)
        preview = replace(preview, tokens=tokens)
        return replace(preview, data=one.data, content_type=one.content_type) if is_open else preview
    return preview


class MessageQueue:
    """The waiting prompts of one session."""

    mentions: MentionResolution

    def __init__(self, channels: SessionChannels, lifecycle: AgentLifecycle, begin: Callable[..., None]) -> None:
        self.awaited: list[str] = []  # the ids of the prompts that code waits for
        self._channels = channels
        self._lifecycle = lifecycle
        self._begin = begin

    def prompt(self, turn_id: str, message: Message, origin: ActionOrigin | None = None, *, look: bool = False) -> None:
        """Start a turn with *message*, or queue it behind the running one."""
        chat = self._channels.chat.state
        look = look and self.mentions.wanted(message)
        waiting = any(not each.held for each in chat.queued_messages or ())
        if chat.active_turn is None and not waiting and not look:
            self._begin(turn_id, message, origin=origin)
        else:
            self._queue(turn_id, message, origin)
            TURN_QUEUED.tell(tab=self._channels.tab_id, turn=turn_id, _text=message.text)
            if look:
                self.mentions.begin(turn_id)
            self.pump()  # the waiting messages of a restored session run first

    def edit(self, message_id: str, message: Message, origin: ActionOrigin | None = None) -> bool:
        """Change a waiting message; its mentions are resolved again."""
        waiting = self._channels.queued(message_id)
        if waiting is None:
            return False
        own = self.mentions.own(message_id, waiting)
        self.mentions.take(message_id)
        self._queue(message_id, replace(message, attachments=own or None), origin)
        if self.mentions.wanted(message):
            self.mentions.begin(message_id)
        self.pump()
        return True

    def put_first(self, message_id: str, message: Message, origin: ActionOrigin | None) -> None:
        """Make *message* the next one, whether or not it is already waiting."""
        if self._channels.queued(message_id) is None:
            self.prompt(message_id, message, origin)
        if self._channels.queued(message_id) is not None:
            first = ChatQueuedMessagesReordered(order=(message_id,), held=False, time=now_ms())
            self._channels.dispatch(first, origin)

    def pump(self) -> None:
        """Start the first waiting prompt that is not held, if no turn runs."""
        chat = self._channels.chat.state
        if chat.active_turn is not None or self._lifecycle.closed:
            return
        first = next((each for each in chat.queued_messages or () if not each.held), None)
        if first is not None and not self.mentions.going(first.id):
            self._begin(first.id, first.message, queued_id=first.id)

    def reorder(self, action: ChatQueuedMessagesReordered, origin: ActionOrigin | None = None) -> None:
        """Reorder the queue; a prompt that is no longer held starts if no turn runs."""
        self._channels.dispatch(replace(action, time=now_ms()), origin)
        self.pump()

    def continue_queue(self) -> None:
        """Release the held prompts, and start the first if no turn runs."""
        held = tuple(each.id for each in self._channels.chat.state.queued_messages or () if each.held)
        if held:
            self.reorder(ChatQueuedMessagesReordered(order=held, held=False))

    def remove(self, message_id: str, origin: ActionOrigin | None = None) -> bool:
        if self._channels.queued(message_id) is None:
            return False
        self.mentions.take(message_id)
        removed = ChatPendingMessageRemoved(kind=PendingMessageKind.QUEUED, id=message_id, time=now_ms())
        self._channels.dispatch(removed, origin)
        self.pump()
        return True

    def _queue(self, message_id: str, message: Message, origin: ActionOrigin | None) -> None:
        queued = ChatPendingMessageSet(kind=PendingMessageKind.QUEUED, id=message_id, message=message, time=now_ms())
        self._channels.dispatch(queued, origin)
