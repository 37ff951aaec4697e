"""The plug-in: the command `agentnb components`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.command import OK, Command, Option, complain
from agentnb.ports import Plugin

if TYPE_CHECKING:
    import argparse


def _components(arguments: argparse.Namespace) -> int:
    from agentnb.configuration.sources import read_settings
    from agentnb.configuration.write import change_setting
    from agentnb.errors import AgentnbError
    from agentnb.plugins.chain.components.listing import listing

    try:
        if arguments.words or arguments.none:
            path = change_setting("components", arguments.words)
            print(f"Written to {path}; new conversations follow it.")
        print(listing(read_settings()["components"].value, Path.cwd()))
    except AgentnbError as error:
        return complain(str(error))
    return OK


COMMANDS = (
    Command(
        "components",
        "Lists what can stand between you and an agent, what of it does, and what it costs in tokens.",
        "Names and commands set which do, in that order, in your settings file.",
        _components,
        (Option("--none", "let none stand between you and agents"),),
        ("NAME", "a component: a name or a quoted command; the first one is next to you"),
    ),
)
PLUGIN = Plugin(name="chain", summary="Components between you and an agent.", commands=COMMANDS)
