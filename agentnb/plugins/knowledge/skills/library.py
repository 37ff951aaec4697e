"""The skills of this environment: all of them for the user, the trusted ones for agents."""

from __future__ import annotations

import functools
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.distributions import normal_name
from agentnb.plugins.knowledge.package_tools.declared import DeclaredTool, digest_of_tool, read_tool
from agentnb.plugins.knowledge.skills.offers import SkillTrust, offer_of
from agentnb.plugins.knowledge.skills.scan import FoundSkill, SkillScan, workspace_skills
from agentnb.plugins.knowledge.skills.skill_files import SKILL_FILE, digest_of, files_of, read_file, read_skill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agentnb.plugins.knowledge.skills.offers import SkillOffer
    from agentnb.plugins.knowledge.skills.scan import SkillFolder

WORKSPACE = "workspace"
"""The package's name for skills of the workspace."""
OWN_PACKAGE = "jupyter-agentnb"
"""agentnb's own distribution, which is always trusted: a user who runs it trusts it."""
MOST_LISTED = 200
"""The most tools that an agent gets at once."""
LONGEST_HINT = 2_000
_PROGRAMS: dict[str, tuple[str, ...]] = {".py": (sys.executable,), ".sh": ("sh",)}
MOST_OFFERS = 20
"""The most packages in one question to the user."""


@functools.cache
def shared_scan() -> SkillScan:
    """Returns the one scan of ``sys.path`` that all conversations of this process share; it reads nothing twice."""
    return SkillScan()


class SkillScript(msgspec.Struct, frozen=True, kw_only=True):
    """A script of a skill, and what runs it."""

    name: str
    path: Path
    program: tuple[str, ...]
    text: str


class SkillLibrary:
    """Finds skills, and gives agents those that the user trusts."""

    def __init__(
        self,
        workspace: Path | None = None,
        *,
        scan: SkillScan | None = None,
        trust: SkillTrust | None = None,
        trusts_workspace: Callable[[Path], bool] = lambda _: False,
    ) -> None:
        self._workspace = workspace
        self._scan = scan or SkillScan()
        self._trust = trust or SkillTrust()
        self._trusts_workspace = trusts_workspace

    def skills(self) -> list[FoundSkill]:
        """Returns all skills and package tools, those of imported packages first."""
        folders = self._scan.installed()
        if self._workspace is not None:
            folders += workspace_skills(self._workspace)
        skills = [self._skill_at(each) for each in folders]
        return sorted(skills, key=lambda each: (not each.imported, each.id))

    def offered(self) -> list[FoundSkill]:
        """Returns the skills that agents get: those that are trusted and have no problem."""
        return [each for each in self.skills() if each.trusted and not each.problem]

    def read(self, named: str, file: str = SKILL_FILE) -> str:
        """Read a file of a skill, which must be one that agents get."""
        return read_file(self._skill(named).folder, file)

    def _skill(self, named: str) -> FoundSkill:
        return named_skill(named, [each for each in self.offered() if not each.is_tool])

    def tool(self, named: str) -> FoundSkill:
        """Returns a tool, which must be one that agents get."""
        return named_skill(named, [each for each in self.offered() if each.is_tool], what="tool")

    def script(self, named: str) -> SkillScript:
        """A script of a skill that agents get, named as ``package/skill/scripts/name.py``."""
        skill, _, file = named.partition("/scripts/")
        folder, name = self._skill(skill).folder, f"scripts/{file}"
        text = read_file(folder, name)  # raises for a file that is not text: the user did not see it
        program = _PROGRAMS.get(PurePosixPath(file).suffix)
        if program is None:
            raise UsageError(
                f"{named} is not a script that can be run.", hint=f"It ends with {' or '.join(_PROGRAMS)}."
            )
        return SkillScript(name=named, path=folder / name, program=program, text=text)

    def answer(self, arguments: Mapping[str, Any], *, can_run: bool = True) -> str:
        """Answer an agent's call of the tool that lists and reads skills; tools are listed if it *can_run* any."""
        if "skill" in arguments:
            return self._read_for_agent(arguments["skill"], arguments.get("file"), can_run=can_run)
        if "file" in arguments:
            raise UsageError("Files can only be read from a skill.", hint="Specify the skill, too.")
        offered = self.offered()
        lines = [
            f"{each.id} ({each.package} {each.version}{', imported' if each.imported else ''}): {each.description}"
            for each in offered
            if not each.is_tool
        ]
        tools = [
            f"{each.package}/{each.tool.signature}: {each.description}"
            for each in offered
            if each.tool is not None and can_run
        ]
        if tools:
            lines += ["", "Tools, to be called with use_package_tool:", *tools[:MOST_LISTED]]
        if len(tools) > MOST_LISTED:
            lines.append(f"and {len(tools) - MOST_LISTED:,} more: use_package_tool says of each what it takes.")
        return "\n".join(lines).strip() or "No installed package brings a skill or tool that the user trusts."

    def _read_for_agent(self, named: str, file: str | None, *, can_run: bool) -> str:
        if file is not None:
            return self.read(named, file)
        text = self.read(named)
        others = [name for name in files_of(self._skill(named).folder) if name != SKILL_FILE]
        if not others:
            return text
        text += f"\n\nOther files of this skill: {', '.join(others)}."
        has_scripts = can_run and any(each.startswith("scripts/") for each in others)
        return f"{text} Scripts are run by use_package_tool, as {named}/scripts/…" if has_scripts else text

    def offers(self) -> list[SkillOffer]:
        """Returns the packages that this process has imported and whose skills the user neither trusts nor refuses."""
        packages: dict[str, list[FoundSkill]] = {}
        for each in self.skills():
            packages.setdefault(each.package, []).append(each)
        undecided = [
            skills
            for name, skills in packages.items()
            if name not in {WORKSPACE, OWN_PACKAGE} and any(each.imported for each in skills)
            if any(not each.trusted and not each.refused for each in skills)
        ]
        offers = [offer for offer in map(offer_of, undecided) if offer.skills and not self._is_decided(offer)]
        return offers[:MOST_OFFERS]

    def _is_decided(self, offer: SkillOffer) -> bool:
        """True if the user has decided, or if the choices cannot be read: an answer could not be saved either."""
        try:
            choices = self._trust.of_version(offer.package, offer.version)
        except UsageError:
            return True
        return any(offer.digests == (each.refused or each.digests) for each in choices)

    def trust(self, package: str, *, digest: str | None = None) -> list[FoundSkill]:
        """Let agents have the skills of a package, in the version that is installed."""
        offer = self._offer(package, digest)
        self._trust.trust(offer.package, offer.version, offer.digests)
        return self.of_package(package)

    def refuse(self, package: str, *, digest: str | None = None) -> None:
        """Do not ask again about the skills of a package, in this version and as they are now."""
        offer = self._offer(package, digest)
        self._trust.refuse(offer.package, offer.version, offer.digests)

    def _offer(self, package: str, digest: str | None) -> SkillOffer:
        skills = self.of_package(package)
        if skills[0].package == WORKSPACE:
            hint = "agentnb.trust() or `agentnb trust` trusts the folder."
            raise UsageError("The skills of a workspace apply only if you trust the workspace.", hint=hint)
        offer = offer_of(skills)
        if digest is not None and offer.digest != digest:
            message = f"The skills of {offer.package} have changed since they were shown, so nothing was chosen."
            raise UsageError(message, hint="Check them again.")
        return offer

    def revoke(self, package: str) -> bool:
        """Take a package's skills away from agents and do not ask about them again; False if it was not trusted."""
        return self._trust.revoke(normal_name(package))

    def of_package(self, package: str) -> list[FoundSkill]:
        skills = [each for each in self.skills() if each.package == normal_name(package)]
        if not skills:
            names = ", ".join(dict.fromkeys(each.package for each in self.skills()))
            raise UsageError(
                f"The package {package!r} has no skills and no tools.",
                hint=f"Packages that bring some: {names or 'none'}.",
            )
        return skills

    def _skill_at(self, place: SkillFolder) -> FoundSkill:
        entry = place.tool
        name, description, problem, trusted, refused = place.folder.name, "", "", False, False
        tool: DeclaredTool | None = None
        try:
            if entry is None:
                name, text = read_skill(place.folder)
                key, description = name, " ".join(text.split())
            else:
                key, name = f"tool:{entry.name}", entry.name
                tool = read_tool(place.folder, entry)
                description = tool.description
            trusted, problem = self._is_trusted(place, key)
            refused = self._is_refused(place, key)
        except (UsageError, OSError) as error:
            problem = str(error)
        return FoundSkill(
            id=f"{place.package}/{name}",
            name=name,
            description=description,
            package=place.package,
            version=place.version,
            folder=place.folder,
            trusted=trusted,
            refused=refused,
            imported=bool(place.module) and place.module in sys.modules,
            problem=problem,
            tool=tool,
            is_tool=entry is not None,
        )

    def _is_trusted(self, place: SkillFolder, name: str) -> tuple[bool, str]:
        """Returns whether the user trusts the skill, and, if it has changed, why they are asked again."""
        if place.package == WORKSPACE:
            return self._workspace is not None and self._trusts_workspace(self._workspace), ""
        if place.package == OWN_PACKAGE:
            return True, ""
        trusted = [each for each in self._trust.of_version(place.package, place.version) if not each.refused]
        if not trusted:
            return False, ""
        if trusted[0].digests.get(name) == digest_of_place(place):
            return True, ""
        return False, "It has changed since you trusted its package. Look at it, and trust the package again."

    def _is_refused(self, place: SkillFolder, name: str) -> bool:
        choices = self._trust.of_version(place.package, place.version)
        return any(each.refused and each.refused.get(name) == digest_of_place(place) for each in choices)


def digest_of_place(place: SkillFolder) -> str:
    """A digest of what an agent can read of a skill, or run of a tool's package."""
    return digest_of(place.folder) if place.tool is None else digest_of_tool(place.folder, place.tool)


def named_skill(named: str, skills: Iterable[FoundSkill], what: str = "skill") -> FoundSkill:
    """Returns the skill or tool with this id or name; raises UsageError unless there is exactly one."""
    offered = [*skills]
    matches = [each for each in offered if named in {each.id, each.name}]
    if len(matches) == 1:
        return matches[0]
    ids = ", ".join(each.id for each in matches or offered)
    if matches:
        raise UsageError(f"{len(matches)} {what}s are called {named!r}.", hint=f"Specify one by its id: {ids}.")
    hint = f"Available: {ids[:LONGEST_HINT]}." if ids else f"The user does not trust any package's {what}s yet."
    raise UsageError(f"There is no {what} {named!r} for agents.", hint=hint)
