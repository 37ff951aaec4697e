"""Compares what a cell shows with what it gives now."""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.plugins.verify.compare_text import Difference, compare_texts, same_words
from agentnb.plugins.verify.notebook_text import text_of
from agentnb.plugins.verify.widget_states import VIEW, different_values

if TYPE_CHECKING:
    from collections.abc import Sequence


NOTICED = 32
"""Difference in a pixel's channel, of 255, that counts."""
SHARE = 0.0003
"""The share of pixels that may differ."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
MOST_BYTES = 64 * 1024 * 1024


class Pixels(NamedTuple):
    width: int
    height: int
    channels: int
    rows: bytes


def compare_pictures(stored: str, now: str) -> str:
    """Returns how two PNGs in base64 differ; '' if they look the same."""
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


_UNREADABLE = frozenset({"application/javascript", "text/javascript", "application/pdf"})
"""Kinds that are not compared: the effect of a script is unknown, and a PDF contains its creation time."""
_BYTES = re.compile(r"image/(?!png|svg).*|video/.*|audio/.*")
_WARNING = re.compile(r"^.*\b\w*Warning: .*(?:\n[ \t]+.*)*$", re.MULTILINE)
_PLACE = re.compile(r"^.*?:\d+: (?=\w*Warning: )")
_OWN_STATE = re.compile(
    r"^.*(?:building the font cache|Debugger warning|Debugging will proceed|PYDEVD_|[Nn]o writable cache"
    r"|mkdir -p failed|temporary cache directory).*$",
    re.MULTILINE,
)
"""Lines about the machine, not the notebook: they appear at the first run, or if a cache cannot be written."""
_NAMELESS = ("<IPython.", "<Figure", "<pandas.io.formats.style", "alt.", "<Axes", "Figure(", "<folium", "<graphviz")

Output = dict[str, Any]


def has_same_words(stored: Sequence[Output], now: Sequence[Output]) -> bool:
    texts = [
        "\n".join([_printed(each), *(text_of(one.get("text/plain", "")) for one in _displays(each))])
        for each in (stored, now)
    ]
    return same_words(*texts)


def compare_outputs(stored: Sequence[Output], now: Sequence[Output]) -> Difference | None:
    """Returns the first difference that counts; None if there is none."""
    printed = (_printed(stored), _printed(now))
    mild = compare_texts(*printed)
    if printed[0].count("\n") != printed[1].count("\n") and same_words(*printed):
        mild = None  # a terminal's columns became lines
    if mild is not None and not mild.is_mild:
        return mild
    before, after = _displays(stored), _displays(now)
    for old, new in zip(before, after, strict=False):
        difference = _compare_bundles(old, new)
        if difference is not None and not difference.is_mild:
            return difference
        mild = mild or difference
    if len(before) != len(after):
        return Difference("text", _names(before[len(after) :]), _names(after[len(before) :]))
    old_error, new_error = _error(stored), _error(now)
    if old_error and new_error and old_error != new_error:
        return Difference("text", old_error, new_error)
    if old_error and not new_error:
        return Difference("text", old_error, "no error")
    warned = _compare_stderr(*(_OWN_STATE.sub("", _printed(each, "stderr")) for each in (stored, now)))
    return mild if warned is None or (mild is not None and warned.is_mild) else warned


def _compare_stderr(stored: str, now: str) -> Difference | None:
    """Compare stderr; other warnings are mild: Python shows one once, so a cell that is run again shows none."""
    rest = compare_texts(_WARNING.sub("", stored), _WARNING.sub("", now))
    if rest is not None:
        return rest
    warnings = ["\n".join(_PLACE.sub("", each) for each in _WARNING.findall(text)) for text in (stored, now)]
    warned = compare_texts(*warnings)
    return None if warned is None else warned._replace(kind="warning", is_mild=True)


def uncompared(outputs: Sequence[Output]) -> set[str]:
    """Returns descriptions of the outputs shown in the notebook that cannot be compared."""
    bundles = [each.get("data") or {} for each in outputs if isinstance(each.get("data"), dict)]
    words = {"JavaScript": "javascript", "PDF": "application/pdf"}
    names = {name for name, kind in words.items() for each in bundles if any(kind in one for one in each)}
    if any("state" not in each[VIEW] for each in bundles if isinstance(each.get(VIEW), dict)):
        names.add("the state of widgets, which is not saved in the notebook")
    return names


def _printed(outputs: Sequence[Output], name: str = "stdout") -> str:
    streams = [each for each in outputs if each.get("output_type") == "stream" and each.get("name", "stdout") == name]
    return "".join(text_of(each.get("text", "")) for each in streams)


def _displays(outputs: Sequence[Output]) -> list[dict[str, Any]]:
    kinds = {"execute_result", "display_data"}
    bundles = [each.get("data") for each in outputs if each.get("output_type") in kinds]
    return [each for each in bundles if isinstance(each, dict) and each and _UNREADABLE.isdisjoint(each)]


def _compare_bundles(stored: dict[str, Any], now: dict[str, Any]) -> Difference | None:
    if VIEW in stored and VIEW in now:
        return _compare_widgets(stored, now)
    if "image/png" in stored and "image/png" in now:
        why = compare_pictures(text_of(stored["image/png"]), text_of(now["image/png"]))
        return Difference("text", "a picture", why) if why else None
    plain = [text_of(each.get("text/plain", "")) for each in (stored, now)]
    if "text/plain" in stored and "text/plain" in now and not plain[0].lstrip().startswith(_NAMELESS):
        return compare_texts(*plain)
    for kind in sorted(stored.keys() & now.keys() - {"text/plain"}):
        if _BYTES.fullmatch(kind):
            if "".join(text_of(stored[kind]).split()) != "".join(text_of(now[kind]).split()):
                return Difference("bytes", kind, f"{kind} with other bytes")
            continue
        difference = compare_texts(text_of(stored[kind]), text_of(now[kind]))
        if difference is not None:
            return difference
    if stored.keys().isdisjoint(now.keys()):
        return Difference("text", ", ".join(stored), ", ".join(now))
    return None


def _compare_widgets(stored: dict[str, Any], now: dict[str, Any]) -> Difference | None:
    described = compare_texts(*(text_of(each.get("text/plain", "")) for each in (stored, now)))
    if described is not None:
        return described
    before, after = (each[VIEW].get("state") if isinstance(each[VIEW], dict) else None for each in (stored, now))
    values = None if before is None or after is None else different_values(before, after)
    if values is None or compare_texts(str(values[1]), str(values[2])) is None:
        return None
    name, old, new = values
    return Difference("widget", f"{name}: {str(old)[:200]}", f"{name}: {str(new)[:200]}")


def _names(bundles: Sequence[dict[str, Any]]) -> str:
    texts = [text_of(each.get("text/plain") or ", ".join(each)).strip() for each in bundles]
    return "\n".join(each.partition("\n")[0][:200] for each in texts[:3]) or "nothing"


def _error(outputs: Sequence[Output]) -> str:
    error = next((each for each in outputs if each.get("output_type") == "error"), None)
    return str(error.get("ename", "error")) if error else ""
