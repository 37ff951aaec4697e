"""Numbers every change of the host in one sequence, as AHP does (``serverSeq``).

The host numbers each channel separately; AHP numbers all of them together, so that a client that lost its connection
sends one number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.host.channels import ROOT
from agentnb.log.record import ChannelLog
from agentnb.server.websocket.projection import TERMINALS, to_ahp
from agentnb.state import (
    ChatState,
    ChatSummary,
    ChatSummaryChanges,
    Envelope,
    RootTerminalsChanged,
    SessionChatUpdated,
    SessionSummary,
    TerminalData,
    TerminalExited,
    TerminalInfo,
    UnknownAction,
    XSessionRemoved,
    XSessionSet,
    XTerminalData,
    XTerminalExited,
    XTerminalOpened,
    terminal_lifecycle,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.host.channels import Channel
    from agentnb.host.host import Host
    from agentnb.state import Action


MOST_VERSIONS = 1_000


class Notice(NamedTuple):
    """A notification about the list of sessions; it is not replayed."""

    method: str
    uri: str
    summary: SessionSummary | None = None
    before: SessionSummary | None = None


class Feed:
    """Numbers the events of the host. On the host's thread."""

    def __init__(self, host: Host, notify: Callable[[Notice], None], *, max_entries: int = 5_000) -> None:
        # Above every number of an earlier kernel, so that a client's old numbers are not replayed here.
        self.seq: int = now_ms()
        self.log: ChannelLog = ChannelLog(max_entries=max_entries, begins_after=self.seq)
        self.versions: dict[tuple[str, str], str] = {}
        self._host = host
        self._notify = notify
        self._chats: dict[str, ChatSummary] = {}
        self._sessions: dict[str, SessionSummary] = {}
        for conversation in host.conversations.values():
            self._sessions[conversation.session.uri] = conversation.channels.summary
            self._chats[conversation.session.uri] = chat_summary(conversation.chat.state)
        self.terminals: tuple[TerminalInfo, ...] = self._open_terminals()
        host.listen(self._on_envelope)

    def close(self) -> None:
        self._host.listeners.remove(self._on_envelope)

    def remember_version(self, name: str, own_id: str, version: str) -> None:
        """Remember the version that a client negotiated, in case it comes back; only for the latest clients."""
        self.versions.pop((name, own_id), None)
        self.versions[name, own_id] = version
        if len(self.versions) > MOST_VERSIONS:
            self.versions.pop(next(iter(self.versions)))

    def reaches(self, seq: int) -> bool:
        """True if everything after *seq* can be replayed; False if *seq* is not reached yet."""
        return 0 <= seq <= self.seq and self.log.reaches(seq)

    def count(self) -> int:
        """Returns a new sequence number for something that only one client is sent; the others skip it."""
        self._append(Envelope(channel="", index=1, action=UnknownAction({})))
        return self.seq

    def chat(self, session: str) -> ChatSummary | None:
        """Returns the chat's entry in the list of *session*, as clients were last sent it."""
        if session not in self._chats and session in self._host.conversations:
            self._chats[session] = chat_summary(self._host.conversations[session].chat.state)
        return self._chats.get(session)

    def _open_terminals(self) -> tuple[TerminalInfo, ...]:
        return tuple(
            TerminalInfo(
                resource=f"{conversation.session.uri}{TERMINALS}/{view.id}",
                title=view.command or view.id,
                claim=claim_of(conversation.session.uri),
                lifecycle=terminal_lifecycle(exited=view.exited is True, exit_code=view.exit_code),
            )
            for conversation in self._host.conversations.values()
            for view in conversation.chat.state.terminals or ()
        )

    def _on_envelope(self, channel: Channel[Any], envelope: Envelope) -> None:
        if envelope.rejection_reason is not None:
            return
        self._append(envelope)
        match envelope.action:
            case XSessionSet(summary=summary):
                self._set(summary)
            case XSessionRemoved(resource=uri):
                self._removed(uri)
            case XTerminalOpened():
                self._update_terminals()
            case XTerminalData(terminal_id=terminal_id, data=data):
                self._derive(_terminal(channel.uri, terminal_id), TerminalData(data=data))
            case XTerminalExited(terminal_id=terminal_id, exit_code=exit_code):
                self._derive(_terminal(channel.uri, terminal_id), TerminalExited(exit_code=exit_code))
                self._update_terminals()
        if isinstance(channel.state, ChatState):
            self._update_chat(channel.uri.removesuffix("/chat"), channel.state)

    def _append(self, envelope: Envelope) -> None:
        self.seq += 1
        self.log.append(replace(envelope, index=self.seq))

    def _derive(self, uri: str, action: Action) -> None:
        self._append(Envelope(channel=uri, index=1, action=action))

    def _set(self, summary: SessionSummary) -> None:
        uri = summary.resource
        before, self._sessions[uri] = self._sessions.get(uri), summary
        if before is None:
            self._notify(Notice("root/sessionAdded", uri, summary))
        else:
            self._notify(Notice("root/sessionSummaryChanged", uri, summary, before))

    def _removed(self, uri: str) -> None:
        self._chats.pop(uri, None)
        if self._sessions.pop(uri, None) is not None:
            self._notify(Notice("root/sessionRemoved", uri))
        self._update_terminals()

    def _update_terminals(self) -> None:
        terminals = self._open_terminals()
        if terminals != self.terminals:
            self.terminals = terminals
            self._derive(ROOT, RootTerminalsChanged(terminals=terminals))

    def _update_chat(self, session: str, state: ChatState) -> None:
        known = self._chats.get(session)
        if known is None:
            self._chats[session] = chat_summary(state)
            return
        if (known.status, known.title) == (state.status, state.title):
            return
        self._chats[session] = chat_summary(state)
        changes = ChatSummaryChanges(
            title=None if known.title == state.title else state.title,
            status=None if known.status == state.status else state.status,
            modified_at=None if known.modified_at == state.modified_at else state.modified_at,
        )
        self._derive(session, SessionChatUpdated(chat=state.resource, changes=changes))


def chat_summary(state: ChatState) -> ChatSummary:
    return ChatSummary(resource=state.resource, title=state.title, status=state.status, modified_at=state.modified_at)


def claim_of(session: str) -> dict[str, str]:
    """Returns the owner of a terminal that an agent opened (AHP ``TerminalClaim``)."""
    return {"kind": "session", "session": to_ahp(session), "chat": to_ahp(f"{session}/chat")}


def _terminal(chat: str, terminal_id: str) -> str:
    return f"{chat.removesuffix('/chat')}{TERMINALS}/{terminal_id}"
