"""``agentnb.branches``: several tries at one task side by side, each in a copy of the kernel; one of them is kept."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from agentnb.api.arguments import check_count, check_text
from agentnb.api.columns import on_one_line
from agentnb.api.unattended import follow_work, parts_of_work
from agentnb.api.waiting import with_main_thread
from agentnb.errors import AgentnbError, UsageError
from agentnb.host import current_host
from agentnb.ids import new_id
from agentnb.plugins.branches.branch import Branch
from agentnb.plugins.branches.keep import BranchKeeper, WantedParts
from agentnb.plugins.branches.kernel_copy import LONGEST_SECONDS
from agentnb.plugins.branches.preparing import LONGEST_TITLE, PreparedBranch, copied_kernels, moved, notebook_of
from agentnb.plugins.branches.tables import html_of, lines_of, show
from agentnb.plugins.map.workspaces import IsolatedWorkspace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping
    from pathlib import Path

    from agentnb.api.session import Turn
    from agentnb.host import Host
    from agentnb.plugins.verify.result import Verification

MOST = 16


class Branches(Sequence[Branch]):
    """Several tries at one task. Made by :func:`agentnb.branches`; a table when displayed.

    Example:
        >>> tries = agentnb.branches("Improve the model", n=3, measure="auc")  # doctest: +SKIP
        >>> tries.keep(tries.wait().best.number)  # doctest: +SKIP
    """

    def __init__(self, host: Host, folder: Path, prompt: str, *, higher_is_better: bool) -> None:
        self.prompt = prompt
        self.note = ""
        self.id: str = new_id()
        self.is_shown_here: Callable[[], bool] = lambda: False
        self._host = host
        self._folder = folder
        self._sign = 1 if higher_is_better else -1
        self._branches: list[Branch] = []
        self._threads: list[threading.Thread] = []
        self._originals: dict[str, str] = {}
        self._listeners: list[Callable[[], None]] = []

    @overload
    def __getitem__(self, index: int) -> Branch: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Branch]: ...

    def __getitem__(self, index: int | slice) -> Branch | Sequence[Branch]:
        return self._branches[index]

    def __len__(self) -> int:
        return len(self._branches)

    @property
    def done(self) -> bool:
        """True once every try has ended."""
        return not any(thread.is_alive() for thread in self._threads)

    @property
    def decided(self) -> bool:
        """True once every try was kept or discarded."""
        return all(each.state in ("kept", "discarded") for each in self)

    @property
    def best(self) -> Branch | None:
        """The try with the best measure among those that ended well; None where none was measured."""
        measured = [each for each in self if each.measure is not None and each.state == "done"]
        return max(measured, key=lambda each: self._sign * (each.measure or 0.0), default=None)

    def wait(self, timeout: float | None = None) -> Branches:
        """Block until every try has ended; returns this object.

        Raises:
            TimeoutError: If it takes longer than *timeout* seconds; they continue.
        """
        seconds = LONGEST_SECONDS if timeout is None else timeout
        late = TimeoutError(f"Not all tries have ended after {seconds:g} s; they continue.")
        return with_main_thread(self._host, new_id(), asyncio.to_thread(self._joined), seconds, late)

    def __await__(self) -> Generator[Any, None, Branches]:
        return asyncio.to_thread(self._joined).__await__()

    def cancel(self, *numbers: int) -> None:
        """Stop the tries that run, or those that are named; what they have done so far can be kept."""
        for branch in [self._try(number) for number in numbers] or self._branches:
            branch.turn.cancel()

    def keep(self, number: int, only: Collection[str] | None = None) -> Turn:
        """Bring a try's changes into the notebook, as one turn that can be undone; the other tries are discarded.

        Args:
            number: The try's number, from 1.
            only: The parts to keep: paths of its files, ids of its cells, names of its variables; all if None.
                With parts the tries stay, so that more can be kept.

        Returns:
            The turn: ``turn.undo()`` takes everything back.

        Raises:
            UsageError: If there is no such try, it still runs or was discarded, or it can't be kept: then nothing is.
            FilesConflict: If you changed one of the files since the tries began. Nothing of yours is overwritten.
            KernelChangesConflict: Likewise for cells and variables.

        Example:
            >>> tries.keep(2).undo()  # doctest: +SKIP
        """
        branch = self._try(number)
        if branch.state == "running":
            raise UsageError(f"Try {number} still runs.", hint="Wait for it, or cancel() it first.")
        branch.look()
        title = f"Keep try {number}: {self.prompt}"[:LONGEST_TITLE].splitlines()[0]
        parts = WantedParts(branch, only)
        turn = BranchKeeper(self._host, branch, parts, self._folder, self._originals).keep(title)
        branch.kept_turn = turn
        if only is None:
            branch.close("kept")
            self.discard()
        self._tell()
        return turn

    def discard(self, *numbers: int) -> None:
        """Discard tries: their processes end and their changes are lost. Without numbers, all that were not kept."""
        for branch in [self._try(number) for number in numbers] or self._branches:
            branch.close("discarded")
        self._tell()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call *listener* after each change of a try's state, on any thread."""
        self._listeners.append(listener)

    def __repr__(self) -> str:
        return "\n".join(lines_of(self, self._title, self.best))

    @property
    def table(self) -> str:
        """The table as HTML."""
        return html_of(self, self._title, self.best)

    def _repr_html_(self) -> str:
        return self.table

    def _ipython_display_(self) -> None:
        if not self.is_shown_here():  # otherwise it would be shown twice
            raise NotImplementedError

    @property
    def _title(self) -> str:
        note = f" {self.note}" if self.note else ""
        return f"{len(self)} tries: {on_one_line(self.prompt)[:LONGEST_TITLE]}.{note}"

    def begin(
        self, copies: Sequence[PreparedBranch], measure: str | None, instructions: str, first: int, *, verify: bool
    ) -> None:
        """Prompt the agent of each copy."""
        check = _verification if verify else None
        for number, prepared in enumerate(copies, first):
            branch = prepared.begin(number, self.prompt, instructions)
            self._branches.append(branch)
            arguments, name = (branch, measure, check), f"agentnb branch {number}"
            self._threads.append(threading.Thread(target=self._follow, args=arguments, name=name, daemon=True))
        for thread in self._threads:
            thread.start()

    def _follow(self, branch: Branch, measure: str | None, check: Callable[[Branch], Verification] | None) -> None:
        with contextlib.suppress(AgentnbError):
            branch.turn.wait()
        branch.finish(measure, check)
        self._tell()

    def _tell(self) -> None:
        for each in self._listeners:
            each()

    def _joined(self) -> Branches:
        for thread in self._threads:
            thread.join()
        return self

    def _try(self, number: int) -> Branch:
        branch = next((each for each in self if each.number == number), None)
        if branch is None:
            raise UsageError(f"There is no try {number!r}.", hint=f"There are {len(self)}, counted from 1.")
        if branch.state in ("kept", "discarded"):
            raise UsageError(f"Try {number} was {branch.state}.", hint="Start again with agentnb.branches().")
        return branch


def branches(
    prompt: str,
    n: int = 3,
    *,
    agents: Sequence[str | Mapping[str, Any]] | None = None,
    measure: str | None = None,
    higher_is_better: bool = True,
    verify: bool = False,
    confine: bool = True,
    **options: Any,
) -> Branches:
    """Let agents try one task several times in parallel, each in a copy of this kernel; returns once they have begun.

    A copy has the variables (a fork: they take no memory until they change), the notebook's cells and a copy of the
    workspace's files. It has no network, and nothing in it affects the kernel, the notebook or the files until the try
    is kept. If the kernel cannot be forked, the notebook's cells are run in a fresh one instead.

    Args:
        prompt: The task.
        n: The number of tries, up to 16; with *agents* as many as these, or a multiple of them.
        agents: Names of agents, or mappings of arguments of :func:`agentnb.start`; one for each try in turn. The
            default agent if None.
        measure: An expression that gives a number, evaluated in each copy at the end, such as ``"auc"``.
        higher_is_better: True if a higher measure is better.
        verify: True if each try's notebook is run from the top at its end (:func:`agentnb.verify`).
        confine: True if the agents are confined to their copy of the workspace.
        **options: Other arguments of :func:`agentnb.start` for all agents.

    Returns:
        The tries.

    Raises:
        UsageError: If an argument is invalid, no kernel is here, the workspace is too large to be copied, or the
            kernel cannot be copied.

    Example:
        >>> agentnb.branches("Improve the model", measure="auc").wait()  # doctest: +SKIP
    """
    check_text("The prompt", prompt, example='agentnb.branches("Improve the model")')
    check_count("n", n)
    if not 1 <= n <= MOST:
        raise UsageError(f"n={n!r} is not a number from 1 to {MOST}.")
    if measure is not None:
        _check_expression(measure)
    from agentnb.plugins.branches.page import add  # pages can start branches, too

    choices = [{"confine": confine, **options, **own} for own in _choices(agents, n)]
    made = begin_branches(prompt, choices, measure=measure, higher_is_better=higher_is_better, verify=verify)
    host = current_host()
    add(made, host)
    show(made, host)
    return made


def begin_branches(
    prompt: str,
    choices: Sequence[dict[str, Any]],
    *,
    measure: str | None = None,
    higher_is_better: bool = True,
    verify: bool = False,
    instructions: str = "",
    first: int = 1,
) -> Branches:
    """Begin a try for each of *choices*, arguments of :func:`agentnb.start`; the chat folds *instructions*.

    *first* is the number of the first one.
    """
    host = current_host()
    runner = host.environment.code_runner()
    if runner is None:
        raise UsageError("There is no IPython kernel here to copy.", hint="Call it in a notebook.")
    folder = host.environment.default_workspace()
    made = Branches(host, folder, prompt, higher_is_better=higher_is_better)
    prepared: list[PreparedBranch] = []
    workspaces: list[IsolatedWorkspace] = []
    try:
        notebook = notebook_of(runner)
        workspaces += (IsolatedWorkspace(folder) for _ in choices)
        kernels, made.note = copied_kernels(host, runner, folder, workspaces)
        for options, kernel, workspace in zip(choices, kernels, workspaces, strict=True):
            view = None if notebook is None else moved(notebook, folder.resolve(), workspace.folder)
            prepared.append(PreparedBranch(host, kernel, workspace, view, options))
        with parts_of_work():
            made.begin(prepared, measure, instructions, first, verify=verify)
    except BaseException:
        made.discard()
        for each in prepared:
            each.close()
        for workspace in workspaces:
            workspace.remove()
        raise
    follow_work(made)
    return made


def _verification(branch: Branch) -> Verification:
    from agentnb.plugins.verify.verifying import check_notebook

    if branch.notebook is None:
        raise UsageError("It could not be verified, because the notebook is unknown.")
    return check_notebook(branch.notebook.as_json(), branch.folder)


def _choices(agents: Sequence[str | Mapping[str, Any]] | None, n: int) -> list[dict[str, Any]]:
    if agents is None:
        return [{} for _ in range(n)]
    if isinstance(agents, str) or not agents:
        raise UsageError(f"agents={agents!r} is not a list of agents.", hint='agents=["claude", "codex"]')
    named = [{"agent": each} if isinstance(each, str) else dict(each) for each in agents]
    return [named[number % len(named)] for number in range(max(n, len(named)))]


def _check_expression(measure: str) -> None:
    try:
        compile(measure, "<measure>", "eval")
    except (SyntaxError, TypeError, ValueError) as error:
        raise UsageError(
            f"measure={measure!r} is not an expression: {error}.", hint='For example measure="auc".'
        ) from None
