"""One conversation with a model: beside what was said, the messages as the model gets them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from agentnb.plugins.acp_agent.session import Session as AcpSession
from agentnb.plugins.acp_agent.session import restored_exchanges

INTERRUPTED = "(The answer was interrupted.)"
NOT_CARRIED_OUT = "Not carried out: the turn was interrupted."


class Session(AcpSession):
    """One conversation with a model."""

    model: str | None = None
    messages: list[dict[str, Any]] = msgspec.field(default_factory=list)
    warned: set[str] = msgspec.field(default_factory=set)
    without_tools: bool = False

    def close_messages(self, said: str) -> None:
        """Make the messages such that a prompt can follow: some models refuse two of the user's in a row."""
        answered = {each.get("tool_call_id") for each in self.messages if each["role"] == "tool"}
        for message in [*self.messages]:
            for call in message.get("tool_calls", ()):
                if call["id"] not in answered:
                    self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": NOT_CARRIED_OUT})
        if self.messages and self.messages[-1]["role"] != "assistant":
            self.messages.append({"role": "assistant", "content": said or INTERRUPTED})

    def record(self) -> dict[str, Any]:
        """Everything that outlives the process, as JSON."""
        return {
            "version": 1,
            "session_id": self.session_id,
            "cwd": str(self.cwd),
            "title": self.title,
            "updated_at": self.updated_at,
            "model": self.model,
            "without_tools": self.without_tools,
            "messages": self.messages,
            "exchanges": self.saved_exchanges(),
        }

    @classmethod
    def restore(cls, record: dict[str, Any]) -> Session:
        """The session that gave `record`."""
        return cls(
            session_id=record["session_id"],
            cwd=Path(record["cwd"]),
            title=record["title"],
            updated_at=record["updated_at"],
            model=record["model"],
            without_tools=bool(record.get("without_tools")),
            messages=list(record["messages"]),
            exchanges=restored_exchanges(record["exchanges"]),
        )
