"""Branches side by side, as text and as HTML; nothing that comes from an agent is treated as markup."""

from __future__ import annotations

import threading
from html import escape
from typing import TYPE_CHECKING

from agentnb.api.columns import html, lines, on_one_line, shortened
from agentnb.api.unattended import current_shell, is_watched
from agentnb.plugins.branches.branch import counted
from agentnb.plugins.map.progress import has_widgets, show_in_cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.host import Host
    from agentnb.plugins.branches.branch import Branch
    from agentnb.plugins.branches.branches import Branches


_HEAD = ("try", "agent", "state", "measure", "changes", "data checks", "tokens", "time", "says")
_TEXTS = ("agent", "state", "changes", "data checks", "says")
LONGEST_TEXT = 400
LONGEST_CELL = 60
LARGEST_PICTURE = 400_000


def lines_of(tries: Sequence[Branch], title: str, best: Branch | None) -> list[str]:
    rows = [tuple(shortened(each, LONGEST_CELL) for each in _row(branch, best)) for branch in tries]
    return [title, *lines([_HEAD, *rows])]


def html_of(tries: Sequence[Branch], title: str, best: Branch | None) -> str:
    """Returns a table, and what each try says and shows."""
    table = html(_HEAD, [_row(branch, best) for branch in tries], _TEXTS)
    return f"<p>{escape(title)}</p>{table}{''.join(map(_details, tries))}"


def _row(branch: Branch, best: Branch | None) -> tuple[str, ...]:
    mark = " (best)" if best is branch else ""
    measure = "" if branch.measure is None else f"{branch.measure:.6g}{mark}"
    changes = ", ".join(counted(branch.files, branch.cells, branch.variables))
    verified = "" if branch.verification is None else ", verified" if branch.verification.ok else ", not verified"
    return (
        str(branch.number),
        branch.agent,
        f"{branch.state}{verified}",
        measure or branch.error,
        changes,
        "; ".join(branch.data_checks),
        f"{branch.tokens:,}" if branch.tokens else "",
        f"{branch.seconds:.1f} s" if branch.seconds else "",
        on_one_line(branch.text)[-LONGEST_TEXT:],
    )


def _details(branch: Branch) -> str:
    diffs = "".join(
        f"<p>{escape(each.path)} ({each.status})</p><pre>{escape(each.diff)}</pre>" for each in branch.files
    )
    cells = "".join(f"<p>{each.action} cell</p><pre>{escape(each.source)}</pre>" for each in branch.cells)
    names = escape(", ".join(f"{name} ({status})" for name, status in branch.variables.items()))
    pictures = "".join(
        f'<img style="max-width: 20em" alt="Picture of try {branch.number}" src="data:image/png;base64,{escape(each)}">'
        for each in branch.pictures[-2:]
        if len(each) <= LARGEST_PICTURE
    )
    body = f"{pictures}{diffs}{cells}" + (f"<p>{names}</p>" if names else "")
    return f"<details><summary>Try {branch.number}: {escape(branch.summary)}</summary>{body}</details>" if body else ""


def show(made: Branches, host: Host) -> None:
    """Show *made* in the running cell; not if a program runs the notebook, or something else began the tries."""
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
