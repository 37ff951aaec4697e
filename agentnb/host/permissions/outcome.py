"""The outcome of a rehearsal, and what the freedom Auto then runs without a question."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from agentnb.changes.coverage import is_left_out_name
from agentnb.policy.sensitive import sensitive_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from agentnb.kernel.rehearsal_result import Rehearsal
    from agentnb.policy.request import Situation


MOST_FILES = 20_000
"""Files in a workspace beyond which only those that the preview names are compared."""
LOOK_SECONDS = 1.0
"""Seconds that reading the workspace may take."""
LARGEST_FILE = 64 * 1024
MOST_BYTES = 16 * 1024 * 1024
"""Bytes of files that are compared by content, each and in all; other files are compared by size and time."""
_LISTED = 5

Seen: TypeAlias = "dict[str, tuple[object, ...]]"
"""The state of files, by path."""


class FolderState(NamedTuple):
    seen: Seen
    is_whole: bool


class Ended(NamedTuple):
    failure: str | None = None
    exit_code: int | None = None
    variables: Collection[str] | None = None


def look(folder: str, named: Iterable[str], is_own: Callable[[str], bool] = lambda _: False) -> FolderState:
    """Returns the state of the files of *folder*, and of those at the absolute paths *named*."""
    seen: Seen = {}
    budget = [MOST_BYTES]
    is_whole, until = True, time.monotonic() + LOOK_SECONDS
    for path, status in _files(folder, is_own):
        seen[path] = _signature(path, status, budget)
        if len(seen) >= MOST_FILES or time.monotonic() > until:
            is_whole = False
            break
    for path in named:
        if path not in seen:
            try:
                seen[path] = _signature(path, os.lstat(path), budget)
            except (OSError, ValueError):
                continue
    return FolderState(seen, is_whole)


def named_files(rehearsal: Rehearsal, folder: str) -> dict[str, str]:
    """Returns the status of files in the preview, by absolute path: ``"created"``, ``"changed"`` or ``"deleted"``."""
    return {
        os.path.normpath(os.path.join(folder, each.path)): each.status  # noqa: PTH118 - as text
        for each in rehearsal.files
        if not each.path.endswith("/")
    }


def differences(
    rehearsal: Rehearsal, folder: str, before: FolderState, after: FolderState, ended: Ended
) -> tuple[str, ...]:
    """Returns the differences between the outcome and *rehearsal*, a sentence each."""
    return (
        *_ended(rehearsal, ended),
        *_files_differ(rehearsal, folder, before, after),
        *_variables_differ(rehearsal, ended.variables),
    )


def _ended(rehearsal: Rehearsal, ended: Ended) -> Iterator[str]:
    previewed_code, code = rehearsal.exit_code, ended.exit_code
    if previewed_code is not None and code is not None and previewed_code != code:
        yield f"The exit code was {code}; the preview showed {previewed_code}."
    if previewed_code is not None:
        return
    if rehearsal.error is None and ended.failure is not None:
        yield "It failed; the preview showed no error."
    if rehearsal.error is not None and ended.failure is None:
        yield f"It did not fail; the preview showed: {rehearsal.error[:200]}"


def _files_differ(rehearsal: Rehearsal, folder: str, before: FolderState, after: FolderState) -> Iterator[str]:
    previewed = named_files(rehearsal, folder)
    known = before.is_whole and after.is_whole and not rehearsal.more_files
    paths = {*before.seen, *after.seen} if known else {*previewed}
    happened = {path: what for path in paths if (what := _change(before.seen.get(path), after.seen.get(path)))}
    other = {path: what for path, what in happened.items() if previewed.get(path) != what}
    missing = {path: what for path, what in previewed.items() if path not in happened}
    yield from _listed("{} was {}, which the preview did not show.", other, folder)
    yield from _listed("{} was not {}, although the preview showed it.", missing, folder)


def _variables_differ(rehearsal: Rehearsal, variables: Collection[str] | None) -> Iterator[str]:
    if variables is None:
        return
    previewed = {each.name: each.status for each in rehearsal.variables}
    pairs = (each.removesuffix(" in place").rpartition(" ") for each in variables)
    happened: dict[str, str] = {name: status for name, _, status in pairs}
    other = {name: what for name, what in happened.items() if previewed.get(name) != what}
    missing = {name: what for name, what in previewed.items() if name not in happened}
    yield from _listed("The variable {} was {}, which the preview did not show.", other)
    yield from _listed("The variable {} was not {}, although the preview showed it.", missing)


def _listed(sentence: str, changes: Mapping[str, str], folder: str = "") -> Iterator[str]:
    names = sorted(changes)
    for name in names[:_LISTED]:
        display_name = os.path.relpath(name, folder) if folder and name.startswith(f"{folder}/") else name
        yield sentence.format(display_name.encode("unicode_escape", "surrogatepass").decode(), changes[name])
    if len(names) > _LISTED:
        yield f"{len(names) - _LISTED:,} more differ."


def _change(before: Sequence[object] | None, after: Sequence[object] | None) -> str:
    if before is None or after is None:
        return "" if before is after else "created" if before is None else "deleted"
    return "" if before == after else "changed"


def _files(folder: str, is_own: Callable[[str], bool]) -> Iterator[tuple[str, os.stat_result]]:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            entries = [*os.scandir(here)]
        except OSError:
            continue
        for entry in entries:
            if is_own(entry.path[len(folder.rstrip(os.sep)) + 1 :]):
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    if not is_left_out_name(entry.name):
                        waiting.append(entry.path)
                else:
                    yield entry.path, entry.stat(follow_symlinks=False)
            except OSError:
                continue


def _signature(path: str, status: os.stat_result, budget: list[int]) -> tuple[object, ...]:
    """Small files are compared by content, so that rewriting the same content is not a change."""
    kind = stat.S_IFMT(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return (kind, os.readlink(path))  # noqa: PTH115 - as text
    if stat.S_ISREG(status.st_mode) and status.st_size <= min(LARGEST_FILE, budget[0]):
        budget[0] -= status.st_size
        with suppress(OSError):
            return (kind, hashlib.blake2b(_content(path), digest_size=16).digest())
    return (kind, status.st_size, status.st_mtime_ns)


def _content(path: str) -> bytes:
    """Does not follow links or wait for pipes, since the file may have been replaced meanwhile."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        return os.read(file, LARGEST_FILE)
    finally:
        os.close(file)


_UNDOABLE = frozenset({"created", "changed"})


def is_harmless(rehearsal: Rehearsal, folder: str, situation: Situation) -> bool:
    """True if the preview *rehearsal* saw everything, and nothing that it saw is beyond undo.

    The code ended without an error, needed nothing that the preview refuses, and changed only files that Edit may
    change at once.
    """
    ended_well = rehearsal.available and rehearsal.error is None and not rehearsal.exit_code
    saw_all = not (rehearsal.reason or rehearsal.connections or rehearsal.refused or rehearsal.more_files)
    can_restore = all(each.can_restore for each in rehearsal.variables)
    return (
        ended_well
        and saw_all
        and can_restore
        and all(_is_edit(each.path, each.status, folder, situation) for each in rehearsal.files)
    )


def _is_edit(path: str, status: str, folder: str, situation: Situation) -> bool:
    """True if the file *path* is created or changed in the workspace, and is not sensitive."""
    whole = os.path.normpath(os.path.join(folder, path))  # noqa: PTH118 - as text
    roots = (str(each) for each in (situation.root, *situation.directories))
    is_inside = any(whole.startswith(f"{root.rstrip(os.sep)}{os.sep}") for root in roots)
    return status in _UNDOABLE and is_inside and sensitive_pattern(whole, situation.patterns) is None
