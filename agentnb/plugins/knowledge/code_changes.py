"""Applies the changes of a renaming, a code action or formatting in the same way as any other edit by an agent."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agentnb.acp.files import Files
from agentnb.errors import AgentnbError, UsageError
from agentnb.plugins.knowledge.code.magics import read_source
from agentnb.plugins.knowledge.code_tool import place_name
from agentnb.policy.workspace import WorkspaceBoundary
from agentnb.rpc_message import RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentnb.kernel.code_runner import NotebookView
    from agentnb.plugins.knowledge.code.records import TextChange
    from agentnb.policy.request import PolicyRequest
    from agentnb.ports import ToolSession

_OTHER = "It has changed since it was analysed. Ask again."


class _Asker:
    """The part of a session that the files service needs to write for the session's agent."""

    def __init__(self, session: ToolSession) -> None:
        self.authorize = session.ask

    def opens(self, _path: str, _tool: str) -> bool:
        return False

    def refused(self, _request: PolicyRequest, _error: AgentnbError) -> None:
        """The agent reads why."""


async def change(
    session: ToolSession,
    changes: Sequence[TextChange],
    names: Mapping[str, str],
    notebook: Callable[[], NotebookView],
) -> tuple[list[str], list[str]]:
    """Make *changes*; returns what was changed, and what was not with the reason."""
    workspace = WorkspaceBoundary(Path(session.folder))
    files = Files(workspace, cast("Any", _Asker(session)))
    done, failed = [], []
    for each in changes:
        where = place_name(each, names, workspace.root)
        try:
            if each.cell_id is not None:
                await _change_cell(session, each, each.cell_id, notebook)
            else:
                if await asyncio.to_thread(read_source, Path(each.path or "")) != each.before:
                    raise UsageError(_OTHER)
                await files.write({"path": each.path, "content": each.after})
        except (AgentnbError, RpcError) as error:
            failed.append(f"Not changed: {where}. {error}")
        else:
            done.append(where)
    return done, failed


async def _change_cell(
    session: ToolSession, change: TextChange, cell_id: str, notebook: Callable[[], NotebookView]
) -> None:
    now = await asyncio.to_thread(notebook)
    if not any(cell.id == cell_id and cell.source == change.before for cell in now.cells):
        raise UsageError(_OTHER)
    if session.kernel_tool is None:
        raise UsageError("Only agents with access to the kernel can change cells.")
    arguments = {"cell": cell_id, "source": change.after, **({"notebook": now.name} if now.name else {})}
    result = await session.kernel_tool("replace_cell", arguments)
    if result.get("isError"):
        raise UsageError(_text(result))


def _text(result: Mapping[str, Any]) -> str:
    return "\n".join(str(each.get("text", "")) for each in result.get("content", ()))
