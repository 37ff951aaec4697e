"""A try of a loop on a worker of a cluster: a fresh kernel that runs the notebook's cells, and an agent in a workspace.

Nothing of it stays on the worker: its processes, its folders and its conversation end with it.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec.structs import replace

from agentnb.agent.confinement import way_here
from agentnb.api.configured import configured
from agentnb.api.unattended import parts_of_work
from agentnb.changes.file_operations import TemporaryFolder
from agentnb.errors import AgentnbError, UsageError
from agentnb.host import current_host
from agentnb.plugins.branches.kernel_copy import REPLAY_SECONDS, fresh_kernel, shared_folders
from agentnb.plugins.branches.preparing import PreparedBranch
from agentnb.plugins.loop.sent_try import RanCell, TryOrder, TryReport, check_size, read_files, write_files
from agentnb.plugins.map.asking import BatchQuestion
from agentnb.plugins.map.records import Body
from agentnb.plugins.map.workspaces import IsolatedWorkspace
from agentnb.plugins.rehearsal.command import rehearse_command

if TYPE_CHECKING:
    from agentnb.kernel.code_runner import RunFailure
    from agentnb.plugins.branches.branch import Branch
    from agentnb.plugins.branches.kernel_copy import KernelCopy
    from agentnb.plugins.map.asking import Job

STOP_SECONDS = 8.0
"""Seconds that a stopped try may take to report its changes."""
SAVE_SECONDS = 900.0
_UNPACK = "__import__('agentnb.plugins.loop.sent_try', fromlist=['unpack']).unpack({!r}, {!r}, {!r}, globals())"


class TryQuestion(BatchQuestion, frozen=True, kw_only=True):
    """The settings that all tries of a loop share; its options are arguments of :func:`agentnb.start`."""

    keeps_answers: ClassVar[bool] = False

    def check(self) -> None:
        options = {**self.options, "cwd": tempfile.gettempdir()}
        named = [options.pop(each) for each in ("agent", "command", "env", "cwd")]
        configured(*named, **options)
        if options.get("confine") and (way := way_here())[0] is None:
            raise UsageError(f"Agents cannot be confined: {way[1]}")
        if not (looked := rehearse_command("true", tempfile.gettempdir())).available:
            raise UsageError(f"No kernel can be closed in: {looked.reason}")

    def asking(self, process: int) -> TryWorker:  # noqa: ARG002 - each try has a process of its own
        return TryWorker(self)


class TryWorker:
    """Makes one try after another (:class:`agentnb.plugins.map.asking.Asking`)."""

    def __init__(self, question: TryQuestion) -> None:
        self._question = question
        self._try: WorkerTry | None = None

    def begin(self) -> None:
        self._try = None

    async def ask(self, job: Job) -> Body:
        """Make a try. If it is cancelled, its agent is stopped, and what it did so far is reported."""
        self._try = WorkerTry(self._question, msgspec.json.decode(job.text, type=TryOrder))
        running = asyncio.ensure_future(asyncio.to_thread(self._try.run))
        try:
            report = await asyncio.shield(running)
        except asyncio.CancelledError:
            self._try.stop()
            if not (await asyncio.wait([running], timeout=STOP_SECONDS))[0]:
                raise
            report = running.result()
        return replace(self.body(), output=msgspec.to_builtins(report))

    def body(self) -> Body:
        """What the try has used so far."""
        branch = None if self._try is None else self._try.branch
        return Body() if branch is None else Body(input_tokens=branch.tokens, costs=branch.costs)

    async def close(self, seconds: float) -> None:  # noqa: ARG002 - its end is waited for above
        if self._try is not None:
            await asyncio.to_thread(self._try.close)


class WorkerTry:
    """One try; ``branch`` is None until its agent is prompted."""

    def __init__(self, question: TryQuestion, order: TryOrder) -> None:
        self.branch: Branch | None = None
        self._question = question
        self._order = order
        self._kernel: KernelCopy | None = None
        self._is_stopped = False
        self._lock = threading.Lock()

    def run(self) -> TryReport:
        """Make the try on this thread; its processes and folders end with it. May raise an AgentnbError."""
        sent = TemporaryFolder()
        sent.make()
        workspace: IsolatedWorkspace | None = None
        try:
            folder = sent.path.resolve() / (Path(self._order.folder).name or "folder")
            folder.mkdir()
            write_files(folder, self._order.files)
            workspace = IsolatedWorkspace(folder)
            if differ := self._prepare(workspace):
                return TryReport(differs=differ)
            with parts_of_work():
                branch = self._begin(workspace)
            return self._followed(branch)
        finally:
            self.close()
            if workspace is not None:
                workspace.remove()
            sent.remove()

    def stop(self) -> None:
        """Cancel its turn; safe from any thread."""
        with self._lock:
            self._is_stopped = True
        if self.branch is not None:
            self.branch.turn.cancel()
        elif self._kernel is not None:
            self._kernel.close()

    def close(self) -> None:
        """End its processes; safe from any thread."""
        if self.branch is not None:
            self.branch.close("discarded")
        if self._kernel is not None:
            self._kernel.close()

    def _prepare(self, workspace: IsolatedWorkspace) -> tuple[str, ...]:
        """Run the cells in a fresh kernel, and bring the variables; returns tables that differ from before."""
        order = self._order
        folder = Path(order.folder) if Path(order.folder).is_dir() else workspace.folder
        self._kernel = kernel = fresh_kernel(folder, shared_folders(workspace.folder, folder))
        failed = {}
        for number, cell in order.cells.items():
            ran = kernel.ask("run", cell, watch=False, seconds=REPLAY_SECONDS).ran
            if ran is not None and ran.failure is not None:  # its variables may be among those that are sent
                failed[number] = ran.failure
        box = workspace.folder.parent / "state"
        box.write_bytes(order.state)
        code = _UNPACK.format(str(box), order.names, order.digests)
        ran = kernel.ask("run", code, watch=False, seconds=REPLAY_SECONDS).ran
        box.unlink()
        workspace.renew()  # files that the replayed cells wrote are not the try's changes
        if ran is None or ran.failure is None:
            return ()
        if ran.failure.name == "TablesDiffer":
            return tuple(ran.failure.message.splitlines())
        raise _cannot_begin(ran.failure, failed, order.cells)

    def _begin(self, workspace: IsolatedWorkspace) -> Branch:
        order, kernel = self._order, self._kernel
        notebook = order.notebook
        if notebook is not None and notebook.path is not None:
            notebook = replace(notebook, path=str(workspace.folder / notebook.path))
        options: dict[str, Any] = {name: value for name, value in self._question.options.items() if name != "cwd"}
        assert kernel is not None  # noqa: S101 - it was prepared
        prepared = PreparedBranch(current_host(), kernel, workspace, notebook, options, is_attended=False)
        try:
            branch = prepared.begin(order.number, order.prompt, order.instructions)
        except BaseException:
            prepared.close()
            raise
        with self._lock:
            self.branch = branch
        if self._is_stopped:
            branch.turn.cancel()
        return branch

    def _followed(self, branch: Branch) -> TryReport:
        with suppress(AgentnbError):
            branch.turn.wait()
        branch.finish(None, None)
        error = branch.turn.error
        report = TryReport(
            is_done=branch.state == "done" and not branch.error,
            error=branch.error or branch.why,
            is_over_budget=error is not None and error.error_type == "BudgetExceeded",
            turn=branch.turn.state,
            text=branch.text,
            agent=branch.agent,
            files=read_files(branch.folder, (each.path for each in branch.files)),
            cells=branch.cells,
            ran=_ran_cells(branch),
            variables=branch.variables,
        )
        return self._with_variables(report, branch) if branch.variables and branch.state == "done" else report

    def _with_variables(self, report: TryReport, branch: Branch) -> TryReport:
        box, answer = branch.save(seconds=SAVE_SECONDS)
        if box.is_symlink():
            raise UsageError("The try put a link in the place of its variables.")
        check_size(box.stat().st_size, "The variables that the try changed")
        saved = box.read_bytes()
        return replace(report, saved=saved, changed=answer.changed, objects=answer.objects, lost=answer.text)


def _ran_cells(branch: Branch) -> tuple[RanCell, ...]:
    """Returns the changed cells that the branch ran in their current form."""
    notebook = branch.notebook
    if notebook is None:
        return ()
    cells = {each.id: each for each in notebook.view.cells}
    return tuple(
        RanCell(cell_id=step.cell_id, count=cell.count or 0, output=cell.output, outputs=outputs)
        for step in branch.cells
        if (cell := cells.get(step.cell_id)) is not None and (outputs := notebook.outputs_of(step)) is not None
    )


def _cannot_begin(failure: RunFailure, failed: dict[int, RunFailure], cells: dict[int, str]) -> UsageError:
    if failure.name != "VariablesMissing":
        message = f"The notebook's variables cannot be loaded on the worker: {failure.name}: {failure.message}"
        return UsageError(message[:1000], hint="Install there what they need.")
    names = failure.message.splitlines()
    because = "".join(
        f" Cell [{number}] failed there: {each.name}: {each.message}."
        for number, each in failed.items()
        if any(name in cells[number] for name in names)
    )
    missing = ", ".join(names[:8])
    message = f"{missing} cannot be sent to a worker, and running the notebook's cells there does not make it."
    return UsageError(f"{message}{because[:500]}", hint="Make it in a cell that runs there, or delete it.")
