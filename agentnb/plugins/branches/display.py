"""Shows tries in the cell that began them: side by side where the page has widgets, and as a table in the notebook."""

from __future__ import annotations

import sys
import threading
from html import escape
from typing import TYPE_CHECKING, Any

from agentnb.api.unattended import is_watched

if TYPE_CHECKING:
    from agentnb.host import Host
    from agentnb.plugins.branches.branches import Branches


def show(made: Branches, host: Host) -> None:
    """Show *made* in the cell that runs; nothing where a program runs the notebook, or something else began them."""
    shell = _shell()
    is_cell = threading.current_thread() is threading.main_thread() and not host.environment.job_queue.is_running_job
    if not is_cell or getattr(shell, "kernel", None) is None or not is_watched(shell):
        return
    from IPython.display import HTML, display

    def table() -> Any:
        shown = f'<div class="agentnb-branches-saved agentnb-branches-{escape(made.id)}">{made.table}</div>'
        return HTML(shown)  # type: ignore[no-untyped-call]

    cell = shell.execution_count
    made.is_shown_here = lambda: bool(shell.execution_count == cell)
    handle: Any = display(table(), display_id=True)  # type: ignore[no-untyped-call]
    made.listen(lambda: handle.update(table()))
    if "cellId" in ((shell.kernel.get_parent() or {}).get("metadata") or {}):  # a console has no widgets
        from agentnb.server.comm.frontend import current_frontend

        display(current_frontend().panel({"kind": "branches", "id": made.id}))  # type: ignore[no-untyped-call]


def _shell() -> Any:
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get() if get is not None else None
