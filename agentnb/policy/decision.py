"""The decision: whether the agent may go through a door, must ask first, or may not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from agentnb.policy.door import Door

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from agentnb.state import ConfirmationOption

__all__ = ["Decision", "Door", "Mode", "choose_option", "decide"]

Mode: TypeAlias = Literal["ask", "allow", "deny"]
"""A session's mode: ask the user, allow everything, deny everything."""

Outcome: TypeAlias = Literal["allow", "ask", "deny"]


class Decision(msgspec.Struct, frozen=True):
    """What was decided, and why.

    Args:
        outcome: ``allow``, ``ask`` or ``deny``.
        reason: Why, for the user; for a denial also what to type for another.
    """

    outcome: Outcome
    reason: str


def decide(mode: Mode, *, attached: bool, door: Door, granted: Collection[Door] = ()) -> Decision:
    """Decide about *door*.

    Reading inside the workspace needs no leave; everything else follows the session's mode, and where nobody is there
    to be asked the answer is no.

    Args:
        mode: The session's mode.
        attached: Whether a front end is there that can show the question.
        door: What the agent wants.
        granted: What was allowed before and stays so.

    Example:
        >>> decide("ask", attached=True, door=Door(kind="write", title="Write a.txt")).outcome
        'ask'
        >>> decide("ask", attached=False, door=Door(kind="write", title="Write a.txt")).outcome
        'deny'
    """
    if door.kind == "read":
        return Decision("allow", "reading inside the workspace is allowed")
    if mode == "deny":
        return Decision("deny", 'denied: this session has permissions="deny"')
    if mode == "allow":
        return Decision("allow", 'allowed: this session has permissions="allow"')
    if door in granted:
        return Decision("allow", "allowed before")
    if attached:
        return Decision("ask", "the user decides")
    hint = 'to let the agent act, start with permissions="allow" (`%agent -n --permissions allow`)'
    return Decision("deny", f"denied: no front end is attached to ask; {hint}")


_PREFERRED = {True: ("allow_once", "allow_always"), False: ("reject_once", "reject_always")}


def choose_option(options: Sequence[ConfirmationOption], *, allow: bool) -> ConfirmationOption | None:
    """The option that says yes or no with the least reach, or None when none of *options* does.

    "No" is always one of the agent's own options: ``cancelled`` would say that the turn is over. None for "no" leaves
    the caller nothing but to cancel; None for "yes" means no.

    Example:
        >>> from agentnb.state import ConfirmationOption
        >>> always = ConfirmationOption(id="a", label="Always", kind="approve", option_kind="allow_always")
        >>> once = ConfirmationOption(id="o", label="Once", kind="approve", option_kind="allow_once")
        >>> choose_option((always, once), allow=True).id
        'o'
    """
    side = "approve" if allow else "deny"
    for kind in _PREFERRED[allow]:
        for option in options:
            if option.option_kind == kind:
                return option
    return next((option for option in options if option.kind == side), None)
