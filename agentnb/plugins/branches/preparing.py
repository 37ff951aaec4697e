"""A branch before its agent is prompted: the copies of the kernel, of the workspace and of the notebook."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from agentnb.api.configured import configured, default_agent
from agentnb.api.session import session_of
from agentnb.errors import AgentnbError, UsageError
from agentnb.plugins.branches.at_fork import AtFork
from agentnb.plugins.branches.branch import Branch, BranchParts
from agentnb.plugins.branches.kernel_copy import cannot_fork, fork_kernel, replay_kernel
from agentnb.plugins.branches.notebook_copy import NotebookCopy
from agentnb.plugins.branches.runner import (
    BranchRunner,
    BranchShell,
    BranchThread,
    NoMentions,
    branch_environment,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.api.questions import PermissionRequest
    from agentnb.host import Host
    from agentnb.kernel.code_runner import CodeRunner, NotebookView
    from agentnb.plugins.branches.kernel_copy import KernelCopy
    from agentnb.plugins.map.workspaces import IsolatedWorkspace

T = TypeVar("T")
LONGEST_TITLE = 60
START_SECONDS = 120.0
"""Seconds to wait for a busy kernel before it is copied."""


class CopyInterrupted(UsageError):
    """The user interrupted the kernel while it was being copied."""


class PreparedBranch:
    """A copy whose agent has not been prompted yet; *notebook* has the path of its file in *workspace*.

    If it is not *is_attended*, permission requests that would ask the user are denied.
    """

    def __init__(
        self,
        host: Host,
        kernel: KernelCopy,
        workspace: IsolatedWorkspace,
        notebook: NotebookView | None,
        options: dict[str, Any],
        *,
        is_attended: bool = True,
    ) -> None:
        self._host = host
        self._kernel = kernel
        self._workspace = workspace
        self._notebook = None if notebook is None else NotebookCopy(notebook)
        self._is_attended = is_attended
        self._thread = BranchThread()
        self._options = options

    def begin(self, number: int, prompt: str, instructions: str = "") -> Branch:
        host, options = self._host, {"command": None, "env": None, "mcp_servers": None, **self._options}
        named = options.pop("agent", None)
        agent = named if named or options["command"] else default_agent()
        title = f"Try {number}: {prompt}"[:LONGEST_TITLE].splitlines()[0]
        session_options = configured(
            agent,
            options.pop("command"),
            options.pop("env"),
            self._workspace.folder,
            kernel_tools=True,
            mode="auto",
            title=title,
            **options,
        )
        shell = host.environment.shell
        mentions = NoMentions() if shell is None else shell.mentions
        runner = BranchRunner(self._kernel, self._notebook, self._thread.job_queue, title)
        environment = branch_environment(host.environment, BranchShell(runner, mentions), self._thread)
        environment.default_changes = lambda: (False, False)  # type: ignore[method-assign]  # its files are a copy
        conversation = host.loop.call(partial(host.open_session, session_options, environment=environment))
        answer = partial(self._answer, is_confined=session_options.network is not None)
        session = session_of(conversation, answer, START_SECONDS)
        parts = BranchParts(self._kernel, self._notebook, self._workspace, self._thread, session)
        return Branch(number, parts, session.prompt(prompt, instructions=instructions))

    def close(self) -> None:
        self._kernel.close()
        self._thread.close()
        self._workspace.remove()

    def _answer(self, request: PermissionRequest, *, is_confined: bool) -> str:
        """Allow whatever stays in the branch; an agent that is not confined is not trusted to stay there."""
        otherwise = "ask" if self._is_attended else "deny"
        return "allow" if is_confined or request.kind == "kernel" else otherwise


def moved(notebook: NotebookView, folder: Path, workspace: Path) -> NotebookView:
    """Returns *notebook* with its file's path in *workspace*, a copy of *folder*; without a path if it has no copy."""
    path = Path(notebook.path or "")
    is_copied = path.is_relative_to(folder)
    return replace(notebook, path=str(workspace / path.relative_to(folder)) if is_copied else None)


def copied_kernels(
    host: Host, runner: CodeRunner, folder: Path, workspaces: Sequence[IsolatedWorkspace]
) -> tuple[list[KernelCopy], str]:
    """Returns a copy of the kernel for each of *workspaces*, and why they are not forks ('' if they are)."""
    if why := cannot_fork():
        cells = [each.source for each in runner.executed_cells()]
        now = on_main_thread(host, runner, lambda: AtFork(runner.namespace.variables()))
        note = f"{why}: the notebook's cells were run in a fresh kernel."
        return [_replayed(cells, folder, each, now) for each in workspaces], note
    shell = getattr(host.environment.shell, "ip", None)

    def fork() -> list[KernelCopy]:
        now = AtFork(runner.namespace.variables())
        return [fork_kernel(shell, folder, each.folder, at_fork=now) for each in workspaces]

    return on_main_thread(host, runner, fork), ""


def _replayed(cells: Sequence[str], folder: Path, workspace: IsolatedWorkspace, now: AtFork) -> KernelCopy:
    kernel = replay_kernel(cells, folder, workspace.folder, now)
    workspace.renew()  # files that the replayed cells wrote are not the branch's changes
    return kernel


def on_main_thread(host: Host, runner: CodeRunner, work: Callable[[], T]) -> T:
    """Returns the result of *work*, done on the thread where the user's code runs.

    Raises KernelBusy if that thread is busy for too long, CopyInterrupted if the user interrupts it.
    """
    if threading.current_thread() is threading.main_thread():
        return work()
    look = host.environment.job_queue.run(runner.look(work), "", patience=START_SECONDS)
    try:
        return host.loop.submit(look).result()
    except UsageError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise CopyInterrupted("The kernel was interrupted while it was being copied.") from error
        raise


def notebook_of(runner: CodeRunner) -> NotebookView | None:
    """Returns the notebook; None if it is not known."""
    try:
        return runner.notebook(outputs=True)
    except AgentnbError:
        return None
