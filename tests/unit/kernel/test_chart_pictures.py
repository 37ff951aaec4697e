"""Charts drawn as PNG by the renderers that a user has installed, in separate processes that always end.

The inside: renderers that hang or fail, and charts that would read files or call addresses.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import psutil
import pytest

from agentnb.ipython.mentions import with_outputs
from agentnb.kernel.chart_pictures import (
    MOST_CHARTS,
    Chart,
    Undrawn,
    chart_of,
    draw_chart,
    is_drawable,
    run_renderer,
    with_pictures,
)
from agentnb.kernel.output_text import LEFT_OUT, LONGEST_CHART
from tests.conftest import ROOT

CHARTS = json.loads((ROOT / "tests/cases/outputs/charts.json").read_text(encoding="utf-8"))
VEGA = {"mark": "point", "data": {"values": [{"a": 1}]}, "encoding": {"x": {"field": "a"}}}
PNG = b"\x89PNG\r\n\x1a\n"


def output(data: dict[str, Any]) -> dict[str, Any]:
    return {"output_type": "display_data", "data": data}


def vega(specification: dict[str, Any]) -> dict[str, Any]:
    return output({"application/vnd.vegalite.v6+json": specification})


@pytest.mark.parametrize("recorded", [each for each in CHARTS if each != "versions"])
def test_chart_of_each_library_is_read_with_its_data(recorded: str) -> None:
    chart = chart_of(output(CHARTS[recorded]))
    assert chart is not None
    assert chart.library == ("plotly" if "plotly" in recorded else "vega")
    read = json.loads(chart.specification)
    if chart.library == "plotly":
        assert read["data"] == [{"y": [1, 3, 2], "type": "bar"}]
        assert "template" in read["layout"]
    else:
        assert read["mark"] == {"type": "bar"}


@pytest.mark.parametrize(
    "data",
    [
        {"text/html": "<p>vegaEmbed</p>"},
        {"text/html": '<script>Plotly.newPlot("a", [{"y": [1,</script>'},
        {"image/png": "x", "application/vnd.vegalite.v6+json": VEGA},
        {"text/plain": "1"},
    ],
)
def test_output_without_a_chart_or_with_a_picture_is_ignored(data: dict[str, Any]) -> None:
    assert chart_of(output(data)) is None


@pytest.mark.parametrize(
    ("specification", "why"),
    [
        ({"data": {"url": "file:///etc/passwd"}}, "loads data or pictures from elsewhere"),
        ({"layer": [{"mark": "image", "encoding": {"url": {"field": "a"}}}]}, "loads data or pictures from elsewhere"),
        ({"title": "x" * LONGEST_CHART}, "more than 2,000,000 characters"),
    ],
)
def test_draw_chart_refuses_large_charts_and_external_data(specification: dict[str, Any], why: str) -> None:
    """A chart must not read files or call addresses."""
    with pytest.raises(Undrawn, match=why):
        draw_chart(Chart("vega", json.dumps(specification)))


def test_hanging_renderer_is_killed_with_its_child_processes() -> None:
    child = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(999)'])"
    before = {each.pid for each in psutil.Process().children(recursive=True)}
    with pytest.raises(Undrawn, match="took too long"):
        run_renderer([sys.executable, "-c", f"{child}; time.sleep(999)"], "{}", 1)
    left = [each for each in psutil.Process().children(recursive=True) if each.pid not in before]
    assert psutil.wait_procs(left, 10)[1] == []


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "print('no picture')", "import nothing_like_this"])
def test_failed_renderer_is_reported(code: str) -> None:
    with pytest.raises(Undrawn, match="its renderer failed"):
        run_renderer([sys.executable, "-c", code], "{}", 60)


def test_charts_beyond_the_maximum_are_not_drawn() -> None:
    outputs, notes = with_pictures([vega(VEGA)] * (MOST_CHARTS + 1), lambda _: PNG)
    assert ["image/png" in each["data"] for each in outputs] == [True] * MOST_CHARTS + [False]
    assert notes == [f"Only {MOST_CHARTS} charts are drawn; the others are shown as text."]


@pytest.mark.skipif(not is_drawable("vega"), reason="vl-convert-python is not installed: it draws Altair's charts")
def test_altair_chart_is_attached_as_a_picture() -> None:
    """With vl-convert; a chart that is not drawn is text, and the attachment says why."""
    attachment, picture = with_outputs("output:1", "", [output(CHARTS["altair, as HTML"])], None)
    assert getattr(picture, "content_type", None) == "image/png"
    assert "[picture 1" in str(getattr(attachment, "model_representation", ""))
    (attachment,) = with_outputs("output:1", "", [vega({**VEGA, "data": {"url": "https://example.org/a.csv"}})], None)
    assert attachment.meta == {
        LEFT_OUT: ["A chart is shown as text, because it loads data or pictures from elsewhere."]
    }


@pytest.mark.skipif(
    not is_drawable("plotly"), reason="plotly and kaleido are not installed: they draw Plotly's figures"
)
def test_plotly_figure_is_drawn_by_kaleido() -> None:
    """Kaleido needs a Chrome; without one the figure is text, and says so."""
    outputs, notes = with_pictures([output(CHARTS["plotly, as JSON"])])
    assert ("image/png" in outputs[0]["data"]) != bool(notes)
