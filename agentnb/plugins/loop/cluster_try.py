"""The tries of a loop on a Dask cluster, as the notebook sees them: sent to a worker, and kept like branches.

The result is an agent's data: it is measured in a fork of this kernel, like a branch's changes.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.credentials import shapes
from agentnb.errors import AgentnbError, UsageError
from agentnb.host.loop import HostLoop
from agentnb.ids import new_id
from agentnb.plugins.branches.at_fork import AtFork
from agentnb.plugins.branches.copy_serving import CopyAnswer
from agentnb.plugins.branches.keep import BranchKeeper, WantedParts
from agentnb.plugins.branches.kernel_copy import fork_kernel
from agentnb.plugins.branches.notebook_copy import NotebookCopy
from agentnb.plugins.branches.preparing import LONGEST_TITLE, moved, notebook_of, on_main_thread
from agentnb.plugins.loop.sent_try import (
    Packed,
    TryOrder,
    TryReport,
    cells_to_run,
    check_size,
    pack,
    workspace_files,
    write_files,
)
from agentnb.plugins.loop.worker_try import TryQuestion
from agentnb.plugins.map.asking import Job
from agentnb.plugins.map.cluster import ClusterWorker
from agentnb.plugins.map.start import cluster_of
from agentnb.plugins.map.workspaces import IsolatedWorkspace
from agentnb.state import ErrorInfo

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from agentnb.host import Host
    from agentnb.kernel.code_runner import CellStep, CodeRunner
    from agentnb.plugins.map.records import Body
    from agentnb.plugins.map.workspaces import WorkspaceChange

PACK_SECONDS = 300.0
FIGURES_SECONDS = 1.0
_CLOSE_SECONDS = 30.0


class TryCluster:
    """The workers that make a loop's tries, and a thread that talks to their scheduler.

    Args:
        executor: The cluster, as for :func:`agentnb.map`.
        options: Arguments of :func:`agentnb.start`, with an agent.
    """

    def __init__(self, host: Host, runner: CodeRunner, folder: Path, executor: Any, options: dict[str, Any]) -> None:
        if getattr(executor, "asynchronous", False):
            raise UsageError("executor= is asynchronous: its loop would wait for this one.", hint="Give its address.")
        self.host = host
        self.runner = runner
        self.folder = folder
        self.agent = str(options.get("agent") or "")
        self.sent: set[str] = set()
        common = {"agent": None, "command": None, "env": None, "mcp_servers": None, **options, "cwd": str(folder)}
        self._id = new_id()
        self._cluster = cluster_of(executor, TryQuestion(options=common, prompt=""), self._id)
        self._loop = HostLoop("agentnb loop cluster")
        self.is_private: bool = self._cluster.is_private

    def open(self) -> None:
        """Connect; raises an AgentnbError if workers lack something."""
        try:
            self._loop.submit(self._cluster.open()).result()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End what runs on the workers, and disconnect from them."""
        with suppress(Exception):
            self._loop.submit(self._cluster.close()).result(_CLOSE_SECONDS)
        self._loop.stop(_CLOSE_SECONDS)

    def ask(self, order: TryOrder, on_usage: Callable[[Body], object]) -> Future[TryReport]:
        """Request a try; *on_usage* is called with its usage, on the cluster's thread."""
        text = msgspec.json.encode(order).decode()
        return self._loop.submit(self._run_job(Job(order.number, text, new_id(), 0), on_usage))

    def stop(self) -> None:
        """Stop the running try; it still reports what it did."""
        self._loop.submit(self._cluster.cancel())

    def begin(self, number: int, prompt: str, instructions: str) -> ClusterTry:
        return ClusterTry(self, number, prompt, instructions)

    # ------------------------------------------------------------ on the thread

    async def _run_job(self, job: Job, on_usage: Callable[[Body], object]) -> TryReport:
        worker = ClusterWorker(self._cluster)
        worker.begin()
        watching = asyncio.create_task(self._watch(on_usage))
        try:
            body = await worker.ask(job)
        finally:
            watching.cancel()
        on_usage(body)
        return msgspec.convert(body.output, TryReport)

    async def _watch(self, on_usage: Callable[[Body], object]) -> None:
        while True:
            await asyncio.sleep(FIGURES_SECONDS)
            with suppress(Exception):  # the scheduler or the worker may be unreachable; the next round tries again
                for each in await self._cluster.figures():
                    on_usage(each)


class ClusterTry:
    """One try on a worker (:class:`agentnb.plugins.loop.attempt.RunningTry`)."""

    def __init__(self, cluster: TryCluster, number: int, prompt: str, instructions: str) -> None:
        self._cluster = cluster
        self._prompt = prompt
        self._instructions = instructions
        self._listeners: list[Callable[[], None]] = []
        self._pending_report: Future[TryReport] | None = None
        notebook = notebook_of(cluster.runner)
        self._workspace = IsolatedWorkspace(cluster.folder)
        self.branch = ClusterBranch(
            number, cluster, self._workspace, None if notebook is None else NotebookCopy(notebook)
        )
        try:
            sent = self._send()
            threading.Thread(target=self._follow, args=(sent,), name=f"agentnb try {number}", daemon=True).start()
        except BaseException:
            self._workspace.remove()
            raise

    def listen(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def keep(self) -> object:
        cluster, branch = self._cluster, self.branch
        title = f"Keep try {branch.number}: {self._prompt}"[:LONGEST_TITLE].splitlines()[0]
        return BranchKeeper(cluster.host, branch, WantedParts(branch, None), cluster.folder, {}).keep(title)

    def discard(self) -> None:
        if self._pending_report is not None and not self._pending_report.done():
            self._cluster.stop()
            self._pending_report.cancel()
        self._workspace.remove()

    def _follow(self, sent: Future[TryReport]) -> None:
        branch = self.branch
        try:
            report = sent.result()
            if report.differs and not branch.is_stopped:
                self._cluster.sent.update(report.differs)
                report = self._send().result()
            branch.take(report)
        except BaseException as error:  # noqa: BLE001 - told by whoever waits
            branch.fail(error)
        for each in self._listeners:
            each()

    def _send(self) -> Future[TryReport]:
        cluster, branch = self._cluster, self.branch
        branch.at_fork, packed, state = self._packed()
        notebook = None if branch.notebook is None else branch.notebook.before
        if notebook is not None:
            notebook = moved(notebook, cluster.folder.resolve(), Path())
        cells = cells_to_run(cluster.runner.executed_cells())
        if not cluster.is_private:
            _check_secrets(cells, packed)
        order = TryOrder(
            number=branch.number,
            prompt=self._prompt,
            instructions=self._instructions,
            folder=str(cluster.folder),
            files=workspace_files(self._workspace.folder, with_secrets=cluster.is_private),
            notebook=notebook,
            cells=cells,
            state=state,
            names=packed.names,
            digests=packed.digests,
        )
        self._pending_report = cluster.ask(order, branch.note)
        return self._pending_report

    def _packed(self) -> tuple[AtFork, Packed, bytes]:
        """Pickle the variables in a fork, so that effects of their code stay there; returns their values here, too."""
        cluster, runner, box = self._cluster, self._cluster.runner, self._workspace.folder.parent / "state"
        shell: Any = getattr(cluster.host.environment.shell, "ip", None)

        def packed(text: str) -> tuple[float, str]:
            done = pack(text, runner.namespace.variables(), shell.user_ns, cluster.sent)
            return 0.0, msgspec.json.encode(done).decode()

        def fork() -> tuple[AtFork, Any]:
            now = AtFork(runner.namespace.variables())
            return now, fork_kernel(shell, cluster.folder, self._workspace.folder, evaluate=packed)

        now, copy = on_main_thread(cluster.host, runner, fork)
        try:
            answer = copy.ask("measure", str(box), seconds=PACK_SECONDS)
        finally:
            copy.close()
        check_size(box.stat().st_size, "The notebook's variables")
        state = box.read_bytes()
        box.unlink()
        return now, msgspec.json.decode(answer.text, type=Packed), state


def _check_secrets(cells: dict[int, str], packed: Packed) -> None:
    secrets = [*packed.secrets, *(f"Something in cell [{number}]" for number, text in cells.items() if shapes(text))]
    if secrets:
        raise UsageError(
            f"{secrets[0]} looks like a credential, and the way to the workers is not encrypted.",
            hint="Use a scheduler with TLS (tls://…), or leave it out of the notebook.",
        )


class ClusterBranch:
    """The local side of a try on a worker (:class:`agentnb.plugins.loop.attempt.TryBranch`)."""

    def __init__(
        self, number: int, cluster: TryCluster, workspace: IsolatedWorkspace, notebook: NotebookCopy | None
    ) -> None:
        self.number = number
        self.notebook = notebook
        self.at_fork: AtFork | None = None
        self.agent = cluster.agent
        self.error = self.why = self.text = ""
        self.files: tuple[WorkspaceChange, ...] = ()
        self.cells: tuple[CellStep, ...] = ()
        self.variables: dict[str, str] = {}
        self.inserted: dict[str, str] = {}
        self.tokens: int | None = None
        self.costs: dict[str, float] = {}
        self.state = "running"
        self.is_stopped = False
        self.turn = _Turn(self)
        self.report = TryReport()
        self._cluster = cluster
        self._workspace = workspace

    @property
    def folder(self) -> Path:
        """The copy of the workspace, with what the try changed once it has ended."""
        return self._workspace.folder

    def stop(self) -> None:
        self.is_stopped = True
        self._cluster.stop()

    def close(self, state: str) -> None:
        """Let go of the try, although it does not end."""
        self.state = state

    def save(self, names: tuple[str, ...] | None = None, seconds: float | None = None) -> tuple[Path, CopyAnswer]:  # noqa: ARG002 - they came with the report
        """Write the variables that came back from the worker."""
        report, box = self.report, self.folder.parent / "variables"
        box.write_bytes(report.saved)
        return box, CopyAnswer(number=0, changed=report.changed, objects=report.objects, text=report.lost)

    def note(self, body: Body) -> None:
        """Note what the try has used so far; called on the cluster's thread."""
        self.tokens, self.costs = body.input_tokens, body.costs

    def take(self, report: TryReport) -> None:
        """Take the result: files into the copy here, cells into the copy of the notebook. May raise a UsageError."""
        if report.differs:
            raise UsageError(f"Running the cells on the worker gives another {', '.join(report.differs)}.")
        self.report, self.agent, self.text, self.error = report, report.agent, report.text, report.error
        try:
            write_files(self.folder, report.files)
        except OSError as error:
            raise UsageError(f"The try's files could not be written: {error.strerror}.") from error
        self.files, self.variables = self._workspace.changes(), report.variables
        if self.notebook is not None and report.cells:
            if self.notebook.change(report.cells, exact=False):
                raise UsageError("The try changed cells that are not in the notebook.")
            for each in report.ran:
                self.notebook.ran(each.cell_id, each.count, each.output, each.outputs)
            self.cells = report.cells
        self._end("done" if report.is_done else "failed")

    def fail(self, error: BaseException) -> None:
        self.error = error.message if isinstance(error, AgentnbError) else f"{type(error).__name__}: {error}"
        self._end("failed")

    def _end(self, state: str) -> None:
        if self.state == "running":
            self.state = state


class _Turn:
    """The turn of the try's agent, on the worker."""

    def __init__(self, branch: ClusterBranch) -> None:
        self._branch = branch

    @property
    def done(self) -> bool:
        return self._branch.state != "running"

    @property
    def state(self) -> str:
        return self._branch.report.turn if self.done else "running"

    @property
    def error(self) -> ErrorInfo | None:
        """None, unless a budget is used up."""
        is_over = self._branch.report.is_over_budget
        return ErrorInfo(error_type="BudgetExceeded", message=self._branch.error) if is_over else None

    def cancel(self) -> None:
        self._branch.stop()
