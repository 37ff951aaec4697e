"""Differences of texts, line by line, and three-way merges, in time that grows with the texts' length."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from codecs import getincrementaldecoder
from collections import deque
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, TypeAlias

from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Match: TypeAlias = tuple[int, int, int]
"""A run of equal lines: its start in each of the two texts, and its number of lines."""

LONGEST = 5_000_000
"""The longest text, in bytes, that is compared line by line; a longer one is treated as binary."""

_FULLY = 10_000  # product of the two texts' line counts up to which difflib compares them
_HEAD = 8_000
_CONTEXT = 3


def text_of(content: bytes) -> str | None:
    """Returns *content* as text, or None if it is not UTF-8 or contains a NUL."""
    try:
        return None if b"\0" in content else content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def begins_as_text(content: bytes) -> bool:
    """True if *content*, which may be cut off within a character, begins as UTF-8 text."""
    start = content[:_HEAD]
    try:
        getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return b"\0" not in start


def text_lines(content: bytes) -> list[bytes] | None:
    """Returns the lines of a UTF-8 text, with their ends; None for anything else, and for a very long text."""
    if len(content) > LONGEST or not begins_as_text(content):
        return None
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    lines = [each + b"\n" for each in content.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def count_lines(before: bytes, after: bytes) -> tuple[int, int] | tuple[None, None]:
    """Returns how many lines were added and removed; None if either side is not text."""
    old, new = text_lines(before), text_lines(after)
    if old is None or new is None:
        return None, None
    same = sum(length for _, _, length in matches(old, new))
    return len(new) - same, len(old) - same


def unified(before: bytes, after: bytes, old_name: str, new_name: str) -> str:
    """Returns a unified diff; if either side is not text, one line that says so."""
    old, new = text_lines(before), text_lines(after)
    if old is None or new is None:
        return f"Binary files {old_name} and {new_name} differ\n" if before != after else ""
    lines = [f"--- {old_name}\n", f"+++ {new_name}\n"]
    for hunk in _Matcher(old, new).get_grouped_opcodes(_CONTEXT):
        (_, low, _, other_low, _), (_, _, high, _, other_high) = hunk[0], hunk[-1]
        lines.append(f"@@ -{_span(low, high)} +{_span(other_low, other_high)} @@\n")
        for kind, begin, end, other_begin, other_end in hunk:
            is_same = kind == "equal"
            lines += [_diff_line(" " if is_same else "-", line) for line in old[begin:end]]
            lines += [] if is_same else [_diff_line("+", line) for line in new[other_begin:other_end]]
    return "".join(lines) if len(lines) > 2 else ""  # noqa: PLR2004 - more than the head


def merge(base: bytes, mine: bytes, theirs: bytes) -> tuple[bytes | None, bool]:
    """Merge *mine* and *theirs*; returns the text, or None if one is not text, and whether they merge cleanly."""
    texts = [text_lines(each) for each in (base, mine, theirs)]
    old, left, right = texts
    if old is None or left is None or right is None:
        return None, False
    merged: list[bytes] = []
    clean = True
    for ours, others, before in _regions(old, left, right):
        if others in (ours, before):
            merged += ours
        elif ours == before:
            merged += others
        else:
            clean = False
            merged += [b"<<<<<<< mine\n", *_ended(ours), b"=======\n", *_ended(others), b">>>>>>> theirs\n"]
    text = b"".join(merged)
    return text, clean and not (all(map(_is_json, (base, mine, theirs))) and not _is_json(text))


def matches(old: Sequence[bytes], new: Sequence[bytes]) -> list[Match]:
    """Returns the equal parts of two texts, in order; no two are adjacent."""
    blocks: list[Match] = []
    waiting = [(0, len(old), 0, len(new))]
    while waiting:
        low, high, other_low, other_high = waiting.pop()
        size = 0
        while low + size < high and other_low + size < other_high and old[low + size] == new[other_low + size]:
            size += 1
        if size:
            blocks.append((low, other_low, size))
        low, other_low = low + size, other_low + size
        size = 0
        while (
            high - size > low and other_high - size > other_low and old[high - size - 1] == new[other_high - size - 1]
        ):
            size += 1
        if size:
            blocks.append((high - size, other_high - size, size))
        high, other_high = high - size, other_high - size
        if low == high or other_low == other_high:
            continue
        if (high - low) * (other_high - other_low) <= _FULLY:
            matcher = SequenceMatcher(None, old[low:high], new[other_low:other_high], autojunk=False)
            blocks += [(low + a, other_low + b, n) for a, b, n in matcher.get_matching_blocks() if n]
            continue
        anchors = _anchors(old[low:high], new[other_low:other_high])
        at, other = low, other_low
        for one, two in anchors:
            waiting.append((at, low + one, other, other_low + two))
            blocks.append((low + one, other_low + two, 1))
            at, other = low + one + 1, other_low + two + 1
        if anchors:
            waiting.append((at, high, other, other_high))
    return _joined(sorted(blocks))


def _joined(blocks: list[Match]) -> list[Match]:
    joined: list[Match] = []
    for at, other, size in blocks:
        if joined and joined[-1][0] + joined[-1][2] == at and joined[-1][1] + joined[-1][2] == other:
            joined[-1] = (joined[-1][0], joined[-1][1], joined[-1][2] + size)
        else:
            joined.append((at, other, size))
    return joined


def _anchors(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    """Returns the longest increasing sequence of lines that occur exactly once in each text."""
    places = _once(old), _once(new)
    pairs = [(at, places[1][line]) for line, at in places[0].items() if line in places[1]]
    ends: list[int] = []
    ends_at: list[int] = []
    before: list[int] = []
    for number, (_, other) in enumerate(pairs):
        length = bisect_left(ends, other)
        before.append(ends_at[length - 1] if length else -1)
        ends[length : length + 1] = [other]
        ends_at[length : length + 1] = [number]
    chain = []
    number = ends_at[-1] if ends_at else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _once(lines: Sequence[bytes]) -> dict[bytes, int]:
    """Returns the lines that occur exactly once, with their positions, in order."""
    seen: dict[bytes, int] = {}
    twice = set()
    for at, line in enumerate(lines):
        if line in seen:
            twice.add(line)
        seen[line] = at
    return {line: at for line, at in seen.items() if line not in twice}


class _Matcher(SequenceMatcher[bytes]):
    """Groups lines as :mod:`difflib` does, but by our matches."""

    def __init__(self, old: Sequence[bytes], new: Sequence[bytes]) -> None:
        super().__init__(None, [], [])
        self._blocks = [difflib.Match(*each) for each in [*matches(old, new), (len(old), len(new), 0)]]

    def get_matching_blocks(self) -> list[difflib.Match]:
        return self._blocks


def _diff_line(sign: str, line: bytes) -> str:
    text = sign + line.decode("utf-8", "replace")
    return text if text.endswith("\n") else f"{text}\n\\ No newline at end of file\n"


def _span(low: int, high: int) -> str:
    """Returns a range of lines as in a unified diff: counted from 1, and the line before it if it is empty."""
    size = high - low
    return f"{low + 1}" if size == 1 else f"{low + (1 if size else 0)},{size}"


def _regions(
    base: Sequence[bytes], left: Sequence[bytes], right: Sequence[bytes]
) -> Iterator[tuple[Sequence[bytes], Sequence[bytes], Sequence[bytes]]]:
    """Yields the corresponding parts of the three texts, in order: mine, theirs, base (diff3)."""
    at = mine = theirs = 0
    for begin, mine_begin, theirs_begin, size in [*_common(base, left, right), (len(base), len(left), len(right), 0)]:
        yield left[mine:mine_begin], right[theirs:theirs_begin], base[at:begin]
        same = base[begin : begin + size]
        yield same, same, same
        at, mine, theirs = begin + size, mine_begin + size, theirs_begin + size


def _common(
    base: Sequence[bytes], left: Sequence[bytes], right: Sequence[bytes]
) -> Iterator[tuple[int, int, int, int]]:
    """Yields the parts that all three texts share: the start in each, and the number of lines."""
    ones, others = deque(matches(base, left)), deque(matches(base, right))
    while ones and others:
        (one, mine, size), (other, theirs, other_size) = ones[0], others[0]
        begin, end = max(one, other), min(one + size, other + other_size)
        if begin < end:
            yield begin, mine + begin - one, theirs + begin - other, end - begin
        (ones if one + size == end else others).popleft()


def _ended(lines: Sequence[bytes]) -> list[bytes]:
    return [*lines[:-1], lines[-1] if lines[-1].endswith(b"\n") else lines[-1] + b"\n"] if lines else []


def _is_json(content: bytes) -> bool:
    if content.lstrip()[:1] not in {b"{", b"["}:
        return False
    try:
        read_json(content)
    except ValueError:
        return False
    return True
