r"""Where formulas stand in Markdown: ``$…$``, ``$$…$$``, ``\(…\)`` and ``\[…\]``, as in the chat."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

_LONGEST = 5_000
"""Characters that a formula may have; a longer one is left as text."""
_MOST_LINES = 100
_OPENING = re.compile(r"\$\$?|\\[(\[]")
_CLOSING = {"$": "$", "$$": "$$", "\\(": "\\)", "\\[": "\\]"}
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_EDGE = re.compile(r"^\s|\s\Z|`")
_AMOUNT = re.compile(r"[0-9.,][^\\{}^_=]*(?:\s[a-zA-Z]{2}|[A-Z]{2}\Z)")
_AFTER = re.compile(r"[^a-zA-Z0-9_]|\Z|(?:th|st|nd|rd|s)(?![a-zA-Z0-9_])")
_CODE = 4
"""Columns of indentation that make a line code."""


class Formula(NamedTuple):
    r"""A formula in a text."""

    source: str
    raw: str
    is_display: bool


def formula_at(text: str, at: int, end: int) -> Formula | None:
    """Returns the formula that begins at *at* and is closed before *end*, if there is one."""
    opening = _OPENING.match(text, at, end)
    if opening is None:
        return None
    sign = opening.group()
    close = _closing_at(text, opening.end(), end, _CLOSING[sign])
    if close < 0:
        return None
    source = text[opening.end() : close]
    if not source.strip() or source.count("\n") >= _MOST_LINES or _BLANK_LINE.search(source):
        return None
    after = close + len(sign)
    if sign == "$" and not _is_formula(source, text[at - 1 : at], text[after : min(after + 4, end)]):
        return None
    return Formula(source, text[at:after], sign in {"$$", "\\["})


def _is_formula(source: str, before: str, after: str) -> bool:
    if _EDGE.search(source) or _AMOUNT.match(source) or not _AFTER.match(after):
        return False
    return not re.match(r"[a-zA-Z0-9$]", before) or source[0] in "\\^_{"


def _closing_at(text: str, start: int, end: int, close: str) -> int:
    """Returns where *close* first occurs, not escaped by a backslash; -1 if it is not near."""
    last = min(end, start + _LONGEST + len(close))
    at = text.find(close, start, last)
    while at >= 0:
        slashes = at
        while slashes > start and text[slashes - 1] == "\\":
            slashes -= 1
        if (at - slashes) % 2 == 0:
            return at
        at = text.find(close, at + 1, last)
    return -1


def read_formulas(parser: MarkdownIt) -> None:
    """Have *parser* make a ``math`` token of each formula: its content is the LaTeX, its markup the original text."""
    parser.inline.ruler.before("escape", "math", _inline)
    parser.block.ruler.before("table", "math", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]})


def _inline(state: StateInline, silent: bool) -> bool:
    formula = formula_at(state.src, state.pos, state.posMax)
    if formula is None:
        return False
    if not silent:
        token = state.push("math", "", 0)
        token.content, token.markup, token.meta = formula.source, formula.raw, {"display": formula.is_display}
    state.pos += len(formula.raw)
    return True


def _block(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Parse a formula of several lines as one paragraph, whatever the lines begin with."""
    after = _lines_of_formula(state, first, end)
    if after is None:
        return False
    if silent:
        return True
    content = state.getLines(first, after, state.blkIndent, keepLastLF=False).strip()
    state.line = after
    for kind, tag, nesting in (("paragraph_open", "p", 1), ("inline", "", 0), ("paragraph_close", "p", -1)):
        token = state.push(kind, tag, nesting)  # type: ignore[arg-type]
        token.map = [first, after]
        if kind == "inline":
            token.content, token.children = content, []
    return True


def _lines_of_formula(state: StateBlock, first: int, end: int) -> int | None:
    """Returns the line after the formula that begins with line *first*; None if there is none of several lines."""
    if state.sCount[first] - state.blkIndent >= _CODE:
        return None
    start = state.bMarks[first] + state.tShift[first]
    sign = state.src[start : start + 2]
    if sign not in {"$$", "\\["}:
        return None
    close = _closing_at(state.src, start + 2, len(state.src), _CLOSING[sign])
    if close < 0 or not 0 < state.src.count("\n", start, close) < _MOST_LINES:
        return None
    line = first
    while state.eMarks[line] < close:
        line += 1
        if line >= end or state.isEmpty(line) or state.sCount[line] < state.blkIndent:
            return None
    content = state.getLines(first, line + 1, state.blkIndent, keepLastLF=False).strip()
    formula = formula_at(content, 0, len(content))
    return line + 1 if formula and "\n" in formula.raw else None
