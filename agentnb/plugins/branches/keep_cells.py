"""What a branch changed of the notebook's cells, done with the kernel tools in the user's notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.kernel.code_runner import CellStep

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from agentnb.kernel.code_runner import NotebookView
    from agentnb.plugins.branches.notebook_copy import NotebookCopy


class CellChanges:
    """The wanted *steps* from what *copy* was to what it is, in *notebook*, which the user may have changed since.

    *inserted* are the ids there of cells that were inserted earlier, and is added to. Steps that need not be done any
    more are left out.
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
        """The ids of cells that the user has changed since."""
        known = [each.cell_id for each in self.steps if each.action != "insert"]
        return [each for each in known if self._now.get(each) != self._was.get(each)]

    async def carry_out(self, call: Callable[[str, dict[str, Any]], Awaitable[Mapping[str, Any]]]) -> str:
        """Call the tools; returns what failed, empty where nothing did."""
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
        """Steps that give cells which the branch ran their outputs."""
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
            below = {} if "above" in place else place  # the tool knows no place above a cell: it is put at the end
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
        """Below the nearest cell above it that is in the notebook, else above the first one."""
        above = (self._ids[each] for each in reversed(self._after[: self._after.index(cell_id)]) if each in self._ids)
        if (nearest := next(above, None)) is not None:
            return {"below": nearest}
        first = next((each for each in self._now if each != cell_id), None)
        return {} if first is None else {"above": first}


def text_of(result: Mapping[str, Any]) -> str:
    """What a tool says."""
    return "\n".join(each.get("text", "") for each in result.get("content", ()))
