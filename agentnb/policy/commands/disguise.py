"""Finds what arguments hide: commands that something else may run, and names that are not what they look like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentnb.hidden_characters import HIDDEN, JOINERS
from agentnb.policy.severity import Risk

if TYPE_CHECKING:
    from collections.abc import Sequence

_REMOVES = re.compile(
    r"(?<![\w.-])rm[\s'\",]+(?:-[\w-]+[\s'\",]+)*-(?:\w*[rRf]|-(?:rec|for))"
    r"|\bmkfs(?:\.\w+)?\s|\bdd\s(?:(?!\bdd\s)[^\n;|&])*of=/dev/[a-z]"
)
_INVISIBLE = re.compile(f"[{HIDDEN}{JOINERS}]")
_BEGINS = frozenset({"rm", "shred", "srm", "dd", "wipefs", "blkdiscard", "find", "sudo", "doas", "env", "xargs"})
_SEARCHES = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"})
_TEXT_VERBS = frozenset({"log", "grep", "commit", "show", "shortlog", "blame", "tag", "stash"})
_MOST = 64


def removal(text: str) -> bool:
    """True if in *text*, whatever language it is in, stands a command that removes without a question."""
    return _REMOVES.search(text) is not None


def unseen(text: str) -> Risk | None:
    """Returns what characters that nobody sees make of *text*."""
    if _INVISIBLE.search(text):
        return Risk("high", "Contains invisible characters, or characters that reverse the text.")
    return None


def odd_name(program: str) -> Risk | None:
    """Returns what is to be said of a program's name that only looks like another one."""
    return None if program.isascii() else Risk("high", f"The program's name is not plain: {program!a}.")


def tails(program_of: Sequence[str], shells: frozenset[str]) -> list[int]:
    """Returns where in the arguments of an unknown program another command may begin."""
    return [at for at, name in enumerate(program_of[:_MOST]) if name in _BEGINS or name in shells]


def is_only_text(program: str, texts: Sequence[str], *, shown: bool) -> bool:
    """True if the arguments *texts* are only searched for, kept or *shown*, so that nothing runs them."""
    if program in {"echo", "printf"}:
        return shown and "-v" not in texts[:1]  # `printf -v 'a[$(rm x)]'` runs what it is given
    if program in _SEARCHES:
        return not any(text.startswith(("--pre", "--pager", "--hostname-bin")) for text in texts)
    opens = any(text.startswith(("-O", "--open-files", "--exec", "--ext-diff", "--textconv")) for text in texts)
    return program == "git" and bool(texts) and texts[0] in _TEXT_VERBS and not opens


def insides(word: str) -> list[str]:
    """The texts in *word* that something may run: itself, and what follows ``=``, ``-x``, ``!`` and the like."""
    found = [word]
    if word.startswith("-"):
        found.append(word.partition("=")[2] if word.startswith("--") else word[2:])
    found += re.findall(r"^(?::?!|\\!|\.(?:shell|system)\s)\s*(.+)", word, re.DOTALL)
    return [text for text in found if text.strip()]
