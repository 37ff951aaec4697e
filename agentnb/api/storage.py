"""The data that agentnb keeps on disk, in Python and a shell: measured, limited, checked, repaired, moved, deleted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agentnb.api.columns import Rows, Table, on_one_line
from agentnb.api.history_rows import demanded, kernel_log
from agentnb.configuration.setting import size_of
from agentnb.errors import UsageError
from agentnb.host.changes.location import changes_folder
from agentnb.host.changes.workspace_store import WorkspaceStores
from agentnb.host.history.restore import recorder_of
from agentnb.host.history.storage import (
    KeptStorage,
    closed,
    forget,
    forget_batches,
    measured,
    oldest_kept,
    outdated,
)
from agentnb.log import maintenance

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from agentnb.api.history_rows import ThisLog
    from agentnb.log.record import SessionRecord
    from agentnb.log.store import LogStore

MOST_LISTED = 10
"""The most agents and folders that a table shows; its rows list all of them."""


class Removed(NamedTuple):
    """The conversations that were deleted, or would be.

    Attributes:
        titles: The conversations' titles.
        is_done: True if they were deleted; False after a dry run.
    """

    titles: tuple[str, ...]
    is_done: bool

    def __str__(self) -> str:
        count = len(self.titles)
        what = f"{count:,} conversation{'' if count == 1 else 's'}"
        if self.is_done:
            return f"{what} deleted."
        lines = "".join(f"\n  {on_one_line(title)}" for title in self.titles[:MOST_LISTED])
        more = f"\n  and {count - MOST_LISTED:,} more" if count > MOST_LISTED else ""
        return f"{what} would be deleted.{lines}{more}"


class Storage(Table, Rows[KeptStorage]):
    """The data on disk: rows by kind, which add up to everything, then by agent and by folder.

    Its methods change the data; they raise :class:`LogError` if the log cannot be read or written.

    Args:
        rows: The sizes.
        log: The log.

    Attributes:
        path: The log's file.
    """

    _head = ("what", "name", "size", "items")

    def __init__(self, rows: Iterable[KeptStorage], log: ThisLog) -> None:
        super().__init__(rows)
        self.path: Path = log.store.path
        self._log = log

    @property
    def bytes(self) -> int:
        """Returns the total size in bytes."""
        return sum(row.bytes for row in self if row.what == "kind")

    def _table(self) -> list[tuple[str, ...]]:
        chosen = [
            row for what in ("kind", "agent", "folder") for row in [r for r in self if r.what == what][:MOST_LISTED]
        ]
        return [self._head, *map(self._cells, chosen), ("all", "", in_words(self.bytes), "")]

    def _cells(self, row: KeptStorage) -> tuple[str, ...]:
        return row.what, on_one_line(row.name), in_words(row.bytes), f"{row.items:,}"

    def _notes(self) -> list[str]:
        return [str(self.path)]

    def remove(
        self, *, older_than_days: float | None = None, larger_than: int | str | None = None, dry_run: bool = True
    ) -> Removed:
        """Delete old conversations, with the record of their changes, and old batches. Pinned and open ones stay.

        Args:
            older_than_days: Delete those without activity for this many days.
            larger_than: Delete the oldest until the data of the others is no more than this: bytes, or ``"2G"``.
            dry_run: True to delete nothing and only return the titles.

        Raises:
            UsageError: If neither limit is given, or one is not valid.
        """
        most = size_of(str(larger_than)) if larger_than is not None else None
        is_number = isinstance(older_than_days, (int, float)) and 0 <= older_than_days < 10**6
        if (older_than_days is not None and not is_number) or (larger_than is not None and most is None):
            message = f"older_than_days={older_than_days!r}, larger_than={larger_than!r} is not a limit."
            raise UsageError(message, hint='For example older_than_days=90, or larger_than="2G".')
        if older_than_days is None and most is None:
            raise UsageError("Neither an age nor a size was given.", hint="For example older_than_days=90.")
        before = None if older_than_days is None else oldest_kept(older_than_days)
        if before is not None and not dry_run:
            forget_batches(self._store(), before)
        return self._delete(outdated(self._store(), before=before, most_bytes=most), dry_run=dry_run)

    def delete_all(self, *, dry_run: bool = True) -> Removed:
        """Delete all conversations that are not open, pinned ones too, and all batches that are not running.

        The disk space is freed. With *dry_run*, the default, nothing is deleted.
        """
        removed = self._delete(closed(self._store()), dry_run=dry_run)
        if removed.is_done:
            forget_batches(self._store())
            self.compact()
        return removed

    def compact(self) -> int:
        """Free the disk space of what was deleted; returns the number of bytes."""
        return maintenance.compact(self._store().path)

    def check(self) -> list[str]:
        """Check the whole log; returns sentences on what is wrong, [] if nothing is."""
        return maintenance.faults(self._store().path)

    def repair(self) -> maintenance.Repaired:
        """Copy what can be read to a new file; the damaged one is kept beside it."""
        return maintenance.repair(self._store().path)

    def export_to(self, path: str | os.PathLike[str]) -> int:
        """Write all conversations to a new file, which another machine can import; returns how many.

        The file contains all messages unchanged, including credentials, but not the changes of turns
        (:data:`agentnb.log.maintenance.WITHOUT_CHANGES` says why).
        """
        return maintenance.copy_out(self._store().path, Path(path).expanduser())

    def import_from(self, path: str | os.PathLike[str]) -> tuple[int, int]:
        """Add the conversations of an exported file; returns how many were added, and how many were already here."""
        return maintenance.take_in(self._store().path, Path(path).expanduser())

    def _delete(self, records: list[SessionRecord], *, dry_run: bool) -> Removed:
        if not dry_run:
            host = self._log.host
            stores = WorkspaceStores(changes_folder()) if host is None else host.stores
            work = forget(self._store(), stores, records)
            asyncio.run(work) if host is None else host.loop.submit(work).result()
        return Removed(tuple(record.title for record in records), is_done=not dry_run)

    def _store(self) -> LogStore:
        """Returns the log, with everything that has happened so far written to its file."""
        return self._log.store if self._log.host is None else recorder_of(self._log.host).store


def storage() -> Storage:
    """Returns how much data agentnb keeps on disk, by kind, agent and folder.

    Returns:
        A table; its methods delete by age and size, compact, check, repair, export, import and delete all.

    Raises:
        LogError: If the log is off or cannot be read.

    Example:
        >>> agentnb.storage().remove(older_than_days=90)  # doctest: +SKIP
    """
    return storage_of(kernel_log())


def storage_of(log: ThisLog | None, *, measure: bool = True) -> Storage:
    """Returns the storage of any log, as for :func:`storage`; without figures unless *measure*."""
    log = demanded(log)
    return Storage(measured(log.store) if measure else (), log)


def in_words(size: int) -> str:
    """Returns a size in bytes as text.

    Example:
        >>> in_words(900), in_words(1_500_000), in_words(3 * 1024**3)
        ('900 bytes', '1.4 MB', '3.0 GB')
    """
    if size < 1024:  # noqa: PLR2004
        return f"{size} bytes"
    number = float(size)
    for unit in ("KB", "MB", "GB"):
        number /= 1024
        if number < 1024 or unit == "GB":  # noqa: PLR2004
            break
    return f"{number:,.1f} {unit}"
