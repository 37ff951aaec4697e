"""Ports: what a plug-in can offer to agentnb.

A plug-in is a :class:`Plugin` that an installed package names in the entry-point group ``agentnb.plugins``::

    [project.entry-points."agentnb.plugins"]
    weather = "agentnb_weather:PLUGIN"

agentnb loads plug-ins at their first use. A plug-in that cannot be loaded, or that raises in a port, is named by
`agentnb plugins`, by `agentnb doctor` and once in the chat; everything else works. `docs/how-to/plugins.md` shows how
to write one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from agentnb.command import Command

PORTS_VERSION = 1
"""The version of this module's interface. A plug-in made for another one is not loaded."""


class ToolSession(NamedTuple):
    """The session whose agent calls a tool.

    Attributes:
        session: The session's URI.
        folder: Its workspace.
        authorize: Asks the policy, and if need be the user, whether the tool may do what its arguments say: takes a
            title for the card and the command or the file's path that the user should see. Raises
            :class:`agentnb.PermissionDenied`.
    """

    session: str
    folder: str
    authorize: Callable[[str, str], Awaitable[None]]


class Tool(NamedTuple):
    """One tool for agents (MCP ``Tool``).

    Attributes:
        name: Its name.
        description: What it does and when to use it, for the agent.
        parameters: The JSON schema of its arguments, an object's.
        call: Carries out a call; takes the session and the arguments, returns text or an MCP ``CallToolResult``.
            An :class:`agentnb.AgentnbError` is told to the agent.
        reads_only: Whether it changes nothing.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    call: Callable[[ToolSession, dict[str, Any]], Awaitable[Any]]
    reads_only: bool = False


class Request(NamedTuple):
    """One request that the page, a program on a socket, and Python can make.

    Attributes:
        name: Its name on the wire; a plug-in's begins with its own name and a slash, as ``weather/look``.
        params: The msgspec struct of its parameters.
        result: The msgspec struct of its answer.
        answer: Carries it out; takes the decoded parameters, returns the result or a coroutine of it. An
            :class:`agentnb.AgentnbError` is told to whoever asked.
    """

    name: str
    params: type[Any]
    result: type[Any]
    answer: Callable[[Any], Any]


class Magic(NamedTuple):
    """A word of ``%agents``.

    Attributes:
        name: The word.
        run: Takes the rest of the line; what it returns is displayed.
    """

    name: str
    run: Callable[[str], Any]


class Exporter(NamedTuple):
    """A form in which a conversation can be exported.

    Attributes:
        name: The form's name, as typed after ``--to``.
        export: Takes the conversation as Markdown, and returns the text in this form.
    """

    name: str
    export: Callable[[str], str]


@dataclass(frozen=True)
class Plugin:
    """What one plug-in offers.

    Args:
        name: Its name: a word in lower case, the same as the entry point's.
        summary: What it adds, a sentence.
        ports: The version of the ports that it was made for.
        commands: Commands of the command line.
        magics: Words of ``%agents``.
        tools: Tools for agents; each agent that takes MCP servers gets them from a server with the plug-in's name.
        requests: Requests of the protocol.
        exporters: Forms of export.

    Example:
        >>> Plugin(name="weather", summary="Adds the weather.").offers
        {}
    """

    name: str
    summary: str
    ports: int = PORTS_VERSION
    commands: tuple[Command, ...] = ()
    magics: tuple[Magic, ...] = ()
    tools: tuple[Tool, ...] = ()
    requests: tuple[Request, ...] = ()
    exporters: tuple[Exporter, ...] = ()

    @property
    def offers(self) -> dict[str, list[str]]:
        """The names of its offers, by port; ports without an offer are left out."""
        names = {port: [each.name for each in getattr(self, port)] for port in PORTS}
        return {port: offered for port, offered in names.items() if offered}


PORTS = ("commands", "magics", "tools", "requests", "exporters")
"""The names of the ports."""
