"""The words of ``%agent``: options first, then the prompt, which is taken as it is."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agentnb.budget import read_budget
from agentnb.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

FREEDOMS = ("ask", "edit", "auto")
PERMISSIONS = ("ask", "allow", "deny")
_MANUAL = "%agent? lists the options."


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """The parsed arguments of a ``%agent`` line."""

    prompt: str
    agent: str | None = None
    model: str | None = None
    tab: str | None = None
    new: bool = False
    background: bool = False
    context: tuple[str, ...] = ()
    output: str | None = None
    timeout: float | None = None
    permissions: Literal["ask", "allow", "deny"] | None = None
    freedom: Literal["ask", "edit", "auto"] | None = None
    kernel: bool = False
    verify: bool = False
    budget: str | None = None

    def refuse(self, fields: Iterable[str], word: str, why: str) -> None:
        """Refuse those of *fields* that were given: a prompt that begins with *word* does not take them."""
        wrong = [name for name in _SPELLINGS if _SPELLINGS[name] in fields and getattr(self, _SPELLINGS[name])]
        if wrong:
            raise UsageError(f"%agent {word} takes no {wrong[0]}.", hint=why)


_SPELLINGS = {
    "-a": "agent",
    "--agent": "agent",
    "--model": "model",
    "-t": "tab",
    "--tab": "tab",
    "-n": "new",
    "--new": "new",
    "-b": "background",
    "--background": "background",
    "-c": "context",
    "--context": "context",
    "-o": "output",
    "--output": "output",
    "--timeout": "timeout",
    "--permissions": "permissions",
    "--freedom": "freedom",
    "-k": "kernel",
    "--kernel": "kernel",
    "--verify": "verify",
    "--budget": "budget",
}
OPTIONS = tuple(sorted(_SPELLINGS))
_FLAGS = frozenset({"new", "background", "kernel", "verify"})
_OPTION = re.compile(r"(?P<name>--?[A-Za-z][\w-]*)(?P<equals>=)?")
_VALUE = re.compile(r"\s*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<word>[^\s\"']\S*))(?=\s|$)")


def parse(line: str, cell: str | None = None) -> Arguments:
    options, rest = _options(line)
    prompt = "\n".join(part.strip("\n") for part in (rest, cell or "") if part.strip()).strip()
    if not prompt:
        raise UsageError(
            "%agent needs a prompt.",
            hint="Write the prompt after it, as in `%agent Why is df empty?`, or under %%agent. " + _MANUAL,
        )
    return Arguments(prompt=prompt, **options)


def _options(line: str) -> tuple[dict[str, Any], str]:
    options: dict[str, Any] = {}
    rest = line.strip()
    while match := _OPTION.match(rest):
        name = match["name"]
        field_name = _SPELLINGS.get(name)
        if field_name is None:
            raise _unknown(name)
        rest = rest[match.end("name") :]
        if field_name in _FLAGS:
            if rest and not rest[0].isspace():
                raise UsageError(f"{name} takes no value, but got {rest.split(maxsplit=1)[0]!r}.", hint=_MANUAL)
            options[field_name], rest = True, rest.lstrip()
            continue
        text, rest = _value(name, rest[1:] if match["equals"] else rest)
        value = _READERS[field_name](name, text)
        options[field_name] = (*options.get("context", ()), *value) if field_name == "context" else value
    if rest == "--" or re.match(r"--\s", rest):
        rest = rest[2:]
    elif re.match(r"-\S", rest):
        raise _unknown(rest.split()[0])
    return options, rest.strip()


def _unknown(word: str) -> UsageError:
    name = word.partition("=")[0]
    close = difflib.get_close_matches(name, OPTIONS, n=1, cutoff=0.5) if len(name) > len("-x") else []
    guess = f"Did you mean {close[0]}? " if close else ""
    return UsageError(
        f"%agent has no option {name}.", hint=f"{guess}{_MANUAL} A prompt that begins with a dash goes after ` -- `."
    )


def _value(name: str, rest: str) -> tuple[str, str]:
    match = _VALUE.match(rest)
    if match is None:
        raise UsageError(f"{name} needs a value after it.", hint=_MANUAL)
    text = next(value for value in match.group("double", "single", "word") if value is not None)
    return text, rest[match.end() :].lstrip()


def _name(option: str, text: str) -> str:
    if not text.strip():
        raise UsageError(f"{option} needs a name, but got nothing.", hint=_MANUAL)
    return text.strip()


def _variable(option: str, text: str) -> str:
    if not text.isidentifier():
        raise UsageError(f"{option} needs a variable's name, but got {text!r}.", hint="For example `-o turn`.")
    return text


def _seconds(option: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise UsageError(f"{option} needs a number of seconds above zero, but got {text!r}.", hint=_MANUAL)
    return seconds


def _choice(option: str, text: str) -> str:
    words = PERMISSIONS if option == "--permissions" else FREEDOMS
    if text not in words:
        raise UsageError(f"{option} is one of {', '.join(words)}, but got {text!r}.", hint=_MANUAL)
    return text


def _budget(option: str, text: str) -> str:
    read_budget(text, name=option)
    return text


def _names(option: str, text: str) -> tuple[str, ...]:
    return tuple(_name(option, name).removeprefix("@") for name in text.split(","))


_READERS: dict[str, Any] = {
    "agent": _name,
    "model": _name,
    "tab": _name,
    "context": _names,
    "output": _variable,
    "timeout": _seconds,
    "permissions": _choice,
    "freedom": _choice,
    "budget": _budget,
}
