"""The kernel's answers and notifications to a page, as structs.

The kernel builds them as they go out (`agentnb.comm.service`, `agentnb.comm.client`); these structs say what they must
look like. ``docs/reference/protocol.md`` is written from them, and the contract tests hold both sides against them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from agentnb.host.environment import Suggestion
from agentnb.state import Envelope, Turn
from agentnb.state.wire import Index, Time, Wire

Count = Annotated[int, msgspec.Meta(ge=0)]


class FromKernel(Wire, frozen=True, kw_only=True):
    """The envelope of everything that the kernel says.

    Attributes:
        v: The protocol's version, the one agreed on.
        to: The client it is for; every page hears it, the others pass it over.
        method: What it is about, in a notification.
        params: The notification's parameters; by position in `text`.
        id: Which request it answers.
        result: The answer.
        error: The answer where it is a no.
    """

    v: int
    to: str
    method: str | None = None
    params: dict[str, Any] | list[Any] | None = None
    id: int | str | None = None
    result: dict[str, Any] | None = None
    error: KernelError | None = None


class KernelError(Wire, frozen=True, kw_only=True):
    """A "no" to a request.

    Attributes:
        code: What kind of error, see the table of codes.
        message: What happened and what to do next, for people.
    """

    code: int
    message: str


class ChannelUpdate(Wire, frozen=True, kw_only=True):
    """What brings a page up to date on one channel: its whole state, or the envelopes that the page lacks.

    Attributes:
        snapshot: The state.
        from_index: The index at which the state is that; goes with `snapshot`.
        answered: The page's own actions (their ``clientSeq``) that are in the snapshot: no echo of them will come.
        earlier: How many of a chat's first turns the snapshot leaves out; `fetchTurns` gives them.
        gap: What of the state could not be recovered, and why; the view says so.
        replay: The envelopes that the page lacks, in order; where there is no snapshot.
    """

    snapshot: dict[str, Any] | None = None
    from_index: Count | None = None
    answered: tuple[Count, ...] | None = None
    earlier: Count | None = None
    gap: str | None = None
    replay: tuple[Envelope, ...] | None = None

    def __post_init__(self) -> None:
        if (self.snapshot is None) == (self.replay is None) or (self.snapshot is None) != (self.from_index is None):
            raise ValueError("Expected `snapshot` with `fromIndex`, or `replay`")


class InitializeResult(Wire, frozen=True, kw_only=True):
    """Who answers, in which version, and what the page lacks.

    Attributes:
        protocol_version: The version that both go on in: the highest that both speak.
        host_id: The host, one per kernel process; another one than before is a new kernel.
        capabilities: What the kernel can do beyond this page's version; empty so far.
        channels: What brings the page up to date, by channel: the root, and what it has seen before.
        drafts: What other windows have typed and not sent, by chat.
        time: What the kernel's clock shows, in milliseconds since 1970; the page's own may show something else.
        kernel: The kernel access of a new conversation whose page does not choose one: ``"off"`` or ``"run"``.
    """

    protocol_version: int
    host_id: str
    capabilities: dict[str, Any]
    channels: dict[str, ChannelUpdate]
    drafts: dict[str, str] | None = None
    time: Time | None = None
    kernel: Literal["off", "run"] | None = None


class SubscribeResult(Wire, frozen=True, kw_only=True):
    """The present state of each channel.

    Attributes:
        channels: What brings the page up to date, by channel.
        missing: The channels that there are not.
    """

    channels: dict[str, ChannelUpdate]
    missing: tuple[str, ...]


class CreateSessionResult(Wire, frozen=True, kw_only=True):
    """The new tab's channels; its agent starts in the background.

    Attributes:
        channel: The session's URI.
        chat: Its chat's URI.
    """

    channel: str
    chat: str


class ForkSessionResult(CreateSessionResult, frozen=True, kw_only=True):
    """The copy's channels; it is there, and its agent knows what was said.

    Attributes:
        channel: The session's URI.
        chat: Its chat's URI.
    """


class CompleteResult(Wire, frozen=True, kw_only=True):
    """The things that can be mentioned, the best first; empty if they are not found in time.

    Attributes:
        items: The suggestions.
    """

    items: tuple[Suggestion, ...]


class MentionPreview(Wire, frozen=True, kw_only=True):
    """One attachment that a draft's mention would give.

    Attributes:
        label: What names it.
        kind: `image`, `document`, `symbol` or `directory`.
        left_out: What is cut or left out, a sentence each.
        is_taken: Whether the agent takes it, as far as that is known.
        tokens: About how many tokens it has; absent for a file, which the agent reads itself.
        text: Its text, where it is told with its content.
        data: A picture in base64, where it is told with its content.
        content_type: The picture's media type.
    """

    label: str
    kind: str
    left_out: tuple[str, ...]
    is_taken: bool
    tokens: Count | None = None
    text: str | None = None
    data: str | None = None
    content_type: str | None = None


class PreviewMentionsResult(Wire, frozen=True, kw_only=True):
    """The attachments; none where the user's objects could not be looked at in time.

    Attributes:
        items: The attachments, in the order in which the agent gets them.
    """

    items: tuple[MentionPreview, ...]


class SuggestPromptsResult(Wire, frozen=True, kw_only=True):
    """The examples; empty outside of IPython, and if they are not found in time.

    Attributes:
        prompts: What could be sent.
    """

    prompts: tuple[str, ...]


class RefreshAgentsResult(Wire, frozen=True, kw_only=True):
    """Which agents are installed now.

    Attributes:
        installed: Their names in the catalogue.
    """

    installed: tuple[str, ...]


class CheckAgentResult(Wire, frozen=True, kw_only=True):
    """How an agent is.

    Attributes:
        state: `ready`, `missing` (not installed), `old`, `login` (it wants one) or `broken`.
        message: What was found, for people.
        version: What it says its version is.
        todo: The line to type, where something is to be done.
        start_ms: How long it took from its start to an open session, in milliseconds.
        models: The models that it offers, by name.
    """

    state: str
    message: str
    version: str | None = None
    todo: str | None = None
    start_ms: Count | None = None
    models: tuple[str, ...] | None = None


class FetchTurnsResult(Wire, frozen=True, kw_only=True):
    """The turns, oldest first.

    Attributes:
        turns: The turns.
        has_more: Whether there are turns before them.
        earlier: How many there are before them.
        index: The chat's index at which they are so; what comes later for them is applied to them.
    """

    turns: tuple[Turn, ...]
    has_more: bool
    earlier: Count
    index: Count


class EmptyResult(Wire, frozen=True, kw_only=True):
    """Done; there is nothing to say."""


class ActionsParams(Wire, frozen=True, kw_only=True):
    """``actions``: one flush, with what the page has not seen of all its channels.

    Attributes:
        flush: Its number, 1, 2, 3 …; to be acknowledged with `ack` once it is applied.
        envelopes: What happened, for each channel in the order of its index.
        snapshots: The whole state, by channel, where that is smaller or the log no longer reaches back.
    """

    flush: Count
    envelopes: tuple[Envelope, ...]
    snapshots: dict[str, ChannelUpdate] | None = None


class TextParams(msgspec.Struct, frozen=True, array_like=True):
    """``text``: a flush that only continues a text, to a page that said `accepts: ["text"]`. An array, in this order.

    It stands for one envelope with a `chat/delta` or `chat/reasoning`. Channel, type, turn and part are those of the
    last envelope of the flush `like`, the last `actions` that ended with one of these two. A page that does not have
    that flush says `resync`. Such flushes are acknowledged together, a second after the first.

    Attributes:
        flush: Its number, among those of `actions`.
        like: The number of the flush with the names.
        first: As in an envelope; the index where nothing was merged.
        index: As in an envelope.
        content: The text.
        time: The action's, in milliseconds since 1970.
    """

    flush: Count
    like: Count
    first: Index
    index: Index
    content: str
    time: Time | None = None


class PongParams(Wire, frozen=True, kw_only=True):
    """``pong``: the kernel is there.

    Attributes:
        host_id: The host; where it is not the page's, the page introduces itself to the new kernel.
        indexes: Where each channel is that the page follows; a page that is behind says so.
    """

    host_id: str
    indexes: dict[str, Count] | None = None


class KernelDraftParams(Wire, frozen=True, kw_only=True):
    """``draft``: what another window has typed in a chat and not sent; empty when there is nothing any more.

    Attributes:
        channel: The chat's URI.
        text: The text.
    """

    channel: str
    text: str


class UnknownClientParams(Wire, frozen=True, kw_only=True):
    """``unknownClient``: the kernel does not know this page (any more); the page sends `initialize` again."""
