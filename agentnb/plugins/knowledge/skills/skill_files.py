"""The files of one skill: read within its folder only, and never more than the limits."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path

from agentnb.errors import UsageError
from agentnb.safe_json import read_json

MOST_LINES = 200
LONGEST_LINE = 4_000

_KEY = re.compile(r"(?P<key>[A-Za-z][\w-]*)\s*:(?:\s+(?P<value>.*))?$")
_BLOCK = re.compile(r"(?P<style>[|>])[+-]?\s*(?:#.*)?$")
_FORBIDDEN = ("&", "*", "!", "{", "[", "%", "@", "`")


def read_front_matter(text: str) -> dict[str, str | dict[str, str]]:
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != "---":
        raise ValueError("It does not start with the line ---.")
    end = next((at for at, line in enumerate(lines[1 : MOST_LINES + 2], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise ValueError(f"Its front matter does not end with the line --- within {MOST_LINES} lines.")
    return _mapping(lines[1:end])


def _mapping(lines: list[str]) -> dict[str, str | dict[str, str]]:
    fields: dict[str, str | dict[str, str]] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if (match := _KEY.match(line)) is None or len(line) > LONGEST_LINE:
            raise ValueError(f"A line of its front matter does not have the form KEY: VALUE: {line[:60]!r}.")
        inner = _indented(lines, at)
        at += len(inner)
        key, value = match["key"], (match["value"] or "").strip()
        if key in fields:
            raise ValueError(f"Its front matter has {key!r} twice.")
        if (block := _BLOCK.match(value)) is not None:
            fields[key] = _block(inner, block["style"])
        elif not value and any(map(_KEY.match, (each.strip() for each in inner if each.strip()))):
            fields[key] = {name: str(text) for name, text in _mapping([each.strip() for each in inner]).items()}
        else:
            fields[key] = _text(" ".join([value, *(each.strip() for each in inner)]).strip())
    return fields


def _indented(lines: list[str], start: int) -> list[str]:
    end = start
    while end < len(lines) and (not lines[end].strip() or lines[end][0] in " \t"):
        end += 1
    return lines[start:end]


def _block(lines: list[str], style: str) -> str:
    texts = [line.strip() for line in lines]
    return ("\n" if style == "|" else " ").join(texts).strip()


def _text(value: str) -> str:
    if value.startswith('"'):
        try:
            text = read_json(value)
        except ValueError:
            raise ValueError(f"Its front matter has an unclosed quote: {value[:60]!r}.") from None
        return str(text)
    if value.startswith("'"):
        if len(value) == 1 or not value.endswith("'"):
            raise ValueError(f"Its front matter has an unclosed quote: {value[:60]!r}.")
        return value[1:-1].replace("''", "'")
    if value.startswith(_FORBIDDEN):
        raise ValueError(f"Its front matter has a value that is not plain text: {value[:60]!r}.")
    return value.partition(" #")[0].rstrip()


SKILL_FILE = "SKILL.md"
LARGEST_FILE = 500_000
"""Bytes of one file of a skill."""
MOST_FILES = 200
MOST_DEPTH = 4
LONGEST_NAME, LONGEST_DESCRIPTION = 64, 1_024

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def read_skill(folder: Path) -> tuple[str, str]:
    """Read the ``SKILL.md`` of a skill; returns its name and description."""
    text = read_file(folder, SKILL_FILE)
    try:
        fields = read_front_matter(text)
    except ValueError as error:
        raise UsageError(f"{folder / SKILL_FILE} is not a skill. {error}") from None
    name, description = _text_field(fields, "name"), _text_field(fields, "description")
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
    return name, description


def read_file(folder: Path, name: str) -> str:
    path = folder / name
    real, root = os.path.realpath(path), os.path.realpath(folder)
    if os.path.commonpath([real, root]) != root:
        raise UsageError(f"{name!r} leads out of the skill's folder.")
    try:
        # O_NONBLOCK: opening a named pipe would wait for a writer.
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


def _text_field(fields: dict[str, str | dict[str, str]], key: str) -> str:
    value = fields.get(key, "")
    return value if isinstance(value, str) else ""
