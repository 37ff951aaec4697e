"""Writes many files or none: a journal lists each step before it is done, so that a killed process can be undone.

1. The journal lists all steps. 2. New contents are written into a folder of the workspace, *pending*, with final names
like ``new-3``, and the journal says *prepared*. 3. Files to remove are renamed into it (``old-3``); new ones are
renamed out of it. 4. The journal says *done*; *pending* is removed, then the journal. Any failure before *done* is
rolled back from the contents of *pending*, at once or, if the process was killed, by the next one (:func:`recover`).
Before *prepared*, no file was touched, so only *pending* is removed: a file missing in it need not have been moved out.

Nothing that a user wrote meanwhile is overwritten: a file is first renamed away and then checked there, and a new one
takes only a free name. Every folder on the way is opened without following links.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from agentnb.changes.coverage import PENDING
from agentnb.changes.file_operations import FileOperations, read_entry
from agentnb.changes.model import path_from_json, path_to_json
from agentnb.changes.objects import blob_id
from agentnb.errors import ChangesError, OutsideWorkspace
from agentnb.safe_files import open_entry, open_folder
from agentnb.safe_json import read_record

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "journal.json"
_STAYS = {getattr(errno, each) for each in ("ENOTEMPTY", "EEXIST", "EBUSY", "EACCES", "EPERM", "ENOENT", "ENOTDIR")}
_WHOLE = 1 << 40  # bytes; no file is larger
Kind: TypeAlias = Literal["remove", "remove folder", "make folder", "write"]


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    kind: Kind
    path: str
    mode: int | None = None
    blob: str = ""
    link: bool = False

    @property
    def real_path(self) -> str:
        """The path as the file system has it."""
        return path_from_json(self.path)


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """The operations of a transaction, as they are on disk until all are done."""

    pending: str
    operations: tuple[Operation, ...]
    prepared: bool = True  # missing in journals of earlier versions
    done: bool = False


class Content(NamedTuple):
    content: bytes
    like: os.stat_result | None = None
    executable: bool = False

    @property
    def permissions(self) -> int:
        """Returns the permission bits of the file that it replaces, or those of every new file."""
        if self.like is None or not stat.S_ISREG(self.like.st_mode):
            return 0o777 if self.executable else 0o666
        plain = stat.S_IMODE(self.like.st_mode)
        if not self.executable:
            return plain & ~0o111
        return plain if plain & 0o100 else plain | (plain & 0o444) >> 2


class FileChanged(ChangesError):
    """A file changed between the look at it and the write."""


class Transaction:
    """Carries out operations on files: all of them, or none."""

    def __init__(self, workspace: Path, store: Path, files: FileOperations) -> None:
        self._workspace = workspace
        self._path = store / NAME
        self._files = files

    def run(
        self, operations: tuple[Operation, ...], contents: dict[int, Content], seen: dict[int, os.stat_result]
    ) -> None:
        where = self._pending_parent(operations)
        pending = f"{where}{PENDING}{os.urandom(6).hex()}"
        journal = Journal(pending=path_to_json(pending), operations=operations, prepared=False)
        self._write(journal)
        try:
            with self._made_pending(pending) as folder:
                for number, content in contents.items():
                    self._prepare(folder, number, content, is_link=operations[number].link)
                self._files.sync_folder(folder)
                prepared = msgspec.structs.replace(journal, prepared=True)
                self._write(prepared)
                journal = prepared
                for number, operation in enumerate(operations):
                    self._do(folder, number, operation, seen.get(number))
                self._check(folder, operations, seen)
            self._write(msgspec.structs.replace(journal, done=True))
        except Exception:
            self.roll_back(journal)
            raise
        with contextlib.suppress(OSError):  # the undo is complete; the next start removes the leftovers
            self.clean(journal)

    def recover(self) -> str | None:
        """Finish or roll back what a killed process left; returns a sentence for the user, or None if nothing was."""
        try:
            journal = read_record(self._path.read_bytes(), Journal)
        except FileNotFoundError:
            return None
        except ValueError:  # journals are written atomically, so another program damaged it
            self._files.forget(self._path)
            return "The journal of an undo that was interrupted is damaged; check the files that it changed."
        if journal.done:
            self.clean(journal)
            return "An undo was interrupted after its last file; it is now complete."
        edited = self.roll_back(journal)
        note = "An undo was interrupted; every file was restored to its state before the undo."
        if not edited:
            return note
        return f"{note} Except for files that were edited since, which are left alone: {', '.join(edited)}."

    def roll_back(self, journal: Journal) -> list[str]:
        """Restore every file to what it was; returns those edited since, which are left alone."""
        edited: list[str] = []
        if not journal.prepared:
            self.clean(journal)
            return edited
        pending = path_from_json(journal.pending)
        with contextlib.suppress(FileNotFoundError), self._opened(pending) as folder:
            for number, operation in reversed(list(enumerate(journal.operations))):
                if not self._undo(folder, number, operation):
                    edited.append(operation.real_path)
            self._sync_parents(journal)
        self.clean(journal)
        return sorted(set(edited))

    def clean(self, journal: Journal) -> None:
        """Remove the pending folder and the journal."""
        pending = path_from_json(journal.pending)
        with contextlib.suppress(FileNotFoundError):
            with self._opened(pending) as folder:
                for name in os.listdir(folder):  # noqa: PTH208 - an open folder
                    self._files.remove(folder, name)
            with self._parent(pending) as (parent, name):
                self._files.remove_folder(parent, name)
        self._files.forget(self._path)

    # ------------------------------------------------------------ forward

    def _write(self, journal: Journal) -> None:
        self._files.replace_text(self._path, msgspec.json.encode(journal))

    def _pending_parent(self, operations: tuple[Operation, ...]) -> str:
        """Returns where to make the pending folder: the workspace if writable, else a folder that has all the paths."""
        if os.access(self._workspace, os.W_OK | os.X_OK):
            return ""
        common = os.path.commonpath([os.path.dirname(each.real_path) for each in operations])  # noqa: PTH120
        return f"{common}/" if common and (self._workspace / common).is_dir() else ""

    @contextlib.contextmanager
    def _made_pending(self, pending: str) -> Iterator[int]:
        with self._parent(pending) as (parent, name):
            self._files.make_folder(parent, name, 0o700)
            self._files.sync_folder(self._workspace)
        with self._opened(pending) as folder:
            yield folder

    @contextlib.contextmanager
    def _opened(self, pending: str) -> Iterator[int]:
        with self._parent(pending) as (parent, name):
            folder = open_entry(parent, name, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0), Path(pending))
        try:
            yield folder
        finally:
            os.close(folder)

    def _prepare(self, folder: int, number: int, content: Content, *, is_link: bool) -> None:
        name = f"new-{number}"
        if is_link:
            self._files.symlink(content.content, folder, name)
            return
        self._files.write_new(folder, name, content.content, content.permissions)
        if content.like is not None and stat.S_ISREG(content.like.st_mode):
            keep_owner(folder, name, content.like)
            os.chmod(name, content.permissions, dir_fd=folder)

    def _do(self, folder: int, number: int, operation: Operation, seen: os.stat_result | None) -> None:
        with self._parent(operation.real_path) as (parent, name):
            match operation.kind:
                case "remove":
                    try:
                        self._files.rename(parent, name, folder, f"old-{number}")
                    except FileNotFoundError as error:
                        raise FileChanged(operation.real_path) from error
                    if seen is not None and not is_same_file(os.lstat(f"old-{number}", dir_fd=folder), seen):
                        raise FileChanged(operation.real_path)
                case "remove folder":
                    self._remove_folder(parent, name)
                case "make folder":
                    with contextlib.suppress(FileExistsError):
                        self._files.make_folder(parent, name)
                case "write":
                    try:
                        self._files.place(folder, f"new-{number}", parent, name)
                    except (FileExistsError, IsADirectoryError) as error:
                        raise FileChanged(operation.real_path) from error
            self._files.sync_folder(parent)

    @staticmethod
    def _check(folder: int, operations: tuple[Operation, ...], seen: dict[int, os.stat_result]) -> None:
        for number, state in seen.items():
            if not is_same_file(os.lstat(f"old-{number}", dir_fd=folder), state):
                raise FileChanged(operations[number].real_path)

    @contextlib.contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        *above, name = path.split("/")
        with open_folder(self._workspace, above) as parent:
            try:
                yield parent, name
            except OSError as error:
                if isinstance(error.filename, str) and not os.path.isabs(error.filename):  # noqa: PTH117
                    error.filename = str(self._workspace / path)  # the system call got only the name
                raise

    # ------------------------------------------------------------ back

    def _undo(self, folder: int, number: int, operation: Operation) -> bool:
        """Undo one operation, done or not; returns False if somebody has edited the file since."""
        try:
            with self._parent(operation.real_path) as (parent, name):
                match operation.kind:
                    case "remove":
                        return self._put_back(folder, f"old-{number}", parent, name)
                    case "remove folder":
                        with contextlib.suppress(FileExistsError):
                            self._files.make_folder(parent, name, 0o777 if operation.mode is None else operation.mode)
                    case "make folder":
                        self._remove_folder(parent, name)
                    case "write":
                        return self._take_back(folder, f"new-{number}", parent, name, operation)
        except (FileNotFoundError, OutsideWorkspace):
            return operation.kind not in {"remove", "write"} or not _exists(folder, f"old-{number}")
        return True

    def _remove_folder(self, parent: int, name: str) -> None:
        """Remove a folder; leave it if it is not empty or may not be removed, since no file's content is lost."""
        try:
            self._files.remove_folder(parent, name)
        except OSError as error:
            if error.errno not in _STAYS:
                raise

    def _put_back(self, folder: int, old: str, parent: int, name: str) -> bool:
        if not _exists(folder, old):
            return True
        try:
            self._files.place(folder, old, parent, name)
        except FileExistsError:
            return _is_placed(folder, old, parent, name)
        return True

    def _take_back(self, folder: int, new: str, parent: int, name: str, operation: Operation) -> bool:
        if not _exists(parent, name):
            return True
        if _exists(folder, new):  # not placed, or killed between the two halves of placing
            if _is_placed(folder, new, parent, name):
                self._files.remove(parent, name)
            return True
        state, content = read_entry(parent, name, _WHOLE)
        if content is None or blob_id(content) != operation.blob or stat.S_ISLNK(state.st_mode) != operation.link:
            return False
        self._files.remove(parent, name)
        return True

    def _sync_parents(self, journal: Journal) -> None:
        for each in journal.operations:
            with contextlib.suppress(OSError, OutsideWorkspace), self._parent(each.real_path) as (parent, _):
                self._files.sync_folder(parent)


def is_same_file(state: os.stat_result, seen: os.stat_result) -> bool:
    """True if nobody has written to the file since it was *seen*; its name may have changed."""
    names = ("st_ino", "st_dev", "st_size", "st_mtime_ns", "st_mode")
    return all(getattr(state, each) == getattr(seen, each) for each in names)


def _is_placed(folder: int, name: str, other_folder: int, other_name: str) -> bool:
    """True if both names are the same file, or one has the same state and content as the other."""
    state, other = os.lstat(name, dir_fd=folder), os.lstat(other_name, dir_fd=other_folder)
    if os.path.samestat(state, other):
        return True
    if any(getattr(state, each) != getattr(other, each) for each in ("st_size", "st_mtime_ns", "st_mode")):
        return False
    content = read_entry(folder, name, _WHOLE)[1]
    return content is not None and content == read_entry(other_folder, other_name, _WHOLE)[1]


def keep_owner(folder: int, name: str, old: os.stat_result) -> None:
    """Give a file the owner of the one that it replaces, if permitted."""
    new = os.lstat(name, dir_fd=folder)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with contextlib.suppress(OSError):
            os.chown(name, old.st_uid, old.st_gid, dir_fd=folder, follow_symlinks=False)


def _exists(folder: int, name: str) -> bool:
    try:
        os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True
