"""Texts, tables and pictures are compared as a reader would.

The inside: a notebook shows too few of the texts and pictures that may come.
"""

from __future__ import annotations

import base64
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


def picture(width: int = 40, height: int = 30, dots: int = 0) -> str:
    """Returns a white PNG with black *dots*."""
    data = bytes(3 * dots) + b"\xff" * (3 * (width * height - dots))
    return _png([data[at : at + 3 * width] for at in range(0, len(data), 3 * width)], 0)


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
    assert compare_pictures(picture(dots=90), picture()) == "7.5% of the pixels differ"
    assert "40 × 30" in compare_pictures(picture(), picture(41))
    assert compare_pictures(picture(400, 300), picture(400, 300, dots=1)) == ""
    assert compare_pictures("AAAA", "BBBB") == "the pictures' data differ"


Output = dict[str, Any]


def stderr(text: str) -> Output:
    return {"output_type": "stream", "name": "stderr", "text": text}


def shown(text: str = "", **data: Any) -> Output:
    """Returns a result; the kinds of its *data* are written with underscores."""
    bundle = {"text/plain": text, **{name.replace("_", "/"): value for name, value in data.items()}}
    return {"output_type": "execute_result", "data": bundle, "metadata": {}}


def widget(model: str, text: str = "Slider(3)", **state: Any) -> Output:
    view = {"model_id": model, **({"state": state} if state else {})}
    return {"output_type": "execute_result", "data": {VIEW: view, "text/plain": text}, "metadata": {}}


WARNED = "<ipython-input-7>:3: FutureWarning: soon gone\n  old()\n"
BARS = (" 50%|█████     | 5/10 [00:00<00:00, 9.1it/s]\n", "100%|██| 10/10 [00:01<00:00, 8.3it/s]\n")
ONE, TWO = (base64.b64encode(each * 99).decode() for each in (b"abc", b"abd"))
AUDIO = "<IPython.lib.display.Audio object>"
HTML = [f'<audio src="data:audio/wav;base64,{each}"></audio>' for each in (ONE, TWO)]
OUTPUTS: dict[str, tuple[Output, Output | None, str]] = {
    "a frame's HTML": (shown("a\n0  1", text_html="<table id='x'>"), shown("a\n0  1", text_html="<table id='y'>"), ""),
    "a frame's text": (shown("a\n0  1"), shown("a\n0  2"), "number"),
    "nothing now": (shown("a\n0  1"), None, "text"),
    "number on stderr": (stderr("lost 3 rows\n"), stderr("lost 4 rows\n"), "number"),
    "new on stderr": (stderr(""), stderr("lost 4 rows\n"), "text"),
    "place of a warning": (stderr(f"{WARNED}lost\n"), stderr(f"{WARNED.replace('-7', '-8')}lost\n"), ""),
    "warning gone": (stderr(f"{WARNED}lost\n"), stderr("lost\n"), "warning"),
    "progress": (*map(stderr, BARS), ""),  # type: ignore[dict-item]
    "font cache": (stderr("Matplotlib is building the font cache; this may take a moment.\n"), stderr(""), ""),
    "widget's model and parts": (widget("one", value=3, since=8), widget("two", value=3), ""),
    "widget without state": (widget("one", value=3), widget("two"), ""),
    "widget's state": (widget("one", layout={"width": "9px"}), widget("two", layout={"width": "7px"}), "widget"),
    "widget's text": (widget("one", "Slider(3)"), widget("two", "Slider(4)"), "number"),
    "lines of a video": (shown(AUDIO, video_mp4=ONE), shown(AUDIO, video_mp4=f"{ONE[:8]}\n{ONE[8:]}"), ""),
    "video": (shown(AUDIO, video_mp4=ONE), shown(AUDIO, video_mp4=TWO), "bytes"),
    "sound": (shown(AUDIO, audio_wav=ONE), shown(AUDIO, audio_wav=TWO), "bytes"),
    "photograph": (shown(AUDIO, image_jpeg=ONE), shown(AUDIO, image_jpeg=TWO), "bytes"),
    "sound in HTML": (shown(AUDIO, text_html=HTML[0]), shown(AUDIO, text_html=HTML[1]), "text"),
}


@pytest.mark.parametrize(("stored", "now", "kind"), OUTPUTS.values(), ids=OUTPUTS)
def test_compare_outputs_finds_what_a_reader_would_see(stored: Output, now: Output | None, kind: str) -> None:
    """Python shows a warning once, so that a cell that ran again may show none; other differences are faults."""
    assert compare_outputs([stored], [stored]) is None
    difference = compare_outputs([stored], [] if now is None else [now])
    assert (difference.kind if difference else "") == kind
    assert difference is None or difference.is_mild == (kind == "warning")


def test_outputs_that_cannot_be_compared_are_named() -> None:
    names = {"the state of widgets, which is not saved in the notebook", "PDF"}
    assert uncompared([widget("one"), shown(application_pdf="")]) == names


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
