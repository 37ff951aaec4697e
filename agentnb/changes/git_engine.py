"""Snapshots as git trees: git's index tells from file times what changed, so only that is read again."""

from __future__ import annotations

import contextlib
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from agentnb.changes.coverage import ENVIRONMENT_MARKS, LEFT_OUT, PENDING, Signature, TooSlow, read_file, signature
from agentnb.changes.git_program import GitFailed, GitProgram, PackedContents, folder_rules, nul_joined
from agentnb.changes.ignore import is_ignored, literal
from agentnb.changes.model import FileVersion, Mode
from agentnb.changes.objects import ObjectFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from agentnb.changes.coverage import WorkspaceLook
    from agentnb.changes.git_program import InstalledGit
    from agentnb.changes.model import Differences

_MODES: dict[bytes, Mode] = {b"100644": "file", b"100755": "executable", b"120000": "link"}
_BATCH = 5_000  # paths that one run of git adds; the clock is checked between runs
_LOOSE = 5_000  # loose objects; more are packed
_AT_ONCE = 500  # new objects from which on git writes a pack: loose objects take four times as long
_PACKS_AT_ONCE = (2, 38)  # earlier versions of git wrote a pack for each object
_ARGUMENTS = 500  # paths on one command line
_REPACK_SECONDS = 1_800.0
_LARGE = 10_000  # files
_DOUBTED_NS = 2_000_000_000  # file times are rounded to two seconds at most
_SIZES = 50  # loose objects whose sizes are read from their files, which is faster than asking git
_ROUNDS = 8  # nesting depth of repositories
_EXCLUDES = (*tuple(f"--exclude={each}/" for each in (*LEFT_OUT, f"{PENDING}*")), "--exclude=.git")
_UNPROCESSED = re.compile(r"fatal: Unable to process path (.*)\Z", re.DOTALL)


class GitEngine:
    """Stores snapshots with the git program, in a repository of its own."""

    name = "git"

    def __init__(self, program: InstalledGit, folder: Path, workspace: Path) -> None:
        self._git = GitProgram(program.path, folder, workspace)
        self._packs_at_once = program.version >= _PACKS_AT_ONCE
        packed = PackedContents(self._git)
        self.reading: Callable[[], AbstractContextManager[None]] = packed.many
        self.objects: ObjectFolder = ObjectFolder(folder / "objects", packed.read)
        self._workspace = workspace
        self._named: set[str] = set()
        self._young: set[str] = set()
        self._last: tuple[Signature, str] | None = None
        self._git.prepare()

    @property
    def files(self) -> int:
        """Returns how many files the last tree has, from the index header (gitformat-index)."""
        try:
            head = read_file(os.fspath(self._git.folder / "index"), 12)
        except OSError:
            return 0
        return int.from_bytes(head[8:12], "big")

    def refresh(self, look: WorkspaceLook, excludes: str, *, tracked_only: bool = False) -> str:
        """Store what changed since the last tree; returns the name of the current tree."""
        self._git.prepare()
        (self._git.folder / "index.lock").unlink(missing_ok=True)  # a killed git leaves it; the store is locked
        left_out = "".join(f"/{literal(each)}\n" for each in sorted(look.environments | look.mounted))
        self._git.write_info("exclude", f"{excludes}\n{left_out}")
        self._doubted_ns = time.time_ns() - max(_DOUBTED_NS, look.clock_ns)
        until = time.monotonic() + look.limits.seconds
        self._read_young_again(look, until)
        nested = self._update(look, until, tracked_only=tracked_only)
        for _ in range(_ROUNDS):
            if not nested:
                break
            nested = self._update(look, until, tracked_only=False)
        for each in nested:
            look.leave(each, "submodule", "It is a repository in many others.")
        tree = self._tree()
        self._doubt_files_since(self._doubted_ns)
        self._last = (self._index_signature(), tree)
        return tree

    def _tree(self) -> str:
        """Returns the tree of the index, which is the same while nobody writes to the index."""
        if self._last is not None and self._last[0] == self._index_signature():
            return self._last[1]
        if not self._index_signature():
            return self.objects.write_empty_tree()
        return self._git.run("write-tree").decode().strip()  # git caches the tree in the index

    def _doubt_files_since(self, time_ns: int) -> None:
        """Make git compare the contents of files whose time is later than *time_ns* when it looks next.

        Otherwise git would never notice a file that was written again after git read it, in the same second and with
        the same size.
        """
        index = self._git.folder / "index"
        with contextlib.suppress(FileNotFoundError):
            os.utime(index, ns=(time_ns, time_ns))

    def _index_signature(self) -> Signature:
        try:
            return signature(os.stat(self._git.folder / "index"))  # noqa: PTH116 - as elsewhere
        except FileNotFoundError:
            return ()

    def differences(self, before: str, after: str) -> Differences:
        if before == after:
            return {}
        raw = self._git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after)
        fields = raw.split(b"\0")
        versions = {
            os.fsdecode(path): head.lstrip(b":").split(b" ")
            for head, path in zip(fields[::2], fields[1::2], strict=False)
        }
        sizes = self._sizes({blob for each in versions.values() for blob in each[2:4]})
        return {
            path: (_version(old_mode, old, sizes), _version(new_mode, new, sizes))
            for path, (old_mode, new_mode, old, new, _) in versions.items()
        }

    def find(self, tree: str, paths: Iterable[str]) -> dict[str, FileVersion]:
        """Returns the versions in *tree* of *paths*, and of everything below them."""
        versions: dict[str, FileVersion] = {}
        for line in self._listed_in(tree, paths, "-r", "-l"):
            head, _, path = line.partition(b"\t")
            mode, _, blob, size = head.split()
            version = _version(mode, blob, {blob: int(size)} if size.isdigit() else {})
            if version is not None:
                versions[os.fsdecode(path)] = version
        return versions

    def folders(self, tree: str, paths: Iterable[str]) -> frozenset[str]:
        """Returns which of *paths* are folders with files in *tree*."""
        wanted = frozenset(paths)  # without -r, git omits a path that is inside another of the paths
        return wanted.intersection(map(os.fsdecode, self._listed_in(tree, wanted, "-r", "-d", "--name-only")))

    def _listed_in(self, tree: str, paths: Iterable[str], *options: str) -> Iterator[bytes]:
        for some in _batches(list(paths), _ARGUMENTS):
            yield from filter(None, self._git.run("ls-tree", *options, "-z", tree, "--", *some).split(b"\0"))

    def keep(self, trees: Iterable[str], blobs: Iterable[str]) -> None:
        """Remove all content except that of *trees*, *blobs* and the last tree."""
        lines = [f"040000 tree {each}\ttree-{each}" for each in sorted(set(trees))]
        lines += [f"100644 blob {each}\tblob-{each}" for each in sorted(set(blobs))]
        kept = self._git.run("mktree", "--missing", standard_input="".join(f"{each}\n" for each in lines).encode())
        self._git.run("update-ref", "refs/agentnb/kept", kept.decode().strip())
        self._remove_partial()
        pack = self._git.folder / "objects" / "pack"
        if any(pack.glob("*.pack")) or len(self.objects.names()) > _LOOSE:
            self._git.run("repack", "-a", "-d", "-q", seconds=_REPACK_SECONDS)
        self._git.run("prune", "--expire=now")

    def _update(self, look: WorkspaceLook, until: float, *, tracked_only: bool) -> list[str]:
        """Look once and store what is found; returns nested repositories that git has not looked into yet."""
        paths, more = self._listed(2 * look.limits.files, tracked_only=tracked_only)
        if more:
            look.leave(".", "outside limit", f"More than {2 * look.limits.files:,} files changed at once.")
        tracked = {each[2:] for each in paths if not each.startswith("? ")}
        others = {each[2:] for each in paths if each.startswith("? ")}
        look.environments |= {f"{each.rpartition('/')[0]}/" for each in others if _marks_environment(each)} - {"/"}
        nested = sorted(each.rstrip("/") for each in others if each.endswith("/"))
        adds, removes = self._sorted(look, sorted(tracked), sorted(each for each in others if not each.endswith("/")))
        adds += self._forced(look, others)
        seeds = {each: self._first_of(each, look) for each in nested}
        self._store([*adds, *(path for each in seeds.values() for path in each)], look, until)
        if removes:
            self._git.run("update-index", "-z", "--force-remove", "--stdin", standard_input=nul_joined(removes))
            self._named.difference_update(removes)
        return [each for each, first in seeds.items() if first]

    def _listed(self, most: int, *, tracked_only: bool) -> tuple[list[str], bool]:
        """Returns what git lists as changed, deleted or new, each after a letter, and whether there is more."""
        if not self.files and _is_empty(self._workspace):
            return [], False
        tracked = ("ls-files", "-t", "-z", "--modified", "--deleted")
        others = ("--others", "--exclude-standard", *_EXCLUDES)
        if tracked_only:
            return self._git.paths(*tracked, most=most)
        if self.files < _LARGE:
            return self._git.paths(*tracked, *others, most=most)
        with ThreadPoolExecutor(1) as pool:  # two parallel runs take two thirds of the time of a single one
            waiting = pool.submit(self._git.paths, *tracked, most=most)
            new, more_new = self._git.paths("ls-files", "-t", "-z", *others, most=most)
            old, more_old = waiting.result()
        return old + new, more_new or more_old

    def _forced(self, look: WorkspaceLook, others: set[str]) -> list[str]:
        """Returns the named files that git does not list because they are ignored."""
        fresh = sorted(path for path in look.named - self._named - others if look.verdict(path) == "store")
        if not fresh:
            return []
        known = set()
        for some in _batches(fresh, _ARGUMENTS):
            known.update(self._git.paths("ls-files", "-z", "--", *some, most=len(fresh))[0])
        self._named.update(fresh)
        forced = [each for each in fresh if each not in known]
        look.forced.update(forced)
        return forced

    @staticmethod
    def _sorted(look: WorkspaceLook, tracked: list[str], others: list[str]) -> tuple[list[str], list[str]]:
        adds: list[str] = []
        removes: list[str] = []
        for path in tracked:
            verdict = look.verdict(path)
            if verdict != "unknown":
                (adds if verdict == "store" else removes).append(path)
        adds += [path for path in others if look.verdict(path) == "store"]
        return adds, removes

    def _store(self, paths: list[str], look: WorkspaceLook, until: float) -> None:
        for some in _batches(paths, _BATCH):
            left = until - time.monotonic()
            if left <= 0:
                raise TooSlow(look.limits.seconds)
            self._add(some, look, left)
            self._young.update(path for path in some if self._is_young(path))

    def _is_young(self, path: str) -> bool:
        """True if a file may change again without git noticing."""
        try:
            state = os.lstat(self._workspace / path)
        except OSError:
            return False
        is_late = state.st_ctime_ns >= self._doubted_ns
        return is_late and int(state.st_mtime) < int(state.st_ctime)

    def _read_young_again(self, look: WorkspaceLook, until: float) -> None:
        """Read again the files that were young at the last look; an entry without times counts as changed."""
        paths = sorted(path for path in self._young if look.verdict(path) == "store")
        self._young.intersection_update(paths)
        for some in _batches(paths, _ARGUMENTS):
            self._young.difference_update(some)
            entries = self._git.run("ls-files", "-s", "-z", "--", *some)
            self._git.run("update-index", "-z", "--index-info", standard_input=entries)
            tracked = [os.fsdecode(each.partition(b"\t")[2]) for each in entries.split(b"\0") if each]
            self._store(tracked, look, until)

    def _add(self, paths: list[str], look: WorkspaceLook, seconds: float) -> None:
        """Store files and add them to the index; one that can no longer be read is listed, and the others go on."""
        until = time.monotonic() + seconds
        if self._packs_at_once and len(paths) >= _AT_ONCE:
            # If this fails, add them one by one: git gives up a pack if a file changes while git reads it.
            with contextlib.suppress(GitFailed):
                self._put_into_index(paths, seconds, "-c", "core.bigFileThreshold=1")
                return
        while paths:
            try:
                self._put_into_index(paths, until - time.monotonic())
            except GitFailed as error:
                match = _UNPROCESSED.search(str(error))
                at = paths.index(match[1]) if match and match[1] in paths else None
                if at is None:
                    raise
                look.leave(paths[at], "unreadable", "It cannot be read.")
                paths = paths[:at] + paths[at + 1 :]
            else:
                return

    def _put_into_index(self, paths: list[str], seconds: float, *options: str) -> None:
        update = ("update-index", "--add", "--replace", "-z", "--stdin")
        try:
            self._git.run(*options, *update, standard_input=nul_joined(paths), seconds=seconds)
        except BaseException:
            self._remove_partial()  # otherwise a full disk would stay full
            raise

    def _remove_partial(self) -> None:
        """Remove the partial files that a failed or killed git left."""
        for left in [*(self._git.folder / "objects").glob("*/tmp_*"), self._git.folder / "index.lock"]:
            left.unlink(missing_ok=True)

    def _first_of(self, nested: str, look: WorkspaceLook) -> list[str]:
        """Returns one file of a nested repository: git looks into a folder once the index has a file of it."""
        rules = folder_rules(self._workspace / nested)
        for folder, folders, files in os.walk(self._workspace / nested):
            folders[:] = sorted(each for each in folders if each not in LEFT_OUT)
            for each in sorted(files):
                path = os.path.relpath(os.path.join(folder, each), self._workspace)  # noqa: PTH118
                if not is_ignored(rules, path[len(nested) + 1 :]) and look.verdict(path) == "store":
                    return [path]
        return []

    def _sizes(self, blobs: set[bytes]) -> dict[bytes, int]:
        known = {each: self.objects.size(each.decode()) for each in sorted(blobs)[:_SIZES] if each.strip(b"0")}
        sizes = {each: size for each, size in known.items() if size is not None}
        wanted = sorted(each for each in blobs - sizes.keys() if each.strip(b"0"))
        if not wanted:
            return sizes
        output = self._git.run(
            "cat-file", "--batch-check=%(objectname) %(objectsize)", standard_input=b"\n".join(wanted) + b"\n"
        )
        pairs = (line.split(b" ") for line in output.splitlines())
        return sizes | {pair[0]: int(pair[1]) for pair in pairs if pair[1].isdigit()}


def _batches(paths: list[str], size: int) -> Iterator[list[str]]:
    return (paths[first : first + size] for first in range(0, len(paths), size))


def _version(mode: bytes, blob: bytes, sizes: dict[bytes, int]) -> FileVersion | None:
    if mode == b"000000":
        return None
    name = blob.decode()
    return FileVersion(blob=name, digest=name, mode=_MODES.get(mode, "file"), size=sizes.get(blob, 0))


def _is_empty(folder: Path) -> bool:
    """True if *folder* is empty; False if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    except OSError:
        return False


def _marks_environment(path: str) -> bool:
    parts = path.split("/")
    return any(each in ENVIRONMENT_MARKS for each in parts[-2:])
