"""The plug-in: `agentnb provenance`, `%agents provenance`, requests of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.command import Command, Option, complain, words_of, write, write_json
from agentnb.distribution import manual
from agentnb.errors import AgentnbError, UsageError
from agentnb.plugins.provenance.requests import REQUESTS
from agentnb.ports import Magic, Plugin

if TYPE_CHECKING:
    import argparse


def _provenance(arguments: argparse.Namespace) -> int:
    from agentnb.plugins.provenance.provenance import provenance

    if len(arguments.words) != 1:
        return complain("Specify one notebook: agentnb provenance analysis.ipynb.")
    if arguments.json and arguments.prov:
        return complain("Choose --json or --prov.")
    try:
        result = provenance(arguments.words[0])
    except AgentnbError as error:
        return complain(str(error))
    if arguments.prov:
        return write_json(result.as_prov())
    return write_json(result.as_dict()) if arguments.json else write(repr(result))


def _magic(rest: str) -> Any:
    from agentnb.plugins.provenance.provenance import provenance

    names = words_of(rest)
    if len(names) > 1:
        raise UsageError("`%agents provenance` takes a notebook's path.", hint="Without a path: this notebook.")
    return provenance(*names)


COMMANDS = (
    Command(
        "provenance",
        "Shows which lines of a notebook agents wrote, in which turn, and what was edited since.",
        "It compares the notebook with the agents' turns that agentnb has saved on this machine. See"
        f" {manual('how-to/provenance')}",
        _provenance,
        (
            Option("--json", "print it as JSON"),
            Option("--prov", "print it as PROV-JSON, the W3C format for provenance"),
        ),
        ("NOTEBOOK", "a notebook"),
    ),
)
PLUGIN = Plugin(
    name="provenance",
    summary="Shows who wrote each line of a notebook.",
    commands=COMMANDS,
    magics=(Magic("provenance", _magic),),
    requests=REQUESTS,
)
