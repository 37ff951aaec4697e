"""Explains why a cell's result differs from the one shown: by its code, a second run, and runs in another order."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from agentnb.plugins.verify.compare_outputs import compare_outputs, has_same_words
from agentnb.plugins.verify.failures import NETWORK_ADVICE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.plugins.verify.cell_facts import CellFacts, NotebookFacts
    from agentnb.plugins.verify.compare_text import Difference
    from agentnb.plugins.verify.failures import Failure
    from agentnb.plugins.verify.notebook_text import Cell
    from agentnb.plugins.verify.result import Finding, Kind
    from agentnb.plugins.verify.run import CellResult, VerifiedRun

MOST_TRIALS = 4
"""Runs in another order that may be made to find a cause."""
LONGEST_TRIAL = 30.0
"""Seconds that a run may have taken for runs in another order to be worthwhile."""
_DOWNLOAD = re.compile(r"https?://|ftp://|\bcurl\b|\bwget\b|git clone")
_NO_DATA = frozenset({".ipynb", ".mplstyle", ".ttf", ".toml", ".cfg", ".ini"})
_VERSION = re.compile(r"(?<!\d)\d+\.\d+(?:\.\d+)?")


class Changed(NamedTuple):
    cell: Cell
    difference: Difference

    @property
    def evidence(self) -> str:
        stored, now = (each or "nothing" for each in (self.difference.stored, self.difference.now))
        return f"shown: {stored}\nnow:   {now}"


class DifferenceCauses:
    def __init__(
        self,
        cells: Sequence[Cell],
        facts: NotebookFacts,
        run: VerifiedRun,
        rerun: Callable[[Sequence[Cell]], VerifiedRun],
        *,
        folder: Path,
        saved: float | None,
    ) -> None:
        self._cells = cells
        self._facts = facts
        self._run = run
        self._rerun = rerun
        self._folder = folder
        self._saved = saved
        self._written = {each for one in run.cells.values() for each in one.trace.get("written", ())}
        self._second: VerifiedRun | None = None
        self._trials: list[tuple[Cell | None, VerifiedRun]] | None = None

    def findings(self, changed: Sequence[Changed]) -> list[Finding]:
        """Returns the findings for *changed*, one for each root cause."""
        findings: dict[tuple[Kind, int], Finding] = {}
        blamed: dict[int, tuple[Kind, int]] = {}  # the finding's key for each cell whose result is explained
        for each in changed:
            finding = self._cause(each)
            if finding is None:
                continue
            above = [blamed[one.index] for one in self._facts.upstream(each.cell) if one.index in blamed]
            same = [one for one in above if one[0] == finding.kind or finding.kind in {"not-run", "unstable"}]
            key = same[0] if same else (finding.kind, finding.cell.index if finding.cell else -1)
            blamed[each.cell.index] = key
            before = findings.setdefault(key, finding)
            if before is not finding and each.cell.place not in {before.cell, *before.related}:
                findings[key] = replace(before, related=(*before.related, each.cell.place))
        return [*findings.values()]

    def _cause(self, changed: Changed) -> Finding | None:
        cell, difference = changed
        near = [cell, *self._facts.upstream(cell)]
        facts = {each.index: self._facts.of(each.source) for each in near}
        clock = next((each for each in near if facts[each.index].clock), None)
        if difference.kind == "moment" and clock is not None:
            return self._clock(changed, clock, facts)
        if difference.is_mild or (difference.kind == "number" and any(one.identity for one in facts.values())):
            return None  # durations, and ids of objects and processes
        outputs = self._run.cells[cell.index].outputs
        if any(one.orderless for one in facts.values()) and has_same_words(cell.outputs, outputs):
            return None
        is_random = any(one.random for one in facts.values())
        if not self._is_stable(cell):
            has_own_ids = difference.kind == "bytes" or facts[cell.index].takes_time
            return None if has_own_ids and not is_random else self._unstable(changed, near, facts)
        if clock is cell:
            return self._clock(changed, cell, facts)
        for explain in (
            self._by_version,
            self._by_network,
            self._by_file,
            self._by_count,
            self._by_trial,
            self._by_reading,
        ):
            finding = explain(changed, near)
            if finding is not None:
                return finding
        if clock is not None:
            return self._clock(changed, clock, facts)
        return self._by_hand(changed) if difference.kind == "widget" else self._by_text(changed, near)

    # --- at each run something else ---

    def _is_stable(self, cell: Cell) -> bool:
        if self._second is None:
            self._second = self._rerun(self._cells)
        second = self._second.cells.get(cell.index)
        return second is None or compare_outputs(self._run.cells[cell.index].outputs, second.outputs) is None

    def _unstable(self, changed: Changed, near: Sequence[Cell], facts: dict[int, CellFacts]) -> Finding | None:
        cell, own = changed.cell, facts[changed.cell.index]
        random = next((each for each in near if facts[each.index].random), None)
        clock = next((each for each in near if facts[each.index].clock), None)
        if clock is not None and (random is None or (own.clock and not own.random)):
            return self._clock(changed, clock, facts)
        if random is not None:
            shows = "" if random is cell else f", and {cell.name} shows it"
            return random.finding(
                "randomness",
                f"draws random numbers without a seed{shows}: two runs gave two results.",
                evidence=f"{_calls(facts[random.index].random)}\n{changed.evidence}",
                advice="Set a seed, for example `rng = numpy.random.default_rng(0)` or `random_state=0`.",
                related=[cell],
            )
        orderless = next((each for each in near if facts[each.index].orderless), None)
        why = "two runs gave two results"
        if orderless is not None:
            names = ", ".join(dict.fromkeys(facts[orderless.index].orderless))
            why = f"it depends on an order that nobody sets ({names}): {why}"
        return (orderless or cell).finding(
            "unstable",
            f"has a different result in each run: {why}.",
            evidence=changed.evidence,
            advice="Sort it before it is shown." if orderless is not None else "Find what differs from run to run.",
            related=[cell],
        )

    @staticmethod
    def _clock(changed: Changed, clock: Cell, facts: dict[int, CellFacts]) -> Finding:
        return clock.finding(
            "clock",
            f"reads the clock, so what {changed.cell.name} shows differs in each run.",
            evidence=f"{_calls(facts[clock.index].clock)}\n{changed.evidence}",
            advice="Store the time as a constant, or do not show it.",
            related=[changed.cell],
        )

    # --- the same at each run ---

    def _by_network(self, changed: Changed, _near: Sequence[Cell]) -> Finding | None:
        """Explain the difference by a command above that needed an address, when the run had no network."""
        above = [each for each in self._cells if each.index <= changed.cell.index and _DOWNLOAD.search(each.source)]
        if not self._run.connections or not above:
            return None
        return above[-1].finding(
            "network",
            "needs the network, which was not allowed.",
            evidence=f"{self._run.connections[0]}\n{changed.evidence}",
            advice=NETWORK_ADVICE,
            related=[changed.cell],
        )

    def _by_version(self, changed: Changed, _near: Sequence[Cell]) -> Finding | None:
        stored, now = changed.difference.stored, changed.difference.now
        facts = self._facts.of(changed.cell.source)
        if not facts.names_version or not (_VERSION.search(stored) and _VERSION.search(now)):
            return None
        return changed.cell.finding(
            "package-version",
            "shows a different version than the one installed here.",
            evidence=changed.evidence,
            advice="Install the version that was used, or run the notebook again with this one.",
        )

    def _by_file(self, changed: Changed, near: Sequence[Cell]) -> Finding | None:
        """Explain the difference by a file that was read and is newer than the notebook."""
        for each in near:
            for path in self._read_by(each):
                if self._saved is not None and path.stat().st_mtime > self._saved + 1:
                    return self._file(changed, each, path, "was changed after the notebook was saved")
        return None

    def by_input(self, failure: Failure) -> Finding | None:
        """Returns the finding for a cell that fails and depends on a file, which has presumably changed."""
        near = [failure.cell, *self._facts.upstream(failure.cell)]
        reader = next((each for each in near if self._read_by(each)), None)
        if reader is None:
            return None
        path = self._read_by(reader)[0].relative_to(self._folder)
        why = f"would fail, but ran before: {path} ({reader.name} reads it) has changed."
        finding = failure.cell.finding(
            "file-changed", why, evidence=failure.evidence, advice=f"Restore {path}, or adapt the code."
        )
        return replace(finding, cell=reader.place, related=() if reader is failure.cell else (failure.cell.place,))

    def _by_reading(self, changed: Changed, near: Sequence[Cell]) -> Finding | None:
        """Explain it by a file: its reader shows something else, or all from the reader to this cell is unchanged."""
        for each in near:
            paths = self._read_by(each)
            if paths and not self._has_new_words(changed) and not self._shows_the_same(each):
                return self._file(changed, each, paths[0], "may have been changed since the notebook was run")
        return None

    def _shows_the_same(self, reader: Cell) -> bool:
        """True if the cell, or one that uses what it read, shows the same as before: the file is likely unchanged."""
        for each in self._cells:
            result = self._run.cells.get(each.index)
            if result is None or not each.outputs or not (each is reader or reader in self._facts.upstream(each)):
                continue
            if compare_outputs(each.outputs, result.outputs) is None:
                return True
        return False

    def _has_new_words(self, changed: Changed) -> bool:
        """True if the cell itself was likely changed: its own words are in the new result, and not in the saved one."""
        for text in self._facts.of(changed.cell.source).texts:
            words = [each for each in re.split(r"[{}\n]", text) if len(each.strip()) > 2]  # noqa: PLR2004 - words
            if any(each in changed.difference.now and each not in changed.difference.stored for each in words):
                return True
        return False

    def _read_by(self, cell: Cell) -> list[Path]:
        result = self._run.cells.get(cell.index)
        names = [] if result is None else [each for each in result.trace.get("read", ()) if each not in self._written]
        matching = []
        for name in names:
            path = Path(name)
            if self._run.way == "copy" and self._folder.name in path.parts:  # the run's folder is gone
                path = self._folder / Path(*path.parts[path.parts.index(self._folder.name) + 1 :])
            is_data = path.suffix not in _NO_DATA and ".cache" not in path.parts
            if is_data and path.is_file() and os.path.commonpath([path, self._folder]) == str(self._folder):
                matching.append(path)
        return matching

    def _file(self, changed: Changed, reader: Cell, path: Path, why: str) -> Finding:
        name = path.relative_to(self._folder)
        return reader.finding(
            "file-changed",
            f"reads {name}, which {why}: {changed.cell.name} shows the old result.",
            evidence=changed.evidence,
            advice=f"Run the notebook again, or restore {name}.",
            related=[changed.cell],
        )

    def _by_count(self, changed: Changed, near: Sequence[Cell]) -> Finding | None:
        """Explain the difference by execution counts: a cell above was run after this one, or never."""
        cell = changed.cell
        if cell.count is None:
            return None
        for each in near[1:]:
            if each.count is not None and each.count <= cell.count:
                continue
            how = "has not been run" if each.count is None else f"was run later, as [{each.count}]"
            finding = cell.finding(
                "not-run" if each.count is None else "cell-order",
                f"has not been run since {each.name} {how}.",
                evidence=changed.evidence,
                advice=f"Run {cell.name} again, after {each.name}.",
                related=[each],
            )
            return finding if each.count is not None else replace(finding, cell=each.place, related=(cell.place,))
        return None

    def _by_trial(self, changed: Changed, near: Sequence[Cell]) -> Finding | None:
        """Explain the difference by trial: running in another order, or a cell twice, gives the saved result."""
        for twice, run in self.trials(near):
            result = run.cells.get(changed.cell.index)
            if result is None or compare_outputs(changed.cell.outputs, result.outputs) is not None:
                continue
            if twice is None:
                return changed.cell.finding(
                    "cell-order",
                    "shows the result of running the cells in the order of their numbers.",
                    evidence=f"{changed.evidence}\nconfirmed: run in that order, it gives what is shown",
                    advice="Put the cells in the order in which they should run.",
                )
            return twice.finding(
                "run-twice",
                "was run more than once, and each run changes the data, so each run differs.",
                evidence=f"{changed.evidence}\nconfirmed: with {twice.name} run again, it gives what is shown",
                advice="Make the cell start from its own values, and run the notebook from the top.",
                related=[changed.cell],
            )
        return None

    def trials(self, near: Sequence[Cell]) -> list[tuple[Cell | None, VerifiedRun]]:
        """Returns runs with a cell run repeatedly, or (None) in the order of the counts; they are made only once."""
        if self._trials is not None:
            return self._trials
        self._trials = []
        if self._run.seconds > LONGEST_TRIAL:
            return self._trials
        counted = sorted((each for each in self._cells if each.count is not None), key=lambda each: each.count or 0)
        if counted != [each for each in self._cells if each.count is not None]:
            self._trials.append((None, self._rerun(counted)))
        facts = [(each, self._facts.of(each.source)) for each in near]
        repeated = [each for each, one in facts if one.repeats_differ or one.random][:MOST_TRIALS]
        for each in repeated:
            for times in (2, 3):
                cells = [one for other in self._cells for one in ([other] * times if other is each else [other])]
                self._trials.append((each, self._rerun(cells)))
                if len(self._trials) >= MOST_TRIALS:
                    return self._trials
        return self._trials

    @staticmethod
    def _by_hand(changed: Changed) -> Finding:
        return changed.cell.finding(
            "not-run",
            "shows a widget in a state that differs from its code: it was moved by hand, or the code was changed.",
            evidence=changed.evidence,
            advice="Set the value in the code, or run the cell again and save the notebook.",
        )

    @staticmethod
    def _by_text(changed: Changed, near: Sequence[Cell]) -> Finding:
        others = near[1:4]
        which = f"it, or a cell that it uses ({', '.join(each.place.label for each in others)})," if others else "it"
        return changed.cell.finding(
            "not-run",
            f"shows a result that its code does not produce: {which} was changed and not run again.",
            evidence=changed.evidence,
            advice="Run the notebook from the top, and keep what it then shows.",
            related=others,
        )


def changed_cells(cells: Sequence[Cell], results: dict[int, CellResult], skip: Callable[[Cell], bool]) -> list[Changed]:
    changed = []
    for cell in cells:
        result = results.get(cell.index)
        if result is None or result.status == "cut" or skip(cell):
            continue
        difference = compare_outputs(cell.outputs, result.outputs)
        if difference is not None:
            changed.append(Changed(cell, difference))
    return changed


def _calls(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(f"{each}()" for each in names))
