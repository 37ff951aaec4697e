"""Runs agents on tasks: each run in its own process, in a fresh copy of the workspace, verified and checked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from agentnb.cassette.switch import MODE, PATH
from agentnb.errors import AgentnbError
from agentnb.plugins.evaluate.checking import Left, check
from agentnb.plugins.evaluate.results import FORM, NOTHING_TO_CHECK, Evaluation, Figures, RunResult, TaskSummary
from agentnb.plugins.evaluate.run_program import Order, Report
from agentnb.plugins.map.workspaces import IsolatedWorkspace
from agentnb.plugins.verify.notebook_text import read_file
from agentnb.plugins.verify.run import RunOptions, VerifiedRun, end_all
from agentnb.plugins.verify.verifying import check_notebook
from agentnb.safe_json import read_json, read_record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.plugins.evaluate.recordings import Recordings
    from agentnb.plugins.evaluate.task import Task
    from agentnb.plugins.export.document import DocumentEntry
    from agentnb.plugins.map.workspaces import WorkspaceChange

PROGRAM = "agentnb.plugins.evaluate.run_program"
MARGIN_SECONDS = 180.0
"""Seconds that an agent may take to start and end, on top of the task's time."""
VERIFY_SECONDS = 300.0
LONGEST_ANSWER = 4_000
LONGEST_FINDING = 300


class Finished(NamedTuple):
    """A finished run: its result, and what else the report shows."""

    result: RunResult
    transcript: tuple[DocumentEntry, ...] = ()
    changes: tuple[WorkspaceChange, ...] = ()


class _Wanted(NamedTuple):
    task: Task
    agent: str
    run: int


class EvaluationRunner:
    """Runs all tasks, several runs at a time; results in *done* are used again.

    Once the budget of a day is used up, no further run begins.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        agents: Sequence[str],
        runs: int,
        recordings: Recordings | None = None,
        hidden: Sequence[Path] = (),
        *,
        done: Sequence[RunResult] = (),
    ) -> None:
        self._done: dict[tuple[object, ...], RunResult] = {}
        for task in tasks:
            self._done |= {(task, each.agent, each.run): each for each in done if each.task == task.name}
        self._day_is_over = ""
        self._tasks = tasks
        self._agents = agents
        self._runs = runs
        self._recordings = recordings
        places = [] if recordings is None else recordings.prepared([each.name for each in tasks])
        self._hidden = hidden_paths([each.folder for each in tasks], [*places, *hidden])
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, jobs: int, tell: Callable[[Finished], object]) -> list[Finished]:
        """Run all, *jobs* at a time; *tell* is called for each run as it ends."""
        wanted = [
            _Wanted(task, agent, run)
            for agent in self._agents
            for task in self._tasks
            for run in range(1, self._runs + 1)
        ]
        finished: dict[_Wanted, Finished] = {}
        with ThreadPoolExecutor(jobs, "agentnb eval") as pool:
            waiting = {pool.submit(self._one, each): each for each in wanted}
            left = set(waiting)
            try:
                while left:
                    done, left = wait(left, return_when=FIRST_COMPLETED)
                    for future in sorted(done, key=lambda each: wanted.index(waiting[each])):
                        finished[waiting[future]] = future.result()
                        tell(future.result())
            except BaseException:
                self._stop()
                pool.shutdown(cancel_futures=True)
                raise
        return [finished[each] for each in wanted]

    def evaluation(self, finished: Sequence[Finished]) -> Evaluation:
        return Evaluation(
            agentnb_eval=FORM,
            tasks={each.name: TaskSummary(title=each.title, digest=each.digest) for each in self._tasks},
            agents=tuple(self._agents),
            runs=self._runs,
            results=tuple(each.result for each in finished),
        )

    def _stop(self) -> None:
        with self._lock:
            self._stopped = True
            running = [*self._processes]
        for each in running:
            end_all(each)

    def _one(self, wanted: _Wanted) -> Finished:
        task, agent, run = wanted
        if (done := self._done.get(tuple(wanted))) is not None:
            return Finished(done)
        recorded = self._recordings.result(task.name, agent, run) if self._recordings is not None else None
        if recorded is not None and recorded.outcome in NOTHING_TO_CHECK:
            return Finished(recorded)  # replaying a run that hung would hang again
        if self._day_is_over:
            return Finished(RunResult(task=task.name, agent=agent, run=run, outcome="not run", why=self._day_is_over))
        try:
            with TemporaryDirectory(prefix="agentnb-eval-") as empty:
                origin = task.workspace if task.workspace.is_dir() else Path(empty, "workspace")
                origin.mkdir(exist_ok=True)
                workspace = IsolatedWorkspace(origin)
                try:
                    return self._in_workspace(wanted, workspace, recorded)
                finally:
                    workspace.remove()
        except AgentnbError as error:
            return Finished(RunResult(task=task.name, agent=agent, run=run, outcome="broken", why=str(error)))

    def _in_workspace(self, wanted: _Wanted, workspace: IsolatedWorkspace, recorded: RunResult | None) -> Finished:
        task, agent, run = wanted
        report = self._ran(wanted, workspace.folder, None if recorded is None else recorded.is_confined)
        changes = workspace.changes()
        figures = {name: getattr(report, name) for name in Figures.__struct_fields__}
        figures["answer"] = report.answer[:LONGEST_ANSWER]
        if recorded is not None:
            figures["seconds"] = recorded.seconds
        result = RunResult(
            task=task.name,
            agent=agent,
            run=run,
            outcome="broken" if report.is_mismatch else "not run" if report.is_over_day else "undone",
            why=_shortened(report.error, workspace.folder),
            files=tuple(f"{each.path} ({each.status})" for each in changes),
            **figures,
        )
        if report.is_over_day:
            self._day_is_over = report.error
        if report.error:
            return Finished(result, report.transcript, changes)
        notebook, verified, findings = _verified(task, workspace.folder, changes)
        checked = check(task, Left(report.answer, workspace.folder, notebook, verified, findings))
        result = msgspec.structs.replace(
            result,
            outcome=checked.outcome,
            why=_shortened(checked.why, workspace.folder),
            verified=verified,
            findings=findings,
        )
        return Finished(result, report.transcript, changes)

    def _ran(self, wanted: _Wanted, workspace: Path, is_confined: bool | None) -> Report:
        task, agent, run = wanted
        name, _, model = agent.partition("/")
        order = Order(
            agent=name,
            model=model,
            title=f"{task.name} · {run}",
            prompt=task.prompt,
            workspace=str(workspace),
            notebook=task.notebook,
            seconds=task.seconds,
            hidden=self._hidden,
            confine=is_confined,
        )
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("JPY_", "AGENTNB_EVENTS"))},
            "AGENTNB_AUDIENCE": "nobody",
            PATH: "",
            MODE: "off",
        }
        if self._recordings is not None:
            environment |= self._recordings.environment(task.name, agent, run)
        return self._program(order, environment, task.seconds + MARGIN_SECONDS)

    def _program(self, order: Order, environment: dict[str, str], seconds: float) -> Report:
        with self._lock:
            if self._stopped:
                return Report(error="It was stopped.")
            process = subprocess.Popen(
                [sys.executable, "-m", PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,
            )
            self._processes.add(process)
        output = errors = b""
        try:
            output, errors = process.communicate(msgspec.json.encode(order), seconds)
            return read_record(output, Report)
        except subprocess.TimeoutExpired:
            return Report(error=f"The run did not end within {seconds:g} s.")
        except ValueError:
            last = errors.decode("utf-8", "replace").strip().rpartition("\n")[2][:LONGEST_FINDING]
            return Report(error=f"The run's program ended with exit code {process.returncode}. {last}".strip())
        finally:
            end_all(process)
            for each in (process.stdin, process.stdout, process.stderr):
                if each is not None:
                    each.close()
            with self._lock:
                self._processes.discard(process)


def hidden_paths(tasks: Sequence[Path], results: Sequence[Path]) -> tuple[str, ...]:
    """Returns what a task's kernel must not see: checks, earlier answers, and the git repositories they are in."""
    paths = {each.resolve() for each in (*tasks, *results)}
    above = {parent / ".git" for path in paths for parent in path.parents}
    return tuple(sorted(str(each) for each in {*paths, *above} if each.exists()))


def _verified(
    task: Task, workspace: Path, changes: Sequence[WorkspaceChange]
) -> tuple[dict[str, Any] | None, bool | None, tuple[str, ...]]:
    """Returns the notebook that was left, with its new outputs; whether it is verified; and the reasons it is not."""
    path = _notebook(task, workspace, changes)
    if path is None:
        return None, None, ()
    if not path.is_file() or path.is_symlink():
        return None, False, (f"The notebook {path.name} no longer exists.",)
    try:
        text = read_file(path)
    except AgentnbError as error:
        return None, False, (_shortened(error.message, workspace),)
    runs: list[VerifiedRun] = []
    options = RunOptions(min(task.seconds, VERIFY_SECONDS), ran=runs.append)
    verification = check_notebook(text, path.parent, path=path, options=options)
    findings = tuple(_shortened(each.cause, workspace) for each in verification.findings)
    return _executed(text, runs[0] if runs else VerifiedRun()), verification.ok, findings


def _notebook(task: Task, workspace: Path, changes: Sequence[WorkspaceChange]) -> Path | None:
    if task.notebook:
        return workspace / task.notebook
    written = [each.path for each in changes if each.path.endswith(".ipynb") and each.status != "deleted"]
    return workspace / written[0] if len(written) == 1 else None


def _executed(text: str, run: VerifiedRun) -> dict[str, Any] | None:
    """Returns the notebook with the outputs of *run*; None if it is not a notebook."""
    with suppress(ValueError, AttributeError, TypeError):
        notebook = read_json(text)
        for index, cell in enumerate(notebook["cells"]):
            if cell.get("cell_type") == "code":
                ran = run.cells.get(index)
                cell["outputs"] = [] if ran is None else ran.outputs
                cell["execution_count"] = None if ran is None else index + 1
        return read_json(json.dumps(notebook))  # type: ignore[no-any-return]
    return None


def _shortened(text: str, workspace: Path) -> str:
    """Returns *text* on one line, without the path of the copy, which differs each time."""
    return " ".join(text.replace(f"{workspace}/", "").replace(str(workspace), "the workspace").split())[:LONGEST_ANSWER]
