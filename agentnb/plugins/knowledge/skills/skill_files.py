"""The files of one skill: read within its folder only, and never more than the limits."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path

import msgspec

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.skills.front_matter import split_front_matter

SKILL_FILE = "SKILL.md"
LARGEST_FILE = 500_000
"""Bytes of one file of a skill."""
MOST_FILES = 200
MOST_DEPTH = 4
LONGEST_NAME, LONGEST_DESCRIPTION, LONGEST_COMPATIBILITY = 64, 1_024, 500

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


class SkillText(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a ``SKILL.md``."""

    name: str
    description: str
    compatibility: str = ""
    license: str = ""
    body: str = ""


def read_skill(folder: Path) -> SkillText:
    """The ``SKILL.md`` of a skill."""
    text = read_file(folder, SKILL_FILE)
    try:
        fields, body = split_front_matter(text)
    except ValueError as error:
        raise UsageError(f"{folder / SKILL_FILE} is not a skill. {error}") from None
    name, description = _said(fields, "name"), _said(fields, "description")
    wrong = ""
    if len(name) > LONGEST_NAME or _NAME.fullmatch(name) is None:
        wrong = (
            f"A name must have 1 to {LONGEST_NAME} lowercase letters, digits and single hyphens, unlike {name[:80]!r}."
        )
    elif name != folder.name:
        wrong = f"Its name is {name!r} and its folder is called {folder.name!r}; they must be the same."
    elif not 0 < len(description) <= LONGEST_DESCRIPTION:
        wrong = f"A description must have 1 to {LONGEST_DESCRIPTION:,} characters, not {len(description):,}."
    if wrong:
        raise UsageError(f"{folder / SKILL_FILE} is not a skill. {wrong}")
    compatibility = _said(fields, "compatibility")[:LONGEST_COMPATIBILITY]
    return SkillText(
        name=name, description=description, compatibility=compatibility, license=_said(fields, "license"), body=body
    )


def read_file(folder: Path, name: str) -> str:
    path = folder / name
    real, root = os.path.realpath(path), os.path.realpath(folder)
    if os.path.commonpath([real, root]) != root:
        raise UsageError(f"{name!r} leads out of the skill's folder.")
    try:
        # O_NONBLOCK: a named pipe would wait for somebody who writes.
        descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(f"{name!r} is not a file.")
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise UsageError(f"{name!r} cannot be read: {error.strerror}.") from None
    if len(data) > LARGEST_FILE:
        raise UsageError(f"{name!r} has more than {LARGEST_FILE:,} bytes; no skill needs that many.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{name!r} is not text in UTF-8.") from None


def files_of(folder: Path) -> list[str]:
    """The files of a skill by their paths in its folder, sorted; links are not followed."""
    names: list[str] = []
    for place, folders, files in os.walk(folder, followlinks=False):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = sorted(each for each in folders if each != "__pycache__") if depth < MOST_DEPTH else []
        names += [(Path(place) / each).relative_to(folder).as_posix() for each in files]
        if len(names) > MOST_FILES:
            raise UsageError(f"The skill in {folder} has more than {MOST_FILES} files.")
    return sorted(names)


def digest_of(folder: Path) -> str:
    """A digest of all that an agent can read of a skill."""
    digest = hashlib.sha256()
    for name in files_of(folder):
        try:
            text = read_file(folder, name)
        except UsageError as error:  # an agent cannot read it either
            text = str(error)
        digest.update(f"{len(name)} {name} {len(text)} ".encode("utf-8", "surrogateescape"))
        digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _said(fields: dict[str, str | dict[str, str]], key: str) -> str:
    value = fields.get(key, "")
    return value if isinstance(value, str) else ""
