"""Converts LaTeX to MathML for a page that can do nothing.

The library latex2mathml is made for authors, not for text of strangers, so its output is never used as it is: its tree
is walked, and each element and attribute is written here only if it is on a list of those of MathML Core.
"""

from __future__ import annotations

import re
import unicodedata
from html import escape
from typing import TYPE_CHECKING

from agentnb.plugins.export.letters import SYMBOLS, in_alphabet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

LONGEST = 2_000
"""Characters that a formula may have; a longer one is not rendered."""
_MOST_OPEN = 50
"""Nesting depth of braces, environments and pairs of delimiters."""
_DEEPEST = 80
_MOST_NODES = 5_000
_LONGEST_LENGTH = 40.0
"""Em that a length may have, in either direction, so that nothing overlaps another part of the page."""

_TOKENS = frozenset({"mi", "mn", "mo", "mtext", "mspace"})
_ROWS = frozenset({"math", "mrow", "mstyle", "mpadded", "mphantom", "msqrt", "mtable", "mtr", "mtd"})
_CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}
_PARENTS = {"mtr": "mtable", "mtd": "mtr"}
_LENGTH = re.compile(r"([+-]?(?:[0-9]{1,4}(?:\.[0-9]{0,6})?|\.[0-9]{1,6}))(em|ex|px|pt|pc|cm|mm|in|mu|)")
_EM = {"em": 1.0, "ex": 0.45, "px": 0.07, "pt": 0.09, "pc": 1.1, "cm": 2.7, "mm": 0.27, "in": 6.8, "mu": 1 / 18}
"""Approximate lengths of units, in em."""
_LENGTHS = frozenset(
    "lspace rspace minsize maxsize width height depth voffset linethickness mathsize".split()  # noqa: SIM905
)
_FLAGS = frozenset(
    "displaystyle fence separator stretchy symmetric largeop movablelimits accent accentunder".split()  # noqa: SIM905
)
_WORDS = {"form": {"prefix", "infix", "postfix"}, "scriptlevel": {"0", "1", "2", "3"}, "mathvariant": {"normal"}}
_COLOR = re.compile(r"#[0-9a-fA-F]{3}(?:[0-9a-fA-F]{3})?|[a-z]{3,20}")
_SPACES = {"negativethinmathspace": "-0.167em", "negativemediummathspace": "-0.222em"}
_COLUMNS = {"left", "right"}
_TEXTS = {"bold", "italic", "monospace", "sans-serif"}

_REFUSED = re.compile(
    r"\\(?:[egx]?def|(?:future)?let|(?:re|provide)?newcommand|(?:re)?newenvironment|DeclareMathOperator|global|long"
    r"|href|url|includegraphics|html[A-Za-z]*|class|id|style|data|unicode|char|csname|verb|sideset|label|ref|tag)"
    r"(?![a-zA-Z])|(?<!\\)%"
)
r"""Definitions, which can double a text with each step, as ``\sideset`` does; links, pictures, HTML; comments."""
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([a-zA-Z]+\*?)\}((?<=at\})\{[0-9]\}|(?<=at\*\})\{[0-9]\})?")
_ALIGNED = ("align", "align*", "aligned", "alignat", "alignat*", "alignedat", "eqnarray", "eqnarray*")
_MATRICES = ("matrix", "pmatrix", "bmatrix", "Bmatrix", "vmatrix", "Vmatrix", "smallmatrix", "array", "cases", "split")
_ENVIRONMENTS = {
    **{name: name for name in _MATRICES},
    **dict.fromkeys(_ALIGNED, "align*"),
    **dict.fromkeys(("gather", "gather*", "gathered"), "matrix"),
    **dict.fromkeys(("equation", "equation*"), "equation"),
    "dcases": "cases",
}
"""Supported environments, and the one that latex2mathml knows for each; equations are not numbered, as in the chat."""
_LINE_END = re.compile(r"\\\\(?:\s*\[-?[0-9.]{1,6}\s*[a-z]{2}\]|\*)")
_TEXT_WITH_MATH = re.compile(r"\\text(?=\{[^{}$]*\$[^{}$]*\$)")
_LIMITS = frozenset(("lim", "limsup", "liminf", "max", "min", "sup", "inf", "argmax", "argmin", "det", "gcd", "Pr"))
_UNDER = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
_OPEN = re.compile(
    r"\\\\|\\[{}]|(?P<open>\{|\\left(?![a-z])|\\begin(?![a-z]))|(?P<close>\}|\\right(?![a-z])|\\end(?![a-z]))"
)
_REFERENCE = re.compile(r"&#x([0-9A-Fa-f]{1,6});")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_OPERATORS = "\u2061\u2062\u2063\u2064"
"""Invisible operators that have a meaning."""


class _NotDrawn(Exception):
    """The formula stays its source."""


def mathml(source: str, *, is_display: bool) -> str | None:
    """Returns *source* as a ``math`` element."""
    if len(source) > LONGEST or _REFUSED.search(source) or _nesting(source) > _MOST_OPEN:
        return None
    try:
        from latex2mathml.converter import convert_to_element
    except ImportError:
        return None
    try:
        tree = convert_to_element(_plainer(source), display="block" if is_display else "inline")
        return "".join(_written(tree, 0, [0]))
    except Exception:  # noqa: BLE001 - of any kind, also IndexError and RecursionError: it reads a stranger's text
        return None


def _nesting(source: str) -> int:
    deepest = depth = 0
    for sign in _OPEN.finditer(source):
        depth += (sign["open"] is not None) - (sign["close"] is not None)
        deepest = max(deepest, depth)
    return deepest


def _plainer(source: str) -> str:
    """Returns *source* with only commands that latex2mathml knows."""
    with_boxes = _TEXT_WITH_MATH.sub(r"\\hbox", source)
    return _LINE_END.sub(r"\\\\", _ENVIRONMENT.sub(_environment, with_boxes))


def _environment(match: re.Match[str]) -> str:
    name = match[2]
    if name not in _ENVIRONMENTS or (match[3] and match[1] == "end"):
        raise _NotDrawn
    return f"\\{match[1]}{{{_ENVIRONMENTS[name]}}}"


def _written(element: Element, depth: int, count: list[int]) -> Iterator[str]:
    """Yields the element in pieces; *count* is the number of elements so far."""
    count[0] += 1
    if depth > _DEEPEST or count[0] > _MOST_NODES:
        raise _NotDrawn
    children = list(element)
    name, classes, attributes = _named(element)
    if name in _TOKENS and children and not element.text:
        name, attributes = "mrow", {}  # an operator composed of others
    elif name in _UNDER and children and _has_limits(children[0]):
        name = _UNDER[name]
        children[0].set("movablelimits", "true")
    elif name == "mtable":
        _rule(element)
    if not _is_whole(element, name, children):
        raise _NotDrawn
    text = _text(element) if name in _TOKENS else ""
    if classes:
        attributes["class"] = " ".join(classes)
    written = "".join(f' {key}="{value}"' for key, value in attributes.items())
    yield f"<{name}{written}>{escape(text, quote=True)}"
    for child in children:
        yield from _written(child, depth + 1, count)
    yield f"</{name}>"


def _is_whole(element: Element, name: str, children: list[Element]) -> bool:
    """True if the element is one that is drawn, with only the content that belongs in it."""
    if name in _TOKENS:
        return not children
    if name not in _ROWS and len(children) != _CHILDREN.get(name):
        return False
    texts = (element.text, *(child.tail for child in children))
    is_in_place = all(_PARENTS.get(child.tag, name) == name for child in children)
    return is_in_place and not any(text and text.strip() for text in texts)


def _named(element: Element) -> tuple[str, list[str], dict[str, str]]:
    """Returns the element's name, our classes for it, and its attributes that are known and have a known value."""
    read = element.attrib
    name = element.tag
    if "href" in read:
        raise _NotDrawn
    if name == "menclose" and read.get("notation") == "box":
        return "mrow", ["box"], {}
    if name == "mspace" and read.get("linebreak") == "newline":
        raise _NotDrawn
    attributes = {key: value for key, raw in read.items() if (value := _value(key, raw)) is not None}
    if name == "math":
        return name, [], {"display": "block"} if read.get("display") == "block" else {}
    if name == "mpadded" and any(key in read and not _is_absolute(key, read[key]) for key in _LENGTHS):
        attributes = {key: value for key, value in attributes.items() if key not in _LENGTHS}
    return name, _classes(name, read), attributes


def _has_limits(base: Element) -> bool:
    return base.tag == "mo" and (base.text in _LIMITS or base.get("movablelimits") == "true")


def _rule(table: Element) -> None:
    """Mark the cells of *table* that have lines beside them: MathML Core has no such lines."""
    columns, rows = (table.get(key, "").split() for key in ("columnlines", "rowlines"))
    for at, row in enumerate(table):
        for column, cell in enumerate(row):
            if columns[column : column + 1] == ["solid"] and column + 1 < len(row):
                cell.set("line-right", "")
            if rows[at : at + 1] == ["solid"] and at + 1 < len(table):
                cell.set("line-below", "")


def _classes(name: str, attributes: dict[str, str]) -> list[str]:
    classes = []
    if name == "mtd" and attributes.get("columnalign") in _COLUMNS:
        classes.append(attributes["columnalign"])
    classes += [line for line in ("line-right", "line-below") if name == "mtd" and line in attributes]
    if name == "mtable" and attributes.get("displaystyle") == "true":
        classes.append("aligned")
    if name == "mtext" and attributes.get("mathvariant") in _TEXTS:
        classes.append(attributes["mathvariant"])
    return classes


def _value(key: str, raw: str) -> str | None:
    if key in _LENGTHS:
        return _length(_SPACES.get(raw, raw))
    if key in _FLAGS:
        return raw if raw in {"true", "false"} else None
    if key in {"mathcolor", "mathbackground"}:
        color = raw.strip("{} ")
        return color if _COLOR.fullmatch(color) else None
    return raw if raw in _WORDS.get(key, ()) else None


def _is_absolute(key: str, raw: str) -> bool:
    """True if MathML Core knows *raw*: in MathML 3 a sign before a padding size made it relative."""
    return _length(raw) is not None and (key in {"lspace", "voffset"} or raw[0] not in "+-")


def _length(raw: str) -> str | None:
    match = _LENGTH.fullmatch(raw.strip())
    if match is None:
        return None
    number, unit = float(match[1]), match[2]
    if not unit:
        return "0" if number == 0 else None
    most = _LONGEST_LENGTH / _EM[unit]
    number = min(max(number, -most), most)
    return f"{number * _EM[unit]:.4g}em" if unit == "mu" else f"{number:.6g}{unit}"


def _text(element: Element) -> str:
    if element.text in {"&", "$", "{", "}", "#"}:
        raise _NotDrawn  # a column separator without a table, or half of a group
    raw = _REFERENCE.sub(_referred, element.text or "")
    if element.tag != "mtext" and raw.startswith("\\") and len(raw) > 1:
        symbol = SYMBOLS.get(raw[1:])
        if symbol is None:
            raise _NotDrawn  # a command that latex2mathml does not know
        raw = symbol
    elif raw != "\\" and ("\\" in raw or (element.tag == "mtext" and re.search(r"[${}]", raw))):
        raise _NotDrawn  # a command, or half of one
    text = "".join(each for each in raw if each in _OPERATORS or unicodedata.category(each) not in _UNSEEN)
    return text if element.tag == "mtext" else in_alphabet(text, element.get("mathvariant", ""))


def _referred(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return chr(code) if code <= 0x10FFFF else ""  # noqa: PLR2004 - the last one of Unicode
