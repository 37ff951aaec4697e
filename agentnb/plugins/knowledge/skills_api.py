"""``agentnb.skills()``: the skills of installed packages and of the workspace, and which of them agents get."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.api.columns import Rows, html, lines, on_one_line
from agentnb.plugins.knowledge.skills.library import SkillLibrary, named_skill
from agentnb.plugins.knowledge.skills.offers import suspicious_lines
from agentnb.plugins.knowledge.skills.scan import FoundSkill, zipped_packages
from agentnb.plugins.knowledge.skills.skill_files import SKILL_FILE, files_of, read_file
from agentnb.policy.store import PolicyFiles

if TYPE_CHECKING:
    from collections.abc import Iterable

_HEAD = ("skill", "version", "agents get it", "description")


class Skills(Rows[FoundSkill]):
    """Skills; a table when displayed.

    Args:
        skills: The skills.
        library: The library that they are from.
    """

    def __init__(self, skills: Iterable[FoundSkill], library: SkillLibrary) -> None:
        super().__init__(skills)
        self._library = library

    def show(self, skill: str) -> str:
        """Returns everything that agents can read of a skill, trusted or not, with the lines to check first.

        Args:
            skill: Its id, or its name if only one skill has that name.

        Raises:
            UsageError: If there is no such skill, or it cannot be read.
        """
        return shown_skill(named_skill(skill, self))

    def trust(self, package: str) -> Skills:
        """Give agents the skills of a package, in the installed version. Look at the skills first.

        Args:
            package: The distribution's name.

        Raises:
            UsageError: If it has no skills.
        """
        return Skills(self._library.trust(package), self._library)

    def revoke(self, package: str) -> bool:
        """Take the skills of a package from agents; False if you did not trust it.

        The chat does not ask about them again, for this version and their current content.

        Args:
            package: The distribution's name.
        """
        return self._library.revoke(package)

    def __repr__(self) -> str:
        if not self:
            return "No installed package and no folder in the workspace has skills or tools."
        zipped = zipped_packages()
        note = [f"Not searched, because they are zipped: {', '.join(zipped)}"] if zipped else []
        return "\n".join([*lines([_HEAD, *map(_row, self)]), *note])

    def _repr_html_(self) -> str:
        return html(_HEAD, map(_row, self)) if self else f"<p>{self!r}</p>"


def skills() -> Skills:
    """Returns the skills and tools for agents that installed packages and the current folder contain.

    An agent with access to the kernel gets the name and description of those that you trust. It can read a skill. It
    can also run a tool, or a script of a skill, if your policy allows that, as for all code and commands.
    ``.show(skill)``, ``.trust(package)`` and ``.revoke(package)`` of the table do what they say; your trust holds for
    one version of a package and for the current content of its skills and tools.

    Example:
        >>> agentnb.skills()  # doctest: +SKIP
        skill                    version  agents get it  description
        jupyter-agentnb/agentnb  0.3.0    yes            Work well in a Jupyter notebook …
    """
    library = SkillLibrary(Path.cwd(), trusts_workspace=PolicyFiles().trusts)
    return Skills(library.skills(), library)


def shown_skill(skill: FoundSkill) -> str:
    """Returns a skill as it is shown to the user before they trust it."""
    if skill.is_tool:
        return _shown_tool(skill)
    if skill.problem and not (skill.folder / SKILL_FILE).is_file():
        return skill.problem
    text = read_file(skill.folder, SKILL_FILE)
    others = [name for name in files_of(skill.folder) if name != SKILL_FILE]
    texts = [f"{skill.id} {skill.version}, in {skill.folder}", *([skill.problem] if skill.problem else [])]
    if suspicious := suspicious_lines(text):
        texts += ["Check these lines:", *(f"  {on_one_line(line)}" for line in suspicious)]
    if others:
        texts.append(f"Other files that agents can read: {', '.join(map(on_one_line, others))}")
    return "\n".join([*texts, "", text])


def _shown_tool(skill: FoundSkill) -> str:
    """Returns a tool as it is shown to the user before they trust it: the code that an agent could run."""
    if skill.tool is None:
        return f"{skill.id} {skill.version}: {skill.problem}"
    texts = [f"{skill.id} {skill.version}, a tool: {skill.tool.entry.target} in {skill.tool.path}"]
    if suspicious := suspicious_lines(skill.tool.source):
        texts += ["Check these lines:", *(f"  {on_one_line(line)}" for line in suspicious)]
    return "\n".join([*texts, *([skill.problem] if skill.problem else []), "", skill.tool.source])


def _row(skill: FoundSkill) -> tuple[str, ...]:
    state = "no: see .show()" if skill.problem else "yes" if skill.trusted else "no"
    name = f"{skill.package}/{skill.tool.signature}" if skill.tool is not None else skill.id
    return on_one_line(name), skill.version, state, on_one_line(skill.description or skill.problem)[:100]
