"""The engine's input and output: the situation and the verdict."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from agentnb.policy.freedom import EDITS, CellReview, Freedom, Mode, capped, lowest
from agentnb.policy.places import own_patterns
from agentnb.policy.rules import InForce, Outcome, PolicySubject, Source
from agentnb.policy.sensitive import SENSITIVE
from agentnb.policy.settings import PolicySettings
from agentnb.policy.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.policy.sensitive import Patterns
    from agentnb.state import ConfirmationOption

Decider: TypeAlias = Literal[
    "rule", "mode", "freedom", "preview", "reading", "bypass", "review", "headless", "floor", "user", "nobody"
]
"""What a verdict comes from: a policy rule, the session's mode, its freedom, a preview, what no mode lowers, the user,
or that nobody is there to be asked."""


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
    confined: bool = False
    sensitive: tuple[tuple[str, bool], ...] = ()

    @property
    def ceiling(self) -> Freedom | None:
        """The most freedom that the policy files leave; None where they leave all."""
        return lowest((self.user.freedom_at_most, self.project.freedom_at_most))

    @property
    def here(self) -> Situation:
        """The same with the mode that the ceiling leaves, and with the rules that count in this workspace."""
        ceiling = self.ceiling
        if ceiling is None and not any(each.rule.folder for each in (*self.user.rules, *self.project.rules)):
            return self
        has_own_ceiling = self.project.freedom_at_most is not None
        return msgspec.structs.replace(
            self,
            mode=capped(self.mode, ceiling),
            headless="deny" if has_own_ceiling else self.headless,
            user=msgspec.structs.replace(
                self.user,
                rules=self._held(self.user.rules),
                bypass=self.user.bypass if ceiling is None else frozenset(),
            ),
            project=msgspec.structs.replace(self.project, rules=self._held(self.project.rules)),
        )

    def _held(self, rules: tuple[InForce, ...]) -> tuple[InForce, ...]:
        return tuple(each for each in rules if each.rule.holds_in(self.root))

    @property
    def review(self) -> CellReview:
        """Returns when a change of a cell is reviewed.

        A project can only want it first; Edit and Auto mean afterwards; the user's file counts if trusted.
        """
        if self.project.cell_review == "first":
            return "first"
        if self.mode in EDITS:
            return "after"
        standing = self.user.cell_review if self.trusted else None
        return self.cell_review or standing or "first"

    @property
    def patterns(self) -> Patterns:
        """The sensitive files: what is built in, then the user's words, then the project's."""
        merged = {**SENSITIVE, **dict.fromkeys(own_patterns(self.root), True)}
        for pattern, sensitive in (*self.user.sensitive, *self.project.sensitive, *self.sensitive):
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
