"""Change sets, as a page is answered: undo, redo, keep, and the contents of a change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.comm.content_refs import RANGE
from agentnb.errors import AgentnbError, FilesConflict, KernelChangesConflict, UsageError
from agentnb.host.changes.contents import range_for_page, versions
from agentnb.state import ErrorInfo

if TYPE_CHECKING:
    from agentnb.comm import file_messages as fm
    from agentnb.host.conversation import Conversation


async def invoke(conversation: Conversation, params: fm.InvokeChangesetOperationParams) -> dict[str, Any]:
    """Answer ``invokeChangesetOperation``.

    Raises:
        AgentnbError: If it cannot be done; the change set's operation says so, too.
    """
    changesets, operation = conversation.changesets, params.operation_id
    turn_id = changesets.turn_of(params.changeset)
    if params.onwards and (turn_id is None or operation != "undo" or params.target is not None):
        raise UsageError("`onwards` goes with undo and a whole change set of a turn.", hint="Leave it out.")
    ids = () if params.target is None else (params.target.resource,)
    changesets.operation(turn_id, operation, None, runs=True)
    error: ErrorInfo | None = None
    try:
        outcome = await conversation.undo.do(
            operation, turn_id, ids, onwards=params.onwards, choices=params.choices, by="user"
        )
    except FilesConflict as refused:
        return {"message": refused.message, "conflicts": await versions(conversation.changes, refused)}
    except KernelChangesConflict as refused:
        return {"message": refused.message, "conflicts": [_kernel_conflict(each) for each in refused.conflicts]}
    except AgentnbError as failed:
        error = ErrorInfo(error_type=type(failed).__name__, message=str(failed))
        raise
    finally:
        changesets.operation(turn_id, operation, error, runs=False)
    return {"message": outcome.message}


async def read(conversation: Conversation, params: fm.ReadChangeParams) -> tuple[dict[str, Any], tuple[bytes, ...]]:
    """Answer ``readChange``: the result and its buffer.

    Raises:
        UsageError: If there is no such change, or side.
        ContentNotStored: If its contents are not stored.
        FileUnavailable: If it may hold secrets, or cannot be read.
    """
    changesets = conversation.changesets
    item = changesets.item(changesets.turn_of(params.changeset), params.id)
    if item is None:
        raise UsageError(f"The change set has no change {params.id!r}.", hint="Look at it again.")
    piece = await range_for_page(
        conversation.changes,
        item,
        params.side,
        conversation.policy.situation().patterns,
        first=params.first,
        length=min(params.length, RANGE),
    )
    return {"size": piece.size, "cut": piece.is_cut, "binary": piece.is_binary}, (piece.data,)


def _kernel_conflict(conflict: Any) -> dict[str, Any]:
    texts = {"base": conflict.base, "current": conflict.current, "target": conflict.target}
    known = {name: text for name, text in texts.items() if text is not None}
    return {"id": conflict.id, "path": conflict.name, **known}
