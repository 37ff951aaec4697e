"""Severity: how bad a thing can be, on one scale for commands and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

if TYPE_CHECKING:
    from collections.abc import Iterable

Severity: TypeAlias = Literal["none", "low", "medium", "high", "critical"]
"""``none``: only reads. ``low``: an unknown program. ``medium``: changes something. ``high``: reaches outside the
workspace, or hides its effect. ``critical``: cannot be undone."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)

_TAKES_AWAY = ("Deletes", "Removes", "Throws", "Empties", "Overwrites", "Replaces", "The code deletes")
"""The first words of reasons for which the effect cannot be undone, or only with difficulty."""
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
