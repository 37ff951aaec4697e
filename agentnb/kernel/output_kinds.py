"""The kinds of outputs that are pictures and charts, and how much of an output is looked at."""

from __future__ import annotations

import re

PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
CHARTS = re.compile(r"application/vnd\.(?:plotly|vega|vegalite)\.v\d+[.+]json")
FIGURES = (*PICTURES, "image/svg+xml")
LARGEST_PICTURE = 3 * 1024 * 1024
"""Bytes of one picture."""
LONGEST_SPECIFICATION = 4_000
"""Characters of an SVG or of a chart's JSON."""
LONGEST_CHART = 2_000_000
"""Characters of a chart's JSON that is kept and drawn."""
ALTAIR_HTML = re.compile(r"\}\)\(\s*(?=\{)")
PLOTLY_HTML = re.compile(r'Plotly\.newPlot\(\s*"[^"]{0,100}",\s*')
"""Behind each stands a chart's JSON, in the HTML that the library gives."""
LOOKED_AT = 200_000
"""Characters of one output's text that are looked at, half of its beginning and half of its end."""


def ends(text: str) -> str:
    """The beginning and the end of a very long *text*: what lies between is cut in any case."""
    half = LOOKED_AT // 2
    return text if len(text) <= LOOKED_AT else f"{text[:half]}\n{text[-half:]}"
