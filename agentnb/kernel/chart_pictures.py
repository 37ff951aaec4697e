"""Charts of Altair and Plotly as PNG, by the renderers that the user has installed for them: vl-convert and Kaleido."""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.kernel.output_text import ALTAIR_HTML, CHARTS, FIGURES, LONGEST_CHART, PLOTLY_HTML
from agentnb.safe_json import read_json, read_json_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

DRAW_S = 15.0  # seconds that a chart may take; after that, no other chart of the mention is drawn
MOST_CHARTS = 3  # the most charts that are drawn for one mention
_PROGRAM = Path(__file__).with_name("chart_renderer.py")
_RENDERERS = {"vega": ("vl_convert",), "plotly": ("plotly", "kaleido")}
_ADDRESSES = {"vega": "url", "plotly": "source"}


class Chart(msgspec.Struct, frozen=True):
    library: str
    specification: str


class Undrawn(Exception):
    """A chart was not drawn; the text says why, a sentence."""


def with_pictures(
    outputs: Iterable[Mapping[str, Any]], draw: Callable[[Chart], bytes] | None = None
) -> tuple[list[Mapping[str, Any]], list[str]]:
    """*outputs* with a PNG for each chart that lacks one and can be drawn, and the reasons others were not drawn."""
    drawn_outputs: list[Mapping[str, Any]] = []
    notes: list[str] = []
    drawn, end = 0, time.monotonic() + DRAW_S
    for output in outputs:
        chart = chart_of(output)
        if chart is None or (draw is None and not is_drawable(chart.library)):
            drawn_outputs.append(output)
            continue
        try:
            if drawn == MOST_CHARTS:
                raise Undrawn(f"Only {MOST_CHARTS} charts are drawn; the others are shown as text.")
            if time.monotonic() > end:
                raise Undrawn("A chart is shown as text: the charts before it took too long.")
            drawn += 1
            png = (draw or draw_chart)(chart)
        except Undrawn as why:
            notes.append(str(why))
            drawn_outputs.append(output)
        else:
            drawn_outputs.append({**output, "data": {**output["data"], "image/png": base64.b64encode(png).decode()}})
    return drawn_outputs, notes


def chart_of(output: Mapping[str, Any]) -> Chart | None:
    """The chart that *output* shows; None if it shows none, or has a picture of it."""
    data = output.get("data")
    if not isinstance(data, dict) or any(kind in FIGURES for kind in data):
        return None
    for kind, value in data.items():
        if CHARTS.fullmatch(str(kind)):
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            return Chart("plotly" if "plotly" in kind else "vega", text)
    html = data.get("text/html")
    return _chart_in("".join(map(str, html)) if isinstance(html, list) else str(html or ""))


def is_drawable(library: str) -> bool:
    """True if the renderer for the charts of *library* is installed."""
    return all(importlib.util.find_spec(name) is not None for name in _RENDERERS[library])


def draw_chart(chart: Chart) -> bytes:
    """The PNG of *chart*, drawn within `DRAW_S`; the same chart is tried once."""
    if len(chart.specification) > LONGEST_CHART:
        raise Undrawn(f"A chart of more than {LONGEST_CHART:,} characters is shown as text.")
    try:
        specification = read_json(chart.specification)
    except ValueError:
        raise Undrawn("A chart is not drawn: its JSON is broken or truncated.") from None
    if _ADDRESSES[chart.library] in _keys(specification):
        raise Undrawn("A chart is shown as text, because it loads data or pictures from elsewhere.")
    drawn = _drawn(chart)
    if isinstance(drawn, str):
        raise Undrawn(drawn)
    return drawn


@lru_cache(maxsize=16)
def _drawn(chart: Chart) -> bytes | str:
    """The PNG, or the reason there is none; cached because previews of a message ask repeatedly."""
    try:
        return run_renderer([sys.executable, str(_PROGRAM), chart.library], chart.specification, DRAW_S)
    except Undrawn as why:
        return str(why)


def run_renderer(command: Sequence[str], specification: str, timeout: float) -> bytes:
    """The PNG of a chart, drawn by the program *command*."""
    program = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        png, _ = program.communicate(specification.encode(), timeout)
    except subprocess.TimeoutExpired:
        raise Undrawn("A chart is shown as text: its renderer took too long.") from None
    finally:
        with contextlib.suppress(OSError):
            os.killpg(program.pid, signal.SIGKILL)
        with contextlib.suppress(ValueError):
            program.communicate()
    if not png.startswith(b"\x89PNG"):
        raise Undrawn("A chart is shown as text: its renderer failed.")
    return png


def _chart_in(html: str) -> Chart | None:
    """The chart in the HTML that Altair and Plotly emit if they know no renderer; None for other HTML."""
    with contextlib.suppress(ValueError):
        if match := PLOTLY_HTML.search(html):
            data, end = read_json_at(html, match.end())
            layout, _ = read_json_at(html, html.index("{", end))
            return Chart("plotly", json.dumps({"data": data, "layout": layout}))
        if "vegaEmbed" in html and (match := ALTAIR_HTML.search(html)):
            return Chart("vega", json.dumps(read_json_at(html, match.end())[0]))
    return None


def _keys(value: Any) -> set[str]:
    """The keys of strings and objects anywhere in JSON."""
    keys: set[str] = set()
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            keys.update(name for name, inner in one.items() if isinstance(inner, (str, dict)))
            left.extend(one.values())
        elif isinstance(one, list):
            left.extend(one)
    return keys
