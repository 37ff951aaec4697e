"""The command line: `agentnb COMMAND`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; see :func:`agentnb.cli.command_line.main`."""
    if not hasattr(sys.modules["agentnb"], "load_ipython_extension"):
        from agentnb.distribution import overwritten

        raise overwritten()
    from agentnb.cli import command_line

    return command_line.main(argv)
