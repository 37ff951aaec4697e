"""A function of the user's that answers permission requests (``agentnb.start(permissions=function)``).

The policy comes first: what a rule allows or denies is not asked. A callback answers what the session's mode would ask
the user. Its *no* always counts. Its *yes* counts as ``permissions="allow"`` does: it lowers no floor (critical
commands, sensitive files, what is outside the workspace, what cannot be read) and overrides no rule that asks. Such a
request is still put to the user; where no front end is attached it is denied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from agentnb.state import ConfirmationOption

if TYPE_CHECKING:
    from agentnb.host.channels import SessionChannels
    from agentnb.policy.situation import Verdict


class CallbackAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a permission callback."""

    outcome: Literal["allow", "deny", "ask"]
    option: ConfirmationOption | None = None
    reason: str = "denied by the permissions callback"
    problem: str | None = None


class PermissionCallback(Protocol):
    """Answers permission requests. It never raises."""

    async def answer(self, channels: SessionChannels, call_id: str) -> CallbackAnswer:
        """Answer the open request of the tool call *call_id*. On the host's thread; the user's code runs elsewhere."""
        ...


def needs_user(verdict: Verdict) -> str | None:
    """Why a callback's *yes* is not enough; None where it is."""
    if verdict.floor is not None:
        return verdict.floor
    return "rule" if verdict.rule is not None else None
