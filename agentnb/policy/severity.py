"""How bad a request can be, and rules in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentnb.policy.rules import AccessRule


Severity: TypeAlias = Literal["none", "low", "medium", "high", "critical"]
"""``none``: looks only. ``low``: a program that is not known here. ``medium``: changes something. ``high``: reaches
beyond the workspace, or hides what it does. ``critical``: cannot be taken back."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)

_TAKES_AWAY = ("Deletes", "Removes", "Throws", "Empties", "Overwrites", "Replaces", "The code deletes")
"""How the reasons begin whose effect is gone for good, or hard to bring back."""
_CHANGES = SEVERITIES.index("medium")
_MOST_TOLD = 3


class Risk(NamedTuple):
    """One thing to say about a command or a file."""

    severity: Severity
    reason: str


def rank(severity: Severity) -> int:
    return SEVERITIES.index(severity)


def worst(findings: Iterable[Risk]) -> Risk | None:
    """Returns the worst finding; among equals the first that takes something away, else the first; None if empty."""
    return max(findings, key=_badness, default=None)


def together(findings: Iterable[Risk]) -> Risk | None:
    """Returns *findings* as one: the worst, and up to two others that change something, worse ones first."""
    ordered = sorted(findings, key=_badness, reverse=True)
    reasons = dict.fromkeys(each.reason for each in ordered if each is ordered[0] or rank(each.severity) >= _CHANGES)
    return Risk(ordered[0].severity, " ".join(list(reasons)[:_MOST_TOLD])) if ordered else None


def _badness(finding: Risk) -> tuple[int, bool]:
    return rank(finding.severity), finding.reason.startswith(_TAKES_AWAY)


_LONGEST = 60
_MAY = {
    "read": "read",
    "search": "search",
    "fetch": "fetch",
    "think": "think",
    "edit": "edit",
    "delete": "delete",
    "move": "move",
    "kernel": "run code in the kernel",
    "cell": "change notebook cells",
    "execute": "run any command",
    "switch_mode": "change its mode",
    "other": "use its other tools",
}
_OBJECTS = frozenset({"read", "search", "fetch", "edit", "delete", "move"})


def rule_words(rule: AccessRule, title: Callable[[str], str]) -> str:
    """*rule* as a sentence; *title* is what people call an agent.

    Example:
        >>> rule_words(AccessRule(action="allow", agent=("claude",), command=("python *",)), str.title)
        'Claude may run `python …` without asking'
    """
    who = _either([_agent(each, title) for each in rule.agent]) or "Any agent"
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


def _agent(pattern: str, title: Callable[[str], str]) -> str:
    return "Any agent" if pattern == "*" else title(pattern.replace("\\", ""))


def _actions(rule: AccessRule) -> list[str]:
    if rule.command:
        return [f"run {_either([command_words(each) for each in rule.command])}"]
    files = _either([f"`{each}`" for each in rule.path if each != "**"]) or "files"
    secret = ", secret ones too," if rule.sensitive and files == "files" else ""
    if not rule.tool:
        return [f"do anything with {files}{secret}" if rule.path else "do anything"]
    return [f"{_MAY[each]} {files}{secret}" if each in _OBJECTS else _MAY[each] for each in rule.tool]


def _either(words: Iterable[str]) -> str:
    *first, last = [*words] or [""]
    return f"{', '.join(first)} or {last}" if first else last
