"""Rules: what a user, a project or an answer on a card says about agents, tools, paths and commands."""

from __future__ import annotations

import functools
import re
import shlex
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from agentnb.policy.commands.names import program_name
from agentnb.policy.glob import command_matches, path_matches
from agentnb.policy.severity import Severity, rank
from agentnb.policy.shell.words import split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Outcome: TypeAlias = Literal["allow", "ask", "deny"]
Scope: TypeAlias = Literal["once", "turn", "session", "always"]
Source: TypeAlias = Literal["default", "site", "user", "project", "session", "turn"]

STRICTNESS: dict[Outcome, int] = {"allow": 0, "ask": 1, "deny": 2}


class AccessRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule; any condition that it leaves out does not matter to it."""

    action: Outcome
    agent: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    severity: Severity = "high"
    sensitive: bool = False
    folder: tuple[str, ...] = ()
    note: str | None = None

    @property
    def text(self) -> str:
        what = " or ".join((*self.path, *self.command))
        who = f"for {' or '.join(self.agent)}" if self.agent else ""
        extra = "even if sensitive" if self.sensitive else ""
        up_to = f"up to {self.severity} risk" if self.action == "allow" and self.severity != "high" else ""
        tools = " or ".join(self.tool) or ("" if what else "everything")
        where = f"in {' or '.join(self.folder)}" if self.folder else ""
        return " ".join(filter(None, (self.action, tools, what, who, up_to, extra, where)))

    def holds_in(self, root: PurePath) -> bool:
        """True if the rule applies in the workspace *root*."""
        folders = map(PurePath, self.folder)
        return not self.folder or any(root == each or each in root.parents for each in folders)


class InForce(msgspec.Struct, frozen=True):
    """A rule and where it comes from."""

    rule: AccessRule
    source: Source
    where: str = ""


class PolicySubject(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to be decided: a file, one command of a line, or a tool as such."""

    agent: str
    tool: str
    path: str | None = None
    inside: str | None = None
    command: str | None = None
    severity: Severity = "none"
    sensitive: bool = False
    also: tuple[str, ...] = ()
    free: bool = False
    asks: bool = False

    @property
    def outside(self) -> bool:
        """True if the subject is a file outside the workspace."""
        return self.path is not None and self.inside is None


def matches(rule: AccessRule, subject: PolicySubject) -> bool:
    if rule.agent and not any(command_matches(each, subject.agent) for each in rule.agent):
        return False
    tools = (subject.tool,) if rule.action == "allow" else (subject.tool, *subject.also)
    if rule.tool and not any(tool in rule.tool for tool in tools):
        return False
    if rule.path and not any(_covers(pattern, subject) for pattern in rule.path):
        return False
    if rule.command and not any(command_matches(each, line) for line in _lines(rule, subject) for each in rule.command):
        return False
    return rule.action != "allow" or _reaches(rule, subject)


def _lines(rule: AccessRule, subject: PolicySubject) -> tuple[str, ...]:
    """Returns the command as written and, for a rule that asks or denies, its plainer spellings too."""
    if subject.command is None:
        return ()
    return (subject.command,) if rule.action == "allow" else (subject.command, *plainer(subject.command))


def _reaches(rule: AccessRule, subject: PolicySubject) -> bool:
    if rank(subject.severity) > rank(rule.severity) and not (rule.sensitive and subject.sensitive):
        return False
    return not subject.outside or any(_absolute(pattern) for pattern in rule.path)


def _covers(pattern: str, subject: PolicySubject) -> bool:
    if subject.path is None:
        return False
    if _absolute(pattern):
        return path_matches(pattern, subject.path)
    return subject.inside is not None and path_matches(pattern, subject.inside)


def _absolute(pattern: str) -> bool:
    return pattern.lstrip("!").startswith("/")


_ASSIGNS = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)


@functools.lru_cache(512)
def plainer(unit: str) -> tuple[str, ...]:
    """Returns plainer spellings of the command *unit*, for rules that ask or deny."""
    try:
        words = split_words(unit)
    except ValueError:
        words = unit.split()
    while words and _ASSIGNS.fullmatch(words[0]):
        words = words[1:]
    if not words:
        return ()
    program, arguments = program_name(words[0]), words[1:]
    argument_lists = [arguments, _behind(arguments, taking=False), _behind(arguments, taking=True)]
    return tuple(dict.fromkeys(" ".join([program, *map(_quoted, each)]) for each in argument_lists))


def _behind(words: list[str], *, taking: bool) -> list[str]:
    """Returns *words* from the first that is not an option; *taking*: as if each option took the next word."""
    at = 0
    while at < len(words) and words[at].startswith(("-", "+")):
        alone = not taking or "=" in words[at] or words[at].startswith(("--no-", "+")) or words[at] in {"-p", "-P"}
        at += 1 if alone else 2
    return words[at:]


def _quoted(word: str) -> str:
    return word if "$" in word or "*" in word or word in {">", ">>", ">|"} else shlex.quote(word)


_LONGEST = 60

_MAY = {
    "think": "think",
    "kernel": "run code in the kernel",
    "cell": "change notebook cells",
    "execute": "run any command",
    "switch_mode": "change its mode",
    "other": "use its other tools",
}

_OBJECTS = frozenset({"read", "search", "fetch", "edit", "delete", "move"})


def rule_words(rule: AccessRule, title: Callable[[str], str]) -> str:
    """*rule* as a sentence; *title* gives the name of an agent for people.

    Example:
        >>> rule_words(AccessRule(action="allow", agent=("claude",), command=("python *",)), str.title)
        'Claude may run `python …` without asking'
    """
    agents = ["Any agent" if each == "*" else title(each.replace("\\", "")) for each in rule.agent]
    who = _either(agents) or "Any agent"
    what = _either(_actions(rule))
    where = f" in {_either([*rule.folder])}" if rule.folder else ""
    end = {"allow": " without asking", "ask": " only after asking", "deny": ""}[rule.action]
    may = "may not" if rule.action == "deny" else "may"
    return f"{who} {may} {what}{where}{end}"


def command_words(pattern: str) -> str:
    """Returns a command pattern as people read it."""
    text = " ".join(pattern.replace("\\", "").split()).replace("`", "'")
    text = f"{text[:-2]} …" if text.endswith(" *") else text.replace("*", "…")
    return f"`{text if len(text) <= _LONGEST else f'{text[: _LONGEST - 1]}…'}`"


def _actions(rule: AccessRule) -> list[str]:
    if rule.command:
        return [f"run {_either([command_words(each) for each in rule.command])}"]
    files = _either([f"`{each}`" for each in rule.path if each != "**"]) or "files"
    secret = ", secret ones too," if rule.sensitive and files == "files" else ""
    if not rule.tool:
        return [f"do anything with {files}{secret}" if rule.path else "do anything"]
    return [f"{each} {files}{secret}" if each in _OBJECTS else _MAY[each] for each in rule.tool]


def _either(words: Iterable[str]) -> str:
    *first, last = [*words] or [""]
    return f"{', '.join(first)} or {last}" if first else last
