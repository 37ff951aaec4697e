"""The plugin of a batch for workers of a Dask cluster: its agents, started once and ended with the worker."""

from __future__ import annotations

import asyncio
import platform
from pathlib import Path
from typing import Any

from distributed import WorkerPlugin, get_worker


class BatchAgents(WorkerPlugin):
    def __init__(self, batch: str, version: str, settings: bytes) -> None:
        self.lacks: list[str] = []
        self.agents: Any = None
        self._batch = batch
        self._version = version
        self._settings = settings

    def __repr__(self) -> str:
        return f"<the agents of batch {self._batch}>"

    async def setup(self, worker: Any) -> None:
        """Check whether this worker can run the agent, and get ready; on the worker's loop."""
        scratch = Path(worker.local_directory).parent
        self.agents, self.lacks = await asyncio.to_thread(self._opened, scratch)

    async def teardown(self, worker: Any) -> None:  # noqa: ARG002 - the name is Dask's
        """End the agents; on the worker's loop, when the batch or the worker ends."""
        if self.agents is not None:
            await asyncio.to_thread(self.agents.close)

    def _opened(self, scratch: Path) -> tuple[Any, list[str]]:
        try:
            import agentnb
        except ImportError as error:
            return None, [f"agentnb is not installed ({error})"]
        if agentnb.__version__ != self._version:
            return None, [f"agentnb is {agentnb.__version__}, here it is {self._version}"]
        from agentnb.plugins.map.worker_agents import open_agents

        return open_agents(self._batch, self._settings, scratch)


def ask(plugin: str, question: bytes) -> tuple[str, Any]:
    """Run the task: returns ``answer`` and the answer, if any, or ``unfit``, the worker's address and what it lacks."""
    worker = get_worker()
    opened: Any = worker.plugins.get(plugin)
    if opened is None:
        return "unfit", (worker.address, ["the batch has not begun there"])
    if opened.lacks:
        return "unfit", (worker.address, opened.lacks)
    key = worker.get_current_task()

    def is_wanted() -> bool:
        """False once the batch has let the task go, or its process has ended."""
        task = worker.state.tasks.get(key)
        return task is not None and task.state != "cancelled"

    return "answer", opened.agents.ask(question, is_wanted)


def lacks(plugin: str, dask_worker: Any = None) -> tuple[str, list[str]]:
    """Returns the machine's name, and what the worker lacks."""
    opened: Any = dask_worker.plugins.get(plugin)
    return platform.node(), ["the batch could not begin there"] if opened is None else opened.lacks


def _agents_of(plugin: str, worker: Any) -> Any:
    """Returns None if the worker lacks something, or the batch has not begun there."""
    return getattr(worker.plugins.get(plugin), "agents", None)


def cancel(plugin: str, dask_worker: Any = None) -> None:
    if (agents := _agents_of(plugin, dask_worker)) is not None:
        agents.cancel()


def figures(plugin: str, dask_worker: Any = None) -> list[bytes]:
    """Returns the progress of the inputs that a worker is asking."""
    agents = _agents_of(plugin, dask_worker)
    return [] if agents is None else agents.figures()


def forget(plugin: str, dask_worker: Any = None) -> None:
    """Delete the answers that are kept there until the batch has them."""
    if (agents := _agents_of(plugin, dask_worker)) is not None:
        agents.forget()
