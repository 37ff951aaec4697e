"""The engine's input and output: the situation and the verdict."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from agentnb.policy.places import own_patterns
from agentnb.policy.rules import InForce, Outcome, PolicySubject, Source
from agentnb.policy.sensitive import SENSITIVE
from agentnb.policy.settings import CellReview, PolicySettings
from agentnb.policy.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.policy.sensitive import Patterns
    from agentnb.state import ConfirmationOption

Mode: TypeAlias = Literal["ask", "allow", "deny"]
"""A session's mode: ask the user, allow what no floor holds, deny everything."""

Decider: TypeAlias = Literal["rule", "mode", "reading", "bypass", "review", "headless", "floor", "user", "nobody"]
"""What a verdict comes from: a policy rule, the session's mode, what no mode lowers, the user, or that nobody is there
to be asked."""


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """The circumstances of a request: the agent, the workspace, and the rules in force."""

    agent: str
    mode: Mode = "ask"
    attached: bool = True
    root: PurePath = PurePath("/")
    directories: tuple[PurePath, ...] = ()
    user: PolicySettings = PolicySettings()
    project: PolicySettings = PolicySettings()
    grants: tuple[InForce, ...] = ()
    headless: Literal["allow", "deny"] | None = None
    cell_review: CellReview | None = None
    trusted: bool = False

    @property
    def review(self) -> CellReview:
        """Returns when a change of a cell is reviewed.

        A project can only want it first; the user's file counts if trusted.
        """
        if self.project.cell_review == "first":
            return "first"
        standing = self.user.cell_review if self.trusted else None
        return self.cell_review or standing or "first"

    @property
    def patterns(self) -> Patterns:
        """The sensitive files: what is built in, then the user's words, then the project's."""
        merged = {**SENSITIVE, **dict.fromkeys(own_patterns(self.root), True)}
        for pattern, sensitive in (*self.user.sensitive, *self.project.sensitive):
            merged.pop(pattern, None)  # the last that matches wins
            merged[pattern] = sensitive
        return merged


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The engine's decision."""

    outcome: Outcome
    reason: str
    severity: Severity = "none"
    risk: str = ""
    decided_by: Decider = "mode"
    rule: str | None = None
    source: Source = "default"
    floor: str | None = None
    subjects: tuple[PolicySubject, ...] = ()
    distrusted: bool = False


__all__ = ["Mode", "choose_option"]

_PREFERRED = {True: ("allow_once", "allow_always"), False: ("reject_once", "reject_always")}


def choose_option(options: Sequence[ConfirmationOption], *, allow: bool) -> ConfirmationOption | None:
    """The narrowest of *options* that allows (or denies), or None if there is none."""
    side = "approve" if allow else "deny"
    for kind in _PREFERRED[allow]:
        for option in options:
            if option.option_kind == kind:
                return option
    return next((option for option in options if option.kind == side), None)
