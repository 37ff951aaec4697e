"""The kernel that agents can be lent: found, where there is one."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from agentnb.errors import UsageError

if TYPE_CHECKING:
    from agentnb.host import Host


def see_that_there_is_a_kernel(host: Host) -> None:
    """Let agents of *host* be lent the shell that runs here.

    Raises:
        UsageError: If none does.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        raise UsageError("There is no kernel to lend: this is no IPython.", hint="Leave kernel_tools out.")
    # The layer above knows the shell; it is named here, not imported, so that this needs no `%load_ext`.
    import_module("agentnb.ipython.bench").install(host, shell)
