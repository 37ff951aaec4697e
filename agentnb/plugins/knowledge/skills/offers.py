"""A package's skills as the user sees them before trusting it, with a digest: trust covers only what was shown."""

from __future__ import annotations

import contextlib
import hashlib
import re
import time
from typing import TYPE_CHECKING

import msgspec

from agentnb.errors import UsageError
from agentnb.folders import config_folder
from agentnb.plugins.knowledge.package_tools.declared import digest_of_tool
from agentnb.plugins.knowledge.skills.skill_files import SKILL_FILE, digest_of, files_of, read_file, read_skill
from agentnb.safe_files import write_atomically
from agentnb.safe_json import read_record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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
        """Returns a digest of all that is shown and all that agents could read: any other text has another digest."""
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()


def offer_of(skills: Sequence[FoundSkill]) -> SkillOffer:
    """The offer of the skills of one package; those that cannot be used are left out."""
    offered: list[ShownSkill] = []
    digests: dict[str, str] = {}
    for each in skills:
        with contextlib.suppress(UsageError):  # such a skill cannot be used, even if trusted
            digest, one = _digest(each), _shown_skill(each)
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


def _shown_skill(skill: FoundSkill) -> ShownSkill:
    tool = skill.tool
    lines = suspicious_lines(read_file(skill.folder, SKILL_FILE) if tool is None else tool.source)
    return ShownSkill(
        name=skill.name if tool is None else tool.signature,
        description=skill.description if tool is None else f"A tool, run in your kernel: {skill.description}",
        folder=str(skill.folder.absolute() if tool is None else tool.path),
        suspicious=tuple(lines[:MOST_LINES]),
        more_suspicious=len(lines[MOST_LINES:]),
        other_files=len(files_of(skill.folder)) - 1 if tool is None else 0,
    )


def suspicious_lines(text: str) -> list[str]:
    """Lines that a user should read before they trust a skill."""
    return [line.strip()[:LONGEST_LINE] for line in text.splitlines() if _SUSPICIOUS.search(line[:2_000])]


FILE = "skills.json"
LARGEST = 5_000_000


class TrustedPackage(msgspec.Struct, frozen=True, kw_only=True):
    """A package whose skills the user trusts, or does not want."""

    package: str
    version: str
    digests: dict[str, str]
    refused: dict[str, str] = {}
    trusted_at: int = 0


class SkillTrust:
    """The user's choices, in a file of theirs that every kernel reads."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path

    @property
    def path(self) -> Path:
        return self._path or config_folder() / FILE

    def trusted(self) -> list[TrustedPackage]:
        """Returns the trusted packages, in the order in which they were trusted."""
        return [each for each in self.choices() if not each.refused]

    def choices(self) -> list[TrustedPackage]:
        try:
            with self.path.open("rb") as file:
                return read_record(file.read(LARGEST), list[TrustedPackage])
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            message = f"{self.path} cannot be read, so no skill is trusted: {error}."
            raise UsageError(message, hint="Fix or delete the file.") from None

    def of_version(self, package: str, version: str) -> list[TrustedPackage]:
        return [each for each in self.choices() if (each.package, each.version) == (package, version)]

    def trust(self, package: str, version: str, digests: dict[str, str]) -> None:
        """Trust a package as it is now, instead of its other versions."""
        made = TrustedPackage(package=package, version=version, digests=digests, trusted_at=int(time.time()))
        others = [each for each in self.choices() if each.package != package or each.refused]
        self._put(made, others)

    def refuse(self, package: str, version: str, digests: dict[str, str]) -> None:
        """Stop trusting a version of a package, and remember that the user refuses it as it is now."""
        self._put(TrustedPackage(package=package, version=version, digests={}, refused=digests), self.choices())

    def revoke(self, package: str) -> bool:
        """Stop trusting a package, and remember that; False if it was not trusted."""
        was = next((each for each in self.trusted() if each.package == package), None)
        if was is not None:
            self.refuse(package, was.version, was.digests)
        return was is not None

    def _put(self, choice: TrustedPackage, others: list[TrustedPackage]) -> None:
        """Replace the choice about the same version with *choice*, or only remove it if *choice* has no digests."""
        about = (choice.package, choice.version)
        kept = [each for each in others if (each.package, each.version) != about]
        if choice.digests or choice.refused:
            kept.append(choice)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(self.path, msgspec.json.format(msgspec.json.encode(kept)), sync=True)
        except OSError as error:
            raise UsageError(f"{self.path} cannot be written: {error.strerror}.") from None
