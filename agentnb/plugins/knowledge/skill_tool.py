"""The tool that lists and reads skills, in words for the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.plugins.knowledge.skills.library import SkillLibrary


def skill_answer(library: SkillLibrary, given: Mapping[str, Any]) -> str:
    """The answer to a call."""
    if "skill" in given:
        text = library.read(given["skill"], *([given["file"]] if "file" in given else []))
        if "file" in given:
            return text
        others = [name for name in library.files(given["skill"]) if name != "SKILL.md"]
        return text + (f"\n\nOther files of this skill: {', '.join(others)}" if others else "")
    if "file" in given:
        raise UsageError("A file belongs to a skill.", hint="Name the skill, too.")
    lines = [
        f"{each.id} ({each.package} {each.version}{', imported' if each.imported else ''}): {each.description}"
        for each in library.offered()
    ]
    return "\n".join(lines) or "No installed package brings a skill that the user trusts."
