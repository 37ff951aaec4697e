"""The differences between two snapshots, as far as known: a file that was not covered before is not *added*."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from agentnb.changes.ignore import IgnoreRule, is_ignored, read_rules
from agentnb.changes.model import FOLDER, UNKNOWN, FileVersion, PathChange, Snapshot, path_from_json
from agentnb.changes.text_diff import text_lines
from agentnb.errors import ChangesError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentnb.changes.copy_engine import CopyEngine
    from agentnb.changes.git_engine import GitEngine
    from agentnb.changes.model import Differences

    Engine: TypeAlias = GitEngine | CopyEngine

MOST_FILES = 100
MOST_BYTES = 1024**2
MOST_LINES = 2_000_000  # lines that are compared in all; beyond that, only files of the same name are compared
_SIMILAR = 0.5
_SHORTEST = 16  # bytes; shorter files may be equal by chance


class Manifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The stored description of a snapshot; paths are in the form for JSON."""

    snapshot: Snapshot
    tree: str = ""
    extras: dict[str, FileVersion] = {}
    folders: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    forced: tuple[str, ...] = ()
    owner: str = ""

    @property
    def others(self) -> dict[str, FileVersion]:
        """Returns the versions that are not in the tree, by path."""
        by_path = {path_from_json(path): each for path, each in self.extras.items()}
        return by_path | {path_from_json(path): FOLDER for path in self.folders}


def compare(
    old: Manifest,
    new: Manifest,
    engine: Engine,
    read: Callable[[FileVersion], bytes],
    between: Iterable[Manifest] = (),
) -> tuple[PathChange, ...]:
    differences = _whole(old, new, engine) if old.tree and new.tree else _named(old, new, engine)
    unknown = _unknown_before(old, new, engine, differences)
    for middle in between:
        only_named = middle.forced if middle.tree else middle.extras
        late = {path_from_json(path) for path in {*only_named} - {*old.named}} - differences.keys()
        named_paths = {path_from_json(path) for path in middle.named}
        _begin_later(differences, (unknown & named_paths) | late, middle, new, engine)
        unknown -= named_paths
    gone = {path_from_json(each.path) for each in new.snapshot.not_covered}
    changes = []
    for path, (before, after) in differences.items():
        first = FileVersion(digest=UNKNOWN) if before is None and path in unknown else before
        last = FileVersion(digest=UNKNOWN) if after is None and path in gone else after
        if first != last:
            changes.append(PathChange(path=path, before=first, after=last))
    return with_moves(changes, read)


def _whole(old: Manifest, new: Manifest, engine: Engine) -> Differences:
    by_path = dict(engine.differences(old.tree, new.tree))
    was, now = old.others, new.others
    other = [path for path in was.keys() | now.keys() if was.get(path) != now.get(path)]
    trees = [engine.find(tree, [path for path in other if path not in by_path]) for tree in (old.tree, new.tree)]
    for path in other:
        pair = by_path.get(path, (trees[0].get(path), trees[1].get(path)))
        by_path[path] = (was.get(path) or pair[0], now.get(path) or pair[1])
    return by_path


def _named(old: Manifest, new: Manifest, engine: Engine) -> Differences:
    wanted = {path_from_json(path) for each in (old, new) if not each.tree for path in each.named}
    first, last = _versions(old, wanted, engine), _versions(new, wanted, engine)
    pairs = {path: (first.get(path), last.get(path)) for path in wanted}
    return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}


def _unknown_before(old: Manifest, new: Manifest, engine: Engine, differences: Differences) -> set[str]:
    """Paths that may have existed before although the earlier snapshot does not have them."""
    added = {path for path, pair in differences.items() if pair[0] is None}
    outside = {path_from_json(each.path) for each in old.snapshot.not_covered}
    unknown = added & outside
    named_paths = {path_from_json(path) for path in old.named}
    if not old.tree:
        unknown |= added - named_paths
    unknown |= added & ({path_from_json(path) for path in new.forced} - named_paths)
    for path in [each for each in differences if each == ".gitignore" or each.endswith("/.gitignore")]:
        rules = _old_rules(differences[path][0], engine)
        folder = path[: -len(".gitignore")]
        unknown |= {
            each for each in added - named_paths if each.startswith(folder) and is_ignored(rules, each[len(folder) :])
        }
    return unknown


def _begin_later(differences: Differences, paths: set[str], middle: Manifest, new: Manifest, engine: Engine) -> None:
    """Compare *paths*, which were not covered before *middle*, from *middle* to *new*."""
    first, last = _versions(middle, paths, engine), _versions(new, paths, engine)
    for path in paths:
        if first.get(path) != last.get(path):
            differences[path] = first.get(path), last.get(path)
        else:
            differences.pop(path, None)


def _versions(manifest: Manifest, paths: set[str], engine: Engine) -> dict[str, FileVersion]:
    known = {path: version for path, version in manifest.others.items() if path in paths}
    others = paths - known.keys()
    return known | (engine.find(manifest.tree, others) if manifest.tree and others else {})


def _old_rules(version: FileVersion | None, engine: Engine) -> tuple[IgnoreRule, ...]:
    if version is None or version.blob is None:
        return ()
    try:
        return read_rules(engine.objects.read(version.blob).decode("utf-8", "surrogateescape"))
    except ChangesError:
        return ()


def with_moves(changes: Iterable[PathChange], read: Callable[[FileVersion], bytes]) -> tuple[PathChange, ...]:
    """Returns *changes*, by path, with each move joined into one change."""
    every = sorted(changes, key=lambda each: each.path)
    gone = {each.path: each.before for each in every if each.before and each.after is None and _can_move(each.before)}
    new = {each.path: each.after for each in every if each.after and each.before is None and _can_move(each.after)}
    moved = _equal(gone, new)
    left = {path: each for path, each in gone.items() if path not in moved.values()}
    moved |= _similar(left, {path: each for path, each in new.items() if path not in moved}, read)
    was = set(moved.values())
    return tuple(
        PathChange(path=each.path, was=moved[each.path], before=gone[moved[each.path]], after=each.after)
        if each.path in moved
        else each
        for each in every
        if each.path not in was
    )


def _can_move(version: FileVersion) -> bool:
    return version.blob is not None and version.mode != "link" and version.size > 0


def _equal(gone: dict[str, FileVersion], new: dict[str, FileVersion]) -> dict[str, str]:
    """Map each new path to the old path with the same content; of several, one with the same name, else the first."""
    by_blob: dict[str | None, list[str]] = {}
    for path, version in gone.items():
        by_blob.setdefault(version.blob, []).append(path)
    equal = {}
    for path, version in new.items():
        candidates = by_blob.get(version.blob, [])
        if candidates:
            same_name = [each for each in candidates if _name(each) == _name(path)]
            equal[path] = (same_name or candidates)[0]
            candidates.remove(equal[path])
    return equal


def _similar(
    gone: dict[str, FileVersion], new: dict[str, FileVersion], read: Callable[[FileVersion], bytes]
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
    similar: dict[str, str] = {}
    taken: set[str] = set()
    for _, _, path, was in sorted(pairs):
        if path not in similar and was not in taken:
            similar[path] = was
            taken.add(was)
    return similar


def _lines(version: FileVersion, read: Callable[[FileVersion], bytes]) -> Counter[bytes]:
    """Count how often each line of a text occurs; empty if it is not text, or too short to tell."""
    if not _SHORTEST <= version.size <= MOST_BYTES:
        return Counter()
    try:
        return Counter(text_lines(read(version)) or [])
    except ChangesError:
        return Counter()


def _share(one: Counter[bytes], other: Counter[bytes]) -> float:
    if not one or not other:
        return 0.0
    common = sum(len(line) * count for line, count in (one & other).items())
    larger = max(sum(len(line) * count for line, count in each.items()) for each in (one, other))
    return common / larger


def _name(path: str) -> str:
    return path.rpartition("/")[2]
