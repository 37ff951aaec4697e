"""Texts, tables and pictures are compared as a reader would.

The inside: a notebook shows too few of the texts and pictures that may come.
"""

from __future__ import annotations

import base64
import io
import random
import zlib
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.plugins.verify.compare_outputs import compare_outputs, compare_pictures, uncompared
from agentnb.plugins.verify.compare_text import compare_texts
from agentnb.plugins.verify.widget_states import VIEW

NOW = datetime.now()  # noqa: DTZ005 - as notebooks print it
SAME = {
    "addresses": ("<object at 0x7f1234abcd>", "<object at 0x7f99999999>"),
    "unique ids": ("id 6f9619ff-8b86-d011-b42d-00cf4fc964ff", "id 0f9619ff-8b86-4011-b42d-00cf4fc964f0"),
    "temporary paths": ("in /tmp/tmpabc/x.csv", "in /tmp/tmpdef/x.csv"),
    "temporary folders": ("in /tmp and /tmp/x", "in /dev/shm/tmp and /dev/shm/tmp/y"),
    "last decimals": ("0.333333 and 1.00000001", "0.333334 and 1.00000001"),
    "rounding": ("0.30000000000000004", "0.3"),
    "sets": ("{'b', 'a', 'c'}", "{'c', 'a', 'b'}"),
    "widths of columns": ("   a    b\n0  1  2.5", "   a      b\n0    1  2.5"),
    "progress": ("10%|# | 1/9\r100%|### | 9/9 [00:01<00:00, 7.1it/s]\nok", "100%|##| 9/9 [00:02<00:00, 9.9it/s]\nok"),
    "timing magics": ("CPU times: user 3 ms, sys: 1 ms\nWall time: 4 ms\n7", "CPU times: user 9 s\nWall time: 1 s\n7"),
    "colours": ("\x1b[31mred\x1b[0m", "red"),
    "blank lines": ("a\n\nb\n", "a\nb"),
}
MILD = {
    "durations": ("took 1.20 s", "took 3.4 s"),
    "moments beside words": ("log 2020-01-01 10:00:00 done", f"log {NOW:%Y-%m-%d %H:%M:%S} done"),
}
OTHER = {
    "numbers": ("n = 3", "n = 4"),
    "signs": ("-3.5", "3.5"),
    "decimals that are shown": ("0.25", "0.26"),
    "fewer decimals": ("0.142857", "0.1428571428571"),
    "words": ("red", "blue"),
    "lines": ("a\nb", "a\nb\nc"),
    "dates of the data": ("from 2020-01-01", "from 2020-01-02"),
    "a moment alone": ("2020-01-01 10:00:00", f"{NOW:%Y-%m-%d %H:%M:%S}"),
    "nothing": ("", "1"),
}


@pytest.mark.parametrize(
    ("stored", "now", "result"),
    [
        (*each, result)
        for table, result in ((SAME, "same"), (MILD, "mild"), (OTHER, "other"))
        for each in table.values()
    ],
    ids=[*SAME, *MILD, *OTHER],
)
def test_compare_texts_ignores_only_what_changes_at_each_run(stored: str, now: str, result: str) -> None:
    """Times in a line of words are noted, but not a fault; the first different lines are the evidence."""
    difference = compare_texts(stored, now)
    assert (difference is None) == (compare_texts(now, stored) is None) == (result == "same")
    if difference is not None:
        assert difference.is_mild == (result == "mild")
        assert (difference.stored, difference.now) != ("", "")


@given(st.text(), st.text())
def test_compare_texts_finds_any_text_equal_to_itself(one: str, other: str) -> None:
    assert compare_texts(one, one) is None
    compare_texts(one, other)


def picture(width: int = 40, height: int = 30, dots: int = 0, compression: int = 6) -> str:
    """Returns a white PNG with black *dots*, made by Pillow."""
    image = pytest.importorskip("PIL.Image").new("RGBA", (width, height), "white")
    for number in range(dots):
        image.putpixel((number % width, number // width), (0, 0, 0, 255))
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=compression)
    return base64.b64encode(file.getvalue()).decode()


@pytest.mark.parametrize("seed", range(3))
def test_compare_pictures_reads_every_png_filter(seed: int) -> None:
    """The test writes a file with each filter and an unfiltered one."""
    rng = random.Random(seed)
    rows = [bytes(rng.randrange(256) for _ in range(8 * 3)) for _ in range(10)]
    for kind in range(5):
        assert compare_pictures(_png(rows, kind), _png(rows, 0)) == ""
    other = [*rows[:-1], bytes(255 - each for each in rows[-1])]
    assert "of the pixels differ" in compare_pictures(_png(rows, 4), _png(other, 3))


def test_compare_pictures_names_different_pixels_and_sizes() -> None:
    """One pixel of 100,000 may differ."""
    assert compare_pictures(picture(dots=90), picture()) == "7.5 % of the pixels differ".replace(" %", "%")
    assert "40 × 30" in compare_pictures(picture(), picture(41))
    assert compare_pictures(picture(400, 300), picture(400, 300, dots=1)) == ""
    assert compare_pictures("AAAA", "BBBB") == "the pictures' data differ"


def test_compare_outputs_compares_tables_by_their_text() -> None:
    """A frame's HTML adds no numbers."""
    stored = [_result({"text/plain": "   a\n0  1", "text/html": "<table id='x'>"})]
    now = [_result({"text/plain": "   a\n0  1", "text/html": "<table id='y'>"})]
    assert compare_outputs(stored, now) is None
    assert compare_outputs(stored, [_result({"text/plain": "   a\n0  2"})]) is not None
    assert compare_outputs(stored, []) is not None


WARNED = "<ipython-input-7>:3: FutureWarning: soon gone\n  old()\n"


@pytest.mark.parametrize(
    ("stored", "now", "kind"),
    [
        ("lost 3 rows\n", "lost 4 rows\n", "number"),
        ("", "lost 4 rows\n", "text"),
        (WARNED + "lost\n", WARNED.replace("-7", "-8") + "lost\n", ""),
        (WARNED + "lost\n", "lost\n", "warning"),
        (" 50%|█████     | 5/10 [00:00<00:00, 9.1it/s]\n", "100%|██| 10/10 [00:01<00:00, 8.3it/s]\n", ""),
        ("Matplotlib is building the font cache; this may take a moment.\n", "", ""),
    ],
    ids=["number", "new", "place of a warning", "warning gone", "progress", "font cache"],
)
def test_compare_outputs_compares_stderr_with_warnings_as_mild(stored: str, now: str, kind: str) -> None:
    """Python shows a warning once: a cell that ran again shows none."""
    old, new = ([{"output_type": "stream", "name": "stderr", "text": each}] for each in (stored, now))
    difference = compare_outputs(old, new)
    assert (difference.kind if difference else "") == kind
    assert difference is None or difference.is_mild == (kind == "warning")


def test_compare_outputs_compares_widgets_by_text_and_state() -> None:
    """Their models have other ids at each run; parts that only one of them has do not count."""
    stored = _widget("one", {"value": 3, "layout": {"width": "9px"}, "since": 8})
    assert compare_outputs([stored], [_widget("two", {"value": 3, "layout": {"width": "9px"}})]) is None
    assert compare_outputs([stored], [_widget("two")]) is None
    difference = compare_outputs([stored], [_widget("two", {"value": 3, "layout": {"width": "7px"}})])
    assert difference is not None
    assert (difference.kind, difference.stored, difference.now) == ("widget", "layout.width: 9px", "layout.width: 7px")
    assert compare_outputs([_widget("one", text="Slider(3)")], [_widget("two", text="Slider(4)")]) is not None
    assert uncompared([_widget("one"), _result({"application/pdf": ""})]) == {
        "the state of widgets, which is not saved in the notebook",
        "PDF",
    }


def test_compare_outputs_compares_videos_and_sounds_by_bytes() -> None:
    """They are outputs or inside HTML."""
    one, other = (base64.b64encode(each * 99).decode() for each in (b"abc", b"abd"))
    for kind in ("video/mp4", "audio/wav", "image/jpeg"):
        assert compare_outputs([_result({kind: one})], [_result({kind: f"{one[:8]}\n{one[8:]}"})]) is None
        difference = compare_outputs([_result({kind: one})], [_result({kind: other})])
        assert difference is not None
        assert difference.kind == "bytes"
    pages = [f'<audio src="data:audio/wav;base64,{each}"></audio>' for each in (one, other)]
    bundles = [[_result({"text/html": each, "text/plain": "<IPython.lib.display.Audio object>"})] for each in pages]
    assert compare_outputs(bundles[0], bundles[0]) is None
    assert compare_outputs(bundles[0], bundles[1]) is not None


def _result(data: dict[str, Any]) -> dict[str, Any]:
    return {"output_type": "execute_result", "data": data, "metadata": {}}


def _widget(model: str, state: dict[str, Any] | None = None, text: str = "Slider(3)") -> dict[str, Any]:
    view = {"model_id": model, **({} if state is None else {"state": state})}
    return _result({VIEW: view, "text/plain": text})


def _png(rows: list[bytes], kind: int) -> str:
    def filtered(row: bytes, above: bytes) -> bytes:
        line = bytearray()
        for at, value in enumerate(row):
            left, up = (row[at - 3] if at >= 3 else 0), above[at]
            corner = above[at - 3] if at >= 3 else 0
            guess = left + up - corner
            near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            line.append((value - (0, left, up, (left + up) // 2, near)[kind]) % 256)
        return bytes([kind]) + line

    above = [bytes(len(rows[0])), *rows]
    data = zlib.compress(b"".join(filtered(row, above[number]) for number, row in enumerate(rows)))
    head = (len(rows[0]) // 3).to_bytes(4, "big") + len(rows).to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])
    chunks = [(b"IHDR", head), (b"IDAT", data), (b"IEND", b"")]
    body = b"".join(
        len(each).to_bytes(4, "big") + name + each + zlib.crc32(name + each).to_bytes(4, "big") for name, each in chunks
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()
