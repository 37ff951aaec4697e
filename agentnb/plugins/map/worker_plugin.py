"""The plugin of a batch for workers of a Dask cluster: its agents, started once and ended with the worker."""

from __future__ import annotations

import asyncio
import platform
from pathlib import Path
from typing import Any

from distributed import WorkerPlugin, get_worker


class BatchAgents(WorkerPlugin):
    """The agents of one batch on one worker."""

    def __init__(self, batch: str, version: str, settings: bytes) -> None:
        self.batch = batch
        self.version = version
        self.lacks: list[str] = []
        self._settings = settings
        self._agents: Any = None

    def __repr__(self) -> str:
        return f"<the agents of batch {self.batch}>"

    async def setup(self, worker: Any) -> None:
        """Check whether this worker can run the agent, and get ready; on the worker's loop."""
        scratch = Path(worker.local_directory).parent
        self._agents, self.lacks = await asyncio.to_thread(self._opened, scratch)

    async def teardown(self, worker: Any) -> None:  # noqa: ARG002 - the name is Dask's
        """End the agents; on the worker's loop, when the batch or the worker ends."""
        if self._agents is not None:
            await asyncio.to_thread(self._agents.close)

    def ask(self, question: bytes, is_wanted: Any) -> bytes | None:
        """Ask, and wait for the answer while it *is_wanted*; on a thread of the worker."""
        answer: bytes | None = self._agents.ask(question, is_wanted)
        return answer

    def cancel(self) -> None:
        if self._agents is not None:
            self._agents.cancel()

    def figures(self) -> list[bytes]:
        """Returns the progress of the inputs that are being asked."""
        return [] if self._agents is None else self._agents.figures()

    def forget(self) -> None:
        """Delete the answers that are kept here until the batch has them."""
        if self._agents is not None:
            self._agents.forget()

    def _opened(self, scratch: Path) -> tuple[Any, list[str]]:
        try:
            import agentnb
        except ImportError as error:
            return None, [f"agentnb is not installed ({error})"]
        if agentnb.__version__ != self.version:
            return None, [f"agentnb is {agentnb.__version__}, here it is {self.version}"]
        from agentnb.plugins.map.worker_agents import open_agents

        return open_agents(self.batch, self._settings, scratch)


def ask(plugin: str, question: bytes) -> tuple[str, Any]:
    """Run the task: returns ``answer`` and the answer, if any, or ``unfit``, the worker's address and what it lacks."""
    worker = get_worker()
    agents: Any = worker.plugins.get(plugin)
    if agents is None:
        return "unfit", (worker.address, ["the batch has not begun there"])
    if agents.lacks:
        return "unfit", (worker.address, agents.lacks)
    key = worker.get_current_task()

    def is_wanted() -> bool:
        """False once the batch has let the task go, or its process has ended."""
        task = worker.state.tasks.get(key)
        return task is not None and task.state != "cancelled"

    return "answer", agents.ask(question, is_wanted)


def lacks(plugin: str, dask_worker: Any = None) -> tuple[str, list[str]]:
    """Returns the machine's name, and what the worker lacks."""
    agents: Any = dask_worker.plugins.get(plugin)
    return platform.node(), ["the batch could not begin there"] if agents is None else agents.lacks


def cancel(plugin: str, dask_worker: Any = None) -> None:
    if (agents := dask_worker.plugins.get(plugin)) is not None:
        agents.cancel()


def figures(plugin: str, dask_worker: Any = None) -> list[bytes]:
    """Returns the progress of the inputs that a worker is asking."""
    agents: Any = dask_worker.plugins.get(plugin)
    return [] if agents is None else agents.figures()


def forget(plugin: str, dask_worker: Any = None) -> None:
    if (agents := dask_worker.plugins.get(plugin)) is not None:
        agents.forget()
