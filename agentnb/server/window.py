"""The part of its channels that a client has: the window, continued texts, and references to large contents.

States and actions keep content whole. On the way to a page, a long field is cut to its beginning and gets a reference
beside it (``text`` and ``textRef``) or in its place. The rule is the same for states and for actions, so that reducing
actions gives a page the same state as a snapshot.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec.structs import replace

from agentnb.errors import UsageError
from agentnb.state import ChatState, encode, finished_turn_index, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agentnb.host.channels import Channel, Listener
    from agentnb.host.loop import HostLoop
    from agentnb.state import Turn


class HasChat(Protocol):
    """A conversation, as far as pages' common requests need it."""

    @property
    def chat(self) -> Channel[ChatState]:
        """Its chat."""


class ChannelOwner(Protocol):
    """The host that pages talk to: this kernel's own, or the mirror of another."""

    @property
    def host_id(self) -> str:
        """Its id: a page that comes back sees by it whether it is the same."""

    @property
    def loop(self) -> HostLoop:
        """Returns where it lives."""

    def listen(self, listener: Listener) -> None:
        """Call *listener* with every envelope."""

    def channel_or_none(self, uri: str) -> Channel[Any] | None:
        """The channel *uri*, where there is one."""

    def find(self, channel: str) -> HasChat:
        """The conversation that *channel* belongs to."""


TURNS = 30
BYTES = 1024 * 1024
MAX_FETCHED = 100


def latest(state: Any, earlier: int | None = None, *, turns: int = TURNS) -> tuple[Any, int]:
    """Returns a channel's state with only a chat's latest turns, and the number of earlier turns."""
    if not isinstance(state, ChatState):
        return state, 0
    if earlier is None or earlier > len(state.turns):
        earlier = len(state.turns) - len(_fitting(state.turns, turns))
    return (replace(state, turns=state.turns[earlier:]) if earlier else state), earlier


def before(state: ChatState, turn_id: str | None, limit: int) -> tuple[tuple[Turn, ...], int]:
    """Returns the turns right before a turn, or the last ones if it is None, and the number of earlier turns."""
    end = len(state.turns) if turn_id is None else _place(state, turn_id)
    fitting = _fitting(state.turns[:end], min(max(limit, 1), MAX_FETCHED))
    return fitting, end - len(fitting)


def _place(state: ChatState, turn_id: str) -> int:
    at = finished_turn_index(state, turn_id)
    if at is None and state.active_turn is not None and state.active_turn.id == turn_id:
        at = len(state.turns)
    if at is None:
        message = f"The chat {state.resource} has no turn {turn_id!r}."
        raise UsageError(message, hint="Request turns before one that exists.")
    return at


def _fitting(turns: Sequence[Turn], most: int) -> tuple[Turn, ...]:
    """Returns the last of *turns*: at most *most*, and no more bytes than a page takes at once, but at least one."""
    size, count = 0, 0
    for turn in reversed(turns[-most:]):
        size += len(encode(turn))
        if count and size > BYTES:
            break
        count += 1
    return tuple(turns[len(turns) - count :])


LONGEST = 2_048  # characters of a text in one such flush; a longer text goes in a whole flush that must be acknowledged
DELTAS = frozenset({"chat/delta", "chat/reasoning"})
ENVELOPE = frozenset({"channel", "first", "index", "action"})
ACTION = frozenset({"type", "turnId", "partId", "content", "time"})

Key = tuple[str, str, str, str]


class ContinuedText:
    """The text that the flushes to one client continue, and the flush since which the client knows its names."""

    def __init__(self) -> None:
        self._flush = 0
        self._key: Key | None = None

    def forget(self) -> None:
        """Make the next flush a whole one, as the client may not know the text."""
        self._key = None

    def shorten(self, flush: dict[str, Any]) -> list[Any] | None:
        """Returns *flush* as parameters of ``text``; None if it cannot be shortened and is sent as it is."""
        envelopes = flush["envelopes"]
        key = _key_of(envelopes[-1]) if envelopes else None
        if key is None:
            return None
        envelope = envelopes[0]
        is_alone = len(envelopes) == 1 and "snapshots" not in flush
        if key != self._key or not is_alone or len(envelope["action"]["content"]) > LONGEST:
            self._flush, self._key = flush["flush"], key
            return None
        action, index = envelope["action"], envelope["index"]
        short_form = [flush["flush"], self._flush, envelope.get("first", index), index, action["content"]]
        return [*short_form, action["time"]] if "time" in action else short_form


def _key_of(envelope: dict[str, Any]) -> Key | None:
    """Returns the key of the text that a delta continues.

    None for any other envelope, and for one with fields that the short form does not have.
    """
    action = envelope["action"]
    if action.get("type") not in DELTAS or not (envelope.keys() <= ENVELOPE and action.keys() <= ACTION):
        return None
    return envelope["channel"], action["type"], action["turnId"], action["partId"]


LIMIT = 64 * 1024  # bytes of a field that are sent with the state
PREVIEW = 4 * 1024  # characters of a longer field that are sent with the state
RANGE = 256 * 1024  # most bytes in one answer
SCHEME = "agentnb-content:"

TEXTS = frozenset({"text", "oldText", "newText", "modelRepresentation"})
"""Fields whose beginning is worth showing, of objects that reducers pass on whole."""

BINARIES = frozenset({"data", "blob"})
"""Fields in base64: a beginning of one is useless."""

VALUES = frozenset({"rawInput", "rawOutput", "structuredContent", "payload"})
"""Fields of any JSON, which reducers pick; a long one becomes ``{"contentRef": …, "preview": …}`` itself."""

APPENDED = frozenset({"markdown", "reasoning", "chat/delta", "chat/reasoning", "terminal/data"})
"""Names of fields that grow in pieces and stay whole; their contents are not searched."""


def with_references(value: Any) -> Any:
    """Returns a state, an envelope or a turn as JSON for a page, with long fields cut and replaced by references."""
    data = encode(value)
    if len(data) < LIMIT:
        return msgspec.json.decode(data)
    return _with_references(msgspec.json.decode(data), None)


def content_of(chat: ChatState, uri: str) -> bytes:
    """Returns the content that a reference names, in UTF-8."""
    wanted = uri.rpartition("/")[2]
    for holder in _holders(chat, uri):
        for value in _long_values(to_json(holder)):
            text = _text(value)
            if _hash(text) == wanted:
                return text
    message = f"The chat {chat.resource} no longer contains {uri!r}."
    raise UsageError(message, hint="The agent has replaced it; check what is there now.")


class Contents:
    """Gives content range by range, and looks it up once rather than once per range."""

    def __init__(self) -> None:
        self._uri = ""
        self._holders: list[Any] = []
        self._content = b""

    def part(self, chat: ChatState, uri: str, offset: int, length: int) -> tuple[bytes, int]:
        """Returns a range of the content that a reference names, and the size of the whole content in bytes."""
        holders = _holders(chat, uri)
        known = uri == self._uri and len(holders) == len(self._holders)
        if not known or any(now is not then for now, then in zip(holders, self._holders, strict=True)):
            self._content = content_of(chat, uri)
            self._uri, self._holders = uri, holders
        end, size = offset + min(length, RANGE), len(self._content)
        part = self._content[offset:end]
        if end >= size:
            self._uri, self._holders, self._content = "", [], b""
        return part, size


def _holders(chat: ChatState, uri: str) -> list[Any]:
    """Returns the turns and queued messages that a reference may point into."""
    turn_id = uri.removeprefix(SCHEME).rpartition("/")[0]
    holders = [*reversed(chat.turns), chat.active_turn, *(chat.queued_messages or ())]
    return [holder for holder in holders if holder is not None and holder.id == turn_id]


def _with_references(value: Any, turn_id: str | None) -> Any:
    if isinstance(value, list):
        return [_with_references(item, turn_id) for item in value]
    if not isinstance(value, dict) or _is_appended(value):
        return value
    turn_id = _turn_of(value, turn_id)
    cut: dict[str, Any] = {}
    for field, item in value.items():
        if turn_id is not None and (text := _too_long(field, item)) is not None:
            cut |= _reference(field, text, {"uri": f"{SCHEME}{turn_id}/{_hash(text)}", "size": len(text)})
        else:
            cut[field] = _with_references(item, turn_id)
    return cut


def _long_values(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _long_values(item)
    elif isinstance(value, dict) and not _is_appended(value):
        for field, item in value.items():
            if _too_long(field, item) is not None:
                yield item
            else:
                yield from _long_values(item)


def _turn_of(value: Mapping[str, Any], outer: str | None) -> str | None:
    """Returns the turn that *value* belongs to: the turn or queued message itself, or the one an action is on."""
    if "turnId" in value:
        return str(value["turnId"])
    is_turn = "message" in value and ("responseParts" in value or set(value) <= {"id", "message"})
    named = "id" in value and (is_turn or value.get("type") == "chat/pendingMessageSet")
    return str(value["id"]) if named else outer


def _is_appended(value: Mapping[str, Any]) -> bool:
    return value.get("kind") in APPENDED or value.get("type") in APPENDED


def _too_long(field: str, value: Any) -> bytes | None:
    if field in VALUES or (field in TEXTS | BINARIES and isinstance(value, str) and len(value) > LIMIT // 4):
        text = _text(value)
        return text if len(text) > LIMIT else None
    return None


def _text(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else msgspec.json.encode(value)


def _reference(field: str, text: bytes, ref: dict[str, Any]) -> dict[str, Any]:
    preview = "" if field in BINARIES else text.decode()[:PREVIEW]
    if field in VALUES:
        return {field: {"contentRef": ref, "preview": preview}}
    return {field: preview, f"{field}Ref": ref}


def _hash(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:32]
