"""The fast answer: what the names in the cells show without running any."""

from __future__ import annotations

import builtins
import difflib
import re
from typing import TYPE_CHECKING, NamedTuple

from agentnb.plugins.verify.agent_cells import agent_output, is_agent_cell, without_agents
from agentnb.plugins.verify.cell_names import BIND, CALL, DELETE, UNKNOWN, USE, CellNames, NameEvent, cell_names
from agentnb.plugins.verify.function_names import FunctionNames

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentnb.plugins.verify.notebook_text import Cell, Notebook
    from agentnb.plugins.verify.result import Finding, Kind

_OWN_NAMES = frozenset(
    {
        *vars(builtins),
        *("get_ipython", "display", "In", "Out", "exit", "quit", "open", "_", "__", "___", "_i", "_ii", "_iii"),
        *("_ih", "_oh", "_dh", "_exit_code", "__builtin__", "__name__", "__doc__", "__package__", "__loader__"),
        *("__spec__", "__builtins__", "__session__"),
    }
)
"""Names that IPython and Python define."""
_NUMBERED = re.compile(r"_i?\d+")
SIMILAR = 0.6


class LiveKernel(NamedTuple):
    """The names in the notebook's own kernel, and the code that was run there, by execution count."""

    names: frozenset[str]
    history: Mapping[int, str]


class StaticAnswer(NamedTuple):
    """The findings, what only running the cells can show, and the finder that explains why a name is missing."""

    findings: list[Finding]
    unknown: list[str]
    finder: NameFinder


def check_names(notebook: Notebook, live: LiveKernel | None = None) -> StaticAnswer:
    """Check the names in the cells, in the notebook's order."""
    return _Check(notebook, live).answer()


class MissingName(NamedTuple):
    """A name that is not defined where a cell uses it."""

    name: str
    cell: Cell
    line: int
    through: str = ""


class NameFinder:
    """Explains why a name is missing; also used by the run."""

    def __init__(self, notebook: Notebook, live: LiveKernel | None) -> None:
        self.cells: list[Cell] = notebook.code
        self.names: dict[int, CellNames] = {each.index: cell_names(each.source) for each in self.cells}
        self._live = live

    def defined_below(self, missing: MissingName) -> Cell | None:
        """The first later cell that defines the name."""
        below = (each for each in self.cells if each.index > missing.cell.index)
        return next((each for each in below if missing.name in self.names[each.index].bound), None)

    def finding(self, missing: MissingName, evidence: str = "") -> Finding:
        cell, name = missing.cell, missing.name
        uses = f"uses `{name}`{f' through {missing.through}()' if missing.through else ''}"
        evidence = evidence or cell.line(missing.line)
        if (later := self.defined_below(missing)) is not None:
            return cell.finding(
                "cell-order",
                f"{uses}, which is defined only below, in {later.name}.",
                evidence=evidence,
                advice=f"Move {later.name} above {cell.name}, or the other way around.",
                related=[later],
            )
        kind, why, related = self._why(missing)
        advice = self._advice(missing, kind)
        return cell.finding(kind, f"would fail: `{name}` {why}", evidence=evidence, advice=advice, related=related)

    def _advice(self, missing: MissingName, kind: Kind) -> str:
        above = [self.names[each.index].bound for each in self.cells if each.index < missing.cell.index]
        near = difflib.get_close_matches(missing.name, sorted(frozenset().union(*above)), n=1, cutoff=0.75)
        if near:
            return f"Use `{near[0]}`, or define `{missing.name}` above."
        verb = "Put the definition back" if kind in {"deleted-cell", "changed-cell"} else "Define it"
        return f"{verb} in a cell above {missing.cell.name}."

    def _why(self, missing: MissingName) -> tuple[Kind, str, tuple[Cell, ...]]:
        cell = missing.cell
        if self._live is not None and (known := self._why_live(missing)) is not None:
            return known
        if not cell.has_run or cell.error_name == "NameError":
            return "undefined-name", "is not defined anywhere.", ()
        changed = self._renamed(missing)
        if changed is not None:
            old, similarity = changed
            if similarity >= SIMILAR or not self._has_gap(cell):
                why = f"is not defined anywhere; {old.name} may have been changed since it was run."
                return "changed-cell", why, (old,)
        return "deleted-cell", "is defined only in a cell that was deleted or changed.", ()

    def _why_live(self, missing: MissingName) -> tuple[Kind, str, tuple[Cell, ...]] | None:
        assert self._live is not None  # noqa: S101 - asked before
        by_count = {each.count: each for each in self.cells if each.count is not None}
        for count, source in sorted(self._live.history.items(), reverse=True):
            if missing.name not in cell_names(source).bound:
                continue
            cell = by_count.get(count)
            if cell is None or cell.index == missing.cell.index:
                return "deleted-cell", f"is defined only in a deleted cell (run as [{count}]).", ()
            return "changed-cell", f"was defined in {cell.name}, which has been changed since.", (cell,)
        if missing.name in self._live.names:
            return "deleted-cell", "is in the kernel, and no cell defines it.", ()
        return None

    def _has_gap(self, cell: Cell) -> bool:
        """True if the execution counts up to the cell's have a gap."""
        counts = {each.count for each in self.cells}
        first = min((each for each in counts if each is not None), default=1)
        return any(number not in counts for number in range(min(first, 1), cell.count or 1))

    def _renamed(self, missing: MissingName) -> tuple[Cell, float] | None:
        """Returns the cell above that defines the most similar unused name, and how similar that name is."""
        used: frozenset[str] = frozenset().union(*(each.used for each in self.names.values()))
        unused = [
            (each, difflib.SequenceMatcher(None, missing.name, name).ratio())
            for each in self.cells
            if each.index < missing.cell.index
            for name in self.names[each.index].bound - used
        ]
        return max(unused, key=lambda each: each[1], default=None)


class _Check(NameFinder):
    def __init__(self, notebook: Notebook, live: LiveKernel | None) -> None:
        super().__init__(notebook, live)
        self._agents_change_variables = without_agents(self.cells).changes_kernel
        self._defined: set[str] = set()
        self._functions: dict[str, FunctionNames] = {}
        self._any: list[str] = []
        self._deleted: dict[str, Cell] = {}
        self._findings: list[Finding] = []
        self._unknown: dict[str, None] = {}
        self._reported: set[str] = set()

    def answer(self) -> StaticAnswer:
        for cell in self.cells:
            if is_agent_cell(cell.source):
                self._defined.add(agent_output(cell.source))
                if self._agents_change_variables:
                    self._any.append(f"the agent in {cell.name} may define any name")
                continue
            names = self.names[cell.index]
            if names.error is not None:
                self._unreadable(cell, names)
                continue
            for event in names.events:
                self._take(cell, event)
            self._functions.update(names.functions)
        self._findings += [*self._never_run(), *self._changed()]
        self._findings.sort(key=lambda each: each.cell.index if each.cell else -1)
        return StaticAnswer(self._findings, [*self._unknown], self)

    def _take(self, cell: Cell, event: NameEvent) -> None:
        if event.what == BIND:
            self._defined.add(event.name)
            self._deleted.pop(event.name, None)
        elif event.what == UNKNOWN:
            self._any.append(f"{event.name} ({cell.name})")
        elif event.what in {USE, CALL, DELETE}:
            self._use(MissingName(event.name, cell, event.line), is_sure=event.is_sure)
            if event.what == DELETE and event.is_sure:
                self._defined.discard(event.name)
                self._deleted[event.name] = cell
            elif event.what == CALL:
                self._called(cell, event)

    def _called(self, cell: Cell, event: NameEvent) -> None:
        names = self.names[cell.index]
        called = names.functions.get(event.name) or self._functions.get(event.name, FunctionNames())
        bound_here = {each.name for each in names.events if each.what == BIND}
        for name in sorted(called.sure - bound_here):
            self._use(MissingName(name, cell, event.line, event.name), is_sure=event.is_sure)
        self._defined |= called.bound

    def _use(self, missing: MissingName, *, is_sure: bool) -> None:
        name = missing.name
        if name in self._defined or name in _OWN_NAMES or _NUMBERED.fullmatch(name) or name in self._reported:
            return
        if self._any:
            self._unknown[f"`{name}` in {missing.cell.name}: {self._any[-1]}"] = None
        elif not is_sure:
            if self.defined_below(missing) is None:
                self._unknown[f"`{name}` in {missing.cell.name}: no cell defines it; perhaps nothing needs it"] = None
        else:
            self._reported.add(name)
            self._findings.append(self._deleted_before(missing) or self.finding(missing))

    def _deleted_before(self, missing: MissingName) -> Finding | None:
        by = self._deleted.get(missing.name)
        if by is None or self.defined_below(missing) is not None:
            return None
        return missing.cell.finding(
            "undefined-name",
            f"would fail: `{missing.name}` was deleted in {by.name}.",
            evidence=missing.cell.line(missing.line),
            advice=f"Use it before `del {missing.name}`, or define it again.",
            related=[by],
        )

    def _unreadable(self, cell: Cell, names: CellNames) -> None:
        self._any.append(f"{cell.name} cannot be read as Python")
        if any(sign in cell.source for sign in "%!?"):
            self._unknown[f"{cell.name}: it cannot be read as Python ({names.error})"] = None
            return
        why = f"would fail: it is not valid Python ({names.error})."
        evidence = cell.line(names.error_line)
        self._findings.append(cell.finding("syntax", why, evidence=evidence, advice="Fix the line."))

    def _never_run(self) -> Iterator[Finding]:
        if not any(each.has_run for each in self.cells):
            return
        for cell in self.cells:
            if not cell.has_run and not is_agent_cell(cell.source):
                yield cell.finding(
                    "not-run",
                    "has not been run, although others have, so the results shown do not include it.",
                    evidence=cell.line(1),
                    advice="Run the cell, or delete it.",
                )

    def _changed(self) -> Iterator[Finding]:
        history: Mapping[int, str] = {} if self._live is None else self._live.history
        for cell in self.cells:
            before = history.get(cell.count or 0)
            if before is not None and before.strip() != cell.source.strip():
                yield _changed_since(cell, before)


def _changed_since(cell: Cell, before: str) -> Finding:
    difference = difflib.unified_diff(before.splitlines(), cell.source.splitlines(), lineterm="", n=0)
    lines = [each for each in difference if not each.startswith(("---", "+++", "@@"))]
    return cell.finding(
        "changed-cell",
        "has been changed since it was run, so its output is from the old code.",
        evidence="\n".join(lines[:6]),
        advice="Rerun it and the cells that use it.",
    )
