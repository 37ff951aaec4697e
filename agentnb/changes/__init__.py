"""The changes of turns to the workspace's files: snapshots, differences, undo and redo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.one_at_a_time import names_at_first_use

if TYPE_CHECKING:
    from agentnb.changes.model import Conflict as Conflict
else:
    __getattr__, __dir__ = names_at_first_use(__name__, {"Conflict": "agentnb.changes.model"})
