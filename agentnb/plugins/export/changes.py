"""Changes of turns, as text for a shell: the conversations that changed something, and one of them turn by turn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.api.changes import HEAD, cells_of
from agentnb.api.columns import lines
from agentnb.changes.store import ChangeStore
from agentnb.errors import AgentnbError, UnknownSession
from agentnb.host.changes.location import changes_folder
from agentnb.host.changes.records import all_records, count_by_kind
from agentnb.ids import new_id
from agentnb.log.location import log_location
from agentnb.log.store import LogStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.changes.model import PathChange
    from agentnb.host.changes.records import ConversationRecord

_HEAD = ("session", "agent", "turns", "files", "cells", "variables", "folder")
ID_CHARACTERS = 8


def conversations() -> str:
    """The conversations whose turns changed something, a table; a sentence where there are none."""
    records = [record for _, record in all_records(changes_folder())]
    if not records:
        return "No saved conversation has changed anything."
    return "\n".join(lines([_HEAD, *map(_row, records)]))


def conversation(name: str, *, diffs: bool = False) -> str:
    """The changes of the conversation whose id begins with *name*."""
    those = [(path, each) for path, each in all_records(changes_folder()) if path.stem.startswith(name)]
    if len(those) != 1:
        what = "Several sessions whose id begins with" if those else "No session whose id begins with"
        raise UnknownSession(f"{what} {name!r} changed anything.", hint="`agentnb changes` lists those that did.")
    (path, record) = those[0]
    prompts = _prompts(record)
    diff = _differ(path, record)
    parts: list[str] = []
    for number, turn in enumerate(record.turns, 1):
        prompt = prompts.get(turn.turn_id, "")
        parts.append(f"{number}. {' '.join(prompt.split())[:200]}".rstrip())
        parts.append("\n".join([*lines([HEAD, *map(cells_of, turn.items)]), *turn.notes]))
        parts += [diff(item.name, item.file) for item in turn.items if item.file is not None] if diffs else []
    return "\n\n".join(parts)


def _row(record: ConversationRecord) -> tuple[str, ...]:
    counts = count_by_kind(item for turn in record.turns for item in turn.items)
    agent, _, tab_id = record.session.partition(":/")
    return (tab_id[:ID_CHARACTERS], agent, str(len(record.turns)), *map(str, counts.values()), record.workspace)


def _differ(path: Path, record: ConversationRecord) -> Callable[[str, PathChange], str]:
    """Gives the difference of a file, or why there is none; the store is opened once, for the first file."""
    opened: list[ChangeStore] = []

    def diff(name: str, change: PathChange) -> str:
        try:
            if not opened:
                opened.append(ChangeStore(path.parents[1], Path(record.workspace), is_sensitive=lambda _: True))
            return opened[0].diff(change).rstrip("\n")
        except AgentnbError as error:
            return f"{name}: {error}"

    return diff


def _prompts(record: ConversationRecord) -> dict[str, str]:
    """The prompts of the turns, as far as the log knows them."""
    path = log_location()
    if path is None or not path.exists():
        return {}
    store = LogStore(path, new_id())
    try:
        return {turn.id: turn.message.text for turn in store.load(record.session).chat.turns}
    except AgentnbError:
        return {}
    finally:
        store.close()
