"""Outputs as an agent gets them: pictures, tables, text; bounded, without credentials, and never executed.

The inside: outputs of many forms, broken and generated ones.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.kernel.output_text import (
    LARGEST_PICTURE,
    LONGEST,
    LONGEST_OUTPUT,
    MOST_PICTURES,
    PICTURES,
    OutputText,
    read_outputs,
)
from tests.conftest import ROOT


def png(width: int = 2, height: int = 2) -> str:
    """Returns a PNG in base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(b"".join(b"\0" + b"\0" * 3 * width for _ in range(height)))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    whole = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return base64.b64encode(whole).decode()


def display_data(**bundle: Any) -> dict[str, Any]:
    """Returns an output; in its media types `__` is a slash, `_` a plus."""
    return {
        "output_type": "display_data",
        "data": {k.replace("__", "/").replace("_", "+"): v for k, v in bundle.items()},
    }


def printed(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}


def texts(read: OutputText) -> tuple[str, tuple[str, ...]]:
    return read.text, read.left_out


def test_picture_is_returned_and_numbered_in_the_text() -> None:
    """Between the texts before and after it; base64 in a notebook's file has line breaks."""
    data = png()
    figure = display_data(image__png=data[:20] + "\n" + data[20:], text__plain="<Figure size 640x480 with 1 Axes>")
    read = read_outputs([printed("before\n"), figure, printed("behind\n")])
    assert texts(read) == ("before\n[picture 1: <Figure size 640x480 with 1 Axes>]\nbehind", ())
    assert [(each.data, each.content_type) for each in read.pictures] == [(data, "image/png")]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (50 * 1024**2, "A picture of 50 MB is left out"),
        ("A" * (LARGEST_PICTURE * 4 // 3 + 8), "A picture of 3 MB is left out"),
        (base64.b64encode(b"<script>").decode(), "it is not a PNG"),
        ("no base64!", "it is not a PNG"),
        (["x", 5], "it is not a PNG"),
    ],
)
def test_invalid_or_large_picture_is_left_out_and_reported(value: Any, why: str) -> None:
    read = read_outputs([display_data(image__png=value)])
    assert read.pictures == ()
    assert why in read.text
    assert why in read.left_out[0]


def test_svg_and_chart_without_a_picture_become_bounded_text() -> None:
    svg = "<svg><script>alert(1)</script>" + "<g/>" * 5_000 + "</svg>"
    read = read_outputs(
        [display_data(image__svg_xml=svg), display_data(**{"application__vnd.plotly.v1_json": {"data": [1] * 9_000}})]
    )
    assert "An SVG picture, as text:\n```\n<svg><script>alert(1)</script>" in read.text
    assert 'A chart (application/vnd.plotly.v1+json):\n{"data": [1, 1' in read.text
    assert read.left_out == ("An SVG picture is cut to 4,000 characters.", "A chart's JSON is cut to 4,000 characters.")
    drawn = read_outputs([display_data(image__svg_xml=svg, image__png=png(), text__plain="<a.SVG object>")])
    assert texts(drawn) == ("[picture 1]", ())


FRAME = """<div><style scoped>.dataframe {color: red}</style><table class="dataframe"><thead><tr><th></th><th>a</th>
<th>b</th></tr></thead><tbody><tr><th>0</th><td>1</td><td>x &amp; y</td></tr><tr><th>1</th><td>2</td>
<td><b>z</b></td></tr></tbody></table>{more}</div>"""


@pytest.mark.parametrize(
    ("more", "shape"),
    [
        ("", "2 rows × 2 columns"),
        ("<p>150 rows × 5 columns</p>", "150 rows × 5 columns"),
        ("<small>shape: (1_200, 5)</small>", "1_200 rows × 5 columns"),
    ],
)
def test_table_becomes_text_with_its_shape(more: str, shape: str) -> None:
    """The shape that pandas or polars prints for a cut frame; otherwise rows and columns are counted."""
    read = read_outputs([display_data(text__html=FRAME.replace("{more}", more), text__plain="   a  b")])
    assert texts(read) == (f"Table, {shape}:\n | a | b\n0 | 1 | x & y\n1 | 2 | z", ())


FRAMES: dict[str, Callable[[Any], Any]] = {
    "plain": lambda frame: frame,
    "labelled": lambda frame: frame.set_index("b"),
    "two labels": lambda frame: frame.set_index(["a", "b"]).assign(c=1),
    "two header rows": lambda frame: frame.groupby("b").agg({"a": ["min", "max"]}),
    "turned": lambda frame: frame.T,
    "long": lambda frame: frame.sample(1000, replace=True),
    "wide": lambda frame: frame.sample(50, replace=True).T,
    "no rows": lambda frame: frame.iloc[:0],
    "no columns": lambda frame: frame[[]],
    "nothing": lambda frame: frame[[]].iloc[:0],
    "styled": lambda frame: frame.style,
}


@pytest.mark.parametrize("made", FRAMES.values(), ids=FRAMES)
def test_pandas_frame_shows_its_shape(made: Callable[[Any], Any]) -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": [1, 2, 3], "b": list("xyz")})
    value = made(frame)
    rows, columns = getattr(value, "data", value).shape
    text = read_outputs([display_data(text__html=value._repr_html_(), text__plain=repr(value))]).text
    assert text.splitlines()[0] == f"Table, {rows} rows × {columns} columns:"


def test_long_table_is_cut_with_a_note() -> None:
    rows = "".join(f"<tr><td>{number}</td></tr>" for number in range(500))
    read = read_outputs([display_data(text__html=f"<table><tr><th>n</th></tr>{rows}</table>")])
    assert read.text.splitlines()[:2] == ["Table, 500 rows × 1 columns:", "n"]
    assert read.text.splitlines()[-2:] == ["59", "… (A table is cut to 60 rows and 1 columns.)"]


@pytest.mark.parametrize(
    ("bundle", "text"),
    [
        ({"text__plain": "5"}, "5"),
        (
            {
                "text__html": "<b>Hi</b><script>x()</script><p>you</p>",
                "text__plain": "<IPython.core.display.HTML object>",
            },
            "Hi\nyou",
        ),
        ({"text__markdown": "# Hi", "text__plain": "<IPython.core.display.Markdown object>"}, "# Hi"),
        ({"text__latex": "$x^2$", "text__plain": "x**2"}, "x**2"),
        ({"text__plain": "<function f at 0x7f>"}, "<function f at 0x7f>"),
        ({"application__pdf": "JVBE"}, "(shows application/pdf)"),
        ({"text__plain": "\x1b[31mred\x1b[0m"}, "red"),
        ({"text__plain": 5}, "(shows text/plain)"),
    ],
)
def test_output_is_read_as_its_most_useful_text(bundle: dict[str, Any], text: str) -> None:
    assert texts(read_outputs([display_data(**bundle)])) == (text, ())


def test_progress_bar_shows_only_its_last_state() -> None:
    assert read_outputs([printed("0%\r50%\r"), printed("100%\ndone\n")]).text == "100%\ndone"


def test_error_output_shows_its_summary_or_traceback() -> None:
    error = {
        "output_type": "error",
        "ename": "KeyError",
        "evalue": "'x'",
        "traceback": ["\x1b[31mTraceback", "KeyError"],
    }
    assert read_outputs([error], error="KeyError: 'x', told").text == "KeyError: 'x', told"
    assert read_outputs([error]).text == "KeyError: 'x'\n```\nTraceback\nKeyError\n```"


def test_long_traceback_is_cut_but_keeps_its_error() -> None:
    lines = [f"File {number}" for number in range(100_000)]
    for traceback in (lines, ["\n".join(lines)]):
        error = {"output_type": "error", "ename": "RecursionError", "evalue": "too deep", "traceback": traceback}
        read = read_outputs([error])
        assert len(read.text) < LONGEST_OUTPUT + 100
        assert read.text.startswith("RecursionError: too deep\n```\nFile 0\n")
        assert read.text.endswith("File 99999\n```")
        assert read.left_out == (f"A traceback is cut to {LONGEST_OUTPUT:,} characters.",)


def test_long_printed_text_leaves_room_for_the_picture() -> None:
    lines = "\n".join(f"line {number}" for number in range(100_000))
    read = read_outputs([printed(lines), display_data(image__png=png())])
    assert len(read.text) < LONGEST_OUTPUT + 100
    assert read.text.startswith("line 0\nline 1\n")
    assert read.text.endswith("line 99999\n[picture 1]")
    assert read.left_out == (f"What was printed is cut to {LONGEST_OUTPUT:,} characters.",)


def test_credentials_are_masked_in_every_kind_of_output(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-ant-api03-" + "a1B2" * 12
    monkeypatch.setenv("MY_API_KEY", secret)
    table = f"<table><tr><td>{secret}</td></tr></table>"
    bundles = [{"text__plain": secret}, {"text__html": table}, {"image__svg_xml": f"<svg>{secret}</svg>"}]
    error = {"output_type": "error", "ename": "E", "evalue": secret, "traceback": [secret]}
    read = read_outputs([printed(secret), *(display_data(**bundle) for bundle in bundles), error])
    assert secret not in read.text
    assert read.text.count("***") >= 6


VALUES = st.recursive(st.none() | st.integers() | st.text(max_size=50), lambda inner: st.lists(inner, max_size=3))
KINDS = st.sampled_from([*PICTURES, "image/svg+xml", "text/html", "text/plain", "application/vnd.vegalite.v5+json"])
OUTPUTS = st.fixed_dictionaries(
    {},
    optional={
        "output_type": st.sampled_from(["stream", "display_data", "execute_result", "error", "other"]) | VALUES,
        "text": VALUES,
        "data": st.dictionaries(KINDS, VALUES, max_size=3) | VALUES,
        "ename": VALUES,
        "evalue": VALUES,
        "traceback": VALUES,
    },
)


@given(st.lists(OUTPUTS, max_size=4))
def test_any_outputs_are_read_within_bounds(outputs: list[dict[str, Any]]) -> None:
    read = read_outputs(outputs)
    assert len(read.text) <= LONGEST + 100
    assert len(read.pictures) <= MOST_PICTURES


CHARTS = json.loads((ROOT / "tests/cases/outputs/charts.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("recorded", "words"),
    [
        ("altair, as HTML", '"mark": {"type": "bar"}, "encoding": {"x": {"field": "a", "type": "nominal"}'),
        ("altair, as Vega-Lite", '"mark": {"type": "bar"}'),
        ("plotly, as HTML", '[{"y":[1,3,2],"type":"bar"}]'),
        ("plotly, as JSON", '{"data": [{"y": [1, 3, 2], "type": "bar"}]'),
    ],
)
def test_chart_output_becomes_text_with_its_data(recorded: str, words: str) -> None:
    """Also as the HTML for an unknown renderer: a script draws it, so it has no text."""
    read = read_outputs([{"output_type": "display_data", "data": CHARTS[recorded], "metadata": {}}])
    assert read.text.startswith("A chart")
    assert words in read.text
    assert "require" not in read.text
