"""What turns change in the workspace's files: snapshots, differences, undo and redo."""

from __future__ import annotations

from agentnb.changes.coverage import Limits
from agentnb.changes.model import (
    Choice,
    Conflict,
    FileChange,
    Mode,
    NotCovered,
    Snapshot,
    Step,
    Version,
    path_from_json,
    path_to_json,
)
from agentnb.changes.store import ChangeStore

__all__ = [
    "ChangeStore",
    "Choice",
    "Conflict",
    "FileChange",
    "Limits",
    "Mode",
    "NotCovered",
    "Snapshot",
    "Step",
    "Version",
    "path_from_json",
    "path_to_json",
]
