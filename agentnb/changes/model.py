"""Snapshots, changes and steps: frozen structs that go into logs and messages as JSON."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Mode: TypeAlias = Literal["file", "executable", "link", "folder"]
"""The kind of a path. Of folders, snapshots compare only empty ones; a ``folder`` with files follows from its files."""

Status: TypeAlias = Literal["added", "changed", "deleted", "moved"]

Coverage: TypeAlias = Literal["whole", "named"]
"""The files that a snapshot has: every file of the workspace (``whole``), or only those that were named (``named``)."""

Why: TypeAlias = Literal[
    "large", "socket", "pipe", "device", "other file system", "unreadable", "submodule", "outside limit", "name"
]
"""The reason a file is not covered; ``name``: git reserves the name (``.GIT``)."""

Choice: TypeAlias = Literal["mine", "theirs"]
"""The side of a conflict to take: ``mine`` leaves the file as it is now, ``theirs`` takes the step's target."""

UNKNOWN = "unknown"  # the digest of a version that existed, or may have existed, but was not read
_ESCAPED = 0xF700  # private characters from here stand for undecodable bytes in JSON: U+F780 is the byte 0x80


class FileVersion(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A path's content and kind at one moment."""

    blob: str | None = None
    digest: str = ""
    mode: Mode = "file"
    size: int = 0

    @property
    def is_stored(self) -> bool:
        """True if the content can be restored."""
        return self.blob is not None or self.mode == "folder"


FOLDER = FileVersion(mode="folder")  # its contents are listed separately

Differences: TypeAlias = dict[str, tuple[FileVersion | None, FileVersion | None]]
"""Paths with their earlier and later version; None where there is none."""


class PathChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A file that changed between two snapshots."""

    path: str
    was: str | None = None
    before: FileVersion | None = None
    after: FileVersion | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """The path, and the earlier one where it was moved."""
        return (self.path,) if self.was is None else (self.path, self.was)

    @property
    def status(self) -> Status:
        if self.was is not None:
            return "moved"
        if self.before is None:
            return "added"
        return "changed" if self.after is not None else "deleted"

    @property
    def undoable(self) -> bool:
        """True if both sides can be restored, so that undo loses nothing and redo works."""
        return self.reason is None

    @property
    def reason(self) -> str | None:
        """Returns the reason it cannot be undone, as a sentence, or None if it can."""
        if self.before is not None and self.before.digest == UNKNOWN:
            return "The contents before this turn are not known, because the file was not tracked then."
        if any(each is not None and not each.is_stored for each in (self.before, self.after)):
            return "The contents are not stored."
        return None

    @property
    def backward(self) -> tuple[Step, ...]:
        """The steps that undo it."""
        if self.was is None:
            return (Step(path=self.path, base=self.after, target=self.before),)
        return (Step(path=self.path, base=self.after, target=None), Step(path=self.was, base=None, target=self.before))

    @property
    def forward(self) -> tuple[Step, ...]:
        """The steps that redo it."""
        return tuple(Step(path=each.path, base=each.target, target=each.base) for each in self.backward)


class NotCovered(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A path that snapshots leave out although nobody asked to leave it out."""

    path: str
    why: Why
    detail: str = ""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The workspace at one moment."""

    id: str
    taken_at: int
    coverage: Coverage = "whole"
    reason: str = ""
    not_covered: tuple[NotCovered, ...] = ()
    not_covered_count: int = 0
    notes: tuple[str, ...] = ()


class Step(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Brings one path from one version to another."""

    path: str
    base: FileVersion | None = None
    target: FileVersion | None = None
    is_implied: bool = False


class Conflict(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A step that found neither its base nor its target at the path."""

    path: str
    base: FileVersion | None = None
    target: FileVersion | None = None
    current: FileVersion | None = None
    merged: str | None = None


def folders_above(path: str) -> list[str]:
    """Returns the folders above *path*, uppermost first."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def path_to_json(path: str) -> str:
    """Returns *path* without lone surrogates; different paths have different forms, and most are unchanged."""
    if path.isascii():
        return path
    escaped = "".join(_as_bytes(each) if 0xF780 <= ord(each) <= 0xF7FF else each for each in path)  # noqa: PLR2004
    return "".join(chr(ord(each) - 0xDC00 + _ESCAPED) if 0xDC80 <= ord(each) <= 0xDCFF else each for each in escaped)  # noqa: PLR2004


def path_from_json(text: str) -> str:
    if text.isascii():
        return text
    raw = b"".join(
        bytes([ord(each) - _ESCAPED]) if 0xF780 <= ord(each) <= 0xF7FF else each.encode("utf-8", "surrogateescape")  # noqa: PLR2004
        for each in text
    )
    return raw.decode("utf-8", "surrogateescape")


def _as_bytes(character: str) -> str:
    """Encode a reserved character as undecodable bytes, so that no two paths have the same form."""
    return "".join(chr(0xDC00 + byte) for byte in character.encode("utf-8"))
