"""A cell keeps its own id, whatever a page sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.kernel.running_kernel import RunningKernel

CELLS, MESSAGES, ROWS = 20, 1000, 4


def test_awaiting_cell_keeps_its_id_while_a_page_sends_messages(kernel: RunningKernel) -> None:
    """Comm messages arrive while cells await; the kernel still reports each cell idle by its id."""
    cells = [cell for _ in range(ROWS) for cell in _row(kernel)]
    assert [kernel.results[cell].idle for cell in cells] == [True] * CELLS


def _row(kernel: RunningKernel) -> list[str]:
    """Sends cells and comm messages; few enough that ZeroMQ keeps the replies (1,000) until they are read."""
    client = kernel.client
    cells = [kernel.send("import asyncio; await asyncio.sleep(0.01)") for _ in range(CELLS // ROWS)]
    for _ in range(MESSAGES // ROWS):
        client.shell_channel.send(client.session.msg("comm_msg", {"comm_id": "none", "data": {}}))
    kernel.finish(kernel.send("1"))
    return cells
