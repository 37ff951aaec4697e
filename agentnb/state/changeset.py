"""A set of changes as the Agent Host Protocol has it (a channel of its own): its state, actions and reducer."""

from __future__ import annotations

import msgspec

from agentnb.state.action import Action, ChangesetAction
from agentnb.state.change import changed, put
from agentnb.state.reducers import reduced, reduces, row, sets
from agentnb.state.wire import ErrorInfo, JsonObject, StringOrMarkdown, Wire


class ChangesetFile(Wire, frozen=True, kw_only=True):
    """One changed file (AHP ``ChangesetFile``).

    Args:
        id: Its id, usually its URI.
        edit: The change (AHP ``FileEdit``), as sent.
        meta: Additional data.
    """

    id: str
    edit: JsonObject
    meta: JsonObject | None = msgspec.field(default=None, name="_meta")


class ChangesetOperation(Wire, frozen=True, kw_only=True):
    """Something that can be done with a set of changes, such as reverting it (AHP ``ChangesetOperation``)."""

    id: str
    label: str
    description: str | None = None
    scopes: tuple[str, ...]
    confirmation: StringOrMarkdown | None = None
    icon: str | None = None
    group: str | None = None
    status: str
    error: ErrorInfo | None = None


class ChangesetState(Wire, frozen=True, kw_only=True):
    """Everything about one set of changes (AHP ``ChangesetState``).

    Args:
        status: Its progress: ``"computing"``, ``"ready"``, ``"error"`` …
        error: The error, if there is one.
        files: The changed files.
        operations: The operations that it offers.
    """

    status: str
    error: ErrorInfo | None = None
    files: tuple[ChangesetFile, ...]
    operations: tuple[ChangesetOperation, ...] | None = None


class ChangesetStatusChanged(ChangesetAction, frozen=True, kw_only=True, tag="changeset/statusChanged"):
    """How far the set has come, with the error where it failed (AHP ``changeset/statusChanged``)."""

    status: str
    error: ErrorInfo | None = None


class ChangesetFileSet(ChangesetAction, frozen=True, kw_only=True, tag="changeset/fileSet"):
    """A file, in the place of the one with its id (AHP ``changeset/fileSet``)."""

    file: ChangesetFile


class ChangesetFileRemoved(ChangesetAction, frozen=True, kw_only=True, tag="changeset/fileRemoved"):
    """A file is no longer in it (AHP ``changeset/fileRemoved``)."""

    file_id: str


class ChangesetContentChanged(ChangesetAction, frozen=True, kw_only=True, tag="changeset/contentChanged"):
    """All files; all operations too, where there are some (AHP ``changeset/contentChanged``)."""

    files: tuple[ChangesetFile, ...]
    operations: tuple[ChangesetOperation, ...] | None = None


class ChangesetOperationsChanged(ChangesetAction, frozen=True, kw_only=True, tag="changeset/operationsChanged"):
    """All operations; ``None`` for none (AHP ``changeset/operationsChanged``)."""

    operations: tuple[ChangesetOperation, ...] | None = None


class ChangesetOperationStatusChanged(
    ChangesetAction, frozen=True, kw_only=True, tag="changeset/operationStatusChanged"
):
    """How far an operation has come (AHP ``changeset/operationStatusChanged``)."""

    operation_id: str
    status: str
    error: ErrorInfo | None = None


class ChangesetCleared(ChangesetAction, frozen=True, kw_only=True, tag="changeset/cleared"):
    """No file is in it any more (AHP ``changeset/cleared``)."""


sets(ChangesetStatusChanged, "status", "error")
sets(ChangesetOperationsChanged, "operations")
row(ChangesetFileSet, ("upsert", "files", "file", "id"))
row(ChangesetFileRemoved, ("remove", "files", "file_id", "id"))
row(ChangesetCleared, ("value", "files", ()))


@reduces(ChangesetContentChanged)
def _content_changed(state: ChangesetState, action: ChangesetContentChanged) -> ChangesetState:
    operations = state.operations if action.operations is None else action.operations
    return changed(state, files=action.files, operations=operations)


@reduces(ChangesetOperationStatusChanged)
def _operation_status_changed(state: ChangesetState, action: ChangesetOperationStatusChanged) -> ChangesetState:
    operations = state.operations or ()
    at = next((i for i, operation in enumerate(operations) if operation.id == action.operation_id), None)
    if at is None:
        return state
    operation = changed(operations[at], status=action.status, error=action.error)
    return state if operation is operations[at] else changed(state, operations=put(operations, at, operation))


def reduce_changeset(state: ChangesetState, action: Action) -> ChangesetState:
    return reduced("changeset", state, action)
