"""The skills that a session's agent is given, and those that the user is asked about, as AHP's ``Customization``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.plugins.knowledge.skills.library import OWN_PACKAGE, WORKSPACE, SkillLibrary, shared_scan
from agentnb.policy.store import PolicyFiles

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.host.session_options import Configuration
    from agentnb.plugins.knowledge.skills.offers import ShownSkill, SkillOffer
    from agentnb.plugins.knowledge.skills.scan import FoundSkill


def customizations(configuration: Configuration, *, asks: bool) -> list[dict[str, Any]]:
    """Returns the packages whose skills the agent gets; with *asks* also those that the user has not decided about."""
    if not configuration.spec.takes_mcp or not (configuration.kernel or "skills" in configuration.chain):
        return []
    library = SkillLibrary(configuration.cwd, scan=shared_scan(), trusts_workspace=PolicyFiles().trusts)
    offers = map(_offer, library.offers()) if asks else ()
    return [*_packages(library.offered()), *offers]


def decide(action: str, package: str, *, digest: str) -> None:
    """Apply the user's choice about the skills of an installed package."""
    library = SkillLibrary(scan=shared_scan())
    if action == "trust":
        library.trust(package, digest=digest)
    elif action == "refuse":
        library.refuse(package, digest=digest)
    else:
        library.revoke(package)


def _packages(skills: list[FoundSkill]) -> Iterable[dict[str, Any]]:
    """Yields each package with its skills as an Open Plugins plugin, imported packages first."""
    packages: dict[str, list[FoundSkill]] = {}
    for each in skills:
        packages.setdefault(f"{each.package} {each.version}".strip(), []).append(each)
    for name, own in packages.items():
        yield {
            "type": "plugin",
            "id": f"package:{own[0].package}",
            "uri": _uri(own[0].folder.parent),
            "name": name,
            "load": {"kind": "loaded"},
            "children": [_skill(f"skill:{each.id}", each) for each in own],
            "_meta": {
                "agentnb": {
                    "imported": any(each.imported for each in own),
                    "isRevocable": own[0].package not in {OWN_PACKAGE, WORKSPACE},
                }
            },
        }


def _offer(offer: SkillOffer) -> dict[str, Any]:
    """Returns a package to ask the user about, as a disabled plugin with its skills' own descriptions."""
    return {
        "type": "plugin",
        "id": f"offer:{offer.package}",
        "uri": _uri(Path(offer.skills[0].folder).parent),
        "name": f"{offer.package} {offer.version}".strip(),
        "enablement": [{"kind": "session", "enabled": False}],
        "load": {"kind": "loaded"},
        "children": [
            {
                **_skill(f"offer:{offer.package}/{each.name}", each),
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


def _skill(skill_id: str, skill: FoundSkill | ShownSkill) -> dict[str, Any]:
    own = {"uri": _uri(skill.folder), "name": skill.name, "description": skill.description}
    return {"type": "skill", "id": skill_id, **own}


def _uri(folder: Path | str) -> str:
    return Path(folder).absolute().as_uri()
