"""Trust: the folders in which the user's standing permissions hold, and the lines of the policy file that name them.

What the user's file allows was said somewhere else and at another time. A folder that somebody else has filled may make
an agent do with it what the user never meant; so it holds in folders that the user has named, and below them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.errors import PolicyError
from agentnb.folders import from_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_QUOTED = re.compile(r"""("[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\n]*')[ \t]*,?[ \t]*""")
_LONGEST = 40


def trusting(folders: Iterable[str], workspace: Path) -> str | None:
    """The entry of *folders* that *workspace* is in, or None; links and ``..`` are followed on both sides."""
    real = Path(os.path.realpath(workspace))
    within = (real, *real.parents)
    return next((each for each in folders if Path(os.path.realpath(each)) in within), None)


def shown(folder: Path) -> str:
    """*folder* for people, short, on one line, with ``~`` for the user's own."""
    text = from_home(folder)
    text = "".join(char if char.isprintable() else "?" for char in text).replace("`", "'")
    return text if len(text) <= _LONGEST else f"…{text[1 - _LONGEST :]}"


def with_folder(text: str, quoted: str, means: Callable[[str], tuple[str, ...]]) -> str:
    """The policy file *text* with one folder more; everything else stays as it was, comments too."""
    return _first(_added(text, quoted), [*means(text), *means(f"[trust]\nfolders = [{quoted}]\n")], means)


def without_folder(text: str, folder: str, means: Callable[[str], tuple[str, ...]]) -> str:
    """The policy file *text* without the entry *folder* of its trusted ones."""
    cuts = (text[: found.start()] + text[found.end() :] for found in _QUOTED.finditer(text))
    left = [*means(text)]
    left.remove(folder)
    return _first(cuts, left, means)


def _added(text: str, quoted: str) -> Iterator[str]:
    """Where it could stand: in a table of its own, first in a list that is there, under a table without one."""
    yield f"{text.rstrip()}\n\n[trust]\nfolders = [{quoted}]\n"
    for found in re.finditer(r"\[", text):
        yield f"{text[: found.end()]}{quoted}, {text[found.end() :]}"
    for found in re.finditer(r"\][^\n]*\n?", text):
        yield f"{text[: found.end()].rstrip()}\nfolders = [{quoted}]\n{text[found.end() :]}"


def _first(texts: Iterable[str], wanted: list[str], means: Callable[[str], tuple[str, ...]]) -> str:
    """The first of *texts* that says what is wanted."""
    for text in texts:
        try:
            if sorted(means(text)) == sorted(wanted):
                return text
        except PolicyError:  # the wrong place: no TOML any more, or something else
            continue
    raise PolicyError("The list of trusted folders could not be changed.", hint="Change [trust] folders by hand.")
