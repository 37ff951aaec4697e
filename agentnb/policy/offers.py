"""The wider answers on a card: a rule that answers the same question for the turn, the session, or always."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec

from agentnb.policy.glob import escaped
from agentnb.policy.rules import AccessRule, Scope
from agentnb.policy.severity import Severity, rank
from agentnb.policy.shell.words import split_words

if TYPE_CHECKING:
    from pathlib import PurePath

    from agentnb.policy.request import PolicyRequest, Verdict

_VERBS = frozenset(
    {"git", "npm", "pnpm", "yarn", "pip", "pip3", "uv", "cargo", "go", "make", "docker", "poetry", "conda", "gh"}
    | {"just", "hatch", "pdm", "dotnet", "bundle", "kubectl", "systemctl", "brew", "apt", "jupyter", "tox"}
    | {"nox", "npx"}
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
    scope: Scope
    label: str
    rule: AccessRule


class SimilarRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that allows a request and similar ones: the widest answer that a card may offer.

    Attributes:
        words: A name for such requests, in the plural: "edits".
        permits: A description of what the rule permits: "Any edit of files".
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


def offers(similar: SimilarRule | None, folder: PurePath) -> tuple[Offer, ...]:
    """Returns the wider answers for *similar* in the workspace *folder*, shortest-lived first."""
    if similar is None:
        return ()
    here = f"{similar.permits} in the workspace" if similar.rule.path == ("**",) else similar.permits
    for_now = [Offer(scope=scope, label=f"{here}, {words}", rule=similar.rule) for scope, words in _FOR_NOW]
    if not similar.lasting:
        return tuple(for_now)
    rule = msgspec.structs.replace(similar.rule, folder=(str(folder),))
    return (*for_now, Offer(scope="always", label=f"{similar.permits} in this folder, until I revoke it", rule=rule))


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
    text = command if exact else ", ".join(dict.fromkeys(each.removesuffix(" *") for each in patterns))
    words = f"`{_short(' '.join(text.split())).replace('`', chr(39))}`"
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
