"""Structs for the kernel's answers and notifications to a page.

The kernel builds the messages when it sends them (`agentnb.server.service`, `agentnb.server.client`); these structs
define their format. ``docs/reference/protocol.md`` is generated from them, and the contract tests check both sides
against them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agentnb.state import Envelope
from agentnb.state.wire import Count, Index, Time, Wire


class FromKernel(Wire, frozen=True, kw_only=True):
    """The envelope of every message from the kernel.

    Attributes:
        v: The agreed version of the protocol.
        to: The client that it is for; every page receives it, and the others ignore it.
        method: The method, in a notification.
        params: The notification's parameters; by position in `text`.
        id: The id of the request that it answers.
        result: The answer.
        error: The error, if the request failed.
    """

    v: int
    to: str
    method: str | None = None
    params: dict[str, Any] | list[Any] | None = None
    id: int | str | None = None
    result: dict[str, Any] | None = None
    error: KernelError | None = None


class KernelError(Wire, frozen=True, kw_only=True):
    """The error of a failed request.

    Attributes:
        code: The kind of error; see the table of codes.
        message: A text for people: what happened and what to do next.
    """

    code: int
    message: str


class ChannelSnapshot(Wire, frozen=True, kw_only=True):
    """The whole state of a channel (AHP ``Snapshot``), with more data for the page.

    Attributes:
        resource: The channel's URI.
        state: The channel's state.
        from_seq: The channel's index at that state.
        answered: The page's own actions (their ``clientSeq``) that the snapshot includes; they get no echo.
        earlier: The number of a chat's first turns that the snapshot leaves out; `fetchTurns` returns them.
        gap: The part of the state that could not be recovered, and the reason; the view shows it.
    """

    resource: str
    state: dict[str, Any]
    from_seq: Count
    answered: tuple[Count, ...] | None = None
    earlier: Count | None = None
    gap: str | None = None


class ActionsParams(Wire, frozen=True, kw_only=True):
    """``actions``: one flush, with everything that the page has not seen of all its channels.

    Attributes:
        flush: Its number, 1, 2, 3 …; the page acknowledges it with `ack` once it is applied.
        envelopes: The new actions, for each channel in the order of its index.
        snapshots: The states of channels for which a snapshot is smaller, or whose log no longer reaches back.
    """

    flush: Count
    envelopes: tuple[Envelope, ...]
    snapshots: tuple[ChannelSnapshot, ...] | None = None


class TextParams(msgspec.Struct, frozen=True, array_like=True):
    """``text``: a flush that only continues a text, for a page that sent `accepts: ["text"]`. An array, in this order.

    It replaces one envelope with a `chat/delta` or `chat/reasoning`. Channel, type, turn and part are those of the last
    envelope of the flush `like`, the last `actions` that ended with one of these two. A page that does not have that
    flush sends `resync`. Pages acknowledge such flushes together, a second after the first.

    Attributes:
        flush: Its number, in the sequence of `actions`.
        like: The number of the flush with the names.
        first: As in an envelope; the index if nothing was merged.
        index: As in an envelope.
        content: The text.
        time: The action's time, in milliseconds since 1970.
    """

    flush: Count
    like: Count
    first: Index
    index: Index
    content: str
    time: Time | None = None


class PongParams(Wire, frozen=True, kw_only=True):
    """``pong``: the kernel answers a page's `ping`.

    Attributes:
        host_id: The host; if it is not the page's, the page introduces itself to the new kernel.
        indexes: The index of each channel that the page follows; a page that is behind asks for the rest.
    """

    host_id: str
    indexes: dict[str, Count] | None = None


class UnknownClientParams(Wire, frozen=True, kw_only=True):
    """``unknownClient``: the kernel does not know this page (any more); the page sends `initialize` again."""


class SessionsChangedParams(Wire, frozen=True, kw_only=True):
    """``sessionsChanged``: sessions in the log have changed, in this kernel or another one; fetch the list again.

    Only pages that sent `watchSessions` receive it. Each list has at most 200 channels.

    Attributes:
        added: The channels of new sessions.
        removed: The channels of deleted sessions.
        changed: The channels of sessions in which something happened, or that were renamed, pinned or archived.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


class SettingsChangedParams(Wire, frozen=True, kw_only=True):
    """``settingsChanged``: settings, rules or trusted folders have changed; fetch the list again.

    Only pages that sent `watchSettings` receive it.
    """


class DraftParams(Wire, frozen=True, kw_only=True):
    """``draft``: the text that is typed, but not sent, in a tab of a window; empty if there is none.

    The kernel keeps it in memory for other windows and never logs it: it may contain anything.

    Attributes:
        channel: The session's or the chat's channel; the kernel sends the chat's.
        text: The text; one of more than 100,000 characters is ignored.
    """

    channel: str
    text: str
