"""Reads words out of a syntax tree (quotes, escapes, expansions), and splits a plain command line."""

from __future__ import annotations

import os.path
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from agentnb.errors import AgentnbError
from agentnb.policy.shell.tree import Computed, Part, ShellScript, Text, Variable, Word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tree_sitter import Node

MOST_WORDS = 1_000
"""The most words of a script that is read; a longer one requires a question, because each word takes about 0.1 ms."""
ESCAPES = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ANSI = re.compile(
    r"\\(?:x\{?([0-9A-Fa-f]{1,8})\}?|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_ESCAPED = re.compile(r"\\(.)|([^\\]+)|\\", re.DOTALL)
_IN_QUOTES = re.compile(r"\\(.)|(`|\$[\w({@*#?$!-])|(\")|[^\\`$\"]+|.", re.DOTALL)
_IN_BACKTICKS = re.compile(r"\\([$`\\])")
_IN_QUOTED_BACKTICKS = re.compile(r'\\([$`\\"])')
_ENDS_OF_WORDS = frozenset({b" ", b"\t", b"\n", b";", b"|", b"&", b"<", b">", b")"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BARE_DOLLAR = re.compile(r"\s*\$\s")
_STARTS_EXPANSION = re.compile(r"[\w({\[@*#?$!'-]")
_SPECIAL = re.compile(r"[\s;&|<>()'\"`$]")
_HIDDEN = re.compile(r"\$[({\['\"]|`|[<>]\(")
_RUNS = frozenset({"command_substitution", "process_substitution"})
_COMPUTED = frozenset({"arithmetic_expansion", "array", "subscript"})
_JOINED = frozenset({"concatenation", "command_name", "translated_string"})
WHOLE = frozenset(
    {"word", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "simple_expansion"}
    | {"expansion", "brace_expression", "number", "extglob_pattern", "regex", "variable_name", "test_operator"}
    | {*_RUNS, *_COMPUTED}
)
"""The kinds of nodes that are words or parts of words."""


class Unreadable(AgentnbError):
    """A script that no shell would take, or that is nested too deep to follow."""


class TooManyWords(Unreadable):
    """A script of so many words that looking at each would stop everything else for long."""


class WordReader:
    """Reads the words of one source text; the scripts inside of them are read by *script* and *inner*."""

    def __init__(
        self, source: bytes, script: Callable[[Iterable[Node]], ShellScript], inner: Callable[[str], ShellScript]
    ) -> None:
        self._source = source
        self._script = script
        self._inner = inner
        self._count = 0

    def text(self, start: Node, end: Node | None = None) -> str:
        """Returns the source from the beginning of *start* to the end of *end*, by default of *start*."""
        return self._source[start.start_byte : (end or start).end_byte].decode()

    def between(self, before: Node, after: Node) -> str:
        """Returns the source between two nodes, without line ends that are escaped by a backslash."""
        return self._source[before.end_byte : after.start_byte].decode().replace("\\\n", "")

    def words(self, nodes: Sequence[Node]) -> list[Word]:
        """Returns the words in *nodes*: adjacent nodes with nothing between them are one word."""
        groups: list[list[Node]] = []
        for node in nodes:
            if self._is_descriptor(node):
                continue
            if groups and not self.between(groups[-1][-1], node):
                groups[-1].append(node)
            else:
                groups.append([node])
        return [self._word(group) for group in groups]

    def _is_descriptor(self, node: Node) -> bool:
        """True if *node* is the number before a redirection, which the grammar sometimes takes for a word."""
        return self._source[node.end_byte : node.end_byte + 1] in {b"<", b">"} and self.text(node).isdecimal()

    def _word(self, nodes: list[Node]) -> Word:
        self._count += 1
        if self._count > MOST_WORDS:
            raise TooManyWords(f"It has more than {MOST_WORDS:,} words.")
        source = self.text(nodes[0], nodes[-1])
        if source.startswith("#"):
            raise Unreadable("A comment was read as a word.")
        return Word(parts=tuple(self._joined(nodes)), source=source)

    def tested(self, node: Node) -> list[Node]:
        """Returns the words and operators of a test, in order."""
        nodes: list[Node] = []
        rest = list(reversed(node.children))
        while rest:
            each = rest.pop()
            if each.type in WHOLE or not each.children:
                nodes.append(each)
            else:
                rest += reversed(each.children)
        return nodes

    def scripts(self, node: Node) -> tuple[ShellScript, ...]:
        """Returns the scripts that are run to compute *node*."""
        scripts: list[ShellScript] = []
        rest = [node]
        while rest:
            each = rest.pop()
            if each.type in _RUNS:
                scripts.append(self._substituted(each))
            elif each.children:
                rest += reversed(each.children)
            elif each.is_named and each.type not in {"raw_string", "ansi_c_string"} and _HIDDEN.search(self.text(each)):
                scripts.append(self._backticks(self.text(each), in_string=False))
        return tuple(scripts)

    def _joined(self, nodes: Sequence[Node]) -> list[Part]:
        parts: list[Part] = []
        pieces = [piece for node in nodes for piece in self._pieces(node)]
        for at, node in enumerate(pieces):
            text = self.text(node)
            if node.type == "$" and text == "$" and at + 1 < len(pieces):
                parts += self._behind_dollar(pieces[at + 1])
            elif node.type == "$":
                parts += self._dollars(text)
            elif at and self.text(pieces[at - 1]) == "$" and (name := _NAME.match(text)):
                parts += _unquoted(text[name.end() :], operator=False)
            else:
                parts += self._parts(node)
        return parts

    def _dollars(self, text: str) -> list[Part]:
        """Reads ``$`` as itself and ``$$`` as a variable; raises if the token hides other characters."""
        if text.strip("$"):
            raise Unreadable("A shell operator was read as part of a word.")
        return [Variable(name=each) for each in text[1::2]] or [Text(value="$", quoted=True)]

    def _pieces(self, node: Node) -> list[Node]:
        if node.type not in _JOINED:
            return [node]
        if any(self.between(*pair) for pair in pairwise(node.children)):
            raise Unreadable("Two words were read as one.")
        return [piece for each in node.children for piece in self._pieces(each)]

    def _behind_dollar(self, node: Node) -> list[Part]:
        """Returns the variable that a ``$`` and *node* name together; nothing before a string, as in ``$"…"``."""
        text = self.text(node)
        if text.startswith('"'):
            return []
        if not node.children and (name := _NAME.match(text)):
            return [Variable(name=name[0])]
        if _STARTS_EXPANSION.match(text):
            raise Unreadable("Part of the command is computed and cannot be read in advance.")
        return [Text(value="$", quoted=True)]

    def _parts(self, node: Node, *, quoted: bool = False) -> list[Part]:
        text = self.text(node).lstrip() if quoted else self.text(node)
        match node.type:
            case "raw_string":
                return [Text(value=text[1:-1], quoted=True)]
            case "ansi_c_string":
                return [Text(value=_ANSI.sub(_decoded, text[2:-1]), quoted=True)]
            case "string":
                first, *inside, last = node.children
                return self.quoted(inside, first.end_byte, last.end_byte - 1, '"')
            case "simple_expansion" | "expansion":
                return [self._expanded(node, quoted=quoted)]
            case kind if kind in _RUNS:
                return [Computed(scripts=(self._substituted(node),), feeds=kind == "process_substitution")]
        return self._combined(node, text)

    def _combined(self, node: Node, text: str) -> list[Part]:
        if node.type in _COMPUTED:
            return [Computed(scripts=self.scripts(node))]
        if node.type == "brace_expression":
            return [Text(value=text)]
        if node.children:
            raise Unreadable(f"{text[:1]!r} is unexpected.")
        return _unquoted(text, operator=not node.is_named)

    def quoted(self, nodes: Sequence[Node], start: int, end: int, quote: str = "") -> list[Part]:
        """Returns the text between double quotes (*quote*) or in a here-document, from *start* to *end*, as parts."""
        parts: list[Part] = []
        for node in (each for each in nodes if each.children and not _BARE_DOLLAR.match(self.text(each))):
            blanks = len(self.text(node)) - len(self.text(node).lstrip())  # the first node may include leading blanks
            parts += [self._quoted_text(start, node.start_byte + blanks, quote), *self._parts(node, quoted=True)]
            start = node.end_byte
        return [*parts, self._quoted_text(start, end, quote)]

    def document(self, start: Node, body: Node, end: Node, *, tabs: bool) -> list[Part]:
        """Returns the text of a here-document; if its first delimiter is quoted, nothing in the text is computed."""
        delimiter = self.text(start)
        text = self._source[body.start_byte : end.start_byte].decode()
        last = re.sub(r"['\"\\]", "", delimiter)
        lines = [line.lstrip("\t") if tabs else line for line in text.split("\n")]
        if self._source[start.end_byte : start.end_byte + 1] not in _ENDS_OF_WORDS:
            raise Unreadable("The end of a here-document is unknown.")
        if "$" in last or self.text(end).lstrip("\t") != last or last in lines:
            raise Unreadable("A here-document continues after its end.")
        if last != delimiter:
            return [Text(value="\n".join(lines), quoted=True)]
        return self.quoted(body.children, body.start_byte, end.start_byte)

    def _quoted_text(self, start: int, end: int, quote: str) -> Text:
        text = self._source[start:end].decode()
        if any(part[2] or (quote and part[3]) for part in _IN_QUOTES.finditer(text)):
            raise Unreadable("Part of a string is computed and cannot be read in advance.")
        escaped = {"\n": "", **{each: each for each in f"$`\\{quote}"}}
        meant = (escaped.get(part[1] or "", part[0]) for part in _IN_QUOTES.finditer(text))
        return Text(value="".join(meant), quoted=True)

    def _expanded(self, node: Node, *, quoted: bool) -> Part:
        inside = [each for each in node.children if each.is_named or not each.type.startswith(("$", "}"))]
        if len(inside) == 1 and inside[0].type in {"variable_name", "special_variable_name"}:
            if node.type == "simple_expansion" and self.between(node.children[0], inside[0]):
                raise Unreadable("Two words were read as one.")
            return Variable(name=self.text(inside[0]).strip(), quoted=quoted)
        return Computed(scripts=self.scripts(node))

    def _substituted(self, node: Node) -> ShellScript:
        text = self.text(node).strip()
        if text.startswith("`"):
            return self._backticks(text, in_string=node.parent is not None and node.parent.type == "string")
        return self._script(node.children[1:-1])

    def _backticks(self, text: str, *, in_string: bool) -> ShellScript:
        """Returns the script in *text*, which includes its backticks."""
        if text[0] + text[-1] != "``":
            raise Unreadable("Part of the command is computed and cannot be read in advance.")
        return self._inner((_IN_QUOTED_BACKTICKS if in_string else _IN_BACKTICKS).sub(r"\1", text[1:-1]))


def _unquoted(text: str, *, operator: bool) -> list[Part]:
    """Returns the text of a plain word; a character after a backslash counts as quoted."""
    parts: list[Part] = []
    for match in _ESCAPED.finditer(text):
        if match[1] is not None:
            parts += [] if match[1] == "\n" else [Text(value=match[1], quoted=True)]
        elif not operator and _SPECIAL.search(match[0]):
            raise Unreadable("A shell operator was read as part of a word.")
        else:
            parts.append(Text(value=match[0]))
    return parts


def _decoded(escape: re.Match[str]) -> str:
    """Returns the character that an escape in ``$'…'`` stands for."""
    if escape[6] is not None:
        return ESCAPES.get(escape[6], escape[6] if escape[6] in "\\'\"?" else escape[0])
    if escape[5] is not None:
        return chr(ord(escape[5]) & 0x1F)
    number = int(escape[4], 8) & 0xFF if escape[4] else int(escape[1] or escape[2] or escape[3], 16)
    return chr(number) if 0 < number < 0x110000 else ""  # noqa: PLR2004 - the last code point


_PIECE = re.compile(
    r"""(?P<space>[ \t\r\n]+)|(?P<plain>[^ \t\r\n'"\\]+)|\\(?P<escaped>.)|'(?P<single>[^']*)'"""
    r'|"(?P<double>[^"\\]*(?:\\.[^"\\]*)*)"',
    re.DOTALL,
)
_IN_DOUBLE = re.compile(r'\\(["\\])')


def split_words(line: str) -> list[str]:
    r"""The words of *line*, without their quotes."""
    words: list[str] = []
    word: list[str] | None = None
    at = 0
    while at < len(line):
        piece = _PIECE.match(line, at)
        if piece is None:
            raise ValueError("No escaped character" if line[at] == "\\" else "No closing quotation")
        at = piece.end()
        if piece.lastgroup != "space":
            word = [] if word is None else word
            text = piece[piece.lastgroup or 0]
            word.append(_IN_DOUBLE.sub(r"\1", text) if piece.lastgroup == "double" else text)
        elif word is not None:
            words.append("".join(word))
            word = None
    return words if word is None else [*words, "".join(word)]


_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin")
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish"})
_WRAPPED = 3


def script_of(words: Sequence[str], path: str | None = None) -> str | None:
    """Returns the script if *words* only have a system shell run it (``bash -lc SCRIPT``), else None."""
    if len(words) != _WRAPPED or words[1] not in {"-c", "-lc"}:
        return None
    folder, name = os.path.split(words[0])
    if name not in _SHELLS or (folder and folder not in _FOLDERS):
        return None
    if path is not None and os.path.split(path) not in {(each, name) for each in _FOLDERS}:
        return None
    return words[2]
