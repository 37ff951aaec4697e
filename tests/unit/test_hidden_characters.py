"""The inside: the kernel and the page have the same list of invisible characters, and it covers Unicode."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest

from agentnb.hidden_characters import CONTROLS, HIDDEN, JOINERS
from agentnb.policy.commands.rating import rate_command
from tests.conftest import ROOT

_HIDDEN = re.compile(f"[{HIDDEN}]")
ALL = [chr(number) for number in range(sys.maxunicode + 1)]
SEEN = (
    r"NUMBER MARK|NUMBER SIGN|SIGN SAMVAT|YEAR|SANAH|FOOTNOTE|SIGN SAFHA|END OF AYAH|ABBREVIATION|POUND MARK|PIASTRE"
    r"|HIEROGLYPH"
)
"""The visible format characters of Unicode: they surround digits or join hieroglyphs."""


def test_page_and_kernel_hide_the_same_characters() -> None:
    """Both lists are written by hand in each language's syntax."""
    source = (ROOT / "js/src/view/plain.ts").read_text(encoding="utf-8")
    [written] = re.findall(r"const HIDDEN =\s+/(.*)/gu;", source)
    page = re.compile(re.sub(r"\\u(?:\{(\w+)\}|(\w{4}))", lambda match: chr(int(match[1] or match[2], 16)), written))
    kernel = re.compile(f"[{CONTROLS}{HIDDEN}]")
    assert [each for each in ALL if page.match(each)] == [each for each in ALL if kernel.match(each)]


def test_every_unicode_format_character_is_hidden_or_drawn() -> None:
    """Whoever updates Python must decide about characters that a later Unicode adds."""
    formats = [each for each in ALL if unicodedata.category(each) == "Cf" and each not in JOINERS]
    assert len(formats) > 150
    left = [unicodedata.name(each) for each in formats if not _HIDDEN.match(each)]
    assert [name for name in left if not re.search(SEEN, name)] == []


@pytest.mark.parametrize(
    "char", ["\u200b", "\u061c", "\u202e", "\u2067", "\u3164", "\u1160", "\U000e0041", "\U000e0100", *JOINERS]
)
def test_command_with_a_hidden_character_has_high_severity(char: str) -> None:
    """It would look like another command."""
    for command in (f"cat a{char}b.txt", f"ls {char}", f"echo 'x{char}'"):
        assert rate_command(command).severity == "high"
    assert rate_command("cat ä❤️.txt").severity == "none"


@pytest.mark.parametrize("text", ["ä", "日本", "❤️", "नमस्ते", "a\u00a0b", "مرحبا"])
def test_letters_and_emoji_are_not_hidden(text: str) -> None:
    """Nor are non-breaking spaces."""
    assert not _HIDDEN.search(text)
