"""Rules: what they match, and those that a permission card offers."""

from __future__ import annotations

import functools
import re
import shlex
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from agentnb.policy.commands.names import program_name
from agentnb.policy.glob import command_matches, escaped, path_matches
from agentnb.policy.severity import Severity, rank
from agentnb.policy.shell.words import split_words

if TYPE_CHECKING:
    from agentnb.policy.request import PolicyRequest, Verdict


Outcome: TypeAlias = Literal["allow", "ask", "deny"]
Scope: TypeAlias = Literal["once", "turn", "session", "always"]
Source: TypeAlias = Literal["default", "site", "user", "project", "session", "turn"]

STRICTNESS: dict[Outcome, int] = {"allow": 0, "ask": 1, "deny": 2}


class AccessRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule; what it does not say it does not care about."""

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
    found = [arguments, _behind(arguments, taking=False), _behind(arguments, taking=True)]
    return tuple(dict.fromkeys(" ".join([program, *map(_quoted, each)]) for each in found))


def _behind(words: list[str], *, taking: bool) -> list[str]:
    """Returns *words* from the first that is not an option; *taking*: as if each option took the next word."""
    at = 0
    while at < len(words) and words[at].startswith(("-", "+")):
        alone = not taking or "=" in words[at] or words[at].startswith(("--no-", "+")) or words[at] in {"-p", "-P"}
        at += 1 if alone else 2
    return words[at:]


def _quoted(word: str) -> str:
    return word if "$" in word or "*" in word or word in {">", ">>", ">|"} else shlex.quote(word)


_VERBS = frozenset(
    {
        "git",
        "npm",
        "pnpm",
        "yarn",
        "pip",
        "pip3",
        "uv",
        "cargo",
        "go",
        "make",
        "docker",
        "poetry",
        "conda",
        "gh",
        "just",
    }
    | {"hatch", "pdm", "dotnet", "bundle", "kubectl", "systemctl", "brew", "apt", "jupyter", "tox", "nox", "npx"}
)
_BROAD: dict[str, tuple[str, str]] = {
    "read": ("reads", "Any read"),
    "search": ("searches", "Any search"),
    "fetch": ("fetches", "Any fetch"),
    "think": ("thoughts", "Any thought"),
    "edit": ("edits", "Any edit of files"),
}
_CODE = {"python *": "Any Python code", "python3 *": "Any Python code", "node *": "Any JavaScript code"}
_MOST = 60
_FOR_NOW: tuple[tuple[Scope, str], ...] = (("turn", "this turn"), ("session", "this conversation"))


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One wider answer."""

    scope: Scope
    label: str
    rule: AccessRule


class SimilarRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that allows a request and similar ones: the widest answer that a card may offer.

    Attributes:
        words: What the requests are, in the plural: "edits".
        permits: What the rule permits: "Any edit of files".
    """

    words: str
    permits: str
    rule: AccessRule
    lasting: bool = True


def similar_rule(request: PolicyRequest, verdict: Verdict, agent: str) -> SimilarRule | None:
    """Returns the rule that would allow *request* and similar ones; None if each request must be asked on its own."""
    if verdict.floor in {"critical", "unreadable", "broken"} or request.kind == "kernel":
        return None
    if request.command is not None:
        return None if verdict.floor else _commands(request.command, verdict, agent)
    if verdict.floor in {"sensitive", "outside"}:
        return _exactly(request, agent)
    words, permits = ("cell edits", "Any cell edit") if request.kind == "cell" else _BROAD.get(request.tool, ("", ""))
    if not words:
        return None
    path = ("**",) if request.files else ()
    rule = AccessRule(action="allow", agent=(escaped(agent),), tool=(request.tool,), path=path)
    return SimilarRule(words=words, permits=permits, rule=rule, lasting=verdict.source != "project")


def offers(found: SimilarRule | None, folder: PurePath) -> tuple[Offer, ...]:
    """Returns the wider answers for *found* in the workspace *folder*, shortest-lived first."""
    if found is None:
        return ()
    here = f"{found.permits} in the workspace" if found.rule.path == ("**",) else found.permits
    for_now = [Offer(scope=scope, label=f"{here}, {words}", rule=found.rule) for scope, words in _FOR_NOW]
    if not found.lasting:
        return tuple(for_now)
    rule = msgspec.structs.replace(found.rule, folder=(str(folder),))
    return (*for_now, Offer(scope="always", label=f"{found.permits} in this folder, until I revoke it", rule=rule))


def _exactly(request: PolicyRequest, agent: str) -> SimilarRule | None:
    if len(request.files) != 1:
        return None
    path = request.files[0]
    if any(char in path for char in "*?[]{}!"):
        return None
    rule = AccessRule(action="allow", agent=(escaped(agent),), tool=(request.tool,), path=(path,), sensitive=True)
    verb = "Reading" if request.tool == "read" else "Changing"
    permits = f"{verb} {_short(path.rpartition('/')[2])}"
    return SimilarRule(words=f"{permits[0].lower()}{permits[1:]}", permits=permits, rule=rule, lasting=False)


def _commands(command: str, verdict: Verdict, agent: str) -> SimilarRule:
    units = [subject.command or "" for subject in verdict.subjects]
    exact = any(rank(subject.severity) >= rank("high") for subject in verdict.subjects) or any(
        "$" in unit for unit in units
    )
    patterns = [escaped(unit) if exact else _pattern(unit) for unit in units]
    severity: Severity = max((*(subject.severity for subject in verdict.subjects), "low"), key=rank)
    rule = AccessRule(
        action="allow",
        agent=(escaped(agent),),
        tool=(verdict.subjects[0].tool,),
        command=tuple(dict.fromkeys(patterns)),
        severity=severity,
    )
    shown = command if exact else ", ".join(dict.fromkeys(each.removesuffix(" *") for each in patterns))
    words = f"`{_short(' '.join(shown.split())).replace('`', chr(39))}`"
    if exact or not any(each.endswith(" *") for each in patterns):
        permits = f"Exactly {words}"
    else:
        permits = _CODE.get(patterns[0] if len({*patterns}) == 1 else "", f"Any {words[:-1]} …`")
    return SimilarRule(words=words, permits=permits, rule=rule)


def _pattern(unit: str) -> str:
    """Returns the pattern for *unit*: its program, and its verb if the program has many: ``git status *``."""
    try:
        words = split_words(unit)
    except ValueError:
        return escaped(unit)
    if not words or "=" in words[0] or any(word in {">", ">>", ">|"} for word in words):
        return escaped(unit)
    wanted = 2 if words[0] in _VERBS else 1
    if len(words) >= wanted and not any(word.startswith("-") for word in words[:wanted]):
        return f"{escaped(shlex.join(words[:wanted]))} *"
    return escaped(unit)


def _short(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"
