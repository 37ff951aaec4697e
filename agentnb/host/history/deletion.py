"""Deleting a session from the log: its transcript, its queue, its title, and what its turns changed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.errors import SessionError
from agentnb.host import intents
from agentnb.host.history.restore import ELSEWHERE, is_archived, recorder_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.host.history.recorder import Recorder
    from agentnb.host.host import Host
    from agentnb.log.record import SessionRecord


async def delete(host: Host, find: Callable[[Recorder], SessionRecord]) -> SessionRecord:
    """Delete a session for good, on the host's thread. What the agent itself keeps of it stays.

    A tab that was closed, and that can still be brought back for a few seconds, is closed for good.
    """
    recorder, record = await asyncio.to_thread(_found, host, find)
    conversation = host.conversations.get(record.uri)
    if conversation is not None:
        if not is_archived(conversation.session.state):
            raise SessionError(f"The session {record.title!r} is open here.", hint="Close it first.")
        await intents.close(conversation)
        await asyncio.to_thread(recorder_of, host)  # the log then knows that it is closed, and nothing more comes
    await asyncio.to_thread(recorder.store.forget, record.uri)
    await host.stores.forget(Path(record.cwd), record.tab_id)
    return record


def _found(host: Host, find: Callable[[Recorder], SessionRecord]) -> tuple[Recorder, SessionRecord]:
    recorder = recorder_of(host)
    record = find(recorder)
    if recorder.store.held([record]):
        raise SessionError(ELSEWHERE.format(record.title), hint="Continue there, or close it there (`%agents close`).")
    return recorder, record
