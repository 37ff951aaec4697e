"""Generated histories of a notebook, with a model that carries the author of each line."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any, NamedTuple

from msgspec.structs import replace

from agentnb.host.changes.items import kernel_item
from agentnb.host.changes.records import PlacedCode
from agentnb.kernel.cell_changes import CellRecord
from agentnb.kernel.cell_plans import plan_cells
from agentnb.kernel.changes import KernelChanges
from agentnb.kernel.code_runner import Edited, NotebookCell, NotebookView
from agentnb.kernel.job_queue import JobQueue
from agentnb.plugins.provenance.line_ledger import is_blank
from agentnb.plugins.provenance.turns import (
    ProvenanceTurn,
    TurnSteps,
    ledger_of,
    steps_of_calls,
    steps_of_items,
    steps_of_placed,
)

NAMES = ["df", "prices", "orders", "customers", "model", "result", "total", "train", "test", "fig", "scores", "labels"]
CALLS = ["groupby", "merge", "dropna", "fillna", "mean", "sum", "fit", "predict", "plot", "head", "astype", "join"]
COLUMNS = ["price", "date", "id", "amount", "region", "kind", "weight", "city", "year", "month", "status"]
COMMON = [
    *(
        "plt.show()",
        "df.head()",
        "import numpy as np",
        "import pandas as pd",
        ")",
        "else:",
        "",
        "    return x",
        "x = 1",
    ),
]


class Line(NamedTuple):
    text: str
    author: int | None


class ModelCell:
    def __init__(self, cell_id: str, lines: list[Line]) -> None:
        self.id, self.lines = cell_id, lines

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)


class History:
    """One notebook that the user and agents change; the model knows each line's author."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.cells: list[ModelCell] = []
        self.turns: list[TurnSteps] = []
        self._ids = 0
        self._clock = 0
        self._before: list[list[ModelCell]] = []
        self._saved: list[ModelCell] = []
        self._kernel = KernelChanges("history", lambda: None, JobQueue())
        for _ in range(self.random.randrange(1, 6)):
            self.cells.append(self._cell(self._lines(None)))

    def run(self, steps: int = 40) -> History:
        """Makes *steps* changes by the user and agents."""
        acts = (
            [self.type_lines] * 6 + [self.agent_turn] * 6 + [self.split, self.merge, self.move, self.copy, self.delete]
        )
        acts += [self.move_lines, self.undo, self.save, self.other_window, self.undo_turn]
        acts += [self.take_from_chat] * 2
        if self.random.random() < 0.15:
            acts += [self.reload_without_ids] * 2
        for _ in range(steps):
            if not self.cells:
                self.cells.append(self._cell(self._lines(None)))
            act = self.random.choice(acts)
            if act is not self.undo:
                self._before = [*self._before[-9:], deepcopy(self.cells)]
            act()
        return self

    def wrong_lines(self) -> tuple[int, int]:
        """Returns the number of wrongly attributed lines, and of all lines that are not blank."""
        authors = ledger_of(self.turns).authors([(cell.id, cell.text) for cell in self.cells])
        pairs = [
            (line.author, author)
            for cell, of in zip(self.cells, authors, strict=True)
            for line, author in zip(cell.lines, of, strict=False)
            if not is_blank(line.text.encode())
        ]
        return sum(real != attributed for real, attributed in pairs), len(pairs)

    # --- the user ---

    def type_lines(self) -> None:
        """Add, change and remove lines of a cell, or write a new cell."""
        if self.random.random() < 0.2:
            self.cells.insert(self._place(), self._cell(self._lines(None)))
            return
        cell = self.random.choice(self.cells)
        cell.lines = self._edited(cell.lines, None)

    def split(self) -> None:
        cell = self.random.choice(self.cells)
        if len(cell.lines) > 1:
            at = self.random.randrange(1, len(cell.lines))
            rest = self._cell(cell.lines[at:])
            cell.lines = cell.lines[:at]
            self.cells.insert(self.cells.index(cell) + 1, rest)

    def merge(self) -> None:
        """Merges like JupyterLab: the first cell's id stays, or it gets a new one."""
        if len(self.cells) > 1:
            at = self.random.randrange(len(self.cells) - 1)
            first, second = self.cells[at : at + 2]
            cell_id = first.id if self.random.random() < 0.5 else self._id()
            merged = ModelCell(cell_id, [*first.lines, Line("", None), *second.lines])
            self.cells[at : at + 2] = [merged]

    def move(self) -> None:
        cell = self.random.choice(self.cells)
        self.cells.remove(cell)
        self.cells.insert(self._place(), cell)

    def copy(self) -> None:
        self.cells.insert(self._place(), self._cell([*self.random.choice(self.cells).lines]))

    def delete(self) -> None:
        if len(self.cells) > 1:
            self.cells.remove(self.random.choice(self.cells))

    def move_lines(self) -> None:
        """Cut lines out of one cell and put them into another."""
        one, other = self.random.choice(self.cells), self.random.choice(self.cells)
        if len(one.lines) > 2:
            at = self.random.randrange(len(one.lines) - 1)
            cut = one.lines[at : at + 2]
            del one.lines[at : at + 2]
            place = self.random.randint(0, len(other.lines))
            other.lines[place:place] = cut

    def undo(self) -> None:
        """Undo of the notebook: some steps back."""
        if self._before:
            steps = self.random.randint(1, min(3, len(self._before)))
            self.cells = self._before[-steps]
            del self._before[-steps:]

    def save(self) -> None:
        """Saves the notebook for another window to load."""
        self._saved = deepcopy(self.cells)

    def other_window(self) -> None:
        """Another window with an older state overwrites the notebook, with one more edit."""
        if self._saved:
            self.cells = deepcopy(self._saved)
            self.type_lines()

    def reload_without_ids(self) -> None:
        """An old format has no ids: each load makes new ones."""
        for cell in self.cells:
            cell.id = self._id()

    # --- agents ---

    def agent_turn(self) -> None:
        """A few tool calls; the user may type between them."""
        number = len(self.turns)
        self._clock += 1
        turn = ProvenanceTurn(session="scripted:/1", turn=str(number), agent="scripted", time=self._clock)
        self._kernel.begin(turn.turn)
        calls = []
        for _ in range(self.random.randint(1, 4)):
            call = self._tool_call(number)
            if call is not None:
                calls.append(call)
            if self.random.random() < 0.1:
                self.type_lines()
        items = [kernel_item(each, is_kept=False) for each in self._kernel.end(turn.turn)]
        self.turns.append(TurnSteps(turn, (*steps_of_calls(calls), *steps_of_items(items))))

    def take_from_chat(self) -> None:
        """*Insert below* or *Replace the active cell*, on a code block of some answer: the user only clicks."""
        if not self.turns or self.random.random() < 0.3:
            self._answer_with_code()
        number = self.random.randrange(max(0, len(self.turns) - 3), len(self.turns))
        if self.random.random() < 0.6:
            cell, before = self._cell(self._lines(number)), None
            self.cells.insert(self._place(), cell)
        else:
            cell = self.random.choice(self.cells)
            before = cell.text
            cell.lines = self._edited(cell.lines, number)
        self._clock += 1
        code = PlacedCode(
            turn_id=str(number), cell_id=cell.id, notebook="nb.ipynb", before=before, after=cell.text, time=self._clock
        )
        turn = self.turns[number]
        self.turns[number] = TurnSteps(turn.turn, (*turn.steps, *steps_of_placed([code])))

    def _answer_with_code(self) -> None:
        """Adds a turn that changes nothing itself."""
        self._clock += 1
        name = str(len(self.turns))
        turn = ProvenanceTurn(session="scripted:/1", turn=name, agent="scripted", time=self._clock)
        self.turns.append(TurnSteps(turn, ()))

    def undo_turn(self) -> None:
        """Undoes the last turn if its changes are still in place."""
        if not self.turns:
            return
        records = self._kernel.end(str(len(self.turns) - 1))
        texts = {cell.id: cell.text for cell in self.cells}
        cells = [each for each in records if isinstance(each, CellRecord)]
        if any(texts.get(each.cell_id) != each.after or each.moved for each in cells):
            return
        for record in cells:
            before = self._earlier(record.cell_id, record.before)
            if record.before is not None and before is None:
                return
        for record in cells:
            before = self._earlier(record.cell_id, record.before)
            self.cells = [each for each in self.cells if each.id != record.cell_id or record.before is not None]
            present = next((each for each in self.cells if each.id == record.cell_id), None)
            if present is not None and before is not None:
                present.lines = before
            elif before is not None:
                self.cells.insert(self._place(), ModelCell(record.cell_id, before))
        turn, steps = self.turns[-1]
        items = [replace(kernel_item(each, is_kept=False), state="undone") for each in cells]
        placed = [each for each in steps if each.time is not None]
        self.turns[-1] = TurnSteps(turn, (*steps_of_items(items), *placed))

    def _earlier(self, cell_id: str, text: str | None) -> list[Line] | None:
        """Returns the lines that the cell had when it had *text*."""
        for cells in reversed(self._before):
            for cell in cells:
                if cell.id == cell_id and cell.text == text:
                    return [*cell.lines]
        return None

    def _tool_call(self, number: int) -> Any:
        """Makes one call of a kernel tool; returns None if it makes no sense."""
        names = ["insert_cell"] * 3 + ["replace_cell"] * 5 + ["split_cell", "merge_cells", "move_cell", "delete_cell"]
        name = self.random.choice(names)
        if not self.cells or (name in {"merge_cells", "move_cell", "delete_cell"} and len(self.cells) < 2):
            name = "insert_cell"
        at = self.random.randrange(len(self.cells) - (name == "merge_cells")) if self.cells else 0
        cell = self.cells[at] if self.cells else None
        made = self._written(name, cell, number)
        arguments = self._arguments(name, at, _text(made))
        if arguments is None:
            return None
        view = self._view()
        plan = plan_cells(name, arguments, view)
        before = cell.text if cell is not None else None
        if plan.edit is not None:
            is_new = cell is None or name == "insert_cell"
            answer = Edited(text="", cell_id=self._id() if is_new or cell is None else cell.id, index=at + 1)
            plan = plan.performed(answer if is_new else replace(answer, before=before))
        self._apply(name, plan, at, made)
        self._kernel.cells_changed(plan.records, plan.orders(view))
        return plan.cell

    def _written(self, name: str, cell: ModelCell | None, number: int) -> list[Line]:
        if name == "replace_cell" and cell is not None:
            return self._edited(cell.lines, number)
        return self._lines(number) if name == "insert_cell" else []

    def _arguments(self, name: str, at: int, source: str) -> dict[str, Any] | None:
        if not self.cells:
            return {"source": source}
        cell = self.cells[at]
        if name == "split_cell":
            lines = len(cell.lines)
            return {"cell": cell.id, "line": self.random.randint(2, lines)} if lines > 1 else None
        if name == "move_cell":
            others = [each for each in self.cells if each is not cell]
            other = self.random.choice(others)
            return {"cell": cell.id, "below": other.id} if others.index(other) + 1 != at else None
        if name == "merge_cells":
            return {"first": cell.id, "last": self.cells[at + 1].id}
        if name == "insert_cell":
            return {"source": source, "below": cell.id}
        return {"cell": cell.id, **({"source": source} if name == "replace_cell" else {})}

    def _apply(self, name: str, plan: Any, at: int, made: list[Line]) -> None:
        if name == "insert_cell":
            new = ModelCell(plan.records[0].cell_id, made)
            self.cells.insert(at + 1 if self.cells else 0, new)
        elif name == "replace_cell":
            self.cells[at].lines = made
        elif name == "split_cell":
            line = len(plan.records[0].after.split("\n"))
            cell = self.cells[at]
            rest = ModelCell(plan.records[1].cell_id, cell.lines[line:])
            cell.lines = cell.lines[:line]
            self.cells.insert(at + 1, rest)
        elif name == "merge_cells":
            first, second = self.cells[at : at + 2]
            first.lines = [*first.lines, Line("", None), *second.lines]
            self.cells.remove(second)
        elif name == "move_cell":
            cell = self.cells.pop(at)
            above = plan.records[0].below
            place = next((n + 1 for n, each in enumerate(self.cells) if each.id == above), 0)
            self.cells.insert(place, cell)
        else:
            del self.cells[at]

    # --- parts ---

    def _view(self) -> NotebookView:
        cells = tuple(NotebookCell(id=each.id, kind="code", source=each.text) for each in self.cells)
        return NotebookView(name="nb.ipynb", path="/work/nb.ipynb", live=True, cells=cells)

    def _edited(self, lines: list[Line], author: int | None) -> list[Line]:
        lines = [*lines]
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.choice(["insert", "insert", "change", "remove"])
            at = self.random.randint(0, len(lines))
            if kind == "insert" or at >= len(lines):
                lines[at:at] = self._lines(author, self.random.randint(1, 4))
            elif kind == "change":
                lines[at] = Line(self._line(), author)
            elif len(lines) > 1:
                del lines[at]
        return lines

    def _lines(self, author: int | None, count: int | None = None) -> list[Line]:
        return [Line(self._line(), author) for _ in range(count or self.random.randint(1, 9))]

    def _line(self) -> str:
        pick = self.random.choice
        if self.random.random() < 0.1:
            return pick(COMMON)
        indent = "    " * self.random.choice([0, 0, 0, 1, 2])
        number = self.random.randrange(100)
        value = f"{pick(NAMES)}.{pick(CALLS)}('{pick(COLUMNS)}', {self.random.randrange(50)})"
        return f"{indent}{pick(NAMES)}_{number} = {value}"

    def _cell(self, lines: list[Line]) -> ModelCell:
        return ModelCell(self._id(), lines)

    def _id(self) -> str:
        self._ids += 1
        return f"c{self._ids}"

    def _place(self) -> int:
        return self.random.randint(0, len(self.cells))


def _text(lines: list[Line]) -> str:
    return "\n".join(line.text for line in lines)
