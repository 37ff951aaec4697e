"""Open questions about what an agent wants to do, the answers, and how long an answer holds."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from agentnb.policy.rules import InForce
from agentnb.policy.severity import rank
from agentnb.state import ChatToolCallReady, ConfirmationOption

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.host.channels import SessionChannels
    from agentnb.policy.offers import Offer
    from agentnb.policy.request import PolicyRequest
    from agentnb.policy.rules import AccessRule, Scope
    from agentnb.policy.situation import Verdict


@dataclass(frozen=True)
class ChosenOption:
    """One answer to a permission request."""

    option: ConfirmationOption
    edited: str | None = None
    by_user: bool = False

    @property
    def approved(self) -> bool:
        """True if it means yes."""
        return self.option.kind == "approve"


@dataclass
class PendingPermission:
    """One question, as it was put."""

    turn_id: str
    call_id: str
    request: PolicyRequest
    verdict: Verdict
    options: tuple[ConfirmationOption, ...]
    offered: dict[str, Offer]
    ready: ChatToolCallReady
    answer: asyncio.Future[ChosenOption | None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class SessionGrants:
    """The answers of one conversation that hold."""

    def __init__(self, keeps: Callable[[AccessRule], bool]) -> None:
        self._keeps = keeps
        self._calls: dict[str, tuple[PendingPermission, bool]] = {}
        self._kernel_calls: dict[str, PolicyRequest] = {}
        self._wider: list[tuple[Scope, AccessRule]] = []
        self._given: dict[str, AccessRule] = {}

    @property
    def in_force(self) -> tuple[InForce, ...]:
        """Returns what was answered for the session and for the turn, in the order in which it counts."""
        held = [(scope, rule) for scope, rule in self._wider if scope != "always" or self._keeps(rule)]
        session = (InForce(rule, "session") for scope, rule in held if scope != "turn")
        return (*session, *(InForce(rule, "turn") for scope, rule in held if scope == "turn"))

    def take(self, rule: AccessRule, scope: Scope, call_id: str) -> None:
        """Let a wider answer, given on the tool call *call_id*, hold: for the turn, the session, or for always."""
        self._wider.append((scope, rule))
        self._given[call_id] = rule

    def given_on(self, call_id: str) -> AccessRule | None:
        """The rule of the wider answer that was given on the tool call *call_id*."""
        return self._given.get(call_id)

    def revoke(self, text: str) -> None:
        """End the answers whose rule reads *text*."""
        self._wider = [(scope, rule) for scope, rule in self._wider if rule.text != text]
        self._given = {call_id: rule for call_id, rule in self._given.items() if rule.text != text}

    def approve(self, question: PendingPermission, *, by_user: bool) -> None:
        """The tool call of *question* may do what it showed, once; *by_user*: somebody was asked and said so."""
        self._calls[question.call_id] = (question, by_user)

    def approve_kernel_call(self, call_id: str, request: PolicyRequest) -> None:
        """Our kernel tool was allowed *request*, which the agent's tool call *call_id* shows."""
        self._kernel_calls[call_id] = request

    def cover_kernel_call(self, call_id: str, asked: PolicyRequest) -> bool:
        """True if the agent's request *asked* about *call_id* was answered at our kernel tool; it is used up."""
        allowed = self._kernel_calls.get(call_id)
        if allowed is None or not allowed.covered_by(asked):
            return False
        del self._kernel_calls[call_id]
        return True

    def cover(self, request: PolicyRequest, verdict: Verdict) -> bool:
        """True if an answer was given for this very thing; it is used up."""
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
        self._wider = [(scope, rule) for scope, rule in self._wider if scope != "turn"]


def _no_worse(verdict: Verdict, shown: Verdict) -> bool:
    same = verdict.floor is None or verdict.floor == shown.floor
    return verdict.outcome == "ask" and same and rank(verdict.severity) <= rank(shown.severity)


class CallbackAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a permission callback."""

    outcome: Literal["allow", "deny", "ask"]
    option: ConfirmationOption | None = None
    reason: str = "denied by the permissions callback"
    problem: str | None = None


class PermissionCallback(Protocol):
    """A function of the user's that answers permission requests (``agentnb.start(permissions=function)``).

    Its *yes* counts as ``permissions="allow"`` does: it lowers no floor (critical commands, sensitive files, what is
    outside the workspace, what cannot be read) and overrides no rule that asks.
    """

    async def answer(self, channels: SessionChannels, call_id: str) -> CallbackAnswer:
        """Answer the open request of the tool call *call_id*. On the host's thread; the user's code runs elsewhere."""
        ...


def needs_user(verdict: Verdict) -> str | None:
    """Returns why a callback's *yes* is not enough; None where it is."""
    if verdict.floor is not None:
        return verdict.floor
    return "rule" if verdict.rule is not None else None
