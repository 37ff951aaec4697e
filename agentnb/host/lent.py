"""What a session is lent where nobody says: the MCP servers of the kernel's settings.

The layer above knows the settings (``%config Agentnb.mcp_servers``) and says here where they are; they are read when a
session is opened, so that a change counts from the next one on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.agent.mcp import mcp_servers

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.agent.mcp import Given, McpServer

_sources: list[Callable[[], Given]] = []


def lend_from(source: Callable[[], Given]) -> None:
    """Ask *source* from now on; the latest counts."""
    _sources.append(source)


def lend_no_more(source: Callable[[], Given]) -> None:
    """Ask *source* no more."""
    _sources.remove(source)


def lent() -> tuple[McpServer, ...]:
    """The servers; none where nobody has said any.

    Raises:
        UsageError: If the settings make no sense, or name a file that cannot be read.

    Example:
        >>> source = lambda: {"docs": {"url": "https://example.org/mcp"}}
        >>> lend_from(source)
        >>> [server.name for server in lent()]
        ['docs']
        >>> lend_no_more(source)
        >>> lent()
        ()
    """
    return mcp_servers(_sources[-1]()) if _sources else ()
