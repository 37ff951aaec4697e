"""The list of another host's sessions, kept in the root channel here: asked for, and changed by its notifications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.errors import ProtocolError
from agentnb.host.channels import ROOT
from agentnb.plugins.connect.remote.channel_names import our_name, session_of
from agentnb.state import SessionState, SessionSummary, XSessionRemoved, XSessionSet, decode, to_json
from agentnb.state.change import iso_time

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.host.channels import Channel
    from agentnb.plugins.connect.remote.channel_names import ChannelNames
    from agentnb.plugins.connect.remote.host_client import HostClient
    from agentnb.plugins.connect.remote.host_form import HostForm
    from agentnb.state import RootState

MOST_SESSIONS = 500


class MirroredSessions:
    """Keeps it. On the host's thread."""

    def __init__(
        self,
        root: Channel[RootState],
        names: ChannelNames,
        form: HostForm,
        *,
        client: Callable[[], HostClient],
        forget: Callable[[str | None], None],
    ) -> None:
        self._root, self._names, self._form = root, names, form
        self._client, self._forget = client, forget
        self._unlisted: set[str] = set()

    async def fetch(self) -> None:
        """Ask which sessions there are: notifications are not replayed."""
        listed: list[SessionSummary] = []
        cursor: dict[str, Any] = {}

        def take(result: Any) -> str | None:
            listed.extend(decode(SessionSummary, self._form.read(each)) for each in result["items"])
            more = result.get("nextCursor") if len(listed) < MOST_SESSIONS else None
            if more is None:
                self._take(listed)
            return None if more is None else str(more)

        while (more := await self._client().request("listSessions", {"channel": ROOT, **cursor}, take)) is not None:
            if cursor == (cursor := {"cursor": more}):
                raise ProtocolError("The other host lists the same page of sessions again and again.")

    async def add_new(self, theirs: str) -> None:
        """List a session that was made just now, where the other host lists it only once it has a turn (VS Code's)."""
        await self.fetch()
        if self._names.find(theirs) is not None:
            return
        result = await self._client().request("subscribe", {"channel": theirs})
        state = decode(SessionState, self._form.read(result["snapshot"]["state"]))
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
        """A session is new, or has changed; named as the other host names it."""
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
        """Something of a session has changed."""
        ours = self._names.find(str(theirs))
        known = next((each for each in self._root.state.sessions or () if each.resource == ours), None)
        if known is not None and isinstance(changes, dict):
            changed = decode(SessionSummary, {**to_json(known), **changes})
            self.set(replace(changed, resource=str(theirs)))

    def remove(self, ours: str, theirs: str) -> None:
        """A session is no more, which the other host called *theirs*."""
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
                self._forget(ours)
