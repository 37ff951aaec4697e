"""What a cell shows of a batch besides its bar."""

from __future__ import annotations

from tests.kernel.running_kernel import RunningKernel


def test_a_batch_that_runs_has_no_table_below_its_bar(shared_kernel: RunningKernel) -> None:
    """It would say for ever how far the batch was when the cell ended; in another cell it says how far it is now."""
    begun = shared_kernel.run(
        "import agentnb\nbatch = agentnb.map('{input}', ['/hang'], agent='eliza')\nbatch", clickable=True
    )
    assert "The bar above follows it" in begun.displayed("text/html")[-1]
    later = shared_kernel.run("batch", clickable=True)
    assert "<table" in later.displayed("text/html")[-1]
    shared_kernel.run("batch.cancel()\nbatch.wait(check=False)")
