"""One question that waits for an answer, and the answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentnb.policy.offers import Offer
    from agentnb.policy.request import PolicyRequest
    from agentnb.policy.situation import Verdict
    from agentnb.state import ConfirmationOption


@dataclass(frozen=True)
class Answer:
    """What was answered.

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
