"""The plug-in: the command `agentnb skills`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from agentnb.command import OK, Command, Option, complain
from agentnb.distribution import manual
from agentnb.plugins.knowledge.tools import TOOLS
from agentnb.ports import Plugin

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from agentnb.host.environment import Environment
    from agentnb.host.session_options import Configuration


def _skills(arguments: argparse.Namespace) -> int:
    from agentnb.errors import AgentnbError
    from agentnb.plugins.knowledge.skills_api import shown_skill, skills

    try:
        library = skills()
        texts: list[str] = []
        if arguments.show:
            texts.append(library.show(arguments.show))
        if arguments.revoke:
            was = library.revoke(arguments.revoke)
            texts.append(f"{arguments.revoke} {'is no longer trusted' if was else 'was not trusted'}.")
        if arguments.trust and arguments.yes:
            texts.append(repr(library.trust(arguments.trust)))
        elif arguments.trust:
            texts += [shown_skill(each) for each in library if each.package == arguments.trust]
            texts.append(f"With --yes, agents get the skills of {arguments.trust}." if texts else "It has no skills.")
        if arguments.json:
            import msgspec

            texts.append(msgspec.json.format(msgspec.json.encode([*library], enc_hook=str)).decode())
        text = "\n\n".join(texts) or repr(library)
    except AgentnbError as error:
        return complain(str(error))
    sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "replace"))
    return OK


COMMANDS = (
    Command(
        "skills",
        "Lists the skills for agents that come with installed packages and this folder, and which of them agents get.",
        f"Agents get those of packages that you trust, as text; no skill is run. See {manual('how-to/skills')}",
        _skills,
        (
            Option("--show", "show everything that agents can read of a skill", "SKILL"),
            Option("--trust", "show the skills of a package; with --yes: let agents have them", "PACKAGE"),
            Option("--revoke", "stop giving agents the skills of a package", "PACKAGE"),
            Option("--yes", "trust it, instead of showing what would be trusted"),
            Option("--json", "print them as JSON"),
        ),
    ),
)


class SkillCustomizer:
    """Says which skills an agent gets, and which the user is asked about (:class:`agentnb.ports.Customizer`)."""

    name = "skills"

    def customizations(
        self, configuration: Configuration, environment: Environment, *, asks: bool
    ) -> Iterable[dict[str, Any]]:
        """See :meth:`agentnb.ports.Customizer.customizations`."""
        from agentnb.plugins.knowledge.skills.customizations import customizations

        del environment
        return customizations(configuration, asks=asks)

    def decide(self, action: str, package: str, *, shown: str) -> bool:
        """See :meth:`agentnb.ports.Customizer.decide`."""
        from agentnb.plugins.knowledge.skills.customizations import decide

        decide(action, package, digest=shown)
        return True


PLUGIN = Plugin(
    name="knowledge",
    summary="Package skills, research in package source code, and code intelligence.",
    commands=COMMANDS,
    tools=TOOLS,
    customizers=(SkillCustomizer(),),
)
