"""The picture: a real PNG, the same bytes everywhere."""

from __future__ import annotations

import base64
import struct
import zlib

from agentnb.plugins.eliza.picture import BARS, HEIGHT, WIDTH, bar_chart


def chunks(png: bytes) -> dict[bytes, bytes]:
    """The parts of a PNG, their checksums verified."""
    found, place = {}, 8
    while place < len(png):
        (length,) = struct.unpack_from(">I", png, place)
        kind, data = png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        assert struct.unpack_from(">I", png, place + 8 + length) == (zlib.crc32(kind + data),)
        found[kind] = data
        place += length + 12
    return found


def test_png() -> None:
    """It is a PNG whose checksums and size are right."""
    png = base64.b64decode(bar_chart())
    found = chunks(png)
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert list(found) == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
    assert struct.unpack(">II", found[b"IHDR"][:8]) == (WIDTH, HEIGHT)
    assert len(zlib.decompress(found[b"IDAT"])) == HEIGHT * (WIDTH // 4 + 1)


def test_bars() -> None:
    """It shows as many bars as there are numbers."""
    rows = zlib.decompress(chunks(base64.b64decode(bar_chart()))[b"IDAT"])
    above_the_axis = (HEIGHT - 8) * (WIDTH // 4 + 1)
    quads = rows[above_the_axis + 1 : above_the_axis + 1 + WIDTH // 4]
    pixels = "".join(str(quad >> shift & 3) for quad in quads for shift in (6, 4, 2, 0))
    assert len([run for run in pixels.replace("1", "0").split("0") if run]) == len(BARS)
