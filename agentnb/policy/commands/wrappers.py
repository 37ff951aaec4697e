"""Programs that run another command: where in their arguments it stands."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from agentnb.policy.commands.table import Wrapper, wrappers
from agentnb.policy.shell.expand import Field

if TYPE_CHECKING:
    from collections.abc import Sequence

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "csh", "tcsh", "busybox-sh"})


class Inner(NamedTuple):
    """A command inside a command."""

    words: tuple[Field, ...] = ()
    script: str = ""
    dynamic: bool = False


_RUNNERS = Wrapper(
    taking=frozenset({"-n", "-p", "--name", "--prefix", "--with", "--python", "--project", "--directory", "--group"})
)
_WINDOWS = {
    "cmd": frozenset({"/c", "/k", "/r"}),
    **dict.fromkeys(("powershell", "pwsh"), frozenset({"-c", "-command", "/c", "/command"})),
}
_BEHIND = {
    "run": ("uv", "poetry", "pipenv", "conda", "mamba", "pdm", "hatch", "rye", "nix", "pixi", "pipx"),
    "exec": ("bundle", "npm", "pnpm", "yarn"),
    "dlx": ("pnpm", "yarn"),
}
_FIND = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FED = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/proc/$$/fd/0"})
_ENDS = frozenset({";", "+", "\\;"})


def inner_commands(program: str, words: Sequence[Field]) -> list[Inner]:
    """The commands that *program* with the arguments *words* runs, as far as its arguments say."""
    if program in SHELLS:
        return _shell(words)
    if program in {"eval", "trap", "alias"}:
        return _text(program, words)
    if program in _WINDOWS:
        return _windows(_WINDOWS[program], words)
    if program in {"find", "fd"}:
        return _found(words)
    verb = next((word.text for word in words if not word.text.startswith("-")), "")
    if program in _BEHIND.get(verb, ()):
        at = next(at for at, word in enumerate(words) if word.text == verb)
        return _wrapped(_RUNNERS, words[at + 1 :])
    if program in {"docker", "podman", "nerdctl", "kubectl"}:
        runs = [at for at, word in enumerate(words) if word.text in {"run", "exec"}]
        return _wrapped(wrappers()["docker"], words[runs[0] + 1 :]) if runs else []
    shape = wrappers().get(program)
    if shape is None:
        return []
    if program in {"xargs", "parallel"}:
        marks = ("{}", *(after.text for word, after in pairwise(words) if word.text == "-I"))
        marks += tuple(word.text[2:] for word in words if word.text.startswith("-I") and len(word.text) > len("-I"))
        words = [Field(word.text, word.dynamic or any(mark in word.text for mark in marks)) for word in words]
    return _wrapped(shape, words)


def reads_script(program: str, words: Sequence[Field]) -> bool:
    """True if *program* is an interpreter that takes its script from what is fed to it."""
    if program in {"source", "."}:
        return bool(words) and words[0].text in _FED
    operands = [word for word in words if not word.text.startswith("-") or word.text == "-"]
    options = {word.text for word in words if word.text.startswith("-")}
    if program in SHELLS:
        return (
            "-s" in options
            or (not any("c" in each for each in options if not each.startswith("--")) and not operands)
            or (bool(operands) and operands[0].text in _FED)
        )
    return not operands or operands[0].text in _FED


def _shell(words: Sequence[Field]) -> list[Inner]:
    for at, word in enumerate(words):
        if word.text.startswith("-") and not word.text.startswith("--") and "c" in word.text and at + 1 < len(words):
            script = next((each for each in words[at + 1 :] if not each.text.startswith("-")), words[at + 1])
            return [Inner(script=script.text, dynamic=script.dynamic)]
        if not word.text.startswith(("-", "+")):
            break
    return []


def _text(program: str, words: Sequence[Field]) -> list[Inner]:
    """The scripts in the arguments of ``eval``, ``trap`` and ``alias``."""
    if program == "eval":
        joined = " ".join(word.text for word in words)
        return [Inner(script=joined, dynamic=any(word.dynamic for word in words))] if words else []
    if program == "trap":
        return [Inner(script=words[0].text, dynamic=words[0].dynamic)] if len(words) > 1 else []
    values = [(word.text.partition("=")[2], word.dynamic) for word in words if "=" in word.text]
    return [Inner(script=text, dynamic=dynamic) for text, dynamic in values]


def _windows(options: frozenset[str], words: Sequence[Field]) -> list[Inner]:
    """Everything behind ``/c`` or ``-Command`` is one script; PowerShell needs no option for that."""
    at = next((at for at, word in enumerate(words) if word.text.lower() in options), None)
    if at is None:
        at = next((at for at, word in enumerate(words) if not word.text.startswith(("-", "/"))), len(words)) - 1
    rest = words[at + 1 :]
    return (
        [Inner(script=" ".join(word.text for word in rest), dynamic=any(word.dynamic for word in rest))] if rest else []
    )


def _found(words: Sequence[Field]) -> list[Inner]:
    found: list[Inner] = []
    for at, word in enumerate(words):
        if word.text in _FIND | {"-x", "-X", "--exec"}:
            rest = words[at + 1 :]
            end = next((n for n, each in enumerate(rest) if each.text in _ENDS), len(rest))
            found.append(Inner(words=tuple(map(_filled, rest[:end]))))
    return found


def _filled(word: Field) -> Field:
    """``{}`` becomes what is found."""
    return Field(word.text, word.dynamic or "{}" in word.text)


def _script_letter(word: str, shape: Wrapper) -> str | None:
    """The letter of the cluster *word* that takes a script: of ``-qc`` and ``-qc'rm x'`` the ``c``."""
    if not re.match(r"-[A-Za-z]", word):
        return None
    return next((each[1] for each in shape.scripts if len(each) == len("-c") and each[1] in word), None)


def _wrapped(shape: Wrapper, words: Sequence[Field]) -> list[Inner]:
    """The commands that a wrapper (``sudo``, ``env``, ``xargs``) runs: its arguments after its own options."""
    found: list[Inner] = []
    at, skip = 0, shape.skip
    while at < len(words):
        text = words[at].text
        name, equals, value = text.partition("=")
        if name in shape.scripts or name.lower() in shape.scripts:
            script = Field(value, words[at].dynamic) if equals else words[at + 1] if at + 1 < len(words) else Field("")
            found.append(Inner(script=script.text, dynamic=script.dynamic))
            at += 1 if equals else 2
        elif text == "--":
            at += 1
            break
        elif (letter := _script_letter(text, shape)) is not None:
            glued = text.partition(letter)[2]
            script = Field(glued, words[at].dynamic) if glued else words[at + 1] if at + 1 < len(words) else Field("")
            found.append(Inner(script=script.text, dynamic=script.dynamic))
            at += 1 if glued else 2
        elif text.startswith("-") and text != "-":
            at += 2 if text in shape.taking else 1
        elif shape.assigns and equals and name.replace("_", "").isalnum():
            at += 1
        elif skip:
            skip, at = skip - 1, at + 1
        else:
            break
    rest = tuple(words[at + (skip if at < len(words) else 0) :])
    if rest and shape.joined:
        joined = " ".join(word.text for word in rest if word.text != ":::")
        found.append(Inner(script=joined, dynamic=any(word.dynamic for word in rest)))
    elif rest:
        found.append(Inner(words=rest))
    return found
