"""The program of a copy that does not come from a fork: a fresh IPython shell that serves requests."""

from __future__ import annotations

import os
import socket
import sys
import types


def main(descriptor: int) -> None:
    from agentnb.plugins.branches.copy_serving import CopyServer
    from agentnb.plugins.rehearsal.kernel_code import cut_off, new_shell

    sys.modules["__main__"] = types.ModuleType("__main__")  # for the notebook: without this program's own names
    shell = new_shell()
    cut_off(shell)
    CopyServer(shell, socket.socket(fileno=descriptor)).serve()


if __name__ == "__main__":
    main(int(sys.argv[1]))
    os._exit(0)  # exit at once: there is nothing to clean up
