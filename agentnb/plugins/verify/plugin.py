"""The plug-in: `agentnb verify`, `%agents verify`, requests of the page, tools for agents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.command import FAILED, MISUSED, OK, Command, Option, complain, words_of, write, write_json
from agentnb.distribution import manual
from agentnb.errors import AgentnbError, UsageError
from agentnb.plugins.verify.agent_tools import TOOLS
from agentnb.plugins.verify.requests import REQUESTS
from agentnb.ports import Magic, Plugin

if TYPE_CHECKING:
    import argparse

    from agentnb.plugins.verify.result import Verification
    from agentnb.ports import ToolSession, TurnCheck


def _verify(arguments: argparse.Namespace) -> int:
    from agentnb.plugins.verify.reports import as_json, as_junit
    from agentnb.plugins.verify.result import SECONDS
    from agentnb.plugins.verify.verify import verify

    if not arguments.words:
        complain("Specify the notebooks: agentnb verify analysis.ipynb.")
        return MISUSED
    seconds = SECONDS if arguments.seconds is None else arguments.seconds
    hosts = None if arguments.network is None else [*filter(None, arguments.network.split(","))]
    results: list[tuple[str, Verification]] = []
    unread = 0
    for word in arguments.words:
        try:
            result = verify(word, run=not arguments.fast, cwd=arguments.cwd, seconds=seconds, network=hosts)
        except AgentnbError as error:
            unread += 1
            complain(str(error))
            continue
        results.append((word, result))
        if not arguments.json:
            sys.stdout.buffer.write(f"{result!r}\n".encode("utf-8", "replace"))
            sys.stdout.flush()
    if arguments.json:
        write_json(as_json(results))
    elif len(arguments.words) > 1:
        write(f"{sum(result.ok for _, result in results)} of {len(arguments.words)} notebooks verified.")
    if arguments.junit:
        try:
            Path(arguments.junit).write_text(as_junit(results), encoding="utf-8", newline="\n")
        except OSError as error:
            complain(f"{arguments.junit} cannot be written: {error.strerror}.")
            return MISUSED
    return MISUSED if unread else OK if all(result.ok for _, result in results) else FAILED


def _magic(rest: str) -> Any:
    from agentnb.plugins.verify.verify import verify

    words = words_of(rest)
    options = [each for each in words if each.startswith("-")]
    names = [each for each in words if not each.startswith("-")]
    if len(names) > 1 or any(each != "--fast" for each in options):
        raise UsageError("`%agents verify` takes a notebook's path and --fast.", hint="Without a path: this notebook.")
    return verify(names[0] if names else None, run=not options)


class _Checker:
    name = "verify"

    async def check(self, session: ToolSession, since: float) -> TurnCheck:
        """See :meth:`agentnb.ports.TurnChecker.check`."""
        from agentnb.plugins.verify.verify import check_notebooks

        return await check_notebooks(Path(session.folder), since)


COMMANDS = (
    Command(
        "verify",
        "Runs notebooks from the top in isolation, and reports what fails or differs from their saved results.",
        "The exit code is 0 if all are verified, 1 if something was found, and 2 if one could not be read (the "
        f"others are still verified). Your files are not changed. See {manual('how-to/verify')}",
        _verify,
        (
            Option("--fast", "check only the names in the cells, without running anything"),
            Option(
                "--seconds",
                "how many seconds the cells of a notebook may take in total; 120 by default",
                "N",
                kind=float,
            ),
            Option("--cwd", "the folder to run in; the notebook's own by default", "FOLDER"),
            Option("--network", "hosts that the notebooks may reach, separated by commas", "HOSTS"),
            Option("--json", "print the findings as JSON"),
            Option("--junit", "write the findings to FILE as JUnit XML", "FILE"),
        ),
        ("NOTEBOOK", "notebooks"),
    ),
)
PLUGIN = Plugin(
    name="verify",
    summary="Verifies notebooks: do they run from the top and reproduce the results they show?",
    commands=COMMANDS,
    magics=(Magic("verify", _magic),),
    requests=REQUESTS,
    tools=TOOLS,
    checkers=(_Checker(),),
)
