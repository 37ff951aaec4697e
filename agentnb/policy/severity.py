"""How bad a thing can be, on one scale for commands and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

if TYPE_CHECKING:
    from collections.abc import Iterable

Severity: TypeAlias = Literal["none", "low", "medium", "high", "critical"]
"""``none``: looks only. ``low``: a program that is not known here. ``medium``: changes something. ``high``: reaches
beyond the workspace, or hides what it does. ``critical``: cannot be taken back."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)


class Finding(NamedTuple):
    """One thing to say about a command or a file."""

    severity: Severity
    reason: str


def rank(severity: Severity) -> int:
    """The place of *severity* on the scale."""
    return SEVERITIES.index(severity)


def worst(findings: Iterable[Finding]) -> Finding | None:
    """The worst of *findings*, the first one where several are as bad; None of none."""
    return max(findings, key=lambda finding: rank(finding.severity), default=None)
