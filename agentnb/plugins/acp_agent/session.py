"""One conversation: the exchanges that can be replayed, and the running turn.

Session ids are `sess-1`, `sess-2` … They are counted, so that a run gets the same ids as the one before.
"""

from __future__ import annotations

import asyncio
import json
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.plugins.acp_agent.client_requests import McpServer
from agentnb.plugins.acp_agent.content import fields
from agentnb.plugins.acp_agent.updates import update
from agentnb.safe_files import write_atomically
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from typing_extensions import Self


_SESSION_ID = re.compile(r"sess-([1-9]\d*)")

SessionRecord = dict[str, Any]


class SessionStore:
    """Keeps the records of sessions as long as the process lives."""

    def __init__(self) -> None:
        self._count = 0
        self._records: dict[str, SessionRecord] = {}

    def new_id(self) -> str:
        """Returns an id that no other session of this store has."""
        self._count += 1
        return f"sess-{self._count}"

    def save(self, record: SessionRecord) -> None:
        """Keeps a record; it replaces the one with the same `session_id`."""
        self._records[record["session_id"]] = record

    def load(self, session_id: str) -> SessionRecord | None:
        return self._records.get(session_id)

    def records(self) -> list[SessionRecord]:
        """Returns every record, the oldest session first."""
        return list(self._records.values())

    def delete(self, session_id: str) -> bool:
        """Deletes the record of a session; False if there was none."""
        return self._records.pop(session_id, None) is not None


class SessionFolder(SessionStore):
    """Keeps sessions as JSON files."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def new_id(self) -> str:
        """Takes the next free number, by creating its file."""
        number = max(self._numbers(), default=0) + 1
        while True:
            try:
                self._path(f"sess-{number}").touch(exist_ok=False)
            except FileExistsError:
                number += 1
            else:
                return f"sess-{number}"

    def save(self, record: SessionRecord) -> None:
        """Writes the file whole or not at all."""
        write_atomically(self._path(record["session_id"]), json.dumps(record, ensure_ascii=False).encode("utf-8"))

    def load(self, session_id: str) -> SessionRecord | None:
        """Returns the record of a session; None if there is none, or if its file is empty or no JSON."""
        if not _SESSION_ID.fullmatch(session_id):
            return None
        try:
            record: SessionRecord = read_json(self._path(session_id).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return record

    def records(self) -> list[SessionRecord]:
        loaded = [self.load(f"sess-{number}") for number in sorted(self._numbers())]
        return [record for record in loaded if record is not None]

    def delete(self, session_id: str) -> bool:
        exists = self.load(session_id) is not None
        if exists:
            self._path(session_id).unlink(missing_ok=True)
        return exists

    def _path(self, session_id: str) -> Path:
        return self._folder / f"{session_id}.json"

    def _numbers(self) -> list[int]:
        names = (_SESSION_ID.fullmatch(path.stem) for path in self._folder.glob("sess-*.json"))
        return [int(match[1]) for match in names if match]


def open_store(folder: str | None) -> SessionStore:
    """Returns the store in `folder`, or one in memory if there is no folder."""
    return SessionFolder(Path(folder).expanduser()) if folder else SessionStore()


TITLE_LENGTH = 48
"""Characters of the first prompt that become the title of a session without one."""


class SessionExchange(msgspec.Struct):
    """A prompt and all updates sent in reply."""

    prompt: list[dict[str, Any]]
    updates: list[dict[str, Any]] = msgspec.field(default_factory=list)
    _kind: str = ""
    _parts: list[str] = msgspec.field(default_factory=list)

    def add_text(self, kind: str, text: str) -> None:
        """Add a part of a message's or thought's text."""
        if kind != self._kind:
            self.flush()
            self._kind = kind
        self._parts.append(text)

    def add(self, update: dict[str, Any]) -> None:
        self.flush()
        self.updates.append(update)

    def flush(self) -> None:
        """Merge the pending parts of the text into one update."""
        if self._parts:
            content = {"text": "".join(self._parts), "type": "text"}
            self.updates.append({"content": content, "sessionUpdate": self._kind})
            self._parts = []
        self._kind = ""


class AcpSession(msgspec.Struct):
    """One conversation."""

    session_id: str
    cwd: Path
    title: str | None = None
    updated_at: str | None = None
    exchanges: list[SessionExchange] = msgspec.field(default_factory=list)
    cancelled: bool = False
    mcp_servers: tuple[McpServer, ...] = ()
    _turn: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        return self._turn is not None

    async def run(self, turn: Coroutine[Any, Any, None]) -> None:
        """Run a turn as a task, so that `cancel` can end it at any point; it then ends like any other."""
        self.cancelled = False
        self._turn = asyncio.create_task(turn)
        try:
            await self._turn
        except asyncio.CancelledError:
            if not self.cancelled:
                raise
        finally:
            self._turn = None

    def cancel(self) -> None:
        """Cancel the running turn, if any."""
        if self._turn:
            self.cancelled = True
            self._turn.cancel()

    @property
    def name(self) -> str | None:
        """Returns the title, or the beginning of the first prompt."""
        if self.title or not self.exchanges:
            return self.title
        words = " ".join(" ".join(block.get("text", "") for block in self.exchanges[0].prompt).split())
        return words if len(words) <= TITLE_LENGTH else words[: TITLE_LENGTH - 1].rstrip() + "…"

    def info(self) -> dict[str, Any]:
        """Returns the session as listed by `session/list`."""
        return fields(session_id=self.session_id, cwd=str(self.cwd), title=self.name, updated_at=self.updated_at)

    def replayed(self) -> Iterator[dict[str, Any]]:
        """Yields the updates that replay the whole conversation."""
        for exchange in self.exchanges:
            yield from ({"content": block, "sessionUpdate": "user_message_chunk"} for block in exchange.prompt)
            yield from exchange.updates
        if self.title:
            yield update("session_info_update", title=self.title)

    def begin(self, prompt: list[dict[str, Any]]) -> SessionExchange:
        exchange = SessionExchange(prompt)
        self.exchanges.append(exchange)
        self.updated_at = datetime.now(timezone.utc).isoformat(timespec="seconds")
        return exchange

    def record(self) -> dict[str, Any]:
        """Returns everything that outlives the process, as JSON; agents add their own fields."""
        for exchange in self.exchanges:
            exchange.flush()
        return {
            "version": 1,
            "session_id": self.session_id,
            "cwd": str(self.cwd),
            "title": self.title,
            "updated_at": self.updated_at,
            "exchanges": [{"prompt": item.prompt, "updates": list(item.updates)} for item in self.exchanges],
        }

    @classmethod
    def restore(cls, record: dict[str, Any], **own: Any) -> Self:
        """Returns the session that *record* was made from, with the agent's own fields."""
        return cls(
            session_id=record["session_id"],
            cwd=Path(record["cwd"]),
            title=record["title"],
            updated_at=record["updated_at"],
            exchanges=[SessionExchange(item["prompt"], list(item["updates"])) for item in record["exchanges"]],
            **own,
        )
