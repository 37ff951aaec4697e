"""A batch's cell output besides its bar."""

from __future__ import annotations

from tests.kernel.running_kernel import RunningKernel


def test_running_batch_shows_no_table_below_its_bar(shared_kernel: RunningKernel) -> None:
    """The table would never change again; a later cell shows the progress by then."""
    begun = shared_kernel.run(
        "import agentnb\nbatch = agentnb.map('{input}', ['/hang'], agent='eliza')\nbatch", clickable=True
    )
    assert "The bar above follows it" in begun.displayed("text/html")[-1]
    later = shared_kernel.run("batch", clickable=True)
    assert "<table" in later.displayed("text/html")[-1]
    shared_kernel.run("batch.cancel()\nbatch.wait(check=False)")
