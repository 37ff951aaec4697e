"""Compares pictures (PNG) by their pixels; the decoder is our own, so that no library is needed."""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from typing import NamedTuple

NOTICED = 32
"""How much a channel of a pixel must differ to count, of 255."""
SHARE = 0.0003
"""The share of pixels that may differ."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
MOST_BYTES = 64 * 1024 * 1024


class Pixels(NamedTuple):
    """A decoded picture."""

    width: int
    height: int
    channels: int
    rows: bytes


def compare_pictures(stored: str, now: str) -> str:
    """How two PNGs in base64 differ; empty where they look the same."""
    if stored.strip() == now.strip():
        return ""
    try:
        before, after = (_decoded(base64.b64decode(each)) for each in (stored, now))
    except (ValueError, zlib.error, binascii.Error, struct.error):
        return "the pictures' data differ"
    if (before.width, before.height) != (after.width, after.height):
        return f"{before.width} × {before.height} pixels were shown, now it has {after.width} × {after.height}"
    if before.channels != after.channels:
        return "the pictures' colours differ"
    pixels = before.width * before.height
    changed = _changed(before, after)
    return f"{changed / pixels:.1%} of the pixels differ" if changed > SHARE * pixels else ""


def _changed(before: Pixels, after: Pixels) -> int:
    if before.rows == after.rows:
        return 0
    channels, size = before.channels, before.width * before.channels
    changed = 0
    for begin in range(0, len(before.rows), size):
        old, new = before.rows[begin : begin + size], after.rows[begin : begin + size]
        if old == new:
            continue
        for at in range(0, size, channels):
            if old[at : at + channels] != new[at : at + channels]:
                changed += any(abs(old[at + each] - new[at + each]) > NOTICED for each in range(channels))
    return changed


def _decoded(data: bytes) -> Pixels:
    if not data.startswith(_SIGNATURE):
        raise ValueError("no PNG")
    at, packed, head = len(_SIGNATURE), bytearray(), None
    while at + 8 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            head = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    if head is None or head[2] != 8 or head[6] or head[3] not in _CHANNELS:  # noqa: PLR2004 - eight bits a channel
        raise ValueError("not of the usual kind")
    width, height, channels = head[0], head[1], _CHANNELS[head[3]]
    if width * height * channels > MOST_BYTES:
        raise ValueError("too large")
    raw = zlib.decompressobj().decompress(bytes(packed), (width * channels + 1) * height)
    if len(raw) != (width * channels + 1) * height:
        raise ValueError("it breaks off")
    return Pixels(width, height, channels, _unfiltered(raw, width * channels, channels))


def _unfiltered(raw: bytes, size: int, step: int) -> bytes:
    rows = bytearray()
    above = bytes(size)
    for begin in range(0, len(raw), size + 1):
        kind, line = raw[begin], bytearray(raw[begin + 1 : begin + 1 + size])
        if kind == 1:
            for at in range(step, size):
                line[at] = (line[at] + line[at - step]) & 255
        elif kind == 2:  # noqa: PLR2004 - PNG's numbers
            line = bytearray((one + other) & 255 for one, other in zip(line, above, strict=True))
        elif kind == 3:  # noqa: PLR2004
            for at in range(size):
                left = line[at - step] if at >= step else 0
                line[at] = (line[at] + (left + above[at]) // 2) & 255
        elif kind == 4:  # noqa: PLR2004
            _paeth(line, above, step)
        rows += line
        above = bytes(line)
    return bytes(rows)


def _paeth(line: bytearray, above: bytes, step: int) -> None:
    for at in range(len(line)):
        left = line[at - step] if at >= step else 0
        up, corner = above[at], above[at - step] if at >= step else 0
        guess = left + up - corner
        near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))
        line[at] = (line[at] + near[2]) & 255
