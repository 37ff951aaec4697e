"""The kernel of a branch for the kernel tools: code runs in the copy, cells change in a copy of the notebook."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import threading
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from agentnb.clock import now_ms
from agentnb.errors import UsageError
from agentnb.kernel.code_runner import Edited, Ran
from agentnb.kernel.content import of_run
from agentnb.kernel.job_queue import JobQueue, scheduler_of
from agentnb.kernel.rehearsal_result import Rehearsal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from agentnb.host.environment import Environment, MentionSource, Suggestion
    from agentnb.kernel.code_runner import (
        CellStep,
        CellWatch,
        CodeWatch,
        Edit,
        NotebookCell,
        NotebookView,
        UserVariable,
    )
    from agentnb.kernel.job_queue import Stop
    from agentnb.kernel.variables.changes import NameChange
    from agentnb.plugins.branches.kernel_copy import KernelCopy
    from agentnb.plugins.branches.notebook_copy import NotebookCopy
    from agentnb.state import MessageAttachment

T = TypeVar("T")
_SAFE = ("text/plain", "image/png", "image/jpeg")
IN_A_BRANCH = "It runs in a branch: nothing of it stays unless the branch is kept."


class BranchRunner:
    """Implements :class:`agentnb.kernel.code_runner.CodeRunner`."""

    def __init__(self, kernel: KernelCopy, notebook: NotebookCopy | None, job_queue: JobQueue, owner: str) -> None:
        self._kernel = kernel
        self._notebook = notebook
        self._job_queue = job_queue
        self._owner = owner
        self._count = 0
        self.namespace: BranchNamespace = BranchNamespace(kernel)

    def variables(self) -> Sequence[UserVariable]:
        return self._kernel.ask("variables").variables

    def inspect(self, path: str) -> str:
        return self._kernel.ask("inspect", path).text

    def notebook(self, *, outputs: bool, named: str | None = None) -> NotebookView:  # noqa: ARG002 - a copy has them
        return self._copy(named or "").view

    def notebooks(self) -> Sequence[NotebookView]:
        """Returns the branch's only notebook, if it has one."""
        return () if self._notebook is None else (self._notebook.view,)

    def executed_cells(self) -> Sequence[NotebookCell]:
        """Returns the cells that the kernel executed before it was copied."""
        return self._kernel.ask("executed").cells

    def work(self, code: str, watch: CodeWatch | None = None) -> BranchWork:
        return BranchWork(self._kernel, code, watch)

    def look(self, look: Callable[[], T]) -> BranchLook[T]:
        return BranchLook(self._kernel, look)

    def rehearse(self, code: str, seconds: float) -> Callable[[], Rehearsal]:  # noqa: ARG002 - a copy is a rehearsal
        """Rehearse nothing: all that a branch does can be taken back."""
        return lambda: Rehearsal(reason=IN_A_BRANCH, way="branch")

    async def edit(self, edit: Edit) -> Edited:
        """Change the notebook's copy, or run a cell of it."""
        notebook = self._copy(edit.notebook)
        if edit.action == "restart":
            raise UsageError("The kernel of a branch can't be restarted.", hint="Continue with the kernel as it is.")
        if edit.action != "run" or edit.cell_id is None:
            return notebook.edit(edit)
        work = self.work(edit.source)
        ran = await self._job_queue.run(work, self._owner, patience=600.0)
        self._count += 1
        read = of_run(ran)
        text = "\n".join(each["text"] for each in read["content"] if each.get("type") == "text")
        pictures = tuple(each for each in read["content"] if each.get("type") == "image")
        notebook.ran(edit.cell_id, self._count, text, outputs_of(ran))
        return Edited(text=f"Ran the cell (id {edit.cell_id}).\n{text}", pictures=pictures, raised=read["isError"])

    async def change_cells(
        self,
        notebook: str,
        steps: Sequence[CellStep],
        file_hashes: tuple[str, str] | None = None,  # noqa: ARG002 - no file is there
        *,
        exact: bool = False,
    ) -> Mapping[str, str | None]:
        return self._copy(notebook).change(steps, exact=exact)

    async def read_cell(self, notebook: str, cell_id: str) -> str:
        return self._copy(notebook).source(cell_id)

    def _copy(self, named: str) -> NotebookCopy:
        notebook = self._notebook
        if notebook is None:
            raise UsageError("The notebook of this branch is unknown.", hint="Use run_code.")
        if named and not notebook.before.name.endswith(named):
            raise UsageError(f"A branch has one notebook, {notebook.before.name}.", hint="Leave `notebook` out.")
        return notebook


def outputs_of(ran: Ran) -> tuple[dict[str, Any], ...]:
    """Returns a cell's outputs in a notebook file's format: text and pictures, nothing that a page would execute."""
    outputs: list[dict[str, Any]] = []
    if ran.printed:
        outputs.append({"output_type": "stream", "name": "stdout", "text": ran.printed})
    bundles = [*ran.shown, *([] if ran.result is None else [{"text/plain": ran.result}])]
    safe_bundles = ({kind: bundle[kind] for kind in _SAFE if kind in bundle} for bundle in bundles)
    outputs += ({"output_type": "display_data", "data": data, "metadata": {}} for data in safe_bundles if data)
    if (failure := ran.failure) is not None:
        error = {"ename": failure.name, "evalue": failure.message, "traceback": failure.traceback.splitlines()}
        outputs.append({"output_type": "error", **error})
    return tuple(outputs)


class BranchWork:
    """Code for a copy (:class:`agentnb.kernel.code_runner.CodeWork`)."""

    def __init__(self, kernel: KernelCopy, code: str, watch: CodeWatch | None) -> None:
        self._kernel = kernel
        self._code = code
        self._watch = watch
        self.started_at: int | None = None

    @property
    def printed(self) -> str:
        """The end of what the code has printed."""
        return "" if self.started_at is None else self._kernel.printed

    def begin(self, done: Callable[[Ran], None], *, loop_is_free: bool) -> None:  # noqa: ARG002 - a copy's is
        self.started_at, self._kernel.printed = now_ms(), ""
        ran = self._kernel.ask("run", self._code).ran or Ran()
        self._kernel.pictures.extend(bundle["image/png"] for bundle in ran.shown if "image/png" in bundle)
        if self._watch is not None:
            self._watch.finish()
        done(ran)

    def stop(self, why: Stop) -> None:
        with contextlib.suppress(UsageError):
            self._kernel.stop(is_late=why == "timeout")


class BranchLook(Generic[T]):
    """A question to a copy (:class:`agentnb.kernel.job_queue.MainThreadWork`)."""

    def __init__(self, kernel: KernelCopy, look: Callable[[], T]) -> None:
        self._kernel = kernel
        self._look = look

    def begin(self, done: Callable[[T], None], *, loop_is_free: bool) -> None:  # noqa: ARG002 - as above
        done(self._look())

    def stop(self, why: Stop) -> None:
        with contextlib.suppress(UsageError):
            self._kernel.stop(is_late=why == "timeout")


class BranchWatch:
    """Reports what code in a copy changed; the copy itself detects it (:class:`VariableWatch`)."""

    def __init__(self) -> None:
        self.limit = 0
        self.lost: dict[str, str] = {}
        self.begins: Callable[[], object] = lambda: None

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Do nothing while the code runs."""
        yield

    def finish(self) -> None:
        """The code has ended."""


class BranchNamespace:
    """The variables of a copy, which are not in this kernel (:class:`agentnb.kernel.code_runner.Namespace`)."""

    def __init__(self, kernel: KernelCopy) -> None:
        self._kernel = kernel

    def variables(self) -> dict[str, Any]:
        """Returns nothing: the variables are in the copy."""
        return {}

    def bind(self, name: str, value: Any) -> None:
        """Undo in a branch is to discard it."""

    def unbind(self, name: str) -> None:
        """As :meth:`bind`."""

    def watch_cell(self, cell_id: str, source: str, watch: CellWatch, *, late: bool) -> Callable[[], None]:  # noqa: ARG002 - nothing to watch
        return lambda: None

    def stop_cell(self, cell_id: str) -> bool:  # noqa: ARG002 - one runs at a time
        """Interrupt the running code."""
        self._kernel.stop()
        return True

    def watch(self, code: str, ended: Callable[[Sequence[NameChange]], object]) -> Any:  # noqa: ARG002 - as above
        """Watch nothing here: the copy watches its own changes."""
        return BranchWatch()

    def unrestorable(self, code: str, limit: int) -> tuple[str, ...]:  # noqa: ARG002 - all goes with the branch
        """Returns nothing: a branch that is not kept leaves nothing behind."""
        return ()

    def release(self, objects: Sequence[object]) -> None:
        """Nothing is held."""


class BranchShell:
    """The shell of a branch (:class:`agentnb.host.environment.Shell`); mentions are the kernel's."""

    def __init__(self, code_runner: BranchRunner, mentions: MentionSource) -> None:
        self.code_runner = code_runner
        self.mentions = mentions


class NoMentions:
    """A ``MentionSource`` without suggestions, since no user types in a branch."""

    def suggest(self, start: str, cwd: Path) -> Sequence[Suggestion]:  # noqa: ARG002 - as the protocol has it
        return ()

    def attach(self, prompt: str, cwd: Path) -> tuple[MessageAttachment, ...]:  # noqa: ARG002 - likewise
        return ()

    def examples(self) -> tuple[str, ...]:
        return ()


class BranchThread:
    """The thread that does a branch's jobs, as the main thread does the kernel's."""

    def __init__(self) -> None:
        self.job_queue: JobQueue = JobQueue()
        self._loop = asyncio.new_event_loop()
        self.job_queue.is_main_thread_busy = lambda: False
        self.job_queue.schedule = scheduler_of(self._loop)
        self._thread = threading.Thread(target=self._run, name="agentnb branch jobs", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, once its job has ended."""
        self.job_queue.schedule = None
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.close()


def branch_environment(environment: Environment, shell: BranchShell, thread: BranchThread) -> Environment:
    """Returns the kernel's environment for a conversation with a kernel of its own."""
    _ = environment.cassette  # creates it before the copy, so that all share it
    branch = copy.copy(environment)
    branch.shell, branch.job_queue = shell, thread.job_queue
    branch.step_comparison = lambda **_options: None  # type: ignore[method-assign]
    return branch
