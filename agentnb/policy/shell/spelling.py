"""Other spellings of a script: of what the grammar does not know, and of what a plain shell reads in another way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_LONGEST_REPAIRED = 8_000
"""In characters: the grammar takes up to a second and a half for a text that it cannot read, and twice that for a
repaired one."""
_REPAIRS = (
    # `time` in front of a command that is no program
    (re.compile(rb"(^|[;&|({\n][ \t]*)time(?:[ \t]+-p)?(?=[ \t]+(?:[{(!]|(?:if|for|while|until|case)[ \t]))"), rb"\1"),
    # `python - <<EOF`
    (re.compile(rb"([ \t])-(?=[ \t]*<<)"), rb"\1\\-"),
    # `{a,b}` in a program's place
    (re.compile(rb"(^|[;&|(\n][ \t]*)\{(?=[^ \t\n])"), rb"\1''{"),
    # a file that is opened for reading and writing
    (re.compile(rb"(\d)<>"), rb"\1>"),
    # a here-string behind a file
    (
        re.compile(
            rb"(>[ \t]*[\w./-]{1,200})([ \t]*<<<[ \t]*(?:'[^']{0,999}'|\"[^\"]{0,999}\"|[\w./-]+)(?=[\s;&|)]|\Z))"
        ),
        rb"\2 \1",
    ),
)
"""Other spellings of what the grammar does not know, tried where it fails."""
_PLAIN_SPELLINGS = {
    "[[": "\\[[",
    "&>": "& >",
    "&>>": "& >>",
    "function": "\\function",
    "select": "\\select",
}
"""The tokens of bash that a plain shell takes for something else, as they are written for that reading."""


def repaired_spelling(source: bytes) -> bytes:
    """*source* with other spellings of what the grammar does not know; they change nothing that quotes keep apart."""
    if len(source) > _LONGEST_REPAIRED or b"$'" in source:  # in `$'…'` two quotes more are no empty text
        return source
    for pattern, spelling in _REPAIRS:
        source = pattern.sub(spelling, source)
    return source


def leaves(node: Node, whole: frozenset[str] = frozenset()) -> Iterator[Node]:
    """The tokens of *node*, in order; nodes of the kinds *whole* are one token."""
    rest = [node]
    while rest:
        each = rest.pop()
        if each.children and each.type not in whole:
            rest += reversed(each.children)
        else:
            yield each


def plain_spelling(source: bytes, root: Node) -> bytes:
    """*source* as a plain shell reads it: what only bash knows is escaped."""
    for leaf in reversed(list(leaves(root))):
        spelling = _PLAIN_SPELLINGS.get(leaf.type)
        if leaf.type == "ansi_c_string":
            spelling = "\\" + source[leaf.start_byte : leaf.end_byte].decode()
        elif leaf.type in {"((", "))"} and leaf.parent is not None and leaf.parent.type == "compound_statement":
            spelling = " ".join(leaf.type)
        if spelling is not None:
            source = source[: leaf.start_byte] + spelling.encode() + source[leaf.end_byte :]
    return source
