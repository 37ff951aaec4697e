"""A cell ends as itself, whatever a page sends meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.kernel.running_kernel import RunningKernel

CELLS = 20


def test_a_cell_that_awaits_ends_as_itself_while_a_page_sends_messages(kernel: RunningKernel) -> None:
    """Comm messages arrive at every moment of a row of cells that await; each cell becomes idle by its own name."""
    client = kernel.client
    cells = [kernel.send("import asyncio; await asyncio.sleep(0.01)") for _ in range(CELLS)]
    for _ in range(1000):
        client.shell_channel.send(client.session.msg("comm_msg", {"comm_id": "none", "data": {}}))
    last = kernel.send("1")
    kernel.finish(last)
    assert [kernel.results[cell].idle for cell in cells] == [True] * CELLS
