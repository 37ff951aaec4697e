"""Access to the kernel for agents: what runs their code, where there is a kernel."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from agentnb.errors import UsageError

if TYPE_CHECKING:
    from agentnb.host import Host


def install_kernel_runner(host: Host) -> None:
    """Give agents of *host* that are allowed to the IPython shell that runs here.

    Args:
        host: The host.

    Raises:
        UsageError: If no IPython shell runs here.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        raise UsageError(
            "Agents cannot be given access to a kernel: no IPython runs here.", hint="Leave kernel_tools out."
        )
    # The layer above knows the shell; it is named here, not imported, so that this needs no `%load_ext`.
    import_module("agentnb.ipython.shell_code_runner").install(host, shell)
