"""Verifies one notebook: runs it, compares, and says why something differs."""

from __future__ import annotations

import hashlib
import json
import os
import time
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.credentials import Credentials
from agentnb.errors import UsageError
from agentnb.plugins.verify.agent_cells import LeftOut, is_agent_cell, without_agents
from agentnb.plugins.verify.cell_facts import NotebookFacts
from agentnb.plugins.verify.compare_outputs import uncompared
from agentnb.plugins.verify.compare_text import written_files
from agentnb.plugins.verify.differences import Changed, DifferenceCauses, changed_cells
from agentnb.plugins.verify.failures import explained, failure_of, missing_command, missing_network
from agentnb.plugins.verify.notebook_text import (
    SKIPPED_TAGS,
    UNCOMPARED_TAGS,
    UNSAVED_TAG,
    Cell,
    Notebook,
    read_notebook,
)
from agentnb.plugins.verify.result import Finding, Verification
from agentnb.plugins.verify.run import DEFAULTS, NotebookRunner, RunOptions, VerifiedRun, kernel_command
from agentnb.plugins.verify.run_end import otherwise_explained, run_end
from agentnb.plugins.verify.static_check import LiveKernel, check_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

NO_WALLS = (
    "It was not isolated ({}): it ran on a copy of the folder, but could read and write elsewhere. Its "
    "Python could not connect to other machines, but programs that it starts could, and it could reach servers "
    "on this machine."
)
_INSTALLS = (
    *("%pip install", "!pip install", "!pip3 install", "%conda install", "!conda install", "!python -m pip"),
    *("%uv pip", "!uv pip", "!apt", "!sudo apt"),
)
CASSETTE = ".cassette.jsonl"


def check_notebook(
    content: str | dict[str, Any],
    folder: Path,
    *,
    path: Path | None = None,
    run: bool = True,
    live: LiveKernel | None = None,
    options: RunOptions = DEFAULTS,
) -> Verification:
    """Verify a notebook's text, or its content as a dict; raises Stopped if *options.stop* was set before its end.

    Without *run*, only the names in the cells are checked; *live* is the notebook's own kernel.
    """
    begun = time.monotonic()
    name = path.name if path is not None else ""
    digest = digest_of(content)
    try:
        parsed = read_notebook(content, path)
    except UsageError as error:
        finding = Finding(kind="corrupt", cause=error.message, advice=error.hint or "")
        return Verification(ok=False, findings=(finding,), notebook=name, digest=digest)
    verifying = _Verifying(parsed, folder, live, options)
    findings = verifying.by_running() if run else verifying.without_running()
    hidden = Credentials(dict(os.environ)).hidden if findings or verifying.not_checked else str
    return Verification(
        ok=not findings,
        findings=tuple(replace(each, cause=hidden(each.cause), evidence=hidden(each.evidence)) for each in findings),
        seconds=time.monotonic() - begun,
        not_checked=tuple(map(hidden, verifying.not_checked)),
        notebook=name,
        cells=len(parsed.code),
        ran=verifying.ran,
        runs=verifying.runs,
        way=verifying.way,
        digest=digest,
    )


def digest_of(content: str | dict[str, Any]) -> str:
    text = content if isinstance(content, str) else json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class _Verifying:
    def __init__(self, notebook: Notebook, folder: Path, live: LiveKernel | None, options: RunOptions) -> None:
        self._notebook = notebook
        self._folder = folder
        self._live = live
        self._options = options
        self._left_out = LeftOut()
        self.not_checked: list[str] = []
        self.ran = self.runs = 0
        self.way = ""

    def without_running(self) -> list[Finding]:
        answer = check_names(self._notebook, self._live)
        self.not_checked += ["No cell was run.", *answer.unknown]
        return answer.findings

    def by_running(self) -> list[Finding]:
        kernel = kernel_command(self._notebook)
        if not kernel.command or not kernel.language.startswith(("python", "ipython")):
            return [self._no_kernel(kernel.language, kernel.note)]
        self.not_checked += [kernel.note] if kernel.note else []
        cassette = self._cassette()
        cells = self._cells_to_run(has_cassette=cassette is not None)
        if not cells:
            return []
        environment = {"AGENTNB_CASSETTE_MODE": "builtin"}  # no real agent is used
        if cassette is not None:
            environment = {"AGENTNB_CASSETTE": str(cassette), "AGENTNB_CASSETTE_MODE": "replay"}
        runner = NotebookRunner(self._folder, kernel, environment, self._options)
        run = runner.run(cells)
        self.way = run.way
        self.ran = sum(each.status != "cut" for each in run.cells.values())
        if run.way != "namespaces":
            self.not_checked.append(NO_WALLS.format((run.note or "no plug-in can isolate it").rstrip(".")))
        if self._options.hosts:
            hosts = ", ".join(self._options.hosts)
            self.not_checked.append(f"What {hosts} may answer differently next time: the run could reach it.")
        findings = self._findings(cells, run, runner)
        self.runs = runner.runs
        return sorted(findings, key=lambda each: each.cell.index if each.cell else 1 << 30)

    def _no_kernel(self, language: str, note: str) -> Finding:
        if note:
            return Finding(kind="no-kernel", cause=note, advice="Install it where the verification runs.")
        return Finding(
            kind="language",
            cause=f"The notebook is for a kernel of another language ({language}): it was not run.",
            advice="Only notebooks in Python are verified.",
        )

    def _cells_to_run(self, *, has_cassette: bool) -> list[Cell]:
        cells = []
        if not has_cassette:
            self._left_out = without_agents(self._notebook.code)
        skipped = {"agent": 0, "needing": 0, "tag": 0, "pip": 0}
        for each in self._notebook.code:
            if each in self._left_out.agents:
                skipped["agent"] += 1
            elif each in self._left_out.needing:
                skipped["needing"] += 1
            elif each.tags & SKIPPED_TAGS:
                skipped["tag"] += 1
            elif installs_packages(each.source):
                skipped["pip"] += 1
            else:
                cells.append(without_installs(each))
        reasons = {
            "agent": "Cells that ask agents, skipped because no cassette is beside the notebook: {}.",
            "needing": "Cells that use what an agent answered, skipped, too: {}.",
            "tag": "Cells with the tag skip-execution, skipped: {}.",
            "pip": "Cells that only install packages, skipped: {}.",
        }
        for name, count in skipped.items():
            if count:
                self.not_checked.append(reasons[name].format(count))
        return cells

    def _cassette(self) -> Path | None:
        path = self._notebook.path
        if path is None or not any(is_agent_cell(each.source) for each in self._notebook.code):
            return None
        beside = path.with_name(f"{path.stem}{CASSETTE}")
        return beside if beside.is_file() else None

    def _findings(self, cells: Sequence[Cell], run: VerifiedRun, runner: NotebookRunner) -> list[Finding]:
        by_index = {each.index: each for each in cells}
        facts = NotebookFacts(cells)
        causes = DifferenceCauses(cells, facts, run, runner.run, folder=self._folder, saved=self._saved())
        static = check_names(self._notebook, self._live)
        last = by_index.get(run.begun if run.begun is not None else -1)
        findings: list[Finding] = []
        ended = run_end(run, last, self._options.seconds)
        result = run.cells.get(last.index) if last is not None else None
        if ended is not None:
            findings.append(ended)
        elif run.why == "failed" and last is not None and result is not None:
            failure = failure_of(last, result)
            finding = explained(failure, static.finder) or otherwise_explained(
                failure, causes, facts, self._notebook.code
            )
            findings += [] if self._is_for_lack_of_agents(last, finding) else [finding]
        elif "processes" in run.error:
            too_many = run_end(VerifiedRun(why="processes", detail=run.error), last, self._options.seconds)
            findings += [too_many] if too_many is not None else []
        if run.why != "done" and last is not None:
            behind = sum(each.index > last.index for each in cells)
            self.not_checked += [f"The cells below {last.place.label} were not run ({behind})."] if behind else []
        failed_at = {each.cell.index for each in findings if each.cell}
        findings += self._of_shell([each for each in cells if each.index not in failed_at], run)
        known = {each.cell.index for each in findings if each.cell}
        known |= {last.index} if last is not None and run.why != "done" else set()
        findings += self._compared(cells, run, causes, known)
        findings += written_files(run, by_index)
        return _merged(findings, self._static(static.findings, last if run.why != "done" else None))

    def _is_for_lack_of_agents(self, cell: Cell, finding: Finding) -> bool:
        """True if the cell perhaps fails because no agent was asked, which is then noted as not checked."""
        if not self._left_out.is_below(cell) or finding.kind in {"package-missing", "file-missing", "syntax", "input"}:
            return False
        self.not_checked.append(f"{cell.place} failed, perhaps because no agent was asked: {finding.evidence}")
        return True

    def _saved(self) -> float | None:
        path = self._notebook.path
        return path.stat().st_mtime if path is not None and path.is_file() else None

    @staticmethod
    def _of_shell(cells: Sequence[Cell], run: VerifiedRun) -> list[Finding]:
        ran = [(each, run.cells[each.index]) for each in cells if each.index in run.cells]
        missing = [missing_command(*each) or missing_network(*each) for each in ran]
        return [each for each in missing if each is not None]

    def _compared(
        self, cells: Sequence[Cell], run: VerifiedRun, causes: DifferenceCauses, known: set[int]
    ) -> list[Finding]:
        if self._notebook.is_cleared:
            self.not_checked.append("The notebook has no saved results, so it was run but nothing was compared.")
            return []
        if varying := sum(not UNCOMPARED_TAGS.isdisjoint(each.tags) for each in cells):
            self.not_checked.append(f"{varying} cells whose tags say that their results vary were not compared.")
        if unsaved := sum(UNSAVED_TAG in each.tags for each in cells):
            note = "cells were run since the notebook was saved: their results were not compared."
            self.not_checked.append(f"{unsaved} {note}")
        tags = UNCOMPARED_TAGS | {UNSAVED_TAG}

        def skip(cell: Cell) -> bool:
            is_left_out = cell.index in known or not cell.has_run or is_agent_cell(cell.source)
            return is_left_out or not tags.isdisjoint(cell.tags)

        for what, shown_by in _uncompared(each for each in cells if not skip(each)).items():
            self.not_checked.append(f"Not compared: {what} ({', '.join(shown_by[:5])}).")
        cut = [each.index for each in run.cells.values() if each.is_cut]
        if cut:
            self.not_checked.append(f"{len(cut)} cells print more than is kept; the rest was not compared.")
        changed = [each for each in changed_cells(cells, run.cells, skip) if each.cell.index not in cut]
        below = [each for each in changed if self._left_out.is_below(each.cell)]
        if below:
            places = ", ".join(each.cell.place.label for each in below[:5])
            self.not_checked.append(f"Differences below cells that ask agents, which may change variables ({places}).")
        changed = [each for each in changed if each not in below]
        findings = causes.findings(changed)
        named = {each for one in findings for each in (one.cell, *one.related)}
        self._note_passed([each for each in changed if each.cell.place not in named])
        return findings

    def _note_passed(self, changed: Sequence[Changed]) -> None:
        """Note the kinds of difference that do not count."""
        for kinds, what in (
            ({"moment", "duration"}, "Times and durations that are printed differ at each run"),
            ({"warning"}, "Warnings came or went: Python shows most of them once"),
            ({"bytes"}, "Pictures, videos or sounds have other bytes at each run"),
        ):
            where = [each.cell.place.label for each in changed if each.difference.kind in kinds]
            if where:
                self.not_checked.append(f"{what} ({', '.join(where[:5])}).")

    @staticmethod
    def _static(findings: Sequence[Finding], stopped: Cell | None) -> list[Finding]:
        """Returns the findings about names in cells that the run did not reach, and those that a run cannot show."""
        kept = [each for each in findings if each.kind == "not-run"]
        if stopped is not None:
            names = [each for each in findings if each.kind not in {"not-run", "syntax"}]
            kept += [each for each in names if each.cell and each.cell.index > stopped.index]
        return kept


def _uncompared(cells: Iterable[Cell]) -> dict[str, list[str]]:
    """Returns what is shown but cannot be compared, and in which cells."""
    places: dict[str, list[str]] = {}
    for cell in cells:
        for what in sorted(uncompared(cell.outputs)):
            places.setdefault(what, []).append(cell.place.label)
    return places


def _merged(findings: Sequence[Finding], static: Sequence[Finding]) -> list[Finding]:
    places = {each.cell.index for each in findings if each.cell}
    causes = {_failure(each) for each in findings} - {""}
    new = [each for each in static if each.cell and each.cell.index not in places and _failure(each) not in causes]
    return [*findings, *new]


def _failure(finding: Finding) -> str:
    return finding.cause.partition(" would fail: ")[2]


def installs_packages(source: str) -> bool:
    """True if a cell does nothing but install packages."""
    lines = [each.strip() for each in source.splitlines() if each.strip() and not each.strip().startswith("#")]
    return bool(lines) and all(each.startswith(_INSTALLS) for each in lines)


def without_installs(cell: Cell) -> Cell:
    """The cell without the lines that install packages: there is no network, and what they print varies."""
    lines = cell.source.splitlines()
    if not any(each.startswith(_INSTALLS) for each in lines):
        return cell
    source = "\n".join("#" if each.startswith(_INSTALLS) else each for each in lines)
    return replace(cell, source=source, tags=cell.tags | UNCOMPARED_TAGS)
