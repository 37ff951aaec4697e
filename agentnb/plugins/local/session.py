"""One conversation with a model: its updates, and the messages as the model gets them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.plugins.acp_agent.session import AcpSession

if TYPE_CHECKING:
    from typing_extensions import Self

INTERRUPTED = "(The answer was interrupted.)"
NOT_CARRIED_OUT = "Not run: the turn was interrupted."


class LocalSession(AcpSession):
    """One conversation with a model."""

    model: str | None = None
    messages: list[dict[str, Any]] = msgspec.field(default_factory=list)
    warned: set[str] = msgspec.field(default_factory=set)
    without_tools: bool = False

    def close_messages(self, text: str) -> None:
        """Complete the messages so that a prompt can follow: some models refuse two user messages in a row."""
        answered = {each.get("tool_call_id") for each in self.messages if each["role"] == "tool"}
        for message in [*self.messages]:
            for call in message.get("tool_calls", ()):
                if call["id"] not in answered:
                    self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": NOT_CARRIED_OUT})
        if self.messages and self.messages[-1]["role"] != "assistant":
            self.messages.append({"role": "assistant", "content": text or INTERRUPTED})

    def record(self) -> dict[str, Any]:
        """Returns everything that outlives the process, as JSON."""
        own = {"model": self.model, "without_tools": self.without_tools, "messages": self.messages}
        return {**super().record(), **own}

    @classmethod
    def restore(cls, record: dict[str, Any], **own: Any) -> Self:
        own |= {"model": record["model"], "without_tools": bool(record.get("without_tools"))}
        return super().restore(record, messages=list(record["messages"]), **own)
