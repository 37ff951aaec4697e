"""Open questions about what an agent wants to do, the answers, and how long an answer holds.

An answer holds once for a tool call, for the turn, or for the session.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentnb.policy.rules import InForce
from agentnb.policy.severity import rank

if TYPE_CHECKING:
    from agentnb.policy.offers import Offer
    from agentnb.policy.request import PolicyRequest
    from agentnb.policy.situation import Verdict
    from agentnb.state import ConfirmationOption


@dataclass(frozen=True)
class Answer:
    """One answer to a permission request.

    Args:
        option: The option chosen, one of the agent's (or of our own card's).
        edited: The command as the user changed it; None where they did not.
        by_user: Whether somebody was asked; else the policy answered.
    """

    option: ConfirmationOption
    edited: str | None = None
    by_user: bool = False

    @property
    def approved(self) -> bool:
        """Whether it means yes."""
        return self.option.kind == "approve"


@dataclass
class Question:
    """One question, as it was put.

    Args:
        turn_id: In which turn.
        call_id: On which tool call.
        request: What it is about.
        verdict: What the policy says of it.
        options: The answers, without our wider ones.
        offered: Our wider answers, by id.
    """

    turn_id: str
    call_id: str
    request: PolicyRequest
    verdict: Verdict
    options: tuple[ConfirmationOption, ...]
    offered: dict[str, Offer]
    answer: asyncio.Future[Answer | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Grants:
    """The answers of one conversation that hold."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[Question, bool]] = {}
        self._kernel_calls: dict[str, PolicyRequest] = {}
        self._for_turn: list[InForce] = []
        self._for_session: list[InForce] = []

    @property
    def in_force(self) -> tuple[InForce, ...]:
        """What was answered for the session and for the turn, in the order in which it counts."""
        return (*self._for_session, *self._for_turn)

    def take(self, offer: Offer) -> None:
        """Let a wider answer hold: for the turn, else for the session (where it is for always, at least so long)."""
        if offer.scope == "turn":
            self._for_turn.append(InForce(offer.rule, "turn"))
        else:
            self._for_session.append(InForce(offer.rule, "session"))

    def approve(self, question: Question, *, by_user: bool) -> None:
        """The tool call of *question* may do what it showed, once; *by_user*: somebody was asked and said so."""
        self._calls[question.call_id] = (question, by_user)

    def approve_kernel_call(self, call_id: str, request: PolicyRequest) -> None:
        """Our kernel tool was allowed *request*, which the agent's tool call *call_id* shows."""
        self._kernel_calls[call_id] = request

    def cover_kernel_call(self, call_id: str, asked: PolicyRequest) -> bool:
        """Whether the agent's request *asked* about *call_id* was answered at our kernel tool; it is used up."""
        allowed = self._kernel_calls.get(call_id)
        if allowed is None or not allowed.covered_by(asked):
            return False
        del self._kernel_calls[call_id]
        return True

    def cover(self, request: PolicyRequest, verdict: Verdict) -> bool:
        """Whether an answer was given for this very thing; it is used up.

        An automatic approval covers *request* only where the policy allows that one, too; and nobody's answer
        covers what is worse than what they saw.
        """
        for call_id, (question, by_user) in self._calls.items():
            if not request.covered_by(question.request):
                continue
            if verdict.outcome == "allow" or (by_user and _no_worse(verdict, question.verdict)):
                del self._calls[call_id]
                return True
        return False

    def forget_turn(self) -> None:
        """A new turn begins: what was allowed once, or for a turn, is allowed no more."""
        self._calls.clear()
        self._kernel_calls.clear()
        self._for_turn.clear()


def _no_worse(verdict: Verdict, shown: Verdict) -> bool:
    same = verdict.floor is None or verdict.floor == shown.floor
    return verdict.outcome == "ask" and same and rank(verdict.severity) <= rank(shown.severity)
