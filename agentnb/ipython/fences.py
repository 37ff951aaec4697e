"""Code blocks that nothing inside or before them can break."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    """*text* for the inside of an HTML element: signs that mean anything become character references."""
    return "".join(char if _is_plain(char) else f"&#{ord(char)};" for char in text)


def html_code(code: str) -> str:
    """*code* as one ``<code>`` element, for where backticks would not hold."""
    return f"<code>{html_text(code)}</code>"


def html_block(code: str) -> str:
    """*code* as one ``<pre>`` element on a single line."""
    return f"<pre><code>{html_text(code.removesuffix(chr(10)))}</code></pre>"


def _is_plain(char: str) -> bool:
    if char.isalnum() or char in _PLAIN_SIGNS:
        return True
    return ord(char) > 0xA0 and char not in "\u2028\u2029"  # noqa: PLR2004 - the end of the control characters
