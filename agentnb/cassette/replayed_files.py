"""Brings files to the state after the recorded turn, as the agent's own writes did.

When the turn begins, each file must be as it was when the turn was recorded, or as the recording leaves it at some
point: an earlier replay may have run in the same folder.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.cassette.changed_files import (
    content_of,
    digest_of,
    leads_outside,
    runs_again,
    written_by_requests,
)
from agentnb.cassette.compare import diff, mismatch
from agentnb.cassette.marks import escaped
from agentnb.changes.apply import Planner
from agentnb.changes.file_operations import FileOperations
from agentnb.changes.journal import FileChanged, Transaction
from agentnb.changes.model import FileVersion, Step, path_from_json
from agentnb.changes.objects import blob_id
from agentnb.changes.text_diff import text_of
from agentnb.errors import AgentnbError, CassetteBroken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentnb.cassette.marks import SessionMarks
    from agentnb.cassette.recording import FileState, RecordedExchange, RecordedFile
    from agentnb.changes.apply import PathState
    from agentnb.errors import CassetteMismatch

MOST_READ = 256 * 1024**2
"""The largest file, in bytes, that is compared."""
_MOST_SHOWN = 3
_WHY = {
    "large": "it was too large for the cassette",
    "many": "the turn changed too many files for the cassette",
    "sensitive": "it may hold secrets, so its contents are not in the cassette",
    "credential": "something in it looks like a credential, so its contents are not in the cassette",
    "link outside": "it is a link that leads out of the workspace, so it is not in the cassette",
    "unknown": "its contents were not known when it was recorded",
}


class ReplayedFiles:
    def __init__(
        self,
        exchange: RecordedExchange,
        marks: SessionMarks,
        ruled: Callable[[Any], Any],
        later: Mapping[str, Sequence[FileState | None]],
    ) -> None:
        self._rows = exchange.files
        self._marks = marks
        self._ruled = ruled
        self._later = later
        self._runs = runs_again(exchange)
        self._written = written_by_requests(exchange)
        self._contents: dict[str, bytes] = {}
        self._seen: dict[str, FileVersion | None] = {}
        self._workspace = Path(marks.cwd or ".").resolve()
        self._planner = Planner(
            self._workspace,
            read=lambda version: self._contents[version.blob or ""],
            write=self._remember,
            is_stored=lambda _: True,
            digest=blob_id,
            most=MOST_READ,
        )

    def begin(self) -> None:
        """Check, as the turn begins, that the files are as they were when it was recorded."""
        wrong = []
        for row in self._rows:
            for path in filter(None, (row.path, row.was)):
                entry = self._entry(path)
                self._seen[path] = self._planner.version(path, entry)
                before = None if path == row.path and row.was is not None else row.before
                # Files that the cassette lacks are checked when the turn ends.
                is_known = (before is None or not before.missing) and (path != row.path or not _is_elsewhere(row))
                if is_known and not self._runs and not self._is_expected(path, entry, before):
                    wrong.append(self._other(path, before, entry, "when this turn was recorded"))
        if wrong:
            raise self._mismatch(wrong)

    def end(self) -> None:
        """Bring the files to the recorded state as the turn ends."""
        steps: list[Step] = []
        wrong: list[str] = []
        for row in self._rows:
            if row.after is not None and row.after.missing == "moved" and row.was is not None:
                self._move(row, steps, wrong)
                continue
            self._bring(row.path, row.before if row.was is None else None, row.after, steps, wrong)
            if row.was is not None:
                self._bring(row.was, row.before, None, steps, wrong)
        if wrong:
            raise self._mismatch(wrong)
        if steps:
            self._apply(steps)

    def _bring(
        self, path: str, before: FileState | None, after: FileState | None, steps: list[Step], wrong: list[str]
    ) -> None:
        """Plan the steps that bring *path* to *after*, or add to *wrong* why that is not possible."""
        entry = self._entry(path)
        if after is not None and (blocked := self._blocked(path)):
            wrong.append(f"{path} cannot be written: {blocked} is not a folder, but a file or a link.")
            return
        if after is not None and not after.stored and after.mode != "folder":
            if entry is None:
                wrong.append(
                    f"{path} is missing, and cannot be written: {_WHY.get(after.missing, 'it is not stored')}."
                )
            return
        if self._is_at(entry, after):
            if after is not None and entry is not None and entry.has_entries:  # an emptied folder must stay
                steps.append(Step(path=path_from_json(path), target=self._target(path, after)))
            return
        if not self._may_change(path, entry, before):
            if not (self._runs and self._has_changed(path, entry)):
                wrong.append(self._other(path, before, entry, "before this turn was recorded"))
            return
        steps.append(Step(path=path_from_json(path), base=self._version(path, entry), target=self._target(path, after)))

    def _move(self, row: RecordedFile, steps: list[Step], wrong: list[str]) -> None:
        """Plan a move that changed at most the mode: the content is in the workspace, not in the cassette."""
        was, before, moved = str(row.was), row.before, row.left
        source, there = self._entry(was), self._entry(row.path)
        if source is None and self._is_at(there, moved):
            return
        if source is None or not self._is_at(source, before):
            if not (self._runs and self._has_changed(was, source)):
                wrong.append(self._other(was, before, source, "before this turn was recorded"))
            return
        if not self._is_at(there, moved) and not self._may_change(row.path, there, None):
            wrong.append(f"{row.path} exists already; the turn moves {was} there.")
            return
        base = self._version(was, source)
        target = base if base is None or moved is None else msgspec.structs.replace(base, mode=moved.mode)
        steps.append(Step(path=path_from_json(was), base=base))
        steps.append(Step(path=path_from_json(row.path), base=self._version(row.path, there), target=target))

    def _may_change(self, path: str, entry: PathState | None, before: FileState | None) -> bool:
        """True if the recording accounts for what is at *path*, so that nobody else's work is lost."""
        if not self._has_changed(path, entry):
            return self._is_expected(path, entry, before)
        written = (self._marks.fill(text) for name, text in self._written.items() if self._names(name, path))
        return entry is not None and entry.content in {text.encode("utf-8", "replace") for text in written}

    def _is_expected(self, path: str, entry: PathState | None, before: FileState | None) -> bool:
        if before is not None and before.missing == "unknown" and entry is None:
            return True  # the file may not have existed, and nothing is lost
        if before is not None and before.missing == "large" and not before.digest:
            return entry is not None and (entry.mode, entry.state.st_size) == (before.mode, before.size)
        return any(self._is_at(entry, each) for each in (before, *self._later.get(path, ())))

    def _has_changed(self, path: str, entry: PathState | None) -> bool:
        return self._planner.version(path, entry) != self._seen.get(path)

    def _is_at(self, entry: PathState | None, state: FileState | None) -> bool:
        if state is None or entry is None:
            return state is None and (entry is None or entry.has_entries)
        if state.mode != entry.mode:
            return False
        if state.mode == "folder":
            return True
        if entry.content is None:
            return False
        if not state.stored:
            return bool(state.digest) and digest_of(entry.content, self._marks) == state.digest
        if entry.content == content_of(state, self._marks.fill):
            return True
        text = text_of(entry.content) if state.text is not None else None
        return text is not None and self._comparable(text) == self._ruled(state.text)

    def _comparable(self, text: str) -> Any:
        return self._ruled(self._marks.clean_text(escaped(text)))

    def _target(self, path: str, state: FileState | None) -> FileVersion | None:
        if state is None:
            return None
        if state.mode == "folder":
            return FileVersion(mode="folder")
        content = content_of(state, self._marks.fill)
        if state.mode == "link" and leads_outside(path, os.fsdecode(content), str(self._workspace)):
            message = f"{path} is a link that leads out of the workspace."
            raise CassetteBroken(message, hint="Recordings never contain such links: do not use this cassette.")
        blob = self._remember(content)
        return FileVersion(blob=blob, digest=blob, mode=state.mode, size=len(content))

    def _version(self, path: str, entry: PathState | None) -> FileVersion | None:
        if entry is not None and entry.content is not None:
            self._remember(entry.content)
        return self._planner.version(path, entry)

    def _apply(self, steps: list[Step]) -> None:
        with tempfile.TemporaryDirectory(prefix="agentnb-replay-") as journal:
            try:
                plan = self._planner.plan(steps, {})
                if plan.operations:
                    transaction = Transaction(self._workspace, Path(journal), FileOperations())
                    transaction.run(tuple(plan.operations), plan.contents, plan.seen)
            except FileChanged as error:
                raise self._mismatch([f"{error} changed while it was written; nothing was written."]) from error
            except AgentnbError as error:
                raise self._mismatch([f"The turn's files cannot be written: {error.message}"]) from error
            except OSError as error:
                why = error.strerror or type(error).__name__
                raise self._mismatch([f"The turn's files cannot be written: {why}. Nothing was written."]) from error

    def _entry(self, path: str) -> PathState | None:
        try:
            return self._planner.entry(path_from_json(path))
        except AgentnbError as error:
            raise self._mismatch([error.message]) from error
        except OSError as error:
            raise self._mismatch([f"{path} cannot be read: {error.strerror}."]) from error

    def _other(self, path: str, before: FileState | None, entry: PathState | None, when: str) -> str:
        """Returns a message about what is at *path* instead of *before*, with a diff if both are texts."""
        if before is not None and before.missing and entry is not None:
            return f"{path} cannot be changed as in the recorded turn: {_WHY[before.missing]}."
        if entry is None:
            return f"{path} is missing; it existed {when}."
        if before is None:
            return f"{path} exists, but did not exist {when}."
        now = text_of(entry.content) if entry.content is not None else None
        text = f"{path} differs from what it was {when}."
        if before.text is None or now is None:
            return text
        then = self._ruled(before.text)
        return f"{text}\n{diff(then.split(chr(10)), self._comparable(now).split(chr(10)))}"

    def _mismatch(self, wrong: list[str]) -> CassetteMismatch:
        more = [f"… and {len(wrong) - _MOST_SHOWN} more files."] if len(wrong) > _MOST_SHOWN else []
        advice = (
            f"Restore these files in {self._workspace}, or leave the agents' files out: AGENTNB_CASSETTE_FILES=off."
        )
        return mismatch("\n".join([*wrong[:_MOST_SHOWN], *more, advice]))

    def _blocked(self, path: str) -> str | None:
        """Returns the file or link that is in the place of a folder above *path*, or None."""
        parts = path_from_json(path).split("/")[:-1]
        folders = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
        going = {row.path for row in self._rows if row.after is None} | {row.was for row in self._rows}
        for folder in folders:
            place = self._workspace / folder
            if os.path.lexists(place) and (place.is_symlink() or not place.is_dir()) and folder not in going:
                return folder
        return None

    def _names(self, name: str, path: str) -> bool:
        """True if *name*, a path in a request with marks, is *path*."""
        real, filled = path_from_json(path), self._marks.fill(name)
        return filled in {real, f"{self._marks.cwd}/{real}", f"{self._workspace}/{real}"}

    def _remember(self, content: bytes) -> str:
        name = blob_id(content)
        self._contents[name] = content
        return name


def _is_elsewhere(row: RecordedFile) -> bool:
    """True if the turn left a content that the cassette does not have: anything found there then is accepted."""
    after = row.after
    return after is not None and not after.stored and after.mode != "folder" and after.missing != "moved"
