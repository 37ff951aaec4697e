"""Plans how files are brought to other versions: what is left alone, written, merged, and what is a conflict."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from agentnb.changes.coverage import file_mode
from agentnb.changes.file_operations import read_entry
from agentnb.changes.journal import Content, Operation
from agentnb.changes.model import FOLDER, UNKNOWN, Conflict, FileVersion, Mode, PathChange, folders_above, path_to_json
from agentnb.changes.objects import blob_id
from agentnb.changes.text_diff import merge
from agentnb.errors import ChangesError, ContentNotStored, FilesConflict, OutsideWorkspace
from agentnb.safe_files import open_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from agentnb.changes.model import Choice, Step


class PathState(NamedTuple):
    """The file, link or folder at a path, as it is now."""

    mode: Mode
    state: os.stat_result
    content: bytes | None = None
    has_entries: bool = False


@dataclass
class ApplyPlan:
    """The operations on files, and the changes that they make."""

    operations: list[Operation] = field(default_factory=list)
    contents: dict[int, Content] = field(default_factory=dict)
    seen: dict[int, os.stat_result] = field(default_factory=dict)
    changes: list[PathChange] = field(default_factory=list)


class Wish(NamedTuple):
    """The state that a path should have, and the one that it has."""

    path: str
    entry: PathState | None
    mode: Mode | None
    content: bytes

    @property
    def is_going(self) -> bool:
        """True if what is at the path must be removed first: anything but a folder that stays a folder."""
        return self.entry is not None and not (self.entry.mode == "folder" and self.mode == "folder")


class Planner:
    """Plans the operations that bring files to other versions; it writes nothing in the workspace."""

    def __init__(
        self,
        workspace: Path,
        *,
        read: Callable[[FileVersion], bytes],
        write: Callable[[bytes], str],
        is_stored: Callable[[str], bool],
        digest: Callable[[bytes], str],
        most: int,
    ) -> None:
        self._workspace = workspace
        self._read = read
        self._write = write
        self._is_stored = is_stored
        self._digest = digest
        self._most = most

    def plan(self, steps: Sequence[Step], choices: Mapping[str, Choice]) -> ApplyPlan:
        wishes: list[Wish] = []
        conflicts: list[Conflict] = []
        folders: set[str] = set()
        for step in joined(steps):
            check_path(step.path)
            if choices.get(step.path) == "mine":
                continue
            entry = self.entry(step.path)
            if choices.get(step.path) == "theirs" and not self._is_done(step, entry):
                wishes.append(self._target(step, entry))
                continue
            decision = self._decide(step, entry)
            if isinstance(decision, Wish):
                wishes.append(decision)
                if {step.base, step.target} == {None, FOLDER} and not step.is_implied:
                    folders.add(step.path)
            elif decision is not None:
                conflicts.append(decision)
        conflicts += self._blocked(wishes, choices)
        if conflicts:
            raise conflict(conflicts)
        return self._operations(wishes, folders)

    def entry(self, path: str) -> PathState | None:
        """Returns what is at *path* now.

        None if nothing is there, or if one of its parent folders is a link or a file instead.
        """
        try:
            *above, name = path.split("/")
            with open_folder(self._workspace, above) as folder:
                state, content = read_entry(folder, name, self._most)
        except (FileNotFoundError, OutsideWorkspace):
            return None
        if stat.S_ISDIR(state.st_mode):
            with os.scandir(self._workspace / path) as entries:
                return PathState("folder", state, has_entries=any(entries))
        if stat.S_ISLNK(state.st_mode):
            return PathState("link", state, content)
        if stat.S_ISREG(state.st_mode):
            return PathState(file_mode(state), state, content)
        raise ChangesError(f"{path} is no longer a file.", hint="Remove it, and try again.")

    def version(self, path: str, entry: PathState | None, name: Callable[[bytes], str] = blob_id) -> FileVersion | None:
        """Returns the version at *path*; *name* maps a content to its name, and may store it."""
        if entry is None:
            return None
        if entry.mode == "folder":
            return FOLDER
        size = entry.state.st_size
        if entry.content is None:
            return FileVersion(digest=f"unread:{size}:{entry.state.st_mtime_ns}", mode=entry.mode, size=size)
        if not self._is_stored(path):
            return FileVersion(digest=self._digest(entry.content), mode=entry.mode, size=size)
        blob = name(entry.content)
        return FileVersion(blob=blob, digest=blob, mode=entry.mode, size=len(entry.content))

    def is_at(self, version: FileVersion | None, path: str, entry: PathState | None) -> bool:
        if version is None or entry is None:
            return version is None and entry is None
        if version.digest == UNKNOWN or version.mode != entry.mode:
            return False
        if version.mode == "folder":
            return True
        if version.blob is not None:
            return entry.content is not None and blob_id(entry.content) == version.blob
        current = self.version(path, entry)
        return current is not None and current.digest == version.digest

    # ------------------------------------------------------------ deciding

    def _is_done(self, step: Step, entry: PathState | None) -> bool:
        if step.target == FOLDER:  # an existing folder stays: others may want it gone
            return entry is None and step.base == FOLDER
        if step.target is not None:
            return self.is_at(step.target, step.path, entry)
        return entry is None or (entry.mode == "folder") != (step.base == FOLDER)

    def _decide(self, step: Step, entry: PathState | None) -> Wish | Conflict | None:
        """Returns what one step does: a wish, a conflict, or None if it is already done.

        As a base, a folder counts like nothing, since it holds no content: its entries decide (:meth:`_in_the_way`).
        """
        if self._is_done(step, entry) or (step.is_implied and entry is not None and entry.mode != "folder"):
            return None
        if self.is_at(step.target, step.path, entry) or self.is_at(step.base, step.path, entry):
            return self._target(step, entry)
        if step.base in {None, FOLDER} and (entry is None or entry.mode == "folder"):
            return self._target(step, entry)
        base, target = step.base, step.target
        plain = {"file", "executable"}
        if base and target and entry and {base.mode, target.mode, entry.mode} <= plain:
            return self._merged(step, base, target, entry)
        return self._conflict(step, entry)

    def _merged(self, step: Step, base: FileVersion, target: FileVersion, entry: PathState) -> Wish | Conflict:
        mode = target.mode if entry.mode == base.mode else entry.mode
        try:
            before, wanted = self._read(base), self._read(target)
        except ContentNotStored:
            return self._conflict(step, entry)
        if entry.content is None:
            return self._conflict(step, entry)
        if entry.content in {before, wanted}:
            return Wish(step.path, entry, mode, wanted)
        if before == wanted:
            return Wish(step.path, entry, mode, entry.content)
        merged, is_clean = merge(before, entry.content, wanted)
        if merged is not None and is_clean:
            return Wish(step.path, entry, mode, merged)
        return self._conflict(step, entry, merged)

    def _conflict(self, step: Step, entry: PathState | None, merged: bytes | None = None) -> Conflict:
        return Conflict(
            path=step.path,
            base=step.base,
            target=step.target,
            current=self.version(step.path, entry, self._write),  # stored so that it can be shown
            merged=None if merged is None else merged.decode("utf-8"),
        )

    def _target(self, step: Step, entry: PathState | None) -> Wish:
        target = step.target
        if target is None:
            return Wish(step.path, entry, None, b"")
        return Wish(step.path, entry, target.mode, b"" if target.mode == "folder" else self._read(target))

    # ------------------------------------------------------------ what stands in the way

    def _blocked(self, wishes: list[Wish], choices: Mapping[str, Choice]) -> list[Conflict]:
        """Returns a conflict for each file to write where a folder with other files is, or below a file or link."""
        going = {each.path for each in wishes if each.is_going}
        written = {each.path for each in wishes if each.mode not in {None, "folder"}}
        blocked = []
        for each in wishes:
            if each.mode is None:
                continue
            way = self._in_the_way(each, going, written)
            if way is None:
                continue
            if choices.get(each.path) == "theirs":
                message = f"{each.path} cannot be written: {way} is in the way."
                raise ChangesError(message, hint="Move it elsewhere, and try again.")
            blocked.append(Conflict(path=each.path, current=self.version(each.path, each.entry)))
        return blocked

    def _in_the_way(self, wish: Wish, going: set[str], written: set[str]) -> str | None:
        above_all = folders_above(wish.path)
        if blocking := [above for above in above_all if above in written]:
            return blocking[0]  # another step writes a file where this one needs a folder
        for above in above_all:
            try:
                is_folder = stat.S_ISDIR(os.lstat(self._workspace / above).st_mode)
            except (FileNotFoundError, NotADirectoryError):
                break
            if not is_folder:
                return None if above in going else above
        if wish.entry is None or not wish.entry.has_entries or wish.mode == "folder":
            return None
        for folder, folders, files in os.walk(self._workspace / wish.path):
            inside = os.path.relpath(folder, self._workspace)
            kept = [each for each in files if f"{inside}/{each}" not in going]
            if kept:
                return f"{inside}/{kept[0]}"
            if not files and not folders and inside not in going and inside != wish.path:
                return inside
            links = [each for each in folders if os.path.islink(os.path.join(folder, each))]  # noqa: PTH114, PTH118
            if any(f"{inside}/{each}" not in going for each in links):
                return f"{inside}/{links[0]}"
        return None

    # ------------------------------------------------------------ the plan

    def _operations(self, wishes: list[Wish], folders: set[str]) -> ApplyPlan:
        plan = ApplyPlan()
        going = [each for each in wishes if each.is_going]
        removed = [each for each in going if each.entry is not None and each.entry.mode != "folder"]
        written = [each for each in wishes if each.mode not in {None, "folder"}]
        needed = {above for each in wishes if each.mode is not None for above in folders_above(each.path)}
        needed |= {each.path for each in wishes if each.mode == "folder"}
        emptied = self._emptied({each.path for each in going}, {each.path for each in removed}, needed)
        made = self._missing(needed, {each.path for each in removed})
        before: dict[str, FileVersion | None] = dict.fromkeys(emptied, FOLDER)
        before |= {each.path: self._before(each) for each in [*removed, *written] if each.path not in before}
        after = {each.path: self._after(each) for each in written}
        for path in sorted(before.keys() | after.keys() | set(made)):
            version = after.get(path, FOLDER if path in made else None)
            plan.changes.append(PathChange(path=path, before=before.get(path), after=version))
        there = {each.path for each in wishes if each.entry is not None and each.entry.mode == "folder"} & folders
        staying = {*self._filled(needed, made), *there.difference(emptied, made)}
        plan.changes += [PathChange(path=each, before=FOLDER, after=FOLDER) for each in sorted(staying)]
        for each in removed:
            if each.entry is not None:
                plan.seen[len(plan.operations)] = each.entry.state
                plan.operations.append(Operation(kind="remove", path=path_to_json(each.path)))
        for folder in emptied:
            mode = stat.S_IMODE(os.lstat(self._workspace / folder).st_mode)
            plan.operations.append(Operation(kind="remove folder", path=path_to_json(folder), mode=mode))
        for folder in made:
            plan.operations.append(Operation(kind="make folder", path=path_to_json(folder)))
        for each in written:
            like = each.entry.state if each.entry is not None else None
            plan.contents[len(plan.operations)] = Content(each.content, like, each.mode == "executable")
            path, blob = path_to_json(each.path), after[each.path].digest
            plan.operations.append(Operation(kind="write", path=path, blob=blob, link=each.mode == "link"))
        return plan

    def _before(self, wish: Wish) -> FileVersion | None:
        """Returns the version that is replaced or removed, and stores its content; raises if it cannot be stored."""
        before = self.version(wish.path, wish.entry, self._write)
        if before is not None and not before.is_stored:
            why = "it is large" if wish.entry is not None and wish.entry.content is None else "it is sensitive"
            message = f"{wish.path} would be lost: {why}, so its contents are not stored."
            raise ContentNotStored(message, hint="Change it yourself.")
        return before

    def _after(self, wish: Wish) -> FileVersion:
        blob = self._write(wish.content)
        return FileVersion(blob=blob, digest=blob, mode=wish.mode or "file", size=len(wish.content))

    def _emptied(self, going: set[str], removed: set[str], needed: set[str]) -> list[str]:
        """Returns the folders that are empty once *going* is gone, deepest first, without those in *needed*."""
        gone, emptied = {*removed}, []
        above = going.union(*map(folders_above, going)) - removed
        for each in sorted(above - needed, key=lambda each: each.count("/"), reverse=True):
            with contextlib.suppress(OSError), os.scandir(self._workspace / each) as entries:
                if all(f"{each}/{entry.name}" in gone for entry in entries):
                    emptied.append(each)
                    gone.add(each)
        return emptied

    def _filled(self, needed: set[str], made: list[str]) -> Iterator[str]:
        """Yields the empty folders that will get entries, or that stay although they would have been removed."""
        for each in sorted(needed.difference(made)):
            with os.scandir(self._workspace / each) as entries:
                if next(entries, None) is None:
                    yield each

    def _missing(self, needed: set[str], removed: set[str]) -> list[str]:
        """Returns needed folders that do not exist once the files and links *removed* are gone, uppermost first."""
        missing: list[str] = []
        for each in sorted(needed, key=lambda each: each.count("/")):
            is_new = each in removed or any(above in missing for above in folders_above(each))
            if is_new or not (self._workspace / each).is_dir():
                missing.append(each)
        return missing


def check_path(path: str) -> None:
    """Raise if *path* names no file of a workspace, or one of a repository's own data."""
    parts = path.split("/")
    if "\0" in path or any(each in {"", ".", ".."} or each.lower() == ".git" for each in parts):
        message = f"{path!r} does not name a file of the workspace."
        raise OutsideWorkspace(message, hint="Nothing was written.")


def joined(steps: Sequence[Step]) -> list[Step]:
    """Returns one step per path; several steps of a path are joined, from the first base to the last target."""
    by_path: dict[str, Step] = {}
    for each in steps:
        first = by_path.get(each.path)
        by_path[each.path] = each if first is None else followed_by(first, each)
    return list(by_path.values())


def followed_by(first: Step, second: Step) -> Step:
    return replace(first, target=second.target, is_implied=first.is_implied and second.is_implied)


def conflict(conflicts: list[Conflict]) -> FilesConflict:
    names = ", ".join(each.path for each in conflicts[:3])
    more = f" and {len(conflicts) - 3} more" if len(conflicts) > 3 else ""  # noqa: PLR2004 - as shown
    changed = "changed" if len(conflicts) == 1 else "have changed"
    return FilesConflict(
        f"{names}{more} {changed} since and cannot be merged; nothing was written.",
        hint="Choose a side for each: mine keeps the file as it is, theirs takes the other version.",
        conflicts=tuple(conflicts),
    )
