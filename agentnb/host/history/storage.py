"""The data that agentnb keeps on disk: how much and whose it is, and what is deleted by age, by size, or altogether."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from agentnb.configuration.setting import size_of
from agentnb.configuration.sources import read_settings
from agentnb.errors import LogUnavailable
from agentnb.folders import data_folder
from agentnb.host.changes.location import changes_folder
from agentnb.host.changes.records import all_records
from agentnb.log import maintenance
from agentnb.log.location import count_batches, delete_batches, files_of_batches
from agentnb.state.wire import Count, Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from agentnb.host.changes.workspace_store import WorkspaceStores
    from agentnb.log.record import SessionRecord
    from agentnb.log.store import LogStore


What: TypeAlias = Literal["kind", "agent", "folder"]
"""The property by which the rows group the figures."""

_GROUPS: tuple[tuple[What, Callable[[SessionRecord], str]], ...] = (
    ("agent", lambda record: record.agent),
    ("folder", lambda record: record.cwd),
)
DAY_MS = 86_400_000
_EVERY = 10**9
"""A limit above the number of sessions that a log can have."""


class KeptStorage(Wire, frozen=True, kw_only=True):
    """The storage used by one kind, agent or folder."""

    what: What
    name: str
    bytes: Count
    items: Count


def measured(store: LogStore) -> list[KeptStorage]:
    """Returns how much is kept: by kind, then by agent and by folder, the largest first."""
    records = _records(store)
    log_files, changes = maintenance.files_of(store.path), changes_folder()
    index = [path for path in log_files if path.name.startswith(f"{store.path.stem}-search.db")]
    log = [path for path in log_files if path not in index]
    aside = sorted(store.path.parent.glob(f"{store.path.name}.damaged-*"))
    data, known = data_folder(), {*log_files, *aside, store.path.with_name(f"{store.path.name}.lock")}
    batches = files_of_batches(store.path)
    known.update(batches)
    others = [path for path in _files(data) if path not in known and changes not in path.parents]
    rows: list[tuple[What, str, int, int]] = [
        ("kind", "conversations", _bytes(log), len(records)),
        ("kind", "search index", _bytes(index), len(index)),
        ("kind", "batches", _bytes(batches), count_batches(store.path)),
        ("kind", "undo history", _bytes(_files(changes)), sum(1 for _ in all_records(changes))),
        ("kind", "damaged logs", _bytes(aside), len(aside)),
        ("kind", "other files", _bytes(others), len(others)),
    ]
    sizes = maintenance.sizes(store.path) if store.path.exists() else {}
    for what, name_of in _GROUPS:
        groups: dict[str, list[int]] = defaultdict(list)
        for record in records:
            groups[name_of(record)].append(sizes.get(record.uri, 0))
        rows += [(what, name, sum(of), len(of)) for name, of in sorted(groups.items(), key=lambda each: -sum(each[1]))]
    return [KeptStorage(what=what, name=name, bytes=size, items=items) for what, name, size, items in rows]


def closed(store: LogStore) -> list[SessionRecord]:
    """The conversations that no kernel has open, pinned ones too, the latest first."""
    records = _records(store)
    held = {record.uri for record in records if record.open} & (store.held(records) | store.mine(records))
    return [record for record in records if record.uri not in held]


def outdated(
    store: LogStore, *, before: int | None = None, most_bytes: int | None = None, keeps_pinned: bool = True
) -> list[SessionRecord]:
    """The conversations that a limit would delete, the oldest first; never open ones, nor pinned ones if kept."""
    free = [record for record in closed(store) if not (record.pinned and keeps_pinned)][::-1]
    chosen = [record for record in free if before is not None and record.modified_at < before]
    if most_bytes is not None:
        sizes = maintenance.sizes(store.path) if store.path.exists() else {}
        taken = {record.uri for record in chosen}
        left = sum(size for uri, size in sizes.items() if uri not in taken)
        for record in free:
            if left <= most_bytes:
                break
            if record.uri not in taken:
                chosen.append(record)
                left -= sizes.get(record.uri, 0)
    return chosen


def oldest_kept(days: float) -> int:
    """Returns the time *days* days ago, in milliseconds since 1970."""
    return int(time.time() * 1000 - days * DAY_MS)


async def keep_limits(store: LogStore, stores: WorkspaceStores, environ: Mapping[str, str] = os.environ) -> int:
    """Delete what exceeds the limits of the settings, if any; returns how many conversations were deleted.

    Pinned ones stay, unless the limit is the site's.
    """
    limits = read_settings(environ=environ)
    before, most = limits_of(limits["log_days"].value, limits["log_max"].value)
    if before is None and most is None:
        return 0
    if before is not None:
        await asyncio.to_thread(forget_batches, store, before)
    days, size = (limits[name].is_locked for name in ("log_days", "log_max"))
    records = await asyncio.to_thread(
        lambda: (
            outdated(store, before=before, keeps_pinned=not days)
            + outdated(store, before=before, most_bytes=most, keeps_pinned=not size)
        )
    )
    return await forget(store, stores, {record.uri: record for record in records}.values())


def limits_of(days: float, most: str) -> tuple[int | None, int | None]:
    """The settings ``log_days`` and ``log_max`` as a time and as bytes; None: no limit."""
    return oldest_kept(days) if days > 0 else None, size_of(most)


async def forget(store: LogStore, stores: WorkspaceStores, records: Iterable[SessionRecord]) -> int:
    """Delete conversations and the records of their changes; returns how many."""
    count = 0
    for record in records:
        count += await asyncio.to_thread(store.forget, record.uri)
        await stores.forget(Path(record.cwd), record.tab_id)
    return count


def forget_batches(store: LogStore, before: int | None = None) -> int:
    """Delete batches that are not running; returns how many."""
    try:
        return delete_batches(store.path, before=None if before is None else before / 1000)
    except sqlite3.Error as error:
        raise LogUnavailable(f"The batches cannot be deleted: {error}.") from error


def _records(store: LogStore) -> list[SessionRecord]:
    return store.sessions(limit=_EVERY, archived=None)


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names)


def _bytes(paths: Iterable[Path]) -> int:
    total = 0
    for path in paths:
        try:
            total += path.lstat().st_size
        except OSError:  # the file was deleted meanwhile
            continue
    return total
