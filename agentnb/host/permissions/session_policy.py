"""The policy in one session: what holds there, and the log of what was decided."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal

from agentnb.credentials import Credentials
from agentnb.events.kinds import POLICY_DECIDED, POLICY_UNASKED
from agentnb.policy.audit import AuditLog, Record
from agentnb.policy.offers import offers
from agentnb.policy.situation import Situation
from agentnb.policy.store import PolicyFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from agentnb.host.channels import SessionChannels
    from agentnb.host.session_options import Configuration
    from agentnb.policy.freedom import CellReview, Freedom, Mode
    from agentnb.policy.offers import Offer, SimilarRule
    from agentnb.policy.request import PolicyRequest
    from agentnb.policy.rules import AccessRule, InForce, Outcome, Scope
    from agentnb.policy.situation import Verdict

HEADLESS = "AGENTNB_HEADLESS"
"""The variable that says what happens to questions where nobody can answer: ``allow`` or ``deny``."""


_REASON = 500


class HostPolicy:
    """One per host."""

    def __init__(
        self,
        files: PolicyFiles | None = None,
        audit: AuditLog | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.files: PolicyFiles = files or PolicyFiles()
        self.audit: AuditLog = audit or AuditLog()
        self.environment = environment
        self.added_budget: dict[
            tuple[str, ...], float
        ] = {}  # by the user who went on at a limit, until this kernel ends

    def record(self, *, kind: str, what: str, outcome: Outcome, agent: str = "", **decision: Any) -> None:
        """Write into the log a decision that is of no session."""
        record = Record(
            time=_now(), agent=agent, session="", tab="", turn="", kind=kind, what=what, outcome=outcome, **decision
        )
        self.audit.add(record, self.environment)

    def review(self, workspace: Path, chosen: CellReview | None, mode: Mode = "ask") -> CellReview:
        """When a change of a cell is reviewed in *workspace*, where the user has *chosen* that in this kernel."""
        user, project, trusted = self.files.user, self.files.project(workspace), self.files.trusts(workspace)
        return Situation(agent="", mode=mode, user=user, project=project, trusted=trusted, cell_review=chosen).review

    def ceiling(self, workspace: Path) -> Freedom | None:
        """The most freedom that the policy files leave in *workspace*; None where they leave all."""
        return Situation(agent="", user=self.files.user, project=self.files.project(workspace)).ceiling

    @property
    def headless(self) -> Literal["allow", "deny"] | None:
        """Returns what the environment says of questions that nobody can answer."""
        match self.environment.get(HEADLESS, "").strip().lower():
            case "allow":
                return "allow"
            case "deny":
                return "deny"
            case _:
                return None


class SessionPolicy:
    def __init__(self, host_policy: HostPolicy, channels: SessionChannels, configuration: Configuration) -> None:
        self.files: PolicyFiles = host_policy.files
        self._host = host_policy
        self._channels = channels
        self._configuration = configuration
        self.is_confined: Callable[[], bool] = lambda: False

    def situation(self, grants: tuple[InForce, ...] = (), *, attached: bool = True) -> Situation:
        """Returns what holds now."""
        cwd = self._configuration.cwd
        return Situation(
            agent=self._channels.agent,
            mode=self._channels.mode,
            attached=attached,
            root=cwd,
            directories=tuple(folder.resolve() for folder in self._configuration.directories),
            user=self.files.user,
            project=self.files.project(cwd),
            grants=grants,
            headless=self._host.headless,
            trusted=self.files.trusts(cwd),
            confined=self.is_confined(),
            sensitive=tuple((pattern, True) for pattern in self._channels.sensitive),
        )

    def keeps(self, rule: AccessRule) -> bool:
        """True if the user's file still has *rule*, and it holds in this folder."""
        is_there = any(each.rule == rule for each in self.files.user.rules)
        return is_there and (bool(rule.folder) or self.files.trusts(self._configuration.cwd))

    def offers(self, found: SimilarRule | None) -> tuple[Offer, ...]:
        """The wider answers that the user can give to a question that is like *found*."""
        return offers(found, self._configuration.cwd)

    def warnings(self) -> tuple[str, ...]:
        """Returns what the user should know about the policy files."""
        user, project = self.files.user, self.files.project(self._configuration.cwd)
        found = [user.problem, project.problem, *user.warnings, *project.warnings, self._host.audit.problem]
        said = self._host.environment.get(HEADLESS)
        if said is not None and self._host.headless is None:
            found.append(f"{HEADLESS}={said!r} is neither 'allow' nor 'deny', so it is ignored.")
        return tuple(each for each in found if each)

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
        """Write one decision into the log."""
        turn, what = self._turn_id, _what(request)
        POLICY_DECIDED.tell(
            tab=self._channels.tab_id, turn=turn, outcome=outcome, by=by, scope=scope, rule=verdict.rule, _what=what
        )
        told = {"rule": verdict.rule, "source": verdict.source, "reason": verdict.reason}
        self._add_request(request, verdict, outcome=outcome, by=by, scope=scope, edited=edited, **told)

    def record_rehearsal(self, request: PolicyRequest, verdict: Verdict, summary: str) -> None:
        """Write into the log that *request* was previewed, and what came of it; nothing was decided by that."""
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
    """Returns what *request* is about, in one line."""
    return request.line or ", ".join(request.files) or request.title
