"""The capabilities of an agent: what it can do with sessions and take in prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import mapping
from agentnb.acp.prompt import left_out, prompt_blocks
from agentnb.errors import NotOffered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.state import Message

_ABILITIES = {
    "load": ("open an old session", "Start a new one."),
    "fork": ("copy a session", "Start a new one, and tell it what it needs to know."),
    "list": ("list its sessions", "`agentnb.history()` lists the sessions that agentnb has kept."),
    "delete": ("delete a session", "Delete it with the agent's own program."),
    "logout": ("log out", "Log out with the agent's own program."),
}
"""What is not offered, in words, and what to do instead."""


class AgentCapabilities(dict[str, Any]):
    """What an agent says that it can do (ACP ``agentCapabilities``)."""

    def __init__(self, title: str, stated: Mapping[str, Any] | None = None) -> None:
        super().__init__(stated or {})
        self._title = title
        self.prompt: dict[str, Any] = mapping(self.get("promptCapabilities"))
        self.mcp: dict[str, Any] = mapping(self.get("mcpCapabilities"))

    @property
    def takes_pictures(self) -> bool:
        """True if prompts can have pictures (ACP ``promptCapabilities.image``)."""
        return bool(self.prompt.get("image"))

    @property
    def takes_served_mcp(self) -> bool:
        """True if it connects to MCP servers on its own wire (:attr:`agentnb.acp.agent.Agent.served`)."""
        return self.mcp.get("acp") is True

    @property
    def steers(self) -> bool:
        """True if it says that a prompt sent while another runs goes into that turn."""
        return any(mapping(each).get("promptQueueing") is True for each in mapping(self.get("_meta")).values())

    def offers(self, ability: str) -> bool:
        """True if the agent can do something with sessions that not every agent can."""
        if ability == "load":
            return self.get("loadSession") is True
        if ability == "logout":
            return mapping(self.get("auth")).get("logout") is not None
        name = "additionalDirectories" if ability == "directories" else ability
        return mapping(self.get("sessionCapabilities")).get(name) is not None

    def demand(self, *abilities: str) -> None:
        """Insist on one of the abilities that :meth:`offers` tells of."""
        if not any(map(self.offers, abilities)):
            what, instead = _ABILITIES[abilities[-1]]
            raise NotOffered(f"{self._title} does not offer to {what}.", hint=instead)

    def not_taken(self, message: Message) -> list[str]:
        """The labels of *message*'s attachments that the agent cannot take: it gets only their names."""
        return left_out(prompt_blocks(message, self.prompt), message)
