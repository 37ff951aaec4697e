"""A session outlives its kernel: it is found, opened and continued."""

from __future__ import annotations

from pathlib import Path

from tests.kernel.running_kernel import ONE_KERNEL, RunningKernel


@ONE_KERNEL
def test_next_kernel_resumes_the_session_of_a_killed_kernel(kernel_name: str, tmp_path: Path) -> None:
    """The turn that ran when the kernel was killed has ended with an error."""
    with RunningKernel.started(kernel_name, tmp_path) as kernel:
        kernel.run(f"%load_ext agentnb\n%agents new\n%agent /say residuals of {kernel_name}")
        kernel.run("%agent -b /hang", console=True)
        kernel.run("import agentnb; agentnb.history()")
        kernel.manager.shutdown_kernel(now=True)
    with RunningKernel.started(kernel_name, tmp_path) as kernel:
        kernel.run("%load_ext agentnb")
        kernel.run(f"rows = %agents history RESIDUALS of {kernel_name}")
        tab, turns, held = kernel.run("print(rows[0].id[:8], rows[0].turns, repr(rows[0].open))").stdout.split()
        assert (turns, held) == ("1", "''")
        opened = kernel.run(f"%agents resume {tab}")
        assert "Opened" in opened.values[0], opened.error
        assert kernel.run("%agent /say and on").displayed()[0].endswith("and on")
        states = "import agentnb\n[turn.state for turn in agentnb.resume(rows[0]).turns]"
        assert kernel.run(states).values == ["['complete', 'error', 'complete']"]
