"""What a session is lent where nobody says: the MCP servers of the kernel's settings, and the kernel itself.

The layer above knows the settings (``%config Agentnb.mcp_servers`` and ``kernel_tools``) and says here where they are;
they are read when a session is opened, so that a change counts from the next one on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.agent.mcp import mcp_servers

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.agent.mcp import Given, McpServer

_sources: list[Callable[[], Given]] = []
_kernel: list[Callable[[], bool]] = []


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


def lend_kernel_from(source: Callable[[], bool]) -> None:
    """Ask *source* from now on whether the kernel is lent; the latest counts."""
    _kernel.append(source)


def lend_kernel_no_more(source: Callable[[], bool]) -> None:
    """Ask *source* no more."""
    _kernel.remove(source)


def kernel_lent() -> bool:
    """Whether the kernel is lent to a session of which nobody says; no, where there are no settings.

    Example:
        >>> kernel_lent()
        False
    """
    return _kernel[-1]() if _kernel else False
