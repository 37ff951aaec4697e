"""The plug-in: the command `agentnb components`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.command import OK, Command, Option, complain
from agentnb.ports import Plugin

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from agentnb.acp.peer import Spawn
    from agentnb.agent.confinement import Confine
    from agentnb.host.environment import Environment
    from agentnb.host.session_options import Configuration
    from agentnb.ports import ToolSession


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
        "Lists the components that can run between you and an agent, which of them are in use, and what they "
        "cost in tokens.",
        "If you give names or commands, they are saved in your settings file as the components to use, in that order.",
        _components,
        (Option("--none", "use no components"),),
        ("NAME", "a component: a name or a quoted command; the first one is closest to you"),
    ),
)


class ComponentLauncher:
    """Starts agents behind components, and says which there are (:class:`agentnb.ports.Launcher`, ``Customizer``)."""

    name = "components"

    def check(self, components: Sequence[Any], *, are_installed: bool) -> None:
        from agentnb.plugins.chain.components.listing import check

        check(components, are_installed=are_installed)

    def spawn(self, components: Sequence[Any], session: ToolSession, confine: Confine | None) -> Spawn:
        from agentnb.plugins.chain.components.listing import components as read
        from agentnb.plugins.chain.conductor.running_chain import ChainProcess

        return partial(ChainProcess.spawn, components=read(components, session), confine=confine)

    def customizations(
        self, configuration: Configuration, environment: Environment, *, asks: bool
    ) -> Iterable[dict[str, Any]]:
        from agentnb.plugins.chain.components.listing import customizations

        del environment, asks
        return customizations(configuration.chain, configuration.cwd)

    def decide(self, action: str, package: str, *, shown: str) -> bool:
        """Returns False, because components ask nothing."""
        del action, package, shown
        return False


PLUGIN = Plugin(
    name="chain",
    summary="Components between you and an agent.",
    commands=COMMANDS,
    launchers=(ComponentLauncher(),),
    customizers=(ComponentLauncher(),),
)
