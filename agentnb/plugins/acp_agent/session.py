"""One conversation: the exchanges that can be replayed, and the turn that runs."""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.plugins.acp_agent.client_requests import McpServer
from agentnb.plugins.acp_agent.schema import fields
from agentnb.plugins.acp_agent.updates import update

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from typing_extensions import Self


TITLE_LENGTH = 48
"""How many characters of the first prompt name a session that has no title."""


class SessionExchange(msgspec.Struct):
    """A prompt and everything that was answered."""

    prompt: list[dict[str, Any]]
    updates: list[dict[str, Any]] = msgspec.field(default_factory=list)
    _kind: str = ""
    _parts: list[str] = msgspec.field(default_factory=list)

    def add_text(self, kind: str, text: str) -> None:
        """Add a part of the text that is said or thought."""
        if kind != self._kind:
            self.flush()
            self._kind = kind
        self._parts.append(text)

    def add(self, update: dict[str, Any]) -> None:
        """Add any other update."""
        self.flush()
        self.updates.append(update)

    def flush(self) -> None:
        """Make the open parts of the text one update."""
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
        """True if a turn runs now."""
        return self._turn is not None

    def start(self, turn: Coroutine[Any, Any, None]) -> None:
        """Run a turn as a task, so that `cancel` can end it at any point."""
        self.cancelled = False
        self._turn = asyncio.create_task(turn)

    def cancel(self) -> None:
        """Cancel the turn that runs, if any."""
        if self._turn:
            self.cancelled = True
            self._turn.cancel()

    async def finished(self) -> None:
        """Wait for the turn's end; one that the client cancelled ends like any other."""
        if self._turn is None:
            return
        try:
            await self._turn
        except asyncio.CancelledError:
            if not self.cancelled:
                raise
        finally:
            self._turn = None

    @property
    def name(self) -> str | None:
        """The title, or the beginning of the first prompt."""
        if self.title or not self.exchanges:
            return self.title
        words = " ".join(" ".join(block.get("text", "") for block in self.exchanges[0].prompt).split())
        return words if len(words) <= TITLE_LENGTH else words[: TITLE_LENGTH - 1].rstrip() + "…"

    def info(self) -> dict[str, Any]:
        """The session as it stands in a list."""
        return fields(session_id=self.session_id, cwd=str(self.cwd), title=self.name, updated_at=self.updated_at)

    def replayed(self) -> Iterator[dict[str, Any]]:
        """The updates that tell the whole conversation again."""
        for exchange in self.exchanges:
            yield from ({"content": block, "sessionUpdate": "user_message_chunk"} for block in exchange.prompt)
            yield from exchange.updates
        if self.title:
            yield update("session_info_update", title=self.title)

    def begin(self, prompt: list[dict[str, Any]]) -> SessionExchange:
        """Open the exchange that a prompt starts."""
        exchange = SessionExchange(prompt)
        self.exchanges.append(exchange)
        self.updated_at = datetime.now(timezone.utc).isoformat(timespec="seconds")
        return exchange

    def record(self) -> dict[str, Any]:
        """Everything that outlives the process, as JSON; agents add what they have of their own."""
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
        """The session that gave *record*, with the fields that an agent has of its own."""
        return cls(
            session_id=record["session_id"],
            cwd=Path(record["cwd"]),
            title=record["title"],
            updated_at=record["updated_at"],
            exchanges=[SessionExchange(item["prompt"], list(item["updates"])) for item in record["exchanges"]],
            **own,
        )
