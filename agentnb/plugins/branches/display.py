"""Shows tries in the cell that began them: side by side where the page has widgets, and as a table in the notebook."""

from __future__ import annotations

import threading
from html import escape
from typing import TYPE_CHECKING

from agentnb.api.unattended import is_watched
from agentnb.plugins.map.progress import current_shell, has_widgets, show_in_cell

if TYPE_CHECKING:
    from agentnb.host import Host
    from agentnb.plugins.branches.branches import Branches


def show(made: Branches, host: Host) -> None:
    """Show *made* in the cell that runs; nothing where a program runs the notebook, or something else began them."""
    shell = current_shell()
    is_cell = threading.current_thread() is threading.main_thread() and not host.environment.job_queue.is_running_job
    if not is_cell or getattr(shell, "kernel", None) is None or not is_watched(shell):
        return

    def table() -> str:
        return f'<div class="agentnb-branches-saved agentnb-branches-{escape(made.id)}">{made.table}</div>'

    update = show_in_cell(made, shell, table())
    made.listen(lambda: update(table()))
    if has_widgets(shell):
        from IPython.display import display

        from agentnb.server.comm.frontend import current_frontend

        display(current_frontend().panel({"kind": "branches", "id": made.id}))  # type: ignore[no-untyped-call]
