"""The option that carries a decision to the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.policy.situation import Mode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.state import ConfirmationOption

__all__ = ["Mode", "choose_option"]

_PREFERRED = {True: ("allow_once", "allow_always"), False: ("reject_once", "reject_always")}


def choose_option(options: Sequence[ConfirmationOption], *, allow: bool) -> ConfirmationOption | None:
    """The narrowest of *options* that allows (or denies), or None if there is none.

    A denial is always one of the agent's own options: ``cancelled`` would tell the agent that the turn is over. Where
    there is none to deny, the caller can only cancel; where there is none to allow, the answer is a denial.
    """
    side = "approve" if allow else "deny"
    for kind in _PREFERRED[allow]:
        for option in options:
            if option.option_kind == kind:
                return option
    return next((option for option in options if option.kind == side), None)
