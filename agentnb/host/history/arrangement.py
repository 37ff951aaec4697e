"""Arranging the log's conversations: renamed, pinned, archived, duplicated, deleted. Runs on the host's thread."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.clock import now_ms
from agentnb.errors import SessionError, UsageError
from agentnb.host.history.restore import ELSEWHERE, forked, recorder_of
from agentnb.host.intents import FROM_PYTHON, carry_out
from agentnb.ids import new_id
from agentnb.safe_json import without_half_characters
from agentnb.state import SessionTitleChanged

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.host.conversation import Conversation
    from agentnb.host.history.recorder import SessionRecorder
    from agentnb.host.host import Host
    from agentnb.log.record import SessionRecord

LONGEST_TITLE = 200
"""The longest title, in characters."""
COPY = " (copy)"
"""The suffix of a copy's title."""


async def arrange(
    host: Host,
    find: Callable[[SessionRecorder], SessionRecord],
    *,
    title: str | None = None,
    pinned: bool | None = None,
    archived: bool | None = None,
) -> None:
    """Set a session's title, or whether it is pinned or archived; None leaves a value unchanged."""
    title = None if title is None else checked_title(title)
    recorder, record = await asyncio.to_thread(_recorder_and_record, host, find)
    if title is not None:
        if (conversation := _open_here(host, record)) is not None:
            carry_out(host, record.uri, SessionTitleChanged(title=title), FROM_PYTHON)
            host.summarize(conversation)
        elif not await asyncio.to_thread(recorder.store.rename, record.uri, title):
            raise SessionError(ELSEWHERE.format(record.title), hint="Rename it there.")
    if pinned is not None or archived is not None:
        await asyncio.to_thread(lambda: recorder.store.mark(record.uri, pinned=pinned, archived=archived))


async def duplicate(host: Host, find: Callable[[SessionRecorder], SessionRecord]) -> tuple[str, bool]:
    """Copy a session, so that it can go on in two ways."""
    recorder, record = await asyncio.to_thread(_recorder_and_record, host, find)
    conversation = _open_here(host, record)
    if conversation is not None:
        process = conversation.session.state.agent_process
        if process is not None and process.fork:
            return (await forked(conversation)).session.uri, True
    copy, title = copy_of(record)
    await asyncio.to_thread(recorder.store.duplicate, record.uri, copy, title, now_ms())
    return copy, False


async def delete(host: Host, find: Callable[[SessionRecorder], SessionRecord]) -> SessionRecord:
    """Delete a session for good, on the host's thread."""
    recorder, record = await asyncio.to_thread(_recorder_and_record, host, find)
    if await asyncio.to_thread(recorder.store.held, [record]):
        raise SessionError(ELSEWHERE.format(record.title), hint="Continue there, or close it there (`%agents close`).")
    conversation = host.conversations.get(record.uri)
    if conversation is not None:
        if not conversation.is_hidden:
            raise SessionError(f"The session {record.title!r} is open here.", hint="Close it first.")
        await conversation.close()
        await asyncio.to_thread(recorder_of, host)  # the log then has the closing, and gets nothing after it
    await asyncio.to_thread(recorder.store.forget, record.uri)
    await host.stores.forget(Path(record.cwd), record.tab_id)
    return record


def copy_of(record: SessionRecord) -> tuple[str, str]:
    """The channel and the title of a session's copy."""
    title = record.title[: LONGEST_TITLE - len(COPY)] + COPY
    return f"{record.uri.rpartition('/')[0]}/{new_id()}", title


def checked_title(title: str) -> str:
    """Returns the title stripped, or raises if it is not valid."""
    words: str = without_half_characters(title.strip())
    if not words or len(words) > LONGEST_TITLE or len(words.splitlines()) > 1:
        message = f"A title is one line of 1 to {LONGEST_TITLE} characters, not {title[:60]!r}."
        raise UsageError(message, hint='For example title="Residuals".')
    return words


def _open_here(host: Host, record: SessionRecord) -> Conversation | None:
    conversation = host.conversations.get(record.uri)
    return None if conversation is None or conversation.barred is not None else conversation


def _recorder_and_record(
    host: Host, find: Callable[[SessionRecorder], SessionRecord]
) -> tuple[SessionRecorder, SessionRecord]:
    recorder = recorder_of(host)
    return recorder, find(recorder)
