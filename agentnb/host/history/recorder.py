"""The recorder: hands what the sessions do to the durable log, in batches, off the host's thread."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.clock import now_ms
from agentnb.credentials import logger
from agentnb.errors import LogUnavailable
from agentnb.log.record import LogBatch, SessionRecord, turn_record
from agentnb.log.store import LogStore
from agentnb.state import ChatTruncated, SessionIsArchivedChanged, XSessionRemoved
from agentnb.state.wire import ACTIVITY_MASK

if TYPE_CHECKING:
    from logging import Logger

    from agentnb.budget import Spent
    from agentnb.errors import LogError
    from agentnb.host.channels import Channel
    from agentnb.host.conversation import Conversation
    from agentnb.host.loop import HostLoop
    from agentnb.log.record import TurnText
    from agentnb.log.store import Which
    from agentnb.state import Envelope

log: Logger = logger("agentnb.log")

BATCH_SECONDS = 0.2
RETRY_SECONDS = 5.0
SNAPSHOT_EVERY = 2_000  # entries of a channel; keeps reading a session fast
MAX_WAITING = 20_000  # envelopes; beyond this, whole states are smaller


class SessionRecorder:
    """Keeps the log of one host's sessions. Except where said, call it on the host's thread."""

    def __init__(self, path: Path, host_id: str, loop: HostLoop, place: str = "") -> None:
        self.store: LogStore = LogStore(path, host_id, lambda error: loop.post(self._done, error))
        self.trouble: LogError | None = None
        self._mended = False
        self.place = place
        self._host_id = host_id
        self._loop = loop
        self._conversations: dict[str, Conversation] = {}
        self._waiting: list[Envelope] = []
        self._touched: set[str] = set()
        self._closed: set[str] = set()
        self._leaving: set[str] = set()  # closed channels in the batch that is being written
        self._archived: set[str] = set()
        self._entries: dict[str, int] = {}
        self._turns: dict[str, int] = {}
        self._scheduled = self._writing = False
        self._reported: set[str] = set()

    @property
    def note(self) -> str:
        """Returns the last problem with the log since the kernel started, or '' if there was none."""
        if self.trouble is None:
            return ""
        return f"{self.trouble} Since then the log has been written again." if self._mended else str(self.trouble)

    def here(self) -> Which:
        """Returns the filter for sessions begun here: by notebook, or by folder if no server reports the notebook."""
        return {"place": self.place} if self.place else {"cwd": str(Path.cwd())}

    def add(self, conversation: Conversation) -> None:
        """A conversation was opened or restored: record it from here on."""
        self.store.begin()
        uri = conversation.session.uri
        self._closed.discard(uri)
        self._leaving.discard(uri)
        self._conversations[uri] = conversation
        self._whole(uri)
        self._turns[uri] = 0
        self._touch(uri)

    def counts(self, conversation: Conversation) -> None:
        """Record the usage so far of a running turn of *conversation*, too."""
        if self._is_kept(conversation.session.uri):
            self._touch(conversation.session.uri)

    async def spent_since(self, moment: int) -> Spent:
        """Returns what all kernels' turns together used from *moment* (milliseconds since 1970) until now.

        Raises:
            LogError: If the usage cannot be determined.
        """
        is_written = await asyncio.to_thread(self.store.flush) if not self._write() else True
        self._write()
        if not is_written or not await asyncio.to_thread(self.store.flush):
            raise LogUnavailable(f"The session log {self.store.path} is written too slowly.", hint="Try again.")
        if self.trouble is not None and not self._mended:
            raise self.trouble
        return await asyncio.to_thread(self.store.spent_since, moment)

    def closes(self, conversation: Conversation) -> None:
        """A conversation is closing: record that before its agent lets it go, which can take seconds."""
        if self._is_kept(conversation.session.uri):
            self._touched.add(conversation.session.uri)
            self._write()

    def archive(self, uri: str) -> None:
        """Leave this conversation out of lists from the next batch on."""
        if self._is_kept(uri):
            self._archived.add(uri)
            self._touch(uri)

    def close(self, timeout: float) -> None:
        """Write what is left, in at most *timeout* seconds; call it from any thread but the host's."""
        self._loop.call(self._write_last)
        self.store.close(timeout)

    def flush(self, timeout: float) -> bool:
        """Wait until everything so far is in the file; call it from any thread but the host's."""
        if not self._loop.call(self._write):  # a batch is being written: later entries wait for its end
            if not self.store.flush(timeout):
                return False
            self._loop.call(self._write)
        return self.store.flush(timeout)

    def envelope(self, channel: Channel[Any], envelope: Envelope) -> None:
        if envelope.rejection_reason is not None:
            return
        uri = channel.uri.removesuffix("/chat")
        if self._is_kept(uri):
            self._waiting.append(envelope)
            conversation = self._conversations[uri]
            self._touch(uri)
            if isinstance(envelope.action, ChatTruncated):
                self._whole(uri)
            if isinstance(envelope.action, SessionIsArchivedChanged):
                self.closes(conversation)
        elif isinstance(envelope.action, XSessionRemoved) and self._is_kept(envelope.action.resource):
            self._closed.add(envelope.action.resource)
            self._touch(envelope.action.resource)

    def _is_kept(self, uri: str) -> bool:
        return uri in self._conversations and uri not in self._leaving

    def _touch(self, uri: str) -> None:
        self._touched.add(uri)
        if len(self._waiting) > MAX_WAITING:
            self._forget_what_waits()
        if not self._scheduled and not self._writing:
            self._schedule(BATCH_SECONDS)

    def _schedule(self, seconds: float) -> None:
        self._scheduled = True
        self._loop.later(seconds, self._write)

    def _write(self) -> bool:
        """Pass what is waiting to the store; returns True if nothing is left."""
        self._scheduled = False
        if self._writing:
            return not self._touched
        if batch := self._batch():
            self._writing = True
            self.store.write(batch)
        return True

    def _write_last(self) -> None:
        self._writing = True  # nothing is written after this
        if batch := self._batch():
            self.store.write(batch)

    def _done(self, error: LogError | None) -> None:
        self._writing = False
        self._mended = error is None
        leaving, self._leaving = self._leaving, set()
        if error is not None:
            self.trouble = error
            if str(error) not in self._reported:
                self._reported.add(str(error))
                log.warning("%s", error)
            self._closed |= leaving
            self._begin_again()
        else:
            for uri in leaving:
                self._forget(uri)
        if self._touched and not self._scheduled:
            self._schedule(BATCH_SECONDS if error is None else RETRY_SECONDS)

    def _begin_again(self) -> None:
        """The last batch was not written, or the file was replaced: write everything in full."""
        self._forget_what_waits()
        for uri in self._conversations:
            self._whole(uri)
            self._turns[uri] = 0
            self._conversations[uri].usage.take_all()
            self._touched.add(uri)

    def _forget_what_waits(self) -> None:
        for envelope in self._waiting:
            self._entries[envelope.channel] = SNAPSHOT_EVERY
        self._waiting = []

    def _whole(self, uri: str) -> None:
        self._entries[uri] = self._entries[f"{uri}/chat"] = SNAPSHOT_EVERY

    def _batch(self) -> LogBatch:
        batch = LogBatch(entries=self._waiting)
        self._waiting = []
        for envelope in batch.entries:
            self._entries[envelope.channel] = self._entries.get(envelope.channel, 0) + 1
        touched, self._touched = self._touched, set()
        for uri in touched:
            conversation = self._conversations[uri]
            batch.sessions[uri] = self._record(conversation)
            batch.turns += self._ended_turns(conversation)
            batch.usage += conversation.usage.take()
            for channel in (conversation.session, conversation.chat):
                if self._entries.get(channel.uri, 0) >= SNAPSHOT_EVERY:
                    self._entries[channel.uri] = 0
                    batch.snapshots[channel.uri] = (channel.index, channel.state)
        self._leaving, self._closed = self._closed, set()
        return batch

    def _forget(self, uri: str) -> None:
        """A closed conversation is in the file: remove it from memory."""
        for kept in (self._conversations, self._turns):
            kept.pop(uri, None)
        self._archived.discard(uri)
        for channel in (uri, f"{uri}/chat"):
            self._entries.pop(channel, None)

    def _record(self, conversation: Conversation) -> SessionRecord:
        session = conversation.session.state
        known = conversation.session_id or conversation.previous_session
        return SessionRecord(
            uri=conversation.session.uri,
            agent=conversation.spec.name,
            title=session.title,
            cwd=str(conversation.cwd),
            place=self.place,
            agent_session="" if conversation.lifecycle.needs_transcript else known,
            host_id=self._host_id,
            open=not (conversation.session.uri in self._closed or conversation.closed or conversation.is_hidden),
            created_at=conversation.channels.created_at,
            modified_at=now_ms(),
            gap=conversation.chat.gap,
            status=int(conversation.chat.state.status) & ACTIVITY_MASK,
            archived=conversation.session.uri in self._archived,
        )

    def _ended_turns(self, conversation: Conversation) -> list[TurnText]:
        uri, turns = conversation.session.uri, conversation.chat.state.turns
        first = self._turns.get(uri, 0)
        self._turns[uri] = len(turns)
        return [turn_record(uri, number, turns[number]) for number in range(first, len(turns))]
