"""Text for agents within bounds: cut, masked, and as a code block."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentnb.credentials import HIDDEN, is_secret_name, replaced

if TYPE_CHECKING:
    from agentnb.credentials import Credentials

MOST_CHARACTERS = 20_000
"""Characters of one answer's text."""
_LITERAL = re.compile(
    r"""(?P<name>\b[A-Za-z_]\w{0,63})["']?[ \t]{0,4}[=:][ \t]{0,4}[rbfuRBFU]{0,2}"""
    r"""(?P<value>"[^"\n]{1,500}"|'[^'\n]{1,500}')"""
)


def masked(text: str, credentials: Credentials) -> str:
    """*text*, with ``***`` for credentials and for the literals that are given to names of secrets."""
    text = credentials.hidden(text)
    literals = (each for each in _LITERAL.finditer(text) if is_secret_name(each["name"]))
    return replaced(text, [(each.start("value") + 1, each.end("value") - 1, HIDDEN) for each in literals])


def cut(text: str, most: int) -> str:
    """*text*; where it is longer than *most* characters, without its middle."""
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - tail]}… ({len(text) - most:,} characters left out) …{text[-tail:]}"


def clipped(text: str, most: int = MOST_CHARACTERS) -> str:
    """*text*, without its middle where it is too long."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… ({len(text) - 2 * half:,} characters left out) …\n{text[-half:]}"


def fenced(text: str) -> str:
    """*text* as a Markdown code block whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
