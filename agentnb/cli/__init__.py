"""The command line: `agentnb COMMAND` (:mod:`agentnb.cli.command_line`)."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = bool()  # noqa: UP018 - see agentnb/__init__.py
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command (:func:`agentnb.cli.command_line.main`)."""
    if not hasattr(sys.modules["agentnb"], "load_ipython_extension"):
        from agentnb.distribution import overwritten

        raise overwritten()
    if argv is None:  # the process is this command's alone
        if sys.argv[1:] == ["eliza"] and not os.environ.get("AGENTNB_EVENTS"):
            from agentnb.cli.agent_program import run_alone

            run_alone()
        if sys.argv[1:2] == ["replay"]:
            _replay_alone()
        if sys.argv[1:2] == ["mcp"]:
            from agentnb.cli.agent_program import begin_process

            begin_process()
    from agentnb.cli import command_line

    return command_line.main(argv)


def _replay_alone() -> None:
    """Replay a cassette, and end this process."""
    from agentnb.cli.agent_program import begin_process, end_process

    begin_process()
    from agentnb.cli import command_line

    end_process(command_line.main())
