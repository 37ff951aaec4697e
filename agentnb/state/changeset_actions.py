"""Actions of a changeset channel."""

from __future__ import annotations

from typing import TypeAlias

from agentnb.state.action import KnownAction
from agentnb.state.changeset_state import ChangesetFile, ChangesetOperation
from agentnb.state.wire import ErrorInfo


class ChangesetStatusChanged(KnownAction, frozen=True, kw_only=True, tag="changeset/statusChanged"):
    """How far the set has come, with the error where it failed (AHP ``changeset/statusChanged``)."""

    status: str
    error: ErrorInfo | None = None


class ChangesetFileSet(KnownAction, frozen=True, kw_only=True, tag="changeset/fileSet"):
    """A file, in the place of the one with its id (AHP ``changeset/fileSet``)."""

    file: ChangesetFile


class ChangesetFileRemoved(KnownAction, frozen=True, kw_only=True, tag="changeset/fileRemoved"):
    """A file is no longer in it (AHP ``changeset/fileRemoved``)."""

    file_id: str


class ChangesetContentChanged(KnownAction, frozen=True, kw_only=True, tag="changeset/contentChanged"):
    """All files; all operations too, where there are some (AHP ``changeset/contentChanged``)."""

    files: tuple[ChangesetFile, ...]
    operations: tuple[ChangesetOperation, ...] | None = None
    error: ErrorInfo | None = None


class ChangesetOperationsChanged(KnownAction, frozen=True, kw_only=True, tag="changeset/operationsChanged"):
    """All operations; ``None`` for none (AHP ``changeset/operationsChanged``)."""

    operations: tuple[ChangesetOperation, ...] | None = None


class ChangesetOperationStatusChanged(KnownAction, frozen=True, kw_only=True, tag="changeset/operationStatusChanged"):
    """How far an operation has come (AHP ``changeset/operationStatusChanged``)."""

    operation_id: str
    status: str
    error: ErrorInfo | None = None


class ChangesetCleared(KnownAction, frozen=True, kw_only=True, tag="changeset/cleared"):
    """No file is in it any more (AHP ``changeset/cleared``)."""


ChangesetAction: TypeAlias = (
    ChangesetStatusChanged
    | ChangesetFileSet
    | ChangesetFileRemoved
    | ChangesetContentChanged
    | ChangesetOperationsChanged
    | ChangesetOperationStatusChanged
    | ChangesetCleared
)
"""The actions of a changeset channel."""
