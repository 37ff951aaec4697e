"""What a session's agent is given besides the conversation: skills, components, tools, MCP servers.

They are AHP's customizations (``SessionState.customizations``), so every client of the session sees them: the chat in a
line, other programs on the session's channel. Skills of packages that the kernel has imported, and that the user has
not decided about, are among them as plugins that are not enabled: the chat asks the user.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentnb.errors import AgentnbError
from agentnb.kernel.tools import TOOLS
from agentnb.plugins.chain.components.component import Component
from agentnb.plugins.chain.components.given import components
from agentnb.plugins.chain.components.shipped_components import Surroundings
from agentnb.plugins.knowledge.skills.library import OWN_PACKAGE, WORKSPACE, SkillLibrary, shared_scan
from agentnb.policy.store import PolicyFiles
from agentnb.state import SessionCustomizationsChanged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.host.channels import SessionChannels
    from agentnb.host.environment import Environment
    from agentnb.host.session_options import Configuration
    from agentnb.plugins.knowledge.skills.found_skill import FoundSkill
    from agentnb.plugins.knowledge.skills.offers import SkillOffer

SkillChoice = Literal["trust", "refuse", "revoke"]
KERNEL = "kernel"
_READY = {"kind": "ready"}


class Customizations:
    """Tells the clients of one session what its agent is given. Everything here runs on the host's thread."""

    def __init__(self, channels: SessionChannels, configuration: Configuration, environment: Environment) -> None:
        self._channels = channels
        self.configuration = configuration
        self._environment = environment
        self._telling = asyncio.Lock()

    @property
    def is_possible(self) -> bool:
        """Whether the agent can be given anything."""
        given = self.configuration
        return bool(given.kernel or given.chain or given.components)

    async def tell(self) -> None:
        """Look what the agent is given now, and tell the clients where that is other than they know."""
        async with self._telling:
            asks = self._channels.kernel_access != "off"
            found = await asyncio.to_thread(customizations, self.configuration, self._environment, asks=asks)
            if found != (self._channels.session.state.customizations or ()):
                self._channels.dispatch(SessionCustomizationsChanged(customizations=found))


def customizations(
    configuration: Configuration, environment: Environment, *, asks: bool = False
) -> tuple[dict[str, Any], ...]:
    """The skills, components, tools and MCP servers of a session, as AHP's ``Customization``.

    Components come first, in their order from the user to the agent. Neither commands nor addresses are told: they can
    hold keys. It looks at the files of skills: call it on a thread of its own.
    """
    found = [*_chain(configuration, environment)]
    if configuration.spec.takes_mcp:
        if configuration.kernel:
            found.append(_server(KERNEL, *TOOLS))
        found += [_server(server.name) for server in configuration.components]
        if configuration.kernel or "skills" in configuration.chain:
            library = SkillLibrary(configuration.cwd, scan=shared_scan(), trusts_workspace=PolicyFiles().trusts)
            found += _packages(library.offered())
            if asks:
                found += map(_offer, library.offers())
    return tuple(found)


def choose_skills(action: SkillChoice, package: str, *, shown: str) -> None:
    """Do what the user chose about the skills of an installed package. It looks at files: on a thread of its own."""
    library = SkillLibrary(scan=shared_scan())
    if action == "trust":
        library.trust(package, shown=shown)
    elif action == "refuse":
        library.refuse(package, shown=shown)
    else:
        library.revoke(package)


def _chain(configuration: Configuration, environment: Environment) -> Iterable[dict[str, Any]]:
    try:
        chain = components(configuration.chain, Surroundings(environment.code_runner))
    except AgentnbError:
        return  # the agent does not start either, and says why
    for number, each in enumerate(chain, 1):
        about: dict[str, Any] = {"place": number}
        if isinstance(each, Component):
            turn, once = each.tokens(configuration.cwd)
            about |= {"about": each.about, "tokensPerTurn": turn, "tokensOnce": once}
            about["tools"] = [tool.name for tool in each.tools]
        yield {
            "type": "plugin",
            "id": f"component:{number}",
            "uri": f"agentnb-component:/{number}",
            "name": each.name,
            "enabled": True,
            "load": {"kind": "loaded"},
            "children": [],
            "_meta": {"agentnb": about},
        }


def _server(name: str, *tools: str) -> dict[str, Any]:
    told: dict[str, Any] = {
        "type": "mcpServer",
        "id": f"mcp:{name}",
        "uri": f"agentnb-mcp:/{name}",
        "name": name,
        "enabled": True,
        "state": _READY,
    }
    return {**told, "_meta": {"agentnb": {"tools": list(tools)}}} if tools else told


def _packages(skills: list[FoundSkill]) -> Iterable[dict[str, Any]]:
    """A package with its skills as an Open Plugins plugin: those that are imported first."""
    packages: dict[str, list[FoundSkill]] = {}
    for each in skills:
        packages.setdefault(f"{each.package} {each.version}".strip(), []).append(each)
    for name, own in packages.items():
        yield {
            "type": "plugin",
            "id": f"package:{own[0].package}",
            "uri": _uri(own[0].folder.parent),
            "name": name,
            "enabled": True,
            "load": {"kind": "loaded"},
            "children": [
                {
                    "type": "skill",
                    "id": f"skill:{each.id}",
                    "uri": _uri(each.folder),
                    "name": each.name,
                    "description": each.description,
                }
                for each in own
            ],
            "_meta": {
                "agentnb": {
                    "imported": any(each.imported for each in own),
                    "isRevocable": own[0].package not in {OWN_PACKAGE, WORKSPACE},
                }
            },
        }


def _offer(offer: SkillOffer) -> dict[str, Any]:
    """A package that the user is asked about: a plugin that is not enabled, with what its skills say of themselves."""
    return {
        "type": "plugin",
        "id": f"offer:{offer.package}",
        "uri": _uri(Path(offer.skills[0].folder).parent),
        "name": f"{offer.package} {offer.version}".strip(),
        "enabled": False,
        "load": {"kind": "loaded"},
        "children": [
            {
                "type": "skill",
                "id": f"offer:{offer.package}/{each.name}",
                "uri": _uri(Path(each.folder)),
                "name": each.name,
                "description": each.description,
                "_meta": {
                    "agentnb": {
                        "folder": each.folder,
                        "suspicious": list(each.suspicious),
                        "moreSuspicious": each.more_suspicious,
                        "otherFiles": each.other_files,
                    }
                },
            }
            for each in offer.skills
        ],
        "_meta": {"agentnb": {"package": offer.package, "digest": offer.digest}},
    }


def _uri(folder: Path) -> str:
    return folder.absolute().as_uri()
