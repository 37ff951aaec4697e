"""Makes the Markdown of agents harmless in a notebook.

JupyterLab does not sanitise the Markdown of a cell that has just run, nor does nbconvert: a ``<script>`` there runs.
Renderers also disagree on what is code, so no decision may depend on one parser. Hence two layers:

1. **Safety is textual.** Outside of our own fences (see `fences`) the text has no ``<`` that could begin a tag, no
   image except small raster ones contained in the text, no link except to http, https, mail or a relative place, no
   link definition to anything else, no run of three backticks or tildes. Link targets and bare addresses are
   percent-encoded, because JupyterLab puts mathematics back *after* rendering: ``https://a/$" onclick=…$`` would
   end an attribute.
2. **Looks are parsed.** A CommonMark parser finds the code, so that ``<`` in code is still shown as ``<``: blocks get
   our fences, and code that would break rule 1 becomes ``<code>`` made of character references.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from agentnb.ipython.display_formulas import LONGEST_FORMULA, NO_FORMULA, MarkdownLines, on_one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown_it import MarkdownIt
    from markdown_it.token import Token


SHORTEST = 3
_PLAIN_SIGNS = frozenset(" ,./:;-=%()+'#?")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,40}")


class Fences(NamedTuple):
    """The length of a document's fences."""

    backticks: int = SHORTEST
    tildes: int = SHORTEST

    @classmethod
    def around(cls, texts: Iterable[str]) -> Fences:
        """Fences that are longer than any run of backticks or tildes in *texts*."""
        runs = [(_longest("`", text), _longest("~", text)) for text in texts]
        return cls(*(max([SHORTEST, *(length + 1 for length in lengths)]) for lengths in zip(*runs, strict=True)))

    def block(self, code: str, language: str = "") -> str:
        """*code*, verbatim, as a block that stands by itself."""
        return _fenced("`" * max(self.backticks, _longest("`", code) + 1), code, language, "", "")

    def nested(self, code: str, language: str, first: str, rest: str) -> str:
        """*code* as a block inside a list or a quote."""
        return _fenced("~" * max(self.tildes, _longest("~", code) + 1), code, language, first, rest)


def _fenced(fence: str, code: str, language: str, first: str, rest: str) -> str:
    word = _LANGUAGE.match(language)
    lines = [f"{fence}{word.group() if word else ''}", *code.removesuffix("\n").split("\n"), fence]
    return "\n".join((first if number == 0 else rest) + line for number, line in enumerate(lines))


def _longest(sign: str, text: str) -> int:
    return max(map(len, re.findall(f"{sign}+", text)), default=0)


def html_text(text: str) -> str:
    """*text* for the inside of an HTML element, with special characters as character references."""
    return "".join(char if _is_plain(char) else f"&#{ord(char)};" for char in text)


def html_code(code: str) -> str:
    """*code* as one ``<code>`` element, for places where backticks would not work."""
    return f"<code>{html_text(code)}</code>"


def _is_plain(char: str) -> bool:
    if char.isalnum() or char in _PLAIN_SIGNS:
        return True
    return ord(char) > 0xA0 and char not in "\u2028\u2029"  # noqa: PLR2004 - the end of the control characters


PICTURE_TYPES = ("png", "jpeg", "gif", "webp")
_SCHEMES = frozenset({"http", "https", "mailto"})
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_TAG = r"<(?![\s\d=]|$)"
_ADDRESS = r"(?:https?://|ftp://|www\.)"
_RISKY = re.compile(
    rf"""
      (?P<picture>!\[[\w\s.,-]*\]\(data:image/(?:{"|".join(PICTURE_TYPES)});base64,[A-Za-z0-9+/=]+\))
    | (?P<definition>^[ ]{{0,3}}\[[\w .-]{{1,100}}\]:[ ]+https?://[\w./?=#%+~-]+[ ]*$)
    | (?P<autolink><(?P<url>(?:https?://|mailto:)[^\s<>]+)>)
    | (?P<formula>(?<![\\$])\$(?![\s$])[^][$`\n<]*<[^][$`\n]*(?<![\s\\])\$(?!\d))
    | (?P<image>(?<!\\)\\*!\[)
    | (?P<tag>(?<!\\)\\*{_TAG})
    | (?P<link>\]\()
    | (?P<colon>\]:)
    | (?P<run>`{{3,}}|~{{3,}})
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_BARE = re.compile(rf"{_ADDRESS}\S+", re.IGNORECASE)
_MATHEMATICS = {"$": "%24", "\\": "%5C", "{": "%7B", "}": "%7D", "`": "%60"}
_FORMULA_SIGN = re.compile(r"(?<!\\)\$\$+|\\(?=begin\{)|\\(?=\\\[)")
_DISPLAY = r"(?:\$\$[^$\n]+(?<!\\)\$\$|\\begin\{(?P<name>[a-z]+\*?)\}[^$\n\\]*\\end\{(?P=name)\}|\\\\\[[^$\n\\]*\\\\\])"
_LINE_WITH_FORMULAS = re.compile(
    rf"[^$\\]*{_DISPLAY}[^$\\]*|[^$\\]*(?:(?:\\(?!begin\{{|\\\[)|(?<!\$)\$(?!\$))[^$\\]*)*"
)
_WHOLE_FORMULA = re.compile(
    r"\s*(?:\$\$[^$]+(?<!\\)\$\$|\\begin\{(?P<name>[a-z]+\*?)\}(?:(?!\\end|\\begin)[^$])*\\end\{(?P=name)\})[.,;]?\s*"
)
_TARGET = re.compile(
    r"[ \t]*(?![ \t])<?(?P<target>[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?"
    r"""(?:[ \t]+(?:"[^"\n]*"|'[^'\n]*'))?[ \t]*\)"""
)
_RISKY_CODE = re.compile(
    rf"""{_TAG}|!\[|\]\([^)]*[^\w\s).,+*/=\[\]-]|\]:\s*\S*[:&]|`{{3,}}|~{{3,}}|{_ADDRESS}\S*(?:[$\\{{]|@@)"""
    r"|\$\$|\\begin\{|\\\\\[",
    re.MULTILINE | re.IGNORECASE,
)
_ESCAPE = re.compile(r"\\[\s\S]")
_CLOSING = {"\\(": "\\)", "\\[": "\\]"}
_MONEY = re.compile(r"(?<![\\$])\$(?=\d[\d.,]*(?:\s|[.,;:)]|$))")
_TICKS = re.compile("`+")
_CONTAINER = re.compile(r"[\s>*+.)\d-]*")
_MARK = re.compile(r"(?<!\\)[*_~\[!](?=\S)")
_MOST_MARKS = 500
"""The most marks in one paragraph, also across code. JupyterLab's renderer needs quadratic time for them: 5 seconds
for 8,000 characters of ``*a_``."""


def harmless(text: str, fences: Fences | None = None) -> str:
    """*text* with nothing in it that could run, load or swallow what follows."""
    clean = printable(text)
    fences = fences or Fences.around([clean])
    lines = clean.split("\n")
    pieces = [*_pieces(clean, len(lines))]
    if "$$" in clean or "\\[" in clean:
        joined = on_one_line(lines, (MarkdownLines(start, end, code is not None) for start, end, code in pieces))
        if joined != lines:
            lines = joined
            pieces = [*_pieces("\n".join(lines), len(lines))]
    return "\n".join(_piece(lines, start, end, code, fences) for start, end, code in pieces).strip("\n")


def harmless_line(text: str) -> str:
    """*text* as one line that is just as harmless, for a list entry, a table cell or a sentence of ours."""
    return _prose(" ".join(printable(text).split()))


def printable(text: str) -> str:
    """*text* with plain line ends and without control characters and lone surrogates."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNPRINTABLE.sub("", lines).encode("utf-8", "replace").decode()


@cache
def _blocks() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Our output contains no HTML for renderers, so text that looks like an HTML block is a paragraph.
    return MarkdownIt("commonmark").enable("table").disable(["inline", "text_join", "html_block"])


def _pieces(text: str, count: int) -> Iterator[tuple[int, int, Token | None]]:
    """The text's lines in pieces, in order: code blocks, paragraphs, and single lines of anything else."""
    at = 0
    for token in _blocks().parse(text):
        if token.map is None or token.type not in {"fence", "code_block", "inline"} or token.map[0] < at:
            continue
        start, end = token.map[0], min(token.map[1], count)
        yield from ((line, line + 1, None) for line in range(at, start))
        yield start, end, (None if token.type == "inline" else token)
        at = end
    yield from ((line, line + 1, None) for line in range(at, count))


def _piece(lines: list[str], start: int, end: int, code: Token | None, fences: Fences) -> str:
    if code is None:
        return _prose("\n".join(lines[start:end]))
    if code.level == 0:
        return f"\n{fences.block(code.content, code.info.strip())}\n"
    first = _before(lines[start], code)
    if not _CONTAINER.fullmatch(first):
        return _prose("\n".join(lines[start:end]))
    if _RISKY_CODE.search(code.content):
        return f"{first}<pre>{html_code(code.content.removesuffix(chr(10)))}</pre>"
    rest = re.sub(r"[^\s>]", " ", first)
    return fences.nested(code.content, code.info.strip(), first, rest)


def _before(line: str, code: Token) -> str:
    """The beginning of *line* before the code: the marks of the list or quote that it is in."""
    if code.type == "fence":
        return line[: line.find(code.markup)]
    first = code.content.split("\n", 1)[0]
    return line.removesuffix(first).removesuffix("\t").removesuffix("    ")


def _prose(text: str) -> str:
    pieces = [*_spans(text)]
    with_dollars = [(piece if ticks else _with_dollars(piece), ticks) for piece, ticks in pieces]
    if with_dollars != pieces:  # an amount of money would now begin a formula
        pieces = [(piece if ticks else _with_dollars(_MONEY.sub("&#36;", piece)), ticks) for piece, ticks in pieces]
    # A renderer pairs the marks of a whole paragraph, even across code.
    has_many = sum(len(_MARK.findall(piece)) for piece, ticks in pieces if not ticks) > _MOST_MARKS
    done = []
    for piece, ticks in pieces:
        if ticks:
            done.append(_span(piece, ticks))
        else:
            safe = _text(piece)
            done.append(_MARK.sub(lambda mark: _signs(mark.group()), safe) if has_many else safe)
    return "".join(done)


def _spans(text: str) -> Iterator[tuple[str, int]]:
    """The pieces of the text, each with the number of backticks round it (CommonMark code spans); 0 for no code."""
    runs = [run.span() for run in _TICKS.finditer(text)]
    starts: dict[int, list[int]] = {}
    for start, end in runs:
        starts.setdefault(end - start, []).append(start)
    at = 0
    for start, end in runs:
        if start < at:
            continue
        opening = start + _is_escaped(text, start)
        ticks = end - opening
        closing = starts.get(ticks, [])
        close = bisect_left(closing, end)
        if close == len(closing):
            continue
        yield text[at:opening], 0
        yield text[end : closing[close]], ticks
        at = closing[close] + ticks
    yield text[at:], 0


def _is_escaped(text: str, at: int) -> bool:
    before = at
    while before > 0 and text[before - 1] == "\\":
        before -= 1
    return (at - before) % 2 == 1


def _span(code: str, ticks: int) -> str:
    if ticks < 3 and "\n" not in code and not _RISKY_CODE.search(code):  # noqa: PLR2004 - three would be a fence
        return f"{'`' * ticks}{code}{'`' * ticks}"
    inner = code.replace("\n", " ")
    padded = len(inner) > 2 and inner[0] == inner[-1] == " " and inner.strip()  # noqa: PLR2004 - one space each side
    return html_code(inner[1:-1] if padded else inner)


def _text(text: str) -> str:
    text = _BARE.sub(lambda address: _no_mathematics(address.group()), _closed_formulas(text))
    done, at = [], 0
    while match := _RISKY.search(text, at):
        done.append(text[at : match.start()])
        target = _TARGET.match(text, match.end()) if match["link"] else None
        url = safe_url(target["target"]) if target else None
        if target is not None and url is not None:
            done.append(f"]({url})")
            at = target.end()
        else:
            done.append(_replacement(match))
            at = match.end()
    return "".join([*done, text[at:]])


def _with_dollars(text: str) -> str:
    r"""*text* with dollar signs round its formulas: JupyterLab and nbconvert read ``\(x\)`` as ``(x)``."""
    done: list[str] = []
    at = 0
    opened: re.Match[str] | None = None
    for sign in _ESCAPE.finditer(text):
        if sign.group() in _CLOSING:
            opened = sign
        elif opened is not None and sign.group() == _CLOSING[opened.group()]:
            formula = " ".join(text[opened.end() : sign.start()].split())
            if formula and not NO_FORMULA.search(formula) and len(formula) <= LONGEST_FORMULA:
                line = text[text.rfind("\n", 0, opened.start()) + 1 : opened.start()]
                rest = text[sign.end() : sign.end() + LONGEST_FORMULA].partition("\n")[0]
                is_alone = not line.strip() and not rest.strip(" .,;")
                if opened.group() == "\\[":
                    formula += " " * formula.endswith("\\")  # a backslash at the end would escape the closing sign
                    formula = f"$${formula}$$" if is_alone else f"$\\displaystyle {formula}$"
                else:
                    formula = f"${formula}$"
                done += [text[at : opened.start()], formula]
                at = sign.end()
            opened = None
    return "".join([*done, text[at:]])


def _closed_formulas(text: str) -> str:
    """*text* with the signs of display formulas kept only where no renderer can misread them."""
    if _WHOLE_FORMULA.fullmatch(text):
        return text
    return "\n".join(
        line if _LINE_WITH_FORMULAS.fullmatch(line) else _FORMULA_SIGN.sub(lambda sign: _signs(sign.group()), line)
        for line in text.split("\n")
    )


def _signs(text: str) -> str:
    return "".join(f"&#{ord(sign)};" for sign in text)


def _replacement(match: re.Match[str]) -> str:
    text = match.group()
    match match.lastgroup:
        case "url" | "autolink":
            return safe_url(match["url"]) or text[1:-1]
        case "formula":
            return re.sub(_TAG, r"\\lt ", text)
        case "image":
            return "[" if text == "![" else _unescaped(text, "&#33;[")
        case "tag":
            return _unescaped(text, "&lt;")
        case "link":
            return "]&#40;"
        case "colon":
            return "]&#58;"
        case "run":
            return _signs(text)
    return text


def _unescaped(text: str, sign: str) -> str:
    """*sign* after the backslashes before it, without the one that escaped it."""
    slashes = len(text) - len(text.lstrip("\\"))
    return "\\" * (slashes - slashes % 2) + sign


def safe_url(target: str) -> str | None:
    """The link *target*, percent-encoded; None unless it is http, https, mail or relative."""
    url = re.sub(r"&#?\w+;", lambda reference: html.unescape(reference.group()), target)
    url = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", url)
    head = re.match(r"[^/?#]*?:", url)
    if head is not None and head.group()[:-1].lower() not in _SCHEMES:
        return None
    encoded = quote(url, safe="/:?#!&*+,;=%.~-_@").replace("@@", "%40%40")
    return encoded.replace("&", "&amp;")


def _no_mathematics(address: str) -> str:
    for sign, code in _MATHEMATICS.items():
        address = address.replace(sign, code)
    return address.replace("@@", "%40%40")
