"""Reduces a command to its program and verb: without folder, variables and the options before the verb."""

from __future__ import annotations

import functools
import re
import shlex

from agentnb.policy.commands.names import program_name
from agentnb.policy.shell.split import split_words

_ASSIGNS = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)


@functools.lru_cache(512)
def plainer(unit: str) -> tuple[str, ...]:
    """Plainer spellings of the command *unit*, for rules that ask or deny.

    An option before the verb may take the word behind it or not: both are spelled.
    """
    try:
        words = split_words(unit)
    except ValueError:
        words = unit.split()
    while words and _ASSIGNS.fullmatch(words[0]):
        words = words[1:]
    if not words:
        return ()
    program, arguments = program_name(words[0]), words[1:]
    found = [arguments, _behind(arguments, taking=False), _behind(arguments, taking=True)]
    return tuple(dict.fromkeys(" ".join([program, *map(_quoted, each)]) for each in found))


def _behind(words: list[str], *, taking: bool) -> list[str]:
    """*words* from the first that is no option; *taking*: where each option takes the next word."""
    at = 0
    while at < len(words) and words[at].startswith(("-", "+")):
        alone = not taking or "=" in words[at] or words[at].startswith(("--no-", "+")) or words[at] in {"-p", "-P"}
        at += 1 if alone else 2
    return words[at:]


def _quoted(word: str) -> str:
    return word if "$" in word or "*" in word or word in {">", ">>", ">|"} else shlex.quote(word)
