"""A component in Python: what stands between client and agent, as a class with one method per thing it may change.

It has the same shape as a component that is a program of its own: it sees what goes through its place in the chain, may
change it, and may offer the agent tools. Its methods run on agentnb's own thread.
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
    """A tool that a component offers the agent, by MCP.

    Args:
        name: What the agent calls it: letters, digits, ``_`` and ``-``.
        description: What it does, for the agent.
        run: Runs it: called with its arguments as keywords, returns text or an MCP ``CallToolResult``; it may be a
            coroutine function. What it raises is told to the agent.
        parameters: The JSON Schema of its arguments, the schema's ``properties``.
        required: The arguments that must be given.
        read_only: Whether it changes nothing.

    Example:
        >>> ComponentTool(name="twice", description="Doubles a number.", run=lambda n: str(2 * n)).describe()["name"]
        'twice'
    """

    name: str
    description: str
    run: Callable[..., Any]
    parameters: dict[str, Any] = {}
    required: tuple[str, ...] = ()
    read_only: bool = True

    def describe(self) -> dict[str, Any]:
        """The tool as MCP ``tools/list`` has it."""
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
        """Run it; the result is an MCP ``CallToolResult``, also where it fails."""
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
    """Stands between client and agent. Override what you need; what is not overridden costs nothing.

    An instance may be used in several chains; a session is named by its id.

    Attributes:
        name: What the user calls it; by default the class's name in lower case.
        about: What it does, in a line.
        tools: The tools that it offers the agent. Shown as MCP server *name*.

    Example:
        >>> class Polite(Component):
        ...     async def on_prompt(self, session_id, prompt):
        ...         return [*prompt, {"type": "text", "text": "Please."}]
        >>> Polite().name
        'polite'
    """

    name: str = ""
    about: str = ""
    tools: Sequence[ComponentTool] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        """Name the component after its class where it has no name."""
        super().__init_subclass__(**options)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__.lower()

    async def on_initialize(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Look at, or change, what the agent said of itself (ACP ``InitializeResponse``).

        Args:
            answer: The answer as it came from below.

        Returns:
            The answer for the client.
        """
        return answer

    async def on_session(self, params: dict[str, Any]) -> dict[str, Any]:
        """Look at, or change, what a session is opened with (ACP ``session/new``, ``load``, ``resume``, ``fork``).

        Args:
            params: ``cwd``, ``mcpServers`` and the rest.

        Returns:
            What the agent gets.
        """
        return params

    async def on_opened(self, session_id: str, params: dict[str, Any]) -> None:
        """Hear that a session is open.

        Args:
            session_id: The agent's id of the session.
            params: What it was opened with, as the agent got it.
        """

    async def on_prompt(self, session_id: str, prompt: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Look at, or change, a prompt (ACP ``session/prompt``).

        Args:
            session_id: The agent's id of the session.
            prompt: The content blocks.

        Returns:
            The content blocks for the agent.
        """
        del session_id
        return prompt

    def on_update(self, session_id: str, update: dict[str, Any]) -> dict[str, Any] | None:
        """Look at, or change, something the agent says (ACP ``session/update``). It must be quick.

        Args:
            session_id: The agent's id of the session.
            update: The update; ``sessionUpdate`` is its kind.

        Returns:
            The update for the client; None leaves it out.
        """
        del session_id
        return update

    def on_message(self, sender: str, receiver: str, line: bytes) -> None:
        """Look at each message that goes through this place in the chain. It must be quick.

        Args:
            sender: ``"client"`` or ``"agent"``: the side that it comes from.
            receiver: The other one.
            line: The message as a line of JSON-RPC, with the ids of this place.
        """

    def close(self) -> None:
        """A chain in which it stood has ended."""

    def tokens(self, folder: Path) -> tuple[int, int]:
        """About how many tokens it costs: each turn, and once in a session.

        Args:
            folder: The workspace.

        Returns:
            By default what the descriptions of its tools take (a token is taken to be four characters), and nothing.
        """
        del folder
        return len(json.dumps([tool.describe() for tool in self.tools])) // 4 if self.tools else 0, 0


def overrides(component: Component, method: str) -> bool:
    """True if *component* has a method of its own."""
    return getattr(type(component), method) is not getattr(Component, method)
