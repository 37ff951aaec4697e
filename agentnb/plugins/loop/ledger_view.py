"""The ledger as text, and as HTML with a plot; nothing in it of an agent's is markup."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from agentnb.api.columns import html, lines, on_one_line, shortened
from agentnb.budget import Limit, written_amount

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentnb.budget import Spent
    from agentnb.plugins.loop.ledger import LoopTry

_TEXTS = ("idea", "outcome", "changes")
_HEAD = ("try", "idea", "metric", "outcome", "changes", "tokens", "cost", "time")
SHOWN_ROWS = 30
SHOWN_DIFFERENCES = 10
LONGEST_CELL = 60
_WIDTH, _HEIGHT, _LEFT, _EDGE = 480, 150, 64, 14
_LINE = "var(--jp-brand-color1, #1976d2)"
_QUIET = "var(--jp-ui-font-color2, #757575)"


class LedgerView(NamedTuple):
    """What is shown of a loop."""

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
    """A line for how it stands, a line for each of the latest tries, and notes."""
    rows = [tuple(shortened(each, LONGEST_CELL) for each in _row(row)) for row in loop.rows[-SHOWN_ROWS:]]
    return [summary_of(loop), *lines(_filled([_HEAD, *rows])), *_notes(loop)]


def html_of(loop: LedgerView) -> str:
    """The same with a plot, and what the tries that were kept changed."""
    rows = loop.rows
    head, *cells = _filled([_HEAD, *(_row(row) for row in rows[-SHOWN_ROWS:])])
    table = f'<div style="overflow-x:auto">{html(head, cells, _TEXTS)}</div>'
    left = len(rows) - SHOWN_ROWS
    more = f"<p>{left:,} earlier rows: <code>loop.tries</code>.</p>" if left > 0 else ""
    notes = "".join(f"<p>{escape(each)}</p>" for each in _notes(loop))
    kept = [each for each in rows if each.state == "kept"][-SHOWN_DIFFERENCES:]
    return f"<p>{escape(summary_of(loop))}</p>{plot_of(loop)}{more}{table}{notes}{''.join(_details(loop, kept))}"


def summary_of(loop: LedgerView) -> str:
    """Its state, in one line."""
    rows = loop.rows
    first = next((each.metric for each in rows if each.metric is not None), None)
    kept = sum(1 for each in rows if each.state == "kept")
    gain = "" if first is None else f"{on_one_line(loop.metric)}: {first:.6g} → {loop.best:.6g}"
    state = f"{loop.state}: {loop.why}" if loop.why else loop.state
    tries = f"{loop.spent.turns:,} {'try' if loop.spent.turns == 1 else 'tries'}, {kept:,} kept"
    return " · ".join(each for each in (gain, tries, _spent(loop), state) if each)


def plot_of(loop: LedgerView) -> str:
    """The metric of each try, and a line for what was the best."""
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
    """*rows*, the head first, without the columns that are empty, such as that of the cost."""
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


def _spent(loop: LedgerView) -> str:
    spent = loop.spent
    parts = [f"{spent.tokens:,} tokens"] if spent.tokens else []
    return " · ".join([*parts, *([_money(spent.costs)] if spent.costs else [])])


def _money(costs: Mapping[str, float]) -> str:
    return " + ".join(
        written_amount(Limit(unit="cost", amount=1, currency=currency), amount)
        for currency, amount in sorted(costs.items())
    )
