"""`%agents record` records from start to stop, whatever the environment sets."""

from __future__ import annotations

from agentnb.cassette import file
from tests.kernel.running_kernel import ONE_KERNEL, RunningKernel


@ONE_KERNEL
def test_record_magic_records_agents_started_until_stop(kernel: RunningKernel) -> None:
    """Tabs opened before or after are not recorded; the recorded tab gets its own agent process."""
    assert kernel.run("%agents record").error.startswith("UsageError: %agents record needs a path.")
    assert kernel.run("%agents record stop").error.startswith("UsageError: Nothing is being recorded.")
    assert "is not a folder" in kernel.run("%agents record none/a.jsonl").error
    kernel.run("%agents record a.jsonl")
    assert "is being recorded already" in kernel.run("%agents record b.jsonl").error
    assert kernel.run("%agents record stop").values[0].startswith("No agent was started: ")
    assert not (kernel.folder / "a.jsonl").exists()
    kernel.run("%agent -t before Hello")
    begun = kernel.run("%agents record said.cassette.jsonl")
    assert "are recorded in" in begun.values[0]
    assert "Tabs that are open (before) are not in it." in begun.values[0]
    kernel.run("%agent -t between My mother is a statistician.")
    kernel.run("%agent -t before Goodbye")
    ended = kernel.run("%agents record stop")
    assert ended.values[0].startswith("Recorded 1 turn in ")
    kernel.run("%agent -t after Hello again")
    cassette = file.read(kernel.folder / "said.cassette.jsonl")
    assert [turn.params["prompt"][0]["text"] for section in cassette.sections for turn in section.turns] == [
        "My mother is a statistician."
    ]


@ONE_KERNEL
def test_agent_started_early_is_recorded(kernel: RunningKernel) -> None:
    """The session uses the process that was started early."""
    kernel.run("%agents record said.cassette.jsonl")
    kernel.run("import agentnb\nagentnb.warm()")
    kernel.run("%agent Hello")
    kernel.run("%agents record stop")
    sections = file.read(kernel.folder / "said.cassette.jsonl").sections
    assert [(section.launch, section.session) for section in sections] == [(1, 0), (1, 1)]
