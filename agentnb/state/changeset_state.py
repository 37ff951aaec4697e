"""A set of changes as the Agent Host Protocol has it (a channel of its own)."""

from __future__ import annotations

import msgspec

from agentnb.state.wire import ErrorInfo, JsonObject, StringOrMarkdown, Wire


class ChangesetFile(Wire, frozen=True, kw_only=True):
    """One changed file (AHP ``ChangesetFile``).

    Args:
        id: Its id, mostly its URI.
        edit: What was changed (AHP ``FileEdit``), as sent.
        meta: Anything more.
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
        status: How far it has come: ``"computing"``, ``"ready"``, ``"error"`` …
        error: What went wrong.
        files: The changed files.
        operations: What can be done with it.
    """

    status: str
    error: ErrorInfo | None = None
    files: tuple[ChangesetFile, ...]
    operations: tuple[ChangesetOperation, ...] | None = None
