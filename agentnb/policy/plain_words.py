"""Rules in plain words: what each permits, asks or denies, for people who never wrote one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentnb.policy.rules import AccessRule

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
    return [f"{_MAY[each]} {files}{secret}" if each in _OBJECTS else _MAY[each] for each in rule.tool]


def _either(words: Iterable[str]) -> str:
    *first, last = [*words] or [""]
    return f"{', '.join(first)} or {last}" if first else last
