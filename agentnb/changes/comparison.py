"""What differs between two snapshots, and no more than is known: a file that was not covered before is not *added*."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agentnb.changes.ignore import IgnoreRule, is_ignored, read_rules
from agentnb.changes.model import FOLDER, UNKNOWN, FileChange, FileVersion, Snapshot, path_from_json
from agentnb.changes.moves import with_moves
from agentnb.errors import ChangesError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentnb.changes.copy_engine import CopyEngine
    from agentnb.changes.git_engine import GitEngine
    from agentnb.changes.model import Differences

    Engine = GitEngine | CopyEngine


class Manifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the store knows of a snapshot; paths are in the form for JSON."""

    snapshot: Snapshot
    tree: str = ""
    extras: dict[str, FileVersion] = {}
    folders: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    forced: tuple[str, ...] = ()
    owner: str = ""

    @property
    def others(self) -> dict[str, FileVersion]:
        """The versions that the tree does not have, by path."""
        found = {path_from_json(path): each for path, each in self.extras.items()}
        return found | {path_from_json(path): FOLDER for path in self.folders}


def compare(
    old: Manifest,
    new: Manifest,
    engine: Engine,
    read: Callable[[FileVersion], bytes],
    between: Iterable[Manifest] = (),
) -> tuple[FileChange, ...]:
    """The files that changed between two snapshots, by path."""
    found = _whole(old, new, engine) if old.tree and new.tree else _named(old, new, engine)
    unknown = _unknown_before(old, new, engine, found)
    for middle in between:
        only_named = middle.forced if middle.tree else middle.extras
        late = {path_from_json(path) for path in {*only_named} - {*old.named}} - found.keys()
        asked = {path_from_json(path) for path in middle.named}
        _begin_later(found, sorted((unknown & asked) | late), middle, new, engine)
        unknown -= asked
    gone = {path_from_json(each.path) for each in new.snapshot.not_covered}
    changes = []
    for path, (before, after) in found.items():
        first = FileVersion(digest=UNKNOWN) if before is None and path in unknown else before
        last = FileVersion(digest=UNKNOWN) if after is None and path in gone else after
        if first != last:
            changes.append(FileChange(path=path, before=first, after=last))
    return with_moves(changes, read)


def _whole(old: Manifest, new: Manifest, engine: Engine) -> Differences:
    found = dict(engine.differences(old.tree, new.tree))
    was, now = old.others, new.others
    other = [path for path in was.keys() | now.keys() if was.get(path) != now.get(path)]
    trees = [engine.find(tree, [path for path in other if path not in found]) for tree in (old.tree, new.tree)]
    for path in other:
        pair = found.get(path, (trees[0].get(path), trees[1].get(path)))
        found[path] = (was.get(path) or pair[0], now.get(path) or pair[1])
    return found


def _named(old: Manifest, new: Manifest, engine: Engine) -> Differences:
    """Where a snapshot has only named files, these are all that is compared."""
    wanted = {path_from_json(path) for each in (old, new) if not each.tree for path in each.named}
    sides = []
    for each in (old, new):
        known = {path: version for path, version in each.others.items() if path in wanted}
        sides.append(known | (engine.find(each.tree, wanted - known.keys()) if each.tree else {}))
    pairs = {path: (sides[0].get(path), sides[1].get(path)) for path in wanted}
    return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}


def _unknown_before(old: Manifest, new: Manifest, engine: Engine, found: Differences) -> set[str]:
    """Paths that may have existed before although the earlier snapshot does not have them."""
    added = {path for path, pair in found.items() if pair[0] is None}
    outside = {path_from_json(each.path) for each in old.snapshot.not_covered}
    unknown = added & outside
    asked = {path_from_json(path) for path in old.named}
    if not old.tree:
        unknown |= added - asked
    unknown |= added & ({path_from_json(path) for path in new.forced} - asked)
    for path in [each for each in found if each == ".gitignore" or each.endswith("/.gitignore")]:
        rules = _old_rules(found[path][0], engine)
        folder = path[: -len(".gitignore")]
        unknown |= {
            each for each in added - asked if each.startswith(folder) and is_ignored(rules, each[len(folder) :])
        }
    return unknown


def _begin_later(found: Differences, paths: list[str], middle: Manifest, new: Manifest, engine: Engine) -> None:
    """Compare *paths*, which were not covered before *middle*, from there on."""
    first, last = _versions(middle, paths, engine), _versions(new, paths, engine)
    for path in paths:
        if first.get(path) != last.get(path):
            found[path] = first.get(path), last.get(path)
        else:
            found.pop(path, None)


def _versions(manifest: Manifest, paths: list[str], engine: Engine) -> dict[str, FileVersion]:
    known = {path: version for path, version in manifest.others.items() if path in paths}
    others = [path for path in paths if path not in known]
    return known | (engine.find(manifest.tree, others) if manifest.tree and others else {})


def _old_rules(version: FileVersion | None, engine: Engine) -> tuple[IgnoreRule, ...]:
    if version is None or version.blob is None:
        return ()
    try:
        return read_rules(engine.objects.read(version.blob).decode("utf-8", "surrogateescape"))
    except ChangesError:
        return ()
