"""The kernel's answers and notifications to a page, as structs.

The kernel builds them as they go out (`agentnb.server.service`, `agentnb.server.client`); these structs say what they
must look like. ``docs/reference/protocol.md`` is written from them, and the contract tests hold both sides against
them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agentnb.state import Envelope
from agentnb.state.wire import Count, Index, Time, Wire


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


class ChannelSnapshot(Wire, frozen=True, kw_only=True):
    """The whole state of a channel (AHP ``Snapshot``), and what a page must know beside it.

    Attributes:
        resource: The channel.
        state: Its state.
        from_seq: The index of the channel at which the state is that.
        answered: The page's own actions (their ``clientSeq``) that are in the snapshot: no echo of them will come.
        earlier: How many of a chat's first turns the snapshot leaves out; `fetchTurns` gives them.
        gap: What of the state could not be recovered, and why; the view says so.
    """

    resource: str
    state: dict[str, Any]
    from_seq: Count
    answered: tuple[Count, ...] | None = None
    earlier: Count | None = None
    gap: str | None = None


class ActionsParams(Wire, frozen=True, kw_only=True):
    """``actions``: one flush, with what the page has not seen of all its channels.

    Attributes:
        flush: Its number, 1, 2, 3 …; to be acknowledged with `ack` once it is applied.
        envelopes: What happened, for each channel in the order of its index.
        snapshots: The whole states of channels for which that is smaller, or whose log no longer reaches back.
    """

    flush: Count
    envelopes: tuple[Envelope, ...]
    snapshots: tuple[ChannelSnapshot, ...] | None = None


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


class UnknownClientParams(Wire, frozen=True, kw_only=True):
    """``unknownClient``: the kernel does not know this page (any more); the page sends `initialize` again."""


class SessionsChangedParams(Wire, frozen=True, kw_only=True):
    """``sessionsChanged``: sessions of the log have changed, in this kernel or another one; the list is to be fetched.

    Only pages that asked for it are told (`watchSessions`). Each names 200 channels, at most.

    Attributes:
        added: The channels of those that are new.
        removed: Those that were deleted.
        changed: Those in which something happened, or that were renamed, pinned or archived.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


class SettingsChangedParams(Wire, frozen=True, kw_only=True):
    """``settingsChanged``: settings, rules or trusted folders have changed; the list is to be fetched.

    Only pages that asked for it are told (`watchSettings`).
    """


class DraftParams(Wire, frozen=True, kw_only=True):
    """``draft``: the text that is typed, and not sent, in a tab of a window; empty when there is none.

    It is kept in memory for other windows and never logged: it may hold anything.

    Attributes:
        channel: The session's or the chat's channel; the kernel names the chat's.
        text: The text; one of more than 100,000 characters is ignored.
    """

    channel: str
    text: str
