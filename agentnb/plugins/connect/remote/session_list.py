"""The list of another host's sessions, kept in the root channel here: asked for, and changed by its notifications."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.errors import ProtocolError, UnknownSession
from agentnb.host.channels import CHANGES, ROOT
from agentnb.host.intents import Rejected
from agentnb.server.websocket import commands as c
from agentnb.server.websocket.projection import action_to_ahp
from agentnb.state import (
    ChatToolCallConfirmed,
    ChatTurnCancelled,
    ChatTurnStarted,
    SessionState,
    SessionSummary,
    XSessionRemoved,
    XSessionSet,
    decode,
    to_json,
)
from agentnb.state.change import iso_time, milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agentnb.plugins.connect.remote.mirrored_host import MirroredHost
    from agentnb.state import Action


_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class ChannelNames:
    """Maps this kernel's channel names to the other host's, and back."""

    def __init__(self) -> None:
        self._ours: dict[str, str] = {ROOT: ROOT}
        self._theirs: dict[str, str] = {ROOT: ROOT}

    def __contains__(self, ours: str) -> bool:
        return ours in self._theirs

    def __iter__(self) -> Iterator[str]:
        """Iterates over our names, which may change meanwhile."""
        return iter(tuple(self._theirs))

    def keep(self, ours: str, theirs: str) -> None:
        """Record that the other host's name of our channel *ours* is *theirs*."""
        self._ours[theirs], self._theirs[ours] = ours, theirs

    def forget(self, ours: str) -> None:
        self._ours.pop(self._theirs.pop(ours, ""), None)

    def find(self, theirs: str) -> str | None:
        """Returns our name of what the other host calls *theirs*; None if there is none."""
        return self._ours.get(theirs)

    def ours(self, theirs: str) -> str:
        """Returns our name of a session that the other host calls *theirs*."""
        own_uri = self._ours.get(theirs)
        if own_uri is None:
            raise UnknownSession(f"The other host does not list {theirs[:200]!r}.")
        return own_uri

    def theirs(self, ours: str) -> str:
        their_uri = self._theirs.get(ours)
        if their_uri is None:
            raise UnknownSession(f"The other host has no channel {ours[:200]!r}.")
        return their_uri


def session_of(uri: str) -> str:
    head, tail, _ = uri.partition(CHANGES)
    return head if tail else uri.removesuffix("/chat")


def our_name(summary: SessionSummary) -> str:
    """Returns ``<agent>:/<tab id>``, whatever the other host calls the session: no path is made of that."""
    tail = summary.resource.rpartition("/")[2]
    tab_id = tail if _NAME.fullmatch(tail) else hashlib.sha256(summary.resource.encode()).hexdigest()[:32]
    return f"{summary.provider if _NAME.fullmatch(summary.provider) else 'agent'}:/{tab_id}"


class HostForm:
    """The version and abilities of another host."""

    def __init__(self, began: Callable[[str], str | None]) -> None:
        self.is_ours: bool = True
        self.version: str = c.SPOKEN[0]
        self._began = began

    def take(self, introduction: dict[str, Any]) -> None:
        """Apply the answer to ``initialize``; that to ``reconnect`` changes nothing."""
        if "protocolVersion" not in introduction:
            return
        version = str(introduction["protocolVersion"])
        if version not in c.SPOKEN:
            raise ProtocolError(f"The other host chose version {version[:100]!r}, which was not offered.")
        about = introduction.get("_meta")
        self.is_ours = isinstance(about, dict) and about.get(c.OURS) == c.IS_OURS[c.OURS]
        self.version = version

    def read(self, value: Any) -> Any:
        """Returns a state, an action or a list of turns that the host sent, in our form."""
        return value if self.is_ours else _readable(value)

    def tell(self, action: Action) -> dict[str, Any]:
        """Returns a page's action in the form for the host."""
        if self.is_ours:
            own: dict[str, Any] = to_json(action)
            return own
        known = action_to_ahp(self._complete(action))
        if known is None:
            raise Rejected("The other host does not support this: it works only in conversations of agentnb.")
        return dict(known)

    def _complete(self, action: Action) -> Action:
        """Returns *action* with what AHP requires and our pages leave to the host."""
        match action:
            case ChatTurnStarted():
                return replace(action, started_at=iso_time(now_ms()))
            case ChatTurnCancelled(turn_id=turn_id):
                began = self._began(turn_id)
                return replace(action, duration=0 if began is None else max(0, now_ms() - milliseconds(began)))
            case ChatToolCallConfirmed(approved=True, confirmed=None):
                return replace(action, confirmed="user-action")
            case ChatToolCallConfirmed(approved=False, reason=None):
                return replace(action, reason="denied")
        return action


def _readable(value: Any) -> Any:
    """Returns the value with its tool calls in our form: one that waits for a login is running, and input is text."""
    if isinstance(value, list):
        return [_readable(item) for item in value]
    if not isinstance(value, dict):
        return value
    value = {name: _readable(item) for name, item in value.items()}
    if "toolCallId" in value:
        if value.get("status") == "auth-required":
            value["status"] = "running"
        if isinstance(value.get("toolInput"), dict):
            value["toolInput"] = value["toolInput"].get("uri")
        if value.get("type") == "chat/toolCallDelta":
            value.setdefault("content", "")
    return value


MOST_SESSIONS = 500


class MirroredSessions:
    """Keeps the list of sessions. Runs on the host's thread."""

    def __init__(self, mirror: MirroredHost) -> None:
        self._mirror, self._root, self._names = mirror, mirror.root, mirror.names
        self._unlisted: set[str] = set()

    async def fetch(self) -> None:
        """Request the list of sessions: notifications are not replayed."""
        listed: list[SessionSummary] = []
        cursor: dict[str, Any] = {}

        def take(result: Any) -> str | None:
            listed.extend(decode(SessionSummary, self._mirror.form.read(each)) for each in result["items"])
            more = result.get("nextCursor") if len(listed) < MOST_SESSIONS else None
            if more is None:
                self._take(listed)
            return None if more is None else str(more)

        client = self._mirror.client
        while (more := await client.request("listSessions", {"channel": ROOT, **cursor}, take)) is not None:
            if cursor == (cursor := {"cursor": more}):
                raise ProtocolError("The other host lists the same page of sessions again and again.")

    async def add_new(self, theirs: str) -> None:
        """List a session that was just made, if the other host lists it only once it has a turn (VS Code's)."""
        await self.fetch()
        if self._names.find(theirs) is not None:
            return
        result = await self._mirror.client.request("subscribe", {"channel": theirs})
        state = decode(SessionState, self._mirror.form.read(result["snapshot"]["state"]))
        self._unlisted.add(theirs)
        now = iso_time(now_ms())
        self.set(
            SessionSummary(
                resource=theirs,
                provider=state.provider,
                title=state.title,
                status=state.status,
                created_at=now,
                modified_at=now,
                working_directories=state.working_directories,
            )
        )

    def set(self, summary: SessionSummary) -> None:
        """Add or update a session, named as the other host names it."""
        theirs = summary.resource
        known = self._names.find(theirs)
        if known is None and len(self._root.state.sessions or ()) >= MOST_SESSIONS:
            return
        ours = known or our_name(summary)
        self._names.keep(ours, theirs)
        renamed = replace(summary, resource=ours)
        if renamed not in (self._root.state.sessions or ()):
            self._root.accept(XSessionSet(summary=renamed, time=now_ms()))

    def change(self, theirs: Any, changes: Any) -> None:
        ours = self._names.find(str(theirs))
        known = next((each for each in self._root.state.sessions or () if each.resource == ours), None)
        if known is not None and isinstance(changes, dict):
            changed = decode(SessionSummary, {**to_json(known), **changes})
            self.set(replace(changed, resource=str(theirs)))

    def remove(self, ours: str, theirs: str) -> None:
        """Remove a session that no longer exists; the other host called it *theirs*."""
        self._unlisted.discard(theirs)
        if any(each.resource == ours for each in self._root.state.sessions or ()):
            self._root.accept(XSessionRemoved(resource=ours, time=now_ms()))

    def _take(self, listed: Sequence[SessionSummary]) -> None:
        for summary in listed:
            self.set(summary)
        there = {summary.resource for summary in listed}
        self._unlisted -= there
        there |= self._unlisted
        sessions = [ours for ours in self._names if session_of(ours) == ours and ours != ROOT]
        for ours in sessions:
            if self._names.theirs(ours) not in there:
                self._mirror.forget(ours)
