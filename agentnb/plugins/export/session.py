"""A session of the durable log as a document."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.errors import UnknownSession
from agentnb.ids import new_id
from agentnb.ipython.record import relative
from agentnb.ipython.transcript import transcript
from agentnb.log.location import log_location
from agentnb.log.store import LogStore
from agentnb.plugins.export.document import Document, DocumentEntry

if TYPE_CHECKING:
    from agentnb.log.record import StoredSession

_ID = re.compile(r"[0-9a-fA-F-]{4,36}")


def of_session(name: str) -> Document | None:
    """The document of the session whose id begins with *name*; None where the log has none."""
    path = log_location()
    if path is None or not path.exists() or not _ID.fullmatch(name):
        return None
    store = LogStore(path, new_id())
    try:
        sessions = store.named(name)
        if len(sessions) > 1:
            raise UnknownSession(f"Several sessions' ids begin with {name!r}.", hint="Enter more of the id.")
        stored = store.load(sessions[0].uri) if sessions else None
    finally:
        store.close()
    return None if stored is None else document_of(stored)


def document_of(stored: StoredSession) -> Document:
    """The document of a session that was read from the log."""
    cwd, agent = Path(stored.record.cwd), stored.record.agent
    entries = []
    for turn in stored.chat.turns:
        answer = relative(transcript(turn, terminals=stored.chat.terminals or (), cwd=cwd), cwd)
        entries += [
            DocumentEntry(kind="prompt", source=turn.message.text, agent=agent),
            DocumentEntry(kind="answer", source=answer, agent=agent, stop_reason=turn.stop_reason),
        ]
    return Document(title=stored.record.title, entries=tuple(entries))
