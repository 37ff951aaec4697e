"""Access to the kernel for agents: what runs their code, where there is a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.errors import UsageError

if TYPE_CHECKING:
    from agentnb.host import Host


def check_kernel(host: Host) -> None:
    """Make sure that agents of *host* can be given access to a kernel.

    Args:
        host: The host.

    Raises:
        UsageError: If no IPython shell runs here.
    """
    if host.environment.shell is None:
        raise UsageError(
            "Agents cannot be given access to a kernel: no IPython runs here.", hint="Leave kernel_tools out."
        )
