"""The change that a write's permission card shows: cut short for a large file, with notes on what a diff cannot say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.policy.request import PolicyRequest
from agentnb.state import ToolContent, ToolDiffContent, ToolTextContent

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = 256 * 1024
"""Characters, old and new together, up to which a change is shown whole; of a larger file only what changes is."""
SIDE = 64 * 1024
"""Characters of each side of a cut change, at most."""
AROUND = 50
"""Lines round a cut change that stay as they are."""


def write_request(path: Path, old: bytes | None, new: str, *, again: bool = False) -> PolicyRequest:
    """The question whether *path*, which holds *old*, may be written."""
    title = f"Write {path.name}, which has changed in the meantime" if again else f"Write {path.name}"
    return PolicyRequest(kind="write", title=title, path=str(path), preview=_preview(path, old, new), again=again)


def _preview(path: Path, old: bytes | None, new: str) -> tuple[ToolContent, ...]:
    where = str(path)
    if old is None:
        excerpt = _cut(new, WHOLE)
        note = f"A new file of {len(new):,} characters; the first {len(excerpt):,} are shown." if excerpt != new else ""
        return *_note(note), ToolDiffContent(path=where, old_text=None, new_text=excerpt)
    try:
        text = old.decode("utf-8")
    except UnicodeDecodeError:
        excerpt = _cut(new, WHOLE)
        note = f"This replaces a file that is not text ({len(old):,} bytes) with {len(new):,} characters of text."
        return *_note(note), ToolDiffContent(path=where, old_text="", new_text=excerpt)
    if len(text) + len(new) <= WHOLE:
        return (ToolDiffContent(path=where, old_text=text, new_text=new),)
    return _changed(where, text, new)


def _changed(where: str, old: str, new: str) -> tuple[ToolContent, ...]:
    """The lines that change, with some round them, and which they are."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    top = _alike(before, after)
    end = _alike(before[top:][::-1], after[top:][::-1])
    first, below = max(top - AROUND, 0), max(end - AROUND, 0)
    lines = [side[first : len(side) - below] for side in (before, after)]
    parts = ["".join(side) for side in lines]
    excerpts = [_cut(part, SIDE) for part in parts]
    size = f"The file has {len(old):,} characters, and would have {len(new):,}."
    note = f"{size} Shown: lines {first + 1:,} to {first + len(lines[0]):,}, with all the changes."
    if excerpts != parts:
        note = f"{size} It changes from line {top + 1:,} on; the changes are too long to be shown in full."
    return *_note(note), ToolDiffContent(path=where, old_text=excerpts[0], new_text=excerpts[1])


def _alike(one: list[str], other: list[str]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most]


def _note(note: str) -> tuple[ToolTextContent, ...]:
    return (ToolTextContent(text=note),) if note else ()
