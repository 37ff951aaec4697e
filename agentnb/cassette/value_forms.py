"""Makes the descriptions of values in prompts comparable: libraries call the same class and type by several names.

pandas 2 has ``pandas.core.frame.DataFrame`` and columns of ``object`` and ``datetime64[ns]`` where pandas 3 has
``pandas.DataFrame``, ``str`` and ``datetime64[us]``.
"""

from __future__ import annotations

import re

_CLASS = re.compile(r"(.*: [A-Za-z_]\w*)\.(?:\w+\.)*(\w+)((?:, (?:shape|length) .*)?)")
"""The first line of a described value: its name, its class, and its size (:mod:`agentnb.api.describe`)."""
_TEXT = re.compile(r"((?:  .*: |.*\bdtype:? ))(?:object|str|string)")
_TIME = re.compile(r"\bdatetime64\[(?:s|ms|us|ns)(?=[],])")


def comparable(lines: list[str]) -> list[str]:
    """*lines* of a prompt with one name for what has several."""
    return [_comparable(line) for line in lines]


def _comparable(line: str) -> str:
    if (named := _CLASS.fullmatch(line)) is not None:
        return f"{named[1]}.{named[2]}{named[3]}"
    if (typed := _TEXT.fullmatch(line)) is not None:
        return f"{typed[1]}str"
    return _TIME.sub("datetime64[us", line)
