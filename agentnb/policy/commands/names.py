"""Names and shapes of commands: which program is meant, what it reads its script from, what starts itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.policy.commands.code import INLINE
from agentnb.policy.commands.wrappers import SHELLS, inner_commands
from agentnb.policy.shell.tree import Compound, Pipeline, ShellScript, Simple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.policy.shell.expand import Field
    from agentnb.policy.shell.tree import Function, Redirect

_DEEPEST = 12
_WRITES = frozenset({">", ">>", ">|", "<>", "&>", "&>>"})


def program_name(name: str) -> str:
    """The program that *name* means, whatever folder, case or ``.exe`` it is written with."""
    return name.replace("\\", "/" if "/" not in name else "\\").rpartition("/")[2].lower().removesuffix(".exe")


def innermost(words: Sequence[Field]) -> tuple[str, list[Field]]:
    """The program that at last reads what is fed, behind ``sudo``, ``env`` and the like."""
    current = list(words)
    for _ in range(_DEEPEST):
        if not current:
            return "", []
        program = program_name(current[0].text)
        inner = [each.words for each in inner_commands(program, current[1:]) if each.words]
        if program == "find" or not inner:
            return program, current[1:]
        current = list(inner[0])
    return "", []


def gives(word: str, option: str) -> bool:
    """True if *word* is *option*, alone or at the end of a cluster such as ``-Ic``."""
    cluster = (
        word.startswith("-") and not word.startswith("--") and option.startswith("-") and not option.startswith("--")
    )
    return word == option or (cluster and len(option) == len("-c") and word.endswith(option[1]))


def module_of(words: Sequence[str]) -> tuple[int, str]:
    """The module that Python runs with the arguments *words*, and where the arguments behind it begin."""
    at = 0
    while at < len(words):
        word = words[at]
        cluster = word.startswith("-") and not word.startswith("--")
        if cluster and "m" in word and not set(word[1 : word.index("m")]) & set("cWX"):
            glued = word.partition("m")[2]
            return (at + 1, glued) if glued else (at + 2, words[at + 1] if at + 1 < len(words) else "")
        if not word.startswith("-") or word == "-" or (cluster and "c" in word):
            break
        at += 2 if word in {"-W", "-X", "--check-hash-based-pycs"} else 1
    return at, ""


def interprets(program: str) -> bool:
    """True if *program* runs scripts."""
    return (
        program in SHELLS or program in {"source", "."} or program in INLINE or program.rstrip("0123456789.") in INLINE
    )


def writes(redirect: Redirect) -> bool:
    """True if *redirect* writes a file."""
    return redirect.operator in _WRITES or (
        redirect.operator == ">&" and not (redirect.target.plain or "x").strip("-").isdigit()
    )


def calls_itself(function: Function) -> bool:
    """True if a function starts itself in a pipeline or in the background."""

    def calls(script: ShellScript, *, forks: bool) -> bool:
        for at, command in enumerate(script.commands):
            inside = forks or at in script.background
            match command:
                case Simple() if inside and command.words and command.words[0].fixed == function.name:
                    return True
                case Pipeline() if calls(ShellScript(commands=command.commands), forks=True):
                    return True
                case Compound() if any(calls(body, forks=inside) for body in command.bodies):
                    return True
        return False

    return calls(function.body, forks=False)
