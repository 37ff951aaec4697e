"""Reads the words of a PDF that Chromium has printed: supports only that part of the format."""

from __future__ import annotations

import re
import zlib

_OBJECT = re.compile(rb"(?:^|\n)(\d+) 0 obj\n(.*?)(?:>>\s*stream\r?\n(.*?)\nendstream)?\nendobj", re.DOTALL)
_FONT = re.compile(rb"/F(\d+) (\d+) 0 R")
_FONT_OR_GLYPHS = re.compile(rb"/F(\d+) [\d.]+ Tf|<([0-9A-Fa-f]+)> Tj")
_RANGE = re.compile(rb"<([0-9A-Fa-f]{4})> (?:<([0-9A-Fa-f]{4})> )?<([0-9A-Fa-f]{4,})>")


def words(data: bytes) -> str:
    """Returns all visible letters of the PDF *data*, without spaces, in drawing order."""
    objects = {number: (head, _unpacked(stream)) for number, head, stream in _OBJECT.findall(data)}
    fonts = {name: _letters(objects, number) for head, _ in objects.values() for name, number in _FONT.findall(head)}
    letters = []
    for _, stream in objects.values():
        font: dict[int, str] = {}
        for name, glyphs in _FONT_OR_GLYPHS.findall(stream):
            if name:
                font = fonts.get(name, {})
            letters += [font.get(int(glyphs[at : at + 4], 16), "") for at in range(0, len(glyphs), 4)]
    return re.sub(r"\s", "", "".join(letters))


def _letters(objects: dict[bytes, tuple[bytes, bytes]], number: bytes) -> dict[int, str]:
    """Returns the letters of a font's glyphs."""
    table = re.search(rb"/ToUnicode (\d+) 0 R", objects[number][0])
    letters: dict[int, str] = {}
    for first, last, letter in _RANGE.findall(objects[table[1]][1] if table else b""):
        begin, code = int(first, 16), int(letter[:4], 16)
        for glyph in range(begin, int(last or first, 16) + 1):
            letters[glyph] = chr(code + glyph - begin)
    return letters


def _unpacked(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return stream
