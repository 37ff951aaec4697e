"""The program that draws one chart: reads its JSON on stdin, writes a PNG on stdout (see `chart_pictures`)."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

LARGEST = 3 * 1024 * 1024
LONGEST_SIDE = 2_000
WIDTH, HEIGHT = 800, 500  # the size, in pixels, of a Plotly figure that sets none


def main() -> None:
    from agentnb.safe_json import read_json

    library, chart = sys.argv[1], read_json(sys.stdin.buffer.read())
    png = _vega(chart) if library == "vega" else _plotly(chart)
    if len(png) <= LARGEST:
        sys.stdout.buffer.write(png)


def _vega(chart: dict[str, Any]) -> bytes:
    vl_convert = import_module("vl_convert")
    is_lite = "vega-lite" in chart.get("$schema", "vega-lite")
    convert = vl_convert.vegalite_to_png if is_lite else vl_convert.vega_to_png
    return bytes(convert(chart, allowed_base_urls=[]))


def _plotly(chart: dict[str, Any]) -> bytes:
    layout = chart.get("layout", {})
    width, height = layout.get("width") or WIDTH, layout.get("height") or HEIGHT
    figure = {"data": chart["data"], "layout": layout}
    size = {"width": min(width, LONGEST_SIDE), "height": min(height, LONGEST_SIDE)}
    return bytes(import_module("plotly.io").to_image(figure, format="png", validate=False, **size))


if __name__ == "__main__":
    del sys.path[0]
    main()
