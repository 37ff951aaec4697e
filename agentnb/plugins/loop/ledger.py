"""The ledger of a loop, in the batches' file beside the log, so that a loop can be resumed after its kernel ended."""

from __future__ import annotations

import os
import platform
import time
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec

from agentnb.api.columns import html, lines, on_one_line, shortened
from agentnb.budget import Limit, written_amount
from agentnb.errors import UsageError
from agentnb.ids import new_id
from agentnb.log.writer import alive, started
from agentnb.plugins.loop.limits import LoopLimits
from agentnb.plugins.map.records import RowsFile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentnb.budget import Spent


TryState: TypeAlias = Literal[
    "start", "running", "keeping", "kept", "not better", "unchanged", "failed", "conflict", "stopped", "lost"
]
LONGEST_DIFFERENCE = 20_000
_NOT_KEPT = ("env", "mcp_servers")


class LoopTry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One try of a loop.

    Attributes:
        number: Its number, from 1; 0 for a measurement of the notebook as it is.
        state: ``"kept"``, ``"not better"``, ``"unchanged"`` (nothing was changed), ``"failed"``, ``"conflict"`` (you
            changed the same), ``"stopped"``, ``"lost"`` (the kernel ended), ``"running"``, ``"keeping"``, ``"start"``.
        idea: What it tried, in the agent's words.
        values: The metric's values; several if a gain was measured again.
        why: Why it ended so; empty if the state says everything.
        changes: The number of files, cells and variables it changed, in words.
        tokens: The tokens it used, if the agent reports them.
        costs: What it cost, by currency, if the agent reports it.
        seconds: How long it took.
        agent: The agent.
    """

    number: int
    state: TryState
    idea: str = ""
    values: tuple[float, ...] = ()
    why: str = ""
    changes: str = ""
    tokens: int | None = None
    costs: dict[str, float] = {}
    seconds: float = 0.0
    agent: str = ""

    @property
    def metric(self) -> float | None:
        """The mean of its values; None if it was not measured."""
        return sum(self.values) / len(self.values) if self.values else None


class LoopSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The specification of a loop.

    ``digests`` are the hashes of what was held when it began, ``owner`` is the process that runs it.
    """

    prompt: str
    metric: str
    limits: LoopLimits
    higher_is_better: bool = True
    again: int = 0
    held: tuple[str, ...] | None = None
    metric_timeout: float = 300.0
    timeout: float = 3600.0
    options: dict[str, Any] = {}
    digests: dict[str, str] = {}
    owner: tuple[str, int, str] = ("", 0, "")

    @property
    def is_running_elsewhere(self) -> bool:
        return self.owner[1] != os.getpid() and self.owner[1] > 0 and alive(*self.owner)


def this_process() -> tuple[str, int, str]:
    """Returns this process in the form of :attr:`LoopSpec.owner`."""
    return platform.node(), os.getpid(), started(os.getpid())


class Ledger(RowsFile):
    """The ledger of one loop; safe from any thread."""

    def __init__(self, environ: Mapping[str, str] = os.environ, *, must_exist: bool = False) -> None:
        super().__init__("loop", environ, must_exist=must_exist)
        self.id: str = ""

    def create(self, folder: str, spec: LoopSpec) -> None:
        self.id = new_id()
        values = (self.id, time.time(), "running", folder, _kept(spec))
        self._run("INSERT INTO loops VALUES (?, ?, ?, ?, ?)", *values)

    def reopen(self, loop: str | None, folder: str) -> LoopSpec:
        """Take up a loop, or the latest of a folder if none is named; raises a UsageError if there is none."""
        where, value = ("id = ?", loop) if loop is not None else ("folder = ? ORDER BY touched DESC LIMIT 1", folder)
        rows = self._run(f"SELECT id, body FROM loops WHERE {where}", value)  # noqa: S608 - conditions of ours
        if not rows:
            what = f"There is no loop {loop!r}." if loop is not None else f"No loop was started in {folder}."
            raise UsageError(what, hint="The id of a loop is loop.id.")
        self.id = rows[0][0]
        return msgspec.json.decode(rows[0][1], type=LoopSpec)

    def update(self, spec: LoopSpec, state: str) -> None:
        values = (_kept(spec), state, time.time(), self.id)
        self._run("UPDATE loops SET body = ?, state = ?, touched = ? WHERE id = ?", *values)

    def put(self, at: int, row: LoopTry, difference: str | None = "") -> None:
        """Write the row at position *at*; if *difference* is None, the stored one is kept."""
        difference = self.difference(at) if difference is None else difference[:LONGEST_DIFFERENCE]
        self._run("INSERT OR REPLACE INTO tries VALUES (?, ?, ?, ?)", self.id, at, _encoded(row), difference)
        self._run("UPDATE loops SET touched = ? WHERE id = ?", time.time(), self.id)

    def rows(self) -> list[LoopTry]:
        rows = self._run("SELECT body FROM tries WHERE loop = ? ORDER BY number", self.id)
        return [msgspec.json.decode(each[0], type=LoopTry) for each in rows]

    def difference(self, at: int) -> str:
        """Returns what the try in a row changed, as a diff; '' if it is not known."""
        rows = self._run("SELECT difference FROM tries WHERE loop = ? AND number = ?", self.id, at)
        return str(rows[0][0]) if rows else ""


def _kept(spec: LoopSpec) -> str:
    """Returns *spec* without arguments that may contain secrets; raises a UsageError if one is not a plain value."""
    options = {name: value for name, value in spec.options.items() if name not in _NOT_KEPT}
    try:
        return _encoded(msgspec.structs.replace(spec, options=options))
    except TypeError as error:
        raise UsageError(f"A loop takes only plain values as arguments for its agent: {error}.") from error


def _encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_TEXTS = ("idea", "outcome", "changes")
_HEAD = ("try", "idea", "metric", "outcome", "changes", "tokens", "cost", "time")
SHOWN_ROWS = 30
SHOWN_DIFFERENCES = 10
LONGEST_CELL = 60
_WIDTH, _HEIGHT, _LEFT, _EDGE = 480, 150, 64, 14
_LINE = "var(--jp-brand-color1, #1976d2)"
_QUIET = "var(--jp-ui-font-color2, #757575)"


class LedgerView(NamedTuple):
    """The parts of a loop that are shown."""

    metric: str
    rows: tuple[LoopTry, ...]
    best: float
    state: str
    why: str
    spent: Spent
    held: tuple[str, ...]
    notes: tuple[str, ...]
    difference: Callable[[int], str]


def lines_of(loop: LedgerView) -> list[str]:
    """Returns a line for the loop's state, a line for each of the latest tries, and notes."""
    rows = [tuple(shortened(each, LONGEST_CELL) for each in _row(row)) for row in loop.rows[-SHOWN_ROWS:]]
    return [summary_of(loop), *lines(_filled([_HEAD, *rows])), *_notes(loop)]


def html_of(loop: LedgerView) -> str:
    """Returns the same as :func:`lines_of` as HTML, with a plot and the changes of the tries that were kept."""
    rows = loop.rows
    head, *cells = _filled([_HEAD, *(_row(row) for row in rows[-SHOWN_ROWS:])])
    table = f'<div style="overflow-x:auto">{html(head, cells, _TEXTS)}</div>'
    left = len(rows) - SHOWN_ROWS
    more = f"<p>{left:,} earlier rows: <code>loop.tries</code>.</p>" if left > 0 else ""
    notes = "".join(f"<p>{escape(each)}</p>" for each in _notes(loop))
    kept = [each for each in rows if each.state == "kept"][-SHOWN_DIFFERENCES:]
    return f"<p>{escape(summary_of(loop))}</p>{plot_of(loop)}{more}{table}{notes}{''.join(_details(loop, kept))}"


def summary_of(loop: LedgerView) -> str:
    """Returns the loop's state, in one line."""
    rows = loop.rows
    first = next((each.metric for each in rows if each.metric is not None), None)
    kept = sum(1 for each in rows if each.state == "kept")
    gain = "" if first is None else f"{on_one_line(loop.metric)}: {first:.6g} → {loop.best:.6g}"
    state = f"{loop.state}: {loop.why}" if loop.why else loop.state
    spent = loop.spent
    tries = f"{spent.turns:,} {'try' if spent.turns == 1 else 'tries'}, {kept:,} kept"
    tokens = f"{spent.tokens:,} tokens" if spent.tokens else ""
    return " · ".join(each for each in (gain, tries, tokens, _money(spent.costs), state) if each)


def plot_of(loop: LedgerView) -> str:
    """Returns a plot of the metric of each try, with a line for the best so far."""
    points = [(at, row) for at, row in enumerate(loop.rows) if row.metric is not None]
    if len(points) < 2:  # noqa: PLR2004 - a line has two ends
        return ""
    values = [row.metric or 0.0 for _, row in points]
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    step = (_WIDTH - _LEFT - _EDGE) / max(1, len(loop.rows) - 1)

    def x(at: int) -> float:
        return _LEFT + at * step

    def y(value: float) -> float:
        return _EDGE + (_HEIGHT - 2 * _EDGE) * (high - value) / span

    marks: list[str] = []
    best: list[str] = []
    for at, row in points:
        value = row.metric or 0.0
        if row.state in ("kept", "start"):
            best += [f"H{x(at):.1f}V{y(value):.1f}" if best else f"M{x(at):.1f},{y(value):.1f}"]
            marks.append(_mark(x(at), y(value), row, "currentColor"))
        else:
            marks.append(_mark(x(at), y(value), row, "none"))
    path = f"{''.join(best)}H{x(len(loop.rows) - 1):.1f}"
    labels = "".join(
        f'<text x="{_LEFT - 10}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.4g}</text>' for value in {low, high}
    )
    described = escape(f"The metric of {len(points)} tries; filled points were kept. {summary_of(loop)}")
    return (
        f'<svg role="img" aria-label="{described}" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'style="max-width:100%;height:auto;color:{_LINE};font:12px var(--jp-ui-font-family, sans-serif)">'
        f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="2"/>{"".join(marks)}'
        f'<g style="fill:{_QUIET}">{labels}</g></svg>'
    )


def _mark(x: float, y: float, row: LoopTry, fill: str) -> str:
    name = f"Try {row.number}" if row.number else "The notebook"
    title = escape(f"{name}: {row.metric:.6g} ({row.state}) {row.idea}".rstrip())
    ring = "currentColor" if fill == "currentColor" else _QUIET
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" style="fill:{fill};stroke:{ring}"><title>{title}</title></circle>'


def _row(row: LoopTry) -> tuple[str, ...]:
    low_high = f" ({min(row.values):.6g} to {max(row.values):.6g})" if len(row.values) > 1 else ""
    outcome = f"{row.state}: {row.why}" if row.why else row.state
    return (
        str(row.number) if row.number else "",
        row.idea,
        "" if row.metric is None else f"{row.metric:.6g}{low_high}",
        outcome,
        row.changes,
        f"{row.tokens:,}" if row.tokens else "",
        _money(row.costs),
        f"{row.seconds:.1f}\N{NO-BREAK SPACE}s" if row.number else "",
    )


def _filled(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Returns *rows*, the head first, without empty columns, such as the cost."""
    wanted = [at for at, name in enumerate(_HEAD) if name in ("try", *_TEXTS) or any(row[at] for row in rows[1:])]
    return [tuple(row[at] for at in wanted) for row in rows]


def _details(loop: LedgerView, kept: Sequence[LoopTry]) -> list[str]:
    return [
        f"<details><summary>Try {row.number}: {escape(row.idea or row.changes)}</summary>"
        f"<pre>{escape(loop.difference(row.number))}</pre></details>"
        for row in kept
    ]


def _notes(loop: LedgerView) -> list[str]:
    held = f"A try that changes one of these fails: {', '.join(loop.held)}." if loop.held else ""
    paused = "Answer in the chat, or with loop.go_on() or loop.cancel()." if loop.state == "paused" else ""
    return [each for each in (held, *loop.notes, paused) if each]


def _money(costs: Mapping[str, float]) -> str:
    return " + ".join(
        written_amount(Limit(unit="cost", amount=1, currency=currency), amount)
        for currency, amount in sorted(costs.items())
    )
