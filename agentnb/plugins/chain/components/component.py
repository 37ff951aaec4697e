"""A component in Python, between client and agent: a class with one method for each thing that it may change.

Its methods run on agentnb's own thread.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.errors import AgentnbError
from agentnb.kernel.content import with_object

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class ComponentTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that a component offers the agent, by MCP."""

    name: str
    description: str
    run: Callable[..., Any]
    parameters: dict[str, Any] = {}
    required: tuple[str, ...] = ()
    read_only: bool = True

    def describe(self) -> dict[str, Any]:
        """Returns the tool in the form of MCP ``tools/list``."""
        schema: dict[str, Any] = {"type": "object", "properties": self.parameters, "additionalProperties": False}
        if self.required:
            schema["required"] = list(self.required)
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": schema,
            "annotations": {"readOnlyHint": self.read_only},
        }

    async def call(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run the tool; returns an MCP ``CallToolResult``, even if it fails."""
        try:
            result = self.run(**arguments)
            if inspect.isawaitable(result):
                result = await result
        except AgentnbError as error:
            return {"content": [{"type": "text", "text": str(error)}], "isError": True}
        except Exception as error:  # noqa: BLE001 - somebody else's code; the agent is told
            return {"content": [{"type": "text", "text": f"{type(error).__name__}: {error}"}], "isError": True}
        if isinstance(result, dict) and "content" in result:
            return with_object(result)
        return with_object({"content": [{"type": "text", "text": result if isinstance(result, str) else str(result)}]})


class Component:
    """A component of a chain, between client and agent."""

    name: str = ""
    about: str = ""
    tools: Sequence[ComponentTool] = ()
    log_file: Path | None = None
    """The file into which it writes messages; the agent's errors name it."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Name the component after its class if it has no name."""
        super().__init_subclass__(**options)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__.lower()

    async def on_initialize(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Inspect or change what the agent reports about itself (ACP ``InitializeResponse``)."""
        return answer

    async def on_session(self, params: dict[str, Any]) -> dict[str, Any]:
        """Inspect or change the parameters to open a session (ACP ``session/new``, ``load``, ``resume``, ``fork``)."""
        return params

    async def on_opened(self, session_id: str, params: dict[str, Any]) -> None:
        """Hear that a session is open."""

    async def on_prompt(self, session_id: str, prompt: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Inspect or change a prompt (ACP ``session/prompt``)."""
        del session_id
        return prompt

    def on_update(self, session_id: str, update: dict[str, Any]) -> dict[str, Any] | None:
        """Inspect or change an update from the agent (ACP ``session/update``)."""
        del session_id
        return update

    def on_message(self, sender: str, receiver: str, line: bytes) -> None:
        """Look at each message that goes through this place in the chain."""

    def close(self) -> None:
        """A chain in which it stood has ended."""

    def tokens(self, folder: Path) -> tuple[int, int]:
        """Returns about how many tokens the component costs: per turn, and once per session."""
        del folder
        return len(json.dumps([tool.describe() for tool in self.tools])) // 4 if self.tools else 0, 0


def overrides(component: Component, method: str) -> bool:
    return getattr(type(component), method) is not getattr(Component, method)
