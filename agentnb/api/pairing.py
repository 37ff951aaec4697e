"""Pairing from Python: whether agents in a terminal may use this kernel."""

from __future__ import annotations

from typing import NamedTuple

from agentnb.errors import NotOffered
from agentnb.host import current_host

START_SECONDS = 10.0


class Pairing(NamedTuple):
    """Whether agents in a terminal may use this kernel, and which are connected.

    Attributes:
        on: Whether they may.
        connected: The titles of the conversations of those that are connected.
    """

    on: bool
    connected: tuple[str, ...] = ()

    def __repr__(self) -> str:
        if not self.on:
            return "This kernel is not paired: no agent in a terminal can use it."
        who = f"Connected: {', '.join(self.connected)}." if self.connected else "No agent is connected yet."
        return (
            "Agents in your terminal can now use this kernel. They ask here before they run anything, as always.\n"
            f"{who} Their MCP server is the command `agentnb mcp`, for example: claude mcp add agentnb -- agentnb mcp\n"
            "End it with agentnb.unpair() or `%agents unpair`."
        )


def pair() -> Pairing:
    """Let agents in a terminal use this kernel, until :func:`unpair` or the end of the kernel.

    They start ``agentnb mcp`` as an MCP server. What they run asks the policy and you, as every agent's call does; each
    gets a conversation of its own in the chat. No other user and no other machine can connect.

    Returns:
        Which agents are connected.

    Raises:
        NotOffered: Outside of IPython, or where no socket can be made (Windows).

    Example:
        >>> agentnb.pair()  # doctest: +SKIP
        Agents in your terminal can now use this kernel. They ask here before they run anything, as always.
    """
    host = current_host()
    if host.environment.code_runner() is None:  # made here, on the thread that runs the user's code
        raise NotOffered("There is no IPython kernel here.", hint="Pairing works in IPython and in notebooks.")
    host.loop.submit(host.pairing.start()).result(START_SECONDS)
    return host.loop.call(_pairing)


def unpair() -> Pairing:
    """End the pairing of this kernel and every connection; what runs for a terminal agent is cancelled.

    Example:
        >>> agentnb.unpair()  # doctest: +SKIP
        This kernel is not paired: no agent in a terminal can use it.
    """
    host = current_host()
    host.loop.call(host.pairing.stop)
    return host.loop.call(_pairing)


def _pairing() -> Pairing:
    pairing = current_host().pairing
    return Pairing(pairing.on, tuple(each.channels.title for each in pairing.connected))
