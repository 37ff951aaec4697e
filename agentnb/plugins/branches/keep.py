"""Applies what a branch changed to the notebook, as one turn that can be undone."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from typing import TYPE_CHECKING, Any

from agentnb.api.session import Turn, session_of
from agentnb.api.waiting import with_main_thread
from agentnb.changes.file_operations import TemporaryFolder
from agentnb.clock import now_ms
from agentnb.errors import AgentnbError, FilesConflict, KernelChangesConflict, SessionError, UsageError
from agentnb.host.conversation import Conversation
from agentnb.host.pairing import NOTEBOOK, client_spec, show_running
from agentnb.host.session_options import SessionOptions
from agentnb.ids import new_id
from agentnb.kernel.code_runner import CellStep
from agentnb.plugins.branches.branch import counted
from agentnb.plugins.branches.variables import OTHER_PARTS, check, expecting
from agentnb.plugins.map.workspaces import hash_of, size_and_time
from agentnb.state import ChatResponsePart, MarkdownResponsePart, Message, MessageKind, MessageOrigin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from agentnb.host import Host
    from agentnb.kernel.code_runner import CodeRunner, NotebookView
    from agentnb.plugins.branches.at_fork import Key
    from agentnb.plugins.branches.branch import BranchChanges
    from agentnb.plugins.branches.notebook_copy import NotebookCopy
    from agentnb.plugins.map.workspaces import WorkspaceChange


class CellChanges:
    """The wanted *steps* of *copy*'s changes, applied to *notebook*, which the user may have changed since.

    *inserted* maps cells that were inserted earlier to their ids there; new ones are added. Steps that are already done
    are left out.
    """

    def __init__(
        self, steps: Sequence[CellStep], copy: NotebookCopy, notebook: NotebookView, inserted: dict[str, str]
    ) -> None:
        self._copy = copy
        self._inserted = inserted
        self._was = {each.id: each.source for each in copy.before.cells}
        self._now = {each.id: each.source for each in notebook.cells}
        self._after = [each.id for each in copy.view.cells]
        self._ids = {each: each for each in self._now}
        self._ids |= {made: each for made, each in inserted.items() if each in self._now}
        self.steps: list[CellStep] = [each for each in steps if not self._is_done(each)]

    def _is_done(self, step: CellStep) -> bool:
        if step.action == "insert":
            return step.cell_id in self._ids
        if step.action == "delete":
            return step.cell_id not in self._now
        is_all = step.action == "replace" and step.new_kind is None and step.tags is None
        return is_all and self._now.get(step.cell_id) == step.source

    @property
    def conflicts(self) -> list[str]:
        """The ids of the cells that the user has changed since the branch began."""
        known = [each.cell_id for each in self.steps if each.action != "insert"]
        return [each for each in known if self._now.get(each) != self._was.get(each)]

    async def carry_out(self, call: Callable[[str, dict[str, Any]], Awaitable[Mapping[str, Any]]]) -> str:
        """Call the tools; returns what failed, or '' if nothing did."""
        for step in self.steps:
            for name, arguments in self._calls(step):
                result = await call(name, arguments)
                if result.get("isError"):
                    return text_of(result)
                if name == "insert_cell":
                    made = text_of(result).rpartition("(id ")[2].partition(")")[0]
                    self._ids[step.cell_id] = self._inserted[step.cell_id] = made
        return ""

    @property
    def outputs(self) -> list[CellStep]:
        """Steps that copy outputs to the cells that the branch ran."""
        return [
            CellStep(
                action="outputs",
                cell_id=self._ids.get(each.cell_id, each.cell_id),
                source=self._was.get(each.cell_id, ""),
                expected=None,
                outputs=outputs,
            )
            for each in self.steps
            if each.action in ("insert", "replace") and (outputs := self._copy.outputs_of(each)) is not None
        ]

    def _calls(self, step: CellStep) -> Sequence[tuple[str, dict[str, Any]]]:
        cell = self._ids.get(step.cell_id, step.cell_id)
        if step.action == "delete":
            del self._now[cell]
            return [("delete_cell", {"cell": cell})]
        if step.action == "move":
            return [("move_cell", {"cell": cell, **self._place(step.cell_id)})]
        if step.action == "insert":
            place = self._place(step.cell_id)
            below = {} if "above" in place else place  # the tool cannot insert above a cell: insert it at the end
            return [("insert_cell", {"source": step.source, "cell_type": step.kind, **below})]
        calls: list[tuple[str, dict[str, Any]]] = []
        if step.source != step.expected:
            calls.append(("replace_cell", {"cell": cell, "source": step.source}))
        if step.new_kind is not None:
            calls.append(("set_cell_type", {"cell": cell, "cell_type": step.new_kind}))
        if step.tags is not None:
            calls.append(("set_cell_tags", {"cell": cell, "tags": [*step.tags]}))
        return calls

    def _place(self, cell_id: str) -> dict[str, str]:
        """Returns the place below the nearest cell above it that is in the notebook, else above the first cell."""
        above = (self._ids[each] for each in reversed(self._after[: self._after.index(cell_id)]) if each in self._ids)
        if (nearest := next(above, None)) is not None:
            return {"below": nearest}
        first = next((each for each in self._now if each != cell_id), None)
        return {} if first is None else {"above": first}


def text_of(result: Mapping[str, Any]) -> str:
    return "\n".join(each.get("text", "") for each in result.get("content", ()))


KEEP_SECONDS = 900.0
BUSY_SECONDS = 600.0
"""Seconds to wait for a busy kernel."""
_TITLE = "Branches"
_DECIDED = {"agentnb": {"isDecided": True}}
"""Metadata that marks the changes as the user's choice, so that the cells do not ask again whether to keep them."""
_BRING = (
    "__import__('agentnb.plugins.branches.variables', fromlist=['bring']).bring({!r}, {!r}, globals(), is_checked=True)"
)


class WantedParts:
    """The parts of a branch to keep; raises a UsageError if it has no such part."""

    def __init__(self, branch: BranchChanges, only: Collection[str] | None) -> None:
        self.is_all: bool = only is None
        wanted = None if only is None else set(only)
        self.files: list[WorkspaceChange] = [each for each in branch.files if wanted is None or each.path in wanted]
        self.cells: list[CellStep] = [each for each in branch.cells if wanted is None or each.cell_id in wanted]
        self.variables = {name: each for name, each in branch.variables.items() if wanted is None or name in wanted}
        known = {*(each.path for each in self.files), *(each.cell_id for each in self.cells), *self.variables}
        if wanted is not None and (unknown := sorted(wanted - known)):
            raise UsageError(
                f"Try {branch.number} changed no {unknown[0]!r}.",
                hint="only= takes paths of branch.files, ids of branch.cells and names of branch.variables.",
            )


class BranchKeeper:
    """Applies the wanted parts of one branch; adds the hashes of the files it overwrites to *originals*."""

    def __init__(
        self, host: Host, branch: BranchChanges, parts: WantedParts, folder: Path, originals: dict[str, str]
    ) -> None:
        self._host = host
        self._originals = originals
        self._branch = branch
        self._parts = parts
        self._folder = folder
        self._at_fork = branch.at_fork
        self._is_begun = False

    def keep(self, title: str) -> Turn:
        """Apply the parts; returns the turn, whose ``undo`` takes them back.

        Raises FilesConflict or KernelChangesConflict if a file, a cell or a variable has changed since the try began.
        """
        runner = self._host.environment.code_runner()
        if runner is None:
            raise UsageError("There is no IPython kernel here.")
        self._check_files()
        cells = self._changed_cells(runner)
        box = TemporaryFolder()  # if this host is killed, the next one removes it
        box.make()
        try:
            saved = box.path / "variables"
            objects, lost = self._save(saved)
            if self._at_fork is not None:
                check(self._at_fork, runner.namespace.variables(), self._parts.variables, objects)
            late = UsageError(f"Try {self._branch.number} was not kept within {KEEP_SECONDS:g} s.")
            work = self._bring(title, saved, cells, lost)
            with expecting(saved, self._at_fork):
                turn, failed = with_main_thread(self._host, new_id(), work, KEEP_SECONDS, late)
        finally:
            box.remove()
        if failed:
            if self._is_begun:
                turn.undo()
            raise UsageError(f"Try {self._branch.number} was not kept. {failed}", hint="Nothing was changed.")
        if self._at_fork is not None:
            self._at_fork.note_kept(runner.namespace.variables(), self._parts.variables, objects)
        return turn

    # --- conflicts ---

    def _check_files(self) -> None:
        self._parts.files = [each for each in self._parts.files if not self._is_kept(each)]
        conflicts = [each.path for each in self._parts.files if not self._is_as_copied(each)]
        if conflicts:
            raise FilesConflict(
                f"You have changed {', '.join(conflicts[:8])} since the try began. Nothing was kept.",
                hint=OTHER_PARTS,
            )

    def _is_kept(self, file: WorkspaceChange) -> bool:
        """True if the file was kept before, and the user's version is the same as the branch's."""
        ours = _content_of(self._branch.folder / file.path)
        return file.path in self._originals and ours == _content_of(self._folder / file.path)

    def _is_as_copied(self, file: WorkspaceChange) -> bool:
        """True if the file is as it was when the copies were made, including when it was kept and that was undone."""
        path = self._folder / file.path
        return size_and_time(path) == file.was or self._originals.get(file.path) == _content_of(path)

    def _changed_cells(self, runner: CodeRunner) -> CellChanges | None:
        notebook = self._branch.notebook
        if notebook is None or not self._parts.cells:
            return None
        view = runner.notebook(outputs=False, named=notebook.before.name)
        cells = CellChanges(self._parts.cells, notebook, view, self._branch.inserted)
        if conflicts := cells.conflicts:
            raise KernelChangesConflict(
                f"You have changed {counted((), conflicts, ())[0]} since the try began. Nothing was kept.",
                hint=OTHER_PARTS,
            )
        return cells

    # --- the turn ---

    def _save(self, saved: Path) -> tuple[Collection[Key], str]:
        """Have the copy write its variables; returns the objects among them, and what it could not write, in words."""
        if not self._parts.variables:
            return (), ""
        box, answer = self._branch.save(None if self._parts.is_all else (*self._parts.variables,))
        shutil.move(box, saved)
        self._parts.variables = {name: each for name, each in self._parts.variables.items() if name in answer.changed}
        return answer.objects, answer.text

    async def _bring(self, title: str, saved: Path, cells: CellChanges | None, lost: str) -> tuple[Turn, str]:
        """Carry out everything in a turn; returns the turn, and what failed, or '' if nothing did."""
        ended = "A try was kept here."
        conversation = own_conversation(self._host, self._folder, title, name=_TITLE, ended=ended)
        session = session_of(conversation, lambda _request: "allow", KEEP_SECONDS)
        turn_id = await begin_notice(conversation, title, _DECIDED)
        failed = await self._done(conversation, saved, cells)
        end_notice(conversation, turn_id, failed or self._words(lost))
        return Turn(session, conversation, turn_id), failed

    async def _done(self, conversation: Conversation, saved: Path, cells: CellChanges | None) -> str:
        if conversation.kernel is None:
            return "The kernel is closed to it."
        call = conversation.kernel.tool_runner().call
        try:
            await asyncio.to_thread(self._write_files)
            if cells is not None:
                if failed := await cells.carry_out(call):
                    return failed
                await self._bring_outputs(cells)
            if self._parts.variables:
                code = _BRING.format(str(saved), self._parts.variables)
                result = await call("run_code", {"code": code, "wait": BUSY_SECONDS})
                return text_of(result) if result.get("isError") else ""
        except (AgentnbError, OSError) as error:
            return str(error)
        return ""

    async def _bring_outputs(self, cells: CellChanges) -> None:
        """Set the outputs of the cells; undoing the cell, or its text, undoes them too."""
        notebook, runner = self._branch.notebook, self._host.environment.code_runner()
        if notebook is not None and runner is not None and (steps := cells.outputs):
            with contextlib.suppress(AgentnbError):  # the cells are kept; running them restores their outputs
                await runner.change_cells(notebook.before.name, steps)

    def _write_files(self) -> None:
        """Write all files next to their targets, so that a full disk changes none; then move them into place."""
        beside = {each.path: _beside(self._folder / each.path) for each in self._parts.files}
        try:
            for each in self._parts.files:
                if each.status != "deleted":
                    source = self._branch.folder / each.path
                    shutil.copy2(source, beside[each.path], follow_symlinks=False)
            self._is_begun = True
            for each in self._parts.files:
                target = self._folder / each.path
                self._originals.setdefault(each.path, _content_of(target))
                if each.status == "deleted":
                    target.unlink(missing_ok=True)
                else:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    beside[each.path].replace(target)
        finally:
            for path in beside.values():
                path.unlink(missing_ok=True)

    def _words(self, lost: str) -> str:
        files, cells, names = self._parts.files, self._parts.cells, self._parts.variables
        done = ", ".join(counted(files, cells, names)) or "nothing"
        more = f"\n\nCould not be kept: {lost}" if lost else ""
        return f"Kept {done} of try {self._branch.number} ({self._branch.agent}).{more}"


def own_conversation(host: Host, folder: Path, title: str, *, name: str, ended: str) -> Conversation:
    """Returns a conversation that has no agent; *ended* says what happened in it."""
    spec = client_spec(NOTEBOOK, name, title=name, about=ended, command=("agentnb",))
    options = SessionOptions(spec=spec, cwd=folder, kernel_tools=True)
    configured = options.configuration(host.environment)
    conversation = Conversation(host, configured, tab_id=new_id(), mode="allow", title=title)
    host.adopt(conversation)
    conversation.restored(
        None, SessionError(ended, hint="No agent is available here. Continue in another conversation.")
    )
    show_running(conversation)
    return conversation


async def begin_notice(conversation: Conversation, title: str, meta: dict[str, Any] | None = None) -> str:
    """Begin a turn that nobody prompted; returns its id."""
    turn_id, origin = new_id(), MessageOrigin(kind=MessageKind.SYSTEM_NOTIFICATION.value)
    await conversation.turns.begin_unprompted(turn_id, Message(text=title, origin=origin, meta=meta))
    return turn_id


def end_notice(conversation: Conversation, turn_id: str, text: str) -> None:
    part = MarkdownResponsePart(id=new_id(), content=text)
    conversation.dispatch(ChatResponsePart(turn_id=turn_id, part=part, time=now_ms()))
    conversation.turns.complete(turn_id)


def _beside(path: Path) -> Path:
    """Returns a new name in the nearest existing folder above *path*."""
    return next(each for each in path.parents if each.is_dir()) / f".{new_id()}.agentnb"


def _content_of(path: Path) -> str:
    """Returns the target of a link, or the hash of a file's content; '' if there is neither."""
    return f"→ {path.readlink()}" if path.is_symlink() else hash_of(path)
