"""Finds moved files: one that is gone and one that is new, with equal or similar contents.

Limits: the same content is always found; a similar one is looked for among at most 100 files on each side, texts of at
most 1 MB, and has at least half of its lines in common.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from agentnb.changes.model import FileChange
from agentnb.changes.text_diff import text_lines
from agentnb.errors import ChangesError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentnb.changes.model import FileVersion

MOST_FILES = 100
MOST_BYTES = 1024**2
MOST_LINES = 2_000_000
"""Lines that are compared in all; beyond that only files of the same name."""
_SIMILAR = 0.5
_SHORTEST = 16  # bytes; shorter files are equal by chance


def with_moves(changes: Iterable[FileChange], read: Callable[[FileVersion], bytes]) -> tuple[FileChange, ...]:
    """*changes*, by path, with what was moved as one change."""
    every = sorted(changes, key=lambda each: each.path)
    gone = {each.path: each.before for each in every if each.after is None and _can_move(each.before)}
    new = {each.path: each.after for each in every if each.before is None and _can_move(each.after)}
    moved = _equal(gone, new)
    left = {path: each for path, each in gone.items() if path not in moved.values()}
    moved |= _similar(left, {path: each for path, each in new.items() if path not in moved}, read)
    was = set(moved.values())
    return tuple(
        FileChange(path=each.path, was=moved[each.path], before=gone[moved[each.path]], after=each.after)
        if each.path in moved
        else each
        for each in every
        if each.path not in was
    )


def _blob(version: FileVersion | None) -> str:
    return "" if version is None or version.blob is None else version.blob


def _can_move(version: FileVersion | None) -> bool:
    return version is not None and version.blob is not None and version.mode != "link" and version.size > 0


def _equal(gone: dict[str, FileVersion | None], new: dict[str, FileVersion | None]) -> dict[str, str]:
    """New paths with the old path of the same content; of several, the one with the same name, else the first."""
    by_blob: dict[str, list[str]] = {}
    for path, version in gone.items():
        by_blob.setdefault(_blob(version), []).append(path)
    found = {}
    for path, version in new.items():
        candidates = by_blob.get(_blob(version), [])
        if candidates:
            same_name = [each for each in candidates if _name(each) == _name(path)]
            found[path] = (same_name or candidates)[0]
            candidates.remove(found[path])
    return found


def _similar(
    gone: dict[str, FileVersion | None], new: dict[str, FileVersion | None], read: Callable[[FileVersion], bytes]
) -> dict[str, str]:
    if len(gone) > MOST_FILES or len(new) > MOST_FILES:
        return {}
    lines = {path: _lines(version, read) for each in (gone, new) for path, version in each.items()}
    pairs = []
    left = MOST_LINES
    for path in new:
        for was in gone:
            left -= min(len(lines[was]), len(lines[path]))
            share = _share(lines[was], lines[path]) if left > 0 or _name(was) == _name(path) else 0.0
            if share >= _SIMILAR:
                pairs.append((-share, _name(was) != _name(path), path, was))
    found: dict[str, str] = {}
    taken: set[str] = set()
    for _, _, path, was in sorted(pairs):
        if path not in found and was not in taken:
            found[path] = was
            taken.add(was)
    return found


def _lines(version: FileVersion | None, read: Callable[[FileVersion], bytes]) -> Counter[bytes]:
    """The lines of a text, with how often each occurs; none where it is no text, or too short to tell."""
    if version is None or not _SHORTEST <= version.size <= MOST_BYTES:
        return Counter()
    try:
        return Counter(text_lines(read(version)) or [])
    except ChangesError:
        return Counter()


def _share(one: Counter[bytes], other: Counter[bytes]) -> float:
    """How much of the larger text, in bytes, the two have in common."""
    if not one or not other:
        return 0.0
    common = sum(len(line) * count for line, count in (one & other).items())
    larger = max(sum(len(line) * count for line, count in each.items()) for each in (one, other))
    return common / larger


def _name(path: str) -> str:
    return path.rpartition("/")[2]
