"""What the freedom Auto runs without a question because its preview was harmless."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentnb.policy.sensitive import sensitive_pattern

if TYPE_CHECKING:
    from agentnb.kernel.rehearsal_result import Rehearsal
    from agentnb.policy.situation import Situation

_UNDOABLE = frozenset({"created", "changed"})


def is_harmless(found: Rehearsal, folder: str, situation: Situation) -> bool:
    """True if the preview *found* saw all of it, and it does nothing that cannot be undone.

    It ends well, reaches for nothing that the preview refuses, and changes only files that Edit may change at once.
    """
    ended_well = found.available and found.error is None and not found.exit_code
    saw_all = not (found.reason or found.connections or found.refused or found.more_files)
    can_restore = all(each.can_restore for each in found.variables)
    return (
        ended_well
        and saw_all
        and can_restore
        and all(_is_edit(each.path, each.status, folder, situation) for each in found.files)
    )


def _is_edit(path: str, status: str, folder: str, situation: Situation) -> bool:
    """True if the file *path* is created or changed in the workspace, and is not sensitive."""
    whole = os.path.normpath(os.path.join(folder, path))  # noqa: PTH118 - as text
    roots = (str(each) for each in (situation.root, *situation.directories))
    is_inside = any(whole.startswith(f"{root.rstrip(os.sep)}{os.sep}") for root in roots)
    return status in _UNDOABLE and is_inside and sensitive_pattern(whole, situation.patterns) is None
