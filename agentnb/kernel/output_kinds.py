"""Kinds of outputs that agents take, and how much of one is looked at."""

from __future__ import annotations

import re

PICTURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8", "image/gif": b"GIF8", "image/webp": b"RIFF"}
"""The types of pictures that agents take, and how each begins."""
CHARTS = re.compile(r"application/vnd\.(?:plotly|vega|vegalite)\.v\d+[.+]json")
FIGURES = (*PICTURES, "image/svg+xml")
LARGEST_PICTURE = 3 * 1024 * 1024
"""Bytes of one picture."""
LONGEST_CHART = 2_000_000
"""Characters of a chart's JSON that is kept and drawn."""
LOOKED_AT = 200_000
"""Characters of one output's text that are looked at, half of its beginning and half of its end."""


def ends(text: str) -> str:
    """The beginning and the end of a very long *text*: what lies between is cut in any case."""
    half = LOOKED_AT // 2
    return text if len(text) <= LOOKED_AT else f"{text[:half]}\n{text[-half:]}"
