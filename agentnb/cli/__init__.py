"""The command line: `agentnb COMMAND` (:mod:`agentnb.cli.command_line`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command (:func:`agentnb.cli.command_line.main`)."""
    from agentnb.cli import command_line

    return command_line.main(argv)
