"""``agentnb.loop``: one try after another, of which those that improve a metric are kept."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.api.arguments import check_text
from agentnb.api.configured import default_agent
from agentnb.api.unattended import current_shell, follow_work, is_watched
from agentnb.errors import AgentnbError, UsageError
from agentnb.host import current_host
from agentnb.plugins.branches.kernel_copy import cannot_fork
from agentnb.plugins.loop.judge import Judge, Metric
from agentnb.plugins.loop.ledger import Ledger, LoopSpec, html_of, this_process
from agentnb.plugins.loop.limits import LoopLimits, budget_text, check_limits, is_count, read_until
from agentnb.plugins.loop.loop import Loop
from agentnb.plugins.loop.loop_run import LoopRun
from agentnb.plugins.map.progress import Paced, show_in_cell
from agentnb.plugins.map.start import dask_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from agentnb.host import Host
    from agentnb.kernel.code_runner import CodeRunner
    from agentnb.plugins.loop.cluster_try import TryCluster
    from agentnb.plugins.loop.judge import Judged
    from agentnb.plugins.loop.ledger import LoopTry

_RUN_FIRST = "Run the notebook's cells first, then call it again."
_RECORDED = "Tries are made on this machine: the notebook is recorded or replayed."
_CHEATED = "{} is a variable, which each try sets itself. Use a function that computes it instead."


class LoopCommand:
    """``agentnb.loop``: call it to begin a loop; ``agentnb.loop.resume()`` takes one up again."""

    def __call__(
        self,
        prompt: str,
        *,
        metric: str | Callable[[], Any],
        until: Any = None,
        budget: float | str | None = None,
        target: float | None = None,
        patience: int | None = None,
        tries: int | None = None,
        higher_is_better: bool = True,
        agent: str | Mapping[str, Any] | None = None,
        again: int = 0,
        held: Sequence[str] | None = None,
        timeout: float = 3600.0,
        metric_timeout: float = 300.0,
        confine: bool = True,
        executor: Any = None,
        **options: Any,
    ) -> Loop:
        """Let an agent try to improve a metric, one try after another; returns once the first begins.

        Each try works in a copy of the kernel and of the workspace (:func:`agentnb.branches`). A try that improves the
        metric is kept, as one turn that can be undone; nothing of the others stays. The loop ends at the first of its
        limits; at a limit, it pauses and asks, if somebody is there.

        Args:
            prompt: The task.
            metric: An expression that gives a number, such as ``"score(model)"``, or a function of the notebook
                without arguments, or its name. It is evaluated in a copy of the kernel in which no agent has worked.
            until: When to end: ``"07:00"`` is the next seven o'clock; or a :class:`datetime.datetime`.
            budget: What all tries together may use, such as ``"2M tokens, $20, 30 turns"``; a number is dollars.
            target: End when the metric is at least as good.
            patience: End after so many tries in a row without improvement.
            tries: End after so many tries.
            higher_is_better: True if a higher metric is better.
            agent: An agent's name, or a mapping of arguments of :func:`agentnb.start`; the default agent if None.
            again: How many more times the metric is evaluated if a try improves it. The try is kept only if each
                value is better than each value of the best one: for metrics that vary by chance.
            held: What a try may not change: names of variables and functions, paths of files. If None, what the metric
                reads: functions, tables, arrays and files, and plain values that its functions read. A try that changes
                any of it fails.
            timeout: Seconds for one try; an hour by default.
            metric_timeout: Seconds for one evaluation.
            confine: True if agents are confined to their copy of the workspace.
            executor: Where tries are made: None for this machine; a ``distributed.Client``, a Dask cluster or the
                address of a scheduler (``"tcp://host:8786"``) for its workers. Each try is a task: the worker runs the
                notebook's cells in a fresh kernel, takes the variables, and its agent works there. The metric is
                evaluated here. While the notebook is recorded or replayed, tries are made here.
            **options: Other arguments of :func:`agentnb.start`.

        Returns:
            The loop; its ledger when displayed.

        Raises:
            UsageError: If an argument is invalid, nothing would end the loop, the metric gives no number now, or
                the kernel cannot be copied.

        Example:
            >>> agentnb.loop("Improve the model", metric="score(model)", until="07:00", budget=5)  # doctest: +SKIP
        """
        check_text("The prompt", prompt, example='agentnb.loop("Improve the model", metric="auc")')
        own = {"agent": agent} if agent is None or isinstance(agent, str) else dict(agent)
        end = read_until(until, _now())
        limits = LoopLimits(until=end, budget=budget_text(budget), target=target, patience=patience, tries=tries)
        check_limits(limits)
        if not is_count(again, at_least=0):
            raise UsageError(f"again={again!r} is not a number of evaluations.")
        if isinstance(held, str):
            raise UsageError(f"held={held!r} is not a list.", hint='held=["y_test", "test.csv"]')
        host, runner, folder = _notebook()
        names = _names(host)
        spec = LoopSpec(
            prompt=prompt,
            metric=_source(metric, names),
            limits=limits,
            higher_is_better=higher_is_better,
            again=again,
            held=None if held is None else tuple(held),
            metric_timeout=metric_timeout,
            timeout=timeout,
            options={"confine": confine, **options, **own},
            owner=this_process(),
        )
        measured = Metric(spec.metric, names, folder, spec.held)
        judge = Judge(host, runner, folder, measured, seconds=metric_timeout, again=again)
        judged = _judged(judge)
        spec = msgspec.structs.replace(spec, digests={**judged.digests, **measured.file_digests()})
        cluster, note = _cluster_for(executor, spec, host, runner, folder)
        ledger = Ledger()
        with _closed_on_error(cluster):
            ledger.create(str(folder), spec)
        run = LoopRun(host, runner, folder, spec, judge=judge, ledger=ledger, cluster=cluster)
        if measured.is_variable:
            note.append(_CHEATED.format(spec.metric))
        return _begun(run, note, judged, [])

    def resume(
        self,
        loop: str | None = None,
        *,
        until: Any = None,
        budget: float | str | None = None,
        target: float | None = None,
        patience: int | None = None,
        tries: int | None = None,
        executor: Any = None,
        **options: Any,
    ) -> Loop:
        """Take up a loop that has ended, or whose kernel has ended.

        Kept files and cells are still there. Variables are lost after a restart of the kernel: run the notebook's cells
        first. The notebook is measured again, and the loop continues from that.

        Args:
            loop: Its id; the latest one of this workspace if None.
            until: Replaces its own limit, as for ``agentnb.loop``; likewise the other limits. Earlier usage counts.
            budget: See *until*.
            target: See *until*.
            patience: See *until*.
            tries: See *until*.
            executor: As for ``agentnb.loop``; not kept.
            **options: Arguments of :func:`agentnb.start`; ``env`` and ``mcp_servers`` are not kept, for their secrets.

        Returns:
            The loop, which runs.

        Raises:
            UsageError: If there is none, it runs elsewhere, a name of the metric is missing, or the metric's code has
                changed.

        Example:
            >>> agentnb.loop.resume(budget="$10")  # doctest: +SKIP
        """
        host, runner, folder = _notebook()
        ledger = Ledger(must_exist=True)
        spec = ledger.reopen(loop, str(folder))
        if spec.is_running_elsewhere or ledger.id in _RUNNING:
            raise UsageError(f"The loop {ledger.id!r} runs.", hint="Cancel it first, or let it go on.")
        new_limits = {"until": read_until(until, _now()), "budget": budget_text(budget) or None}
        new_limits |= {"target": target, "patience": patience, "tries": tries}
        new_limits = {name: each for name, each in new_limits.items() if each is not None}
        limits = msgspec.structs.replace(spec.limits, **new_limits)
        check_limits(limits)
        names = _names(host)
        _check_present([each for each in spec.digests if each not in names and not (folder / each).exists()])
        measured = Metric(spec.metric, names, folder, spec.held)
        judge = Judge(host, runner, folder, measured, seconds=spec.metric_timeout, again=spec.again)
        judged = _judged(judge)
        changed = _changed_since(spec, measured, {**judged.digests, **measured.file_digests()})
        spec = msgspec.structs.replace(spec, limits=limits, owner=this_process(), options={**spec.options, **options})
        cluster, note = _cluster_for(executor, spec, host, runner, folder)
        with _closed_on_error(cluster):
            rows = ledger.rows()
            ledger.update(spec, "running")
        run = LoopRun(host, runner, folder, spec, judge=judge, ledger=ledger, cluster=cluster)
        if changed:
            note.append(f"Not as when the loop began: {', '.join(changed)}. Earlier values may not be comparable.")
        return _begun(run, note, judged, rows)


loop: LoopCommand = LoopCommand()
_RUNNING: dict[str, Loop] = {}


def _begun(run: LoopRun, notes: list[str], judged: Judged, rows: list[LoopTry]) -> Loop:
    begun = Loop(run)
    begun.notes += notes
    _RUNNING[begun.id] = begun

    def forget() -> None:
        if begun.done:
            _RUNNING.pop(begun.id, None)

    begun.listen(forget)
    begun.begin(judged, rows)
    follow_work(begun)
    _show(begun)
    return begun


def _show(begun: Loop) -> None:
    """Show the ledger, and keep it up to date; does nothing if a program runs the notebook."""
    shell = current_shell()
    if getattr(shell, "kernel", None) is None or not is_watched(shell):
        return
    show = show_in_cell(begun, shell, html_of(begun.view))

    def update() -> None:
        show(html_of(begun.view))

    begun.listen(Paced(lambda: begun.state != "running", update))
    if begun.done:  # it ended before the listener was added
        update()


def _notebook() -> tuple[Host, CodeRunner, Path]:
    host = current_host()
    runner = host.environment.code_runner()
    if runner is None:
        raise UsageError("There is no IPython kernel here.", hint="Call it in a notebook.")
    if why := cannot_fork():
        raise UsageError(f"{why}: a loop requires a kernel that can be forked.", hint="Use agentnb.branches().")
    return host, runner, host.environment.default_workspace()


def _cluster_for(
    executor: Any, spec: LoopSpec, host: Host, runner: CodeRunner, folder: Path
) -> tuple[TryCluster | None, list[str]]:
    """Returns the cluster that makes the tries (None if they are made here), and notes about it for the user."""
    if executor is None:
        return None, []
    if host.environment.cassette.stands_in:
        return None, [_RECORDED]
    try:
        from agentnb.plugins.loop.cluster_try import TryCluster as Made
    except ImportError as error:
        raise dask_missing(error) from error
    agent = {} if spec.options.get("agent") or spec.options.get("command") else {"agent": default_agent()}
    cluster = Made(host, runner, folder, executor, {**spec.options, **agent})
    cluster.open()
    return cluster, []


@contextmanager
def _closed_on_error(cluster: TryCluster | None) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if cluster is not None:
            cluster.close()
        raise


def _names(host: Host) -> dict[str, Any]:
    shell: Any = getattr(host.environment.shell, "ip", None)
    return shell.user_ns  # type: ignore[no-any-return]


def _source(metric: Any, names: Mapping[str, Any]) -> str:
    if isinstance(metric, str):
        return metric.strip()
    name = getattr(metric, "__name__", "")
    if not callable(metric) or names.get(name) is not metric:
        raise UsageError(
            f"metric={metric!r} is neither a text nor a function of the notebook.", hint='Write metric="score(model)".'
        )
    return str(name)


def _judged(judge: Judge) -> Judged:
    _check_present(judge.metric.missing)
    try:
        return judge.notebook()
    except AgentnbError as error:
        message = f"The metric gives no number for the notebook as it is. {error.message}"
        raise UsageError(message, hint=_RUN_FIRST) from error


def _check_present(missing: Sequence[str]) -> None:
    if missing:
        raise UsageError(f"The metric needs {', '.join(missing)}, which this kernel does not have.", hint=_RUN_FIRST)


def _changed_since(spec: LoopSpec, metric: Metric, now: Mapping[str, str]) -> list[str]:
    """Returns the data and files that have changed since the loop began.

    Raises:
        UsageError: If the metric's code has changed.
    """
    changed = [name for name, digest in spec.digests.items() if now.get(name) != digest]
    if code := [name for name in changed if name in metric.held.code]:
        raise UsageError(
            f"The metric's code has changed since the loop began: {', '.join(code)}.",
            hint="Define it as it was, or start a new loop.",
        )
    return changed


def _now() -> datetime:
    return datetime.now().astimezone()
