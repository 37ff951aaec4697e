"""The skills of a package as a user sees them before they trust it, with a digest: trust is for what was shown."""

from __future__ import annotations

import contextlib
import hashlib
import re
from typing import TYPE_CHECKING

import msgspec

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.package_tools.declared import digest_of_tool
from agentnb.plugins.knowledge.skills.skill_files import SKILL_FILE, digest_of, files_of, read_file, read_skill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.plugins.knowledge.skills.scan import FoundSkill

MOST_LINES = 10
"""Suspicious lines of one skill that are shown; the others are counted."""
LONGEST_LINE = 200

_SUSPICIOUS = re.compile(
    r"ignore (?:all |any )?(?:the |your )?(?:previous|prior|above|user)|(?:do not|don't|never) (?:tell|inform|ask|show)"
    r"[^.\n]{0,40}\buser|without (?:asking|telling|permission)|system prompt|bypass (?:the )?permission"
    r"|(?:api[ _-]?key|token|password|credential)s?\b|\bcurl\b|\bwget\b|base64",
    re.IGNORECASE,
)


class ShownSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill as the user sees it before they trust its package."""

    name: str
    description: str
    folder: str
    suspicious: tuple[str, ...] = ()
    more_suspicious: int = 0
    other_files: int = 0


class SkillOffer(msgspec.Struct, frozen=True, kw_only=True):
    """The skills of one package, as they are now."""

    package: str
    version: str
    skills: tuple[ShownSkill, ...]
    digests: dict[str, str]

    @property
    def digest(self) -> str:
        """Stands for all that is shown and all that agents could read: another text has another digest."""
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()


def offer_of(skills: Sequence[FoundSkill]) -> SkillOffer:
    """The offer of the skills of one package; those that cannot be used are left out."""
    offered: list[ShownSkill] = []
    digests: dict[str, str] = {}
    for each in skills:
        with contextlib.suppress(UsageError):  # it cannot be used, trusted or not
            digest, one = _digest(each), _shown(each)
            digests[each.key] = digest
            offered.append(one)
    return SkillOffer(package=skills[0].package, version=skills[0].version, skills=tuple(offered), digests=digests)


def _digest(skill: FoundSkill) -> str:
    if not skill.is_tool:
        read_skill(skill.folder)
        return digest_of(skill.folder)
    if skill.tool is None:
        raise UsageError(skill.problem)
    return digest_of_tool(skill.folder, skill.tool.entry)


def _shown(skill: FoundSkill) -> ShownSkill:
    if skill.tool is not None:
        lines = suspicious_lines(skill.tool.source)
        return ShownSkill(
            name=skill.tool.signature,
            description=f"A tool, run in your kernel: {skill.description}",
            folder=str(skill.tool.path),
            suspicious=tuple(lines[:MOST_LINES]),
            more_suspicious=len(lines[MOST_LINES:]),
        )
    lines = suspicious_lines(read_file(skill.folder, SKILL_FILE))
    return ShownSkill(
        name=skill.name,
        description=skill.description,
        folder=str(skill.folder.absolute()),
        suspicious=tuple(lines[:MOST_LINES]),
        more_suspicious=len(lines[MOST_LINES:]),
        other_files=len(files_of(skill.folder)) - 1,
    )


def suspicious_lines(text: str) -> list[str]:
    """Lines that a user should read before they trust a skill."""
    return [line.strip()[:LONGEST_LINE] for line in text.splitlines() if _SUSPICIOUS.search(line[:2_000])]
