"""What ``for piece in turn`` reads: each character once, whatever the turn looks like."""

from __future__ import annotations

from typing import Any

from agentnb.api.text_reader import TextReader
from agentnb.state import MarkdownResponsePart


class Counted(str):
    """Text that counts the characters that are copied out of it."""

    __slots__ = ()
    copied = 0

    def __getitem__(self, at: Any) -> str:
        piece = super().__getitem__(at)
        Counted.copied += len(piece)
        return piece


def part(name: str, text: str) -> MarkdownResponsePart:
    """A part of an answer."""
    return MarkdownResponsePart(id=name, content=text)


def test_a_long_text_that_grows_word_by_word_is_copied_once() -> None:
    """Twice as many words cost twice as much, and no more: never the whole text again at each."""
    for words in (100, 200):
        reader, Counted.copied = TextReader(), 0
        pieces = [reader.read([part("a", Counted("word " * count))]) for count in range(1, words + 1)]
        assert pieces == ["word "] * words
        assert Counted.copied == 5 * words


def test_parts_are_read_in_their_order_and_one_that_grows_late_gives_only_what_is_new() -> None:
    """Nothing is read twice, nothing is left out."""
    reader = TextReader()
    assert reader.read([]) == ""
    assert reader.read([part("a", "one ")]) == "one "
    assert reader.read([part("a", "one two "), part("b", "three ")]) == "two three "
    assert reader.read([part("a", "one two and "), part("b", "three ")]) == "and "
    assert reader.read([part("b", "three four")]) == "four"
