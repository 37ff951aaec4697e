"""The policy of one session, and the grants that the user has given it."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from agentnb.credentials import Credentials
from agentnb.events.kinds import POLICY_DECIDED, POLICY_UNASKED
from agentnb.policy.audit import AuditLog, Record
from agentnb.policy.request import Situation
from agentnb.policy.rules import InForce
from agentnb.policy.severity import rank
from agentnb.policy.store import PolicyFiles
from agentnb.state import ChatToolCallReady, ConfirmationOption

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from agentnb.host.channels import SessionChannels
    from agentnb.host.session_options import Configuration
    from agentnb.policy.keys import CellReview, Freedom, Mode
    from agentnb.policy.offers import Offer
    from agentnb.policy.request import PolicyRequest, Verdict
    from agentnb.policy.rules import AccessRule, Outcome, Scope


HEADLESS = "AGENTNB_HEADLESS"
"""The environment variable that decides questions if no user can answer: ``allow`` or ``deny``."""
_REASON = 500


class HostPolicy:
    def __init__(
        self,
        files: PolicyFiles | None = None,
        audit: AuditLog | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.files: PolicyFiles = files or PolicyFiles()
        self.audit: AuditLog = audit or AuditLog()
        self.environment = environment
        self.added_budget: dict[tuple[str, ...], float] = {}  # added by the user at a limit, until this kernel ends

    def record(self, *, kind: str, what: str, outcome: Outcome, agent: str = "", **decision: Any) -> None:
        """Write to the log a decision that belongs to no session."""
        record = Record(
            time=_now(), agent=agent, session="", tab="", turn="", kind=kind, what=what, outcome=outcome, **decision
        )
        self.audit.add(record, self.environment)

    def review(self, workspace: Path, chosen: CellReview | None, mode: Mode = "ask") -> CellReview:
        """When changes of cells are reviewed in *workspace*, if the user has *chosen* that in this kernel."""
        user, project, trusted = self.files.user, self.files.project(workspace), self.files.trusts(workspace)
        return Situation(agent="", mode=mode, user=user, project=project, trusted=trusted, cell_review=chosen).review

    def ceiling(self, workspace: Path) -> Freedom | None:
        """The most freedom that the policy files allow in *workspace*; None if they allow all."""
        return Situation(agent="", user=self.files.user, project=self.files.project(workspace)).ceiling

    @property
    def headless(self) -> Literal["allow", "deny"] | None:
        """Returns what the environment sets for questions that nobody can answer; None if nothing."""
        choices: dict[str, Literal["allow", "deny"]] = {"allow": "allow", "deny": "deny"}
        return choices.get(self.environment.get(HEADLESS, "").strip().lower())


class SessionPolicy:
    def __init__(self, host_policy: HostPolicy, channels: SessionChannels, configuration: Configuration) -> None:
        self.files: PolicyFiles = host_policy.files
        self._host = host_policy
        self._channels = channels
        self._configuration = configuration
        self.cwd: Path = configuration.cwd
        self.is_confined: Callable[[], bool] = lambda: False

    def situation(self, grants: tuple[InForce, ...] = (), *, attached: bool = True) -> Situation:
        return Situation(
            agent=self._channels.agent,
            mode=self._channels.mode,
            attached=attached,
            root=self.cwd,
            directories=tuple(folder.resolve() for folder in self._configuration.directories),
            user=self.files.user,
            project=self.files.project(self.cwd),
            grants=grants,
            headless=self._host.headless,
            trusted=self.files.trusts(self.cwd),
            confined=self.is_confined(),
            sensitive=tuple((pattern, True) for pattern in self._channels.sensitive),
        )

    def keeps(self, rule: AccessRule) -> bool:
        """True if the user's file still has *rule*, and it applies in this folder."""
        is_there = any(each.rule == rule for each in self.files.user.rules)
        return is_there and (bool(rule.folder) or self.files.trusts(self.cwd))

    def warnings(self) -> tuple[str, ...]:
        user, project = self.files.user, self.files.project(self.cwd)
        warnings = [user.problem, project.problem, *user.warnings, *project.warnings, self._host.audit.problem]
        headless = self._host.environment.get(HEADLESS)
        if headless is not None and self._host.headless is None:
            warnings.append(f"{HEADLESS}={headless!r} is neither 'allow' nor 'deny', so it is ignored.")
        return tuple(each for each in warnings if each)

    def record_setting(self, tool: str, before: str | None, after: str, outcome: Outcome, by: str) -> None:
        """Write into the log that the user is changing a setting of the session."""
        self._add({}, kind="session", tool=tool, what=f"{before} → {after}", outcome=outcome, by=by)

    def record_changes(self, operation: str, what: str, by: str) -> None:
        """Write into the log that changes of turns were undone, redone or kept: *what*, *by* whom."""
        self._add({}, kind="changes", tool=operation, what=what, outcome="allow", by=by)

    def record(
        self,
        request: PolicyRequest,
        verdict: Verdict,
        *,
        outcome: Outcome,
        by: str,
        scope: Scope = "once",
        edited: str | None = None,
    ) -> None:
        turn, what = self._turn_id, _what(request)
        POLICY_DECIDED.tell(
            tab=self._channels.tab_id, turn=turn, outcome=outcome, by=by, scope=scope, rule=verdict.rule, _what=what
        )
        verdict_fields = {"rule": verdict.rule, "source": verdict.source, "reason": verdict.reason}
        self._add_request(request, verdict, outcome=outcome, by=by, scope=scope, edited=edited, **verdict_fields)

    def record_rehearsal(self, request: PolicyRequest, verdict: Verdict, summary: str) -> None:
        """Write to the log that *request* was previewed, and the result; the preview decides nothing."""
        about = {"tool": request.tool, "what": _what(request), "severity": verdict.severity}
        env = dict(request.env)
        reason = Credentials({**self._host.environment, **self._configuration.env, **env}).hidden(summary[:_REASON])
        self._add(env, kind="rehearsal", outcome="ask", by="preview", reason=reason, **about)

    def record_unasked(self, request: PolicyRequest, verdict: Verdict, call_id: str) -> None:
        """Write into the log that the agent ran *request* without asking, although the permissions are Ask or Deny."""
        turn, what = self._turn_id, _what(request)
        POLICY_UNASKED.tell(tab=self._channels.tab_id, turn=turn, call=call_id, tool=request.tool, _what=what)
        self._add_request(request, verdict, outcome="allow", by="agent", reason="ran without asking")

    @property
    def _turn_id(self) -> str | None:
        turn = self._channels.chat.state.active_turn
        return turn.id if turn is not None else None

    def _add_request(self, request: PolicyRequest, verdict: Verdict, **decision: Any) -> None:
        about = {"kind": request.kind, "tool": request.tool, "what": _what(request), "severity": verdict.severity}
        self._add(dict(request.env), **about, **decision)

    def _add(self, env: dict[str, str], **decision: Any) -> None:
        record = Record(
            time=_now(),
            agent=self._channels.agent,
            session=self._channels.session.uri,
            tab=self._channels.title,
            turn=self._turn_id or "",
            **decision,
        )
        self._host.audit.add(record, {**self._host.environment, **self._configuration.env, **env})


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def _what(request: PolicyRequest) -> str:
    """Returns the subject of *request*, in one line."""
    return request.line or ", ".join(request.files) or request.title


@dataclass(frozen=True)
class ChosenOption:
    option: ConfirmationOption
    edited: str | None = None
    by_user: bool = False

    @property
    def approved(self) -> bool:
        return self.option.kind == "approve"


@dataclass(eq=False)
class PendingPermission:
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
    """The answers of one conversation that still hold."""

    def __init__(self, keeps: Callable[[AccessRule], bool]) -> None:
        self._keeps = keeps
        self._calls: dict[str, tuple[PendingPermission, bool]] = {}
        self._kernel_calls: dict[str, PolicyRequest] = {}
        self._wider: list[tuple[Scope, AccessRule]] = []
        self.rules_by_call: dict[str, AccessRule] = {}

    @property
    def in_force(self) -> tuple[InForce, ...]:
        """Returns the answers given for the session and for the turn, in order of precedence."""
        held = [(scope, rule) for scope, rule in self._wider if scope != "always" or self._keeps(rule)]
        session = (InForce(rule, "session") for scope, rule in held if scope != "turn")
        return (*session, *(InForce(rule, "turn") for scope, rule in held if scope == "turn"))

    def take(self, rule: AccessRule, scope: Scope, call_id: str) -> None:
        """Keep a wider answer, given on the tool call *call_id*, for the turn, for the session, or for good."""
        self._wider.append((scope, rule))
        self.rules_by_call[call_id] = rule

    def revoke(self, text: str) -> None:
        """End the answers whose rule reads *text*."""
        self._wider = [(scope, rule) for scope, rule in self._wider if rule.text != text]
        self.rules_by_call = {call_id: rule for call_id, rule in self.rules_by_call.items() if rule.text != text}

    def approve(self, question: PendingPermission, *, by_user: bool) -> None:
        """The tool call of *question* may do what it showed, once; *by_user*: somebody was asked and allowed it."""
        self._calls[question.call_id] = (question, by_user)

    def approve_kernel_call(self, call_id: str, request: PolicyRequest) -> None:
        """*request* of our kernel tool was allowed; the agent's tool call *call_id* shows it."""
        self._kernel_calls[call_id] = request

    def cover_kernel_call(self, call_id: str, request: PolicyRequest) -> bool:
        """True if the agent's *request* about *call_id* was already answered at our kernel tool; uses it up."""
        allowed = self._kernel_calls.get(call_id)
        if allowed is None or not allowed.covered_by(request):
            return False
        del self._kernel_calls[call_id]
        return True

    def cover(self, request: PolicyRequest, verdict: Verdict) -> bool:
        """True if an answer was given for exactly this; the answer is used up."""
        for call_id, (question, by_user) in self._calls.items():
            if not request.covered_by(question.request):
                continue
            if verdict.outcome == "allow" or (by_user and _no_worse(verdict, question.verdict)):
                del self._calls[call_id]
                return True
        return False

    def forget_turn(self) -> None:
        self._calls.clear()
        self._kernel_calls.clear()
        self._wider = [(scope, rule) for scope, rule in self._wider if scope != "turn"]


def _no_worse(verdict: Verdict, approved: Verdict) -> bool:
    same = verdict.floor is None or verdict.floor == approved.floor
    return verdict.outcome == "ask" and same and rank(verdict.severity) <= rank(approved.severity)


class CallbackAnswer(msgspec.Struct, frozen=True, kw_only=True):
    outcome: Literal["allow", "deny", "ask"]
    option: ConfirmationOption | None = None
    reason: str = "denied by the permissions callback"
    problem: str | None = None


class PermissionCallback(Protocol):
    """A function of the user's that answers permission requests (``agentnb.start(permissions=function)``).

    Its *yes* has the effect of ``permissions="allow"``: it lowers no floor (critical commands, sensitive files, files
    outside the workspace, unreadable requests) and overrides no rule that asks.
    """

    async def answer(self, channels: SessionChannels, call_id: str, files: tuple[str, ...]) -> CallbackAnswer:
        """Answer the open request of the tool call *call_id*, which is about *files*.

        On the host's thread; the user's code runs elsewhere.
        """
        ...
