"""The host's policy: the files, the log and the environment that the engine judges by, for every session."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal

from agentnb.events.kinds import POLICY_DECIDED, POLICY_UNASKED
from agentnb.policy.audit import AuditLog, Record
from agentnb.policy.situation import Situation
from agentnb.policy.store import PolicyFiles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.host.conversation import Conversation
    from agentnb.policy.request import PolicyRequest
    from agentnb.policy.rules import InForce, Outcome, Scope
    from agentnb.policy.situation import Mode, Verdict

HEADLESS = "AGENTNB_HEADLESS"
"""The variable that says what happens to questions where nobody can answer: ``allow`` or ``deny``."""


class HostPolicy:
    """One per host.

    Args:
        files: The policy files; by default those of this machine.
        audit: The log of decisions; by default this machine's.
        environment: The variables that count; by default those of this process.
    """

    def __init__(
        self,
        files: PolicyFiles | None = None,
        audit: AuditLog | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.files = files or PolicyFiles()
        self.audit = audit or AuditLog()
        self.environment = environment

    @property
    def headless(self) -> Literal["allow", "deny"] | None:
        """What the environment says of questions that nobody can answer."""
        match self.environment.get(HEADLESS, "").strip().lower():
            case "allow":
                return "allow"
            case "deny":
                return "deny"
            case _:
                return None

    def situation(
        self, conversation: Conversation, grants: tuple[InForce, ...] = (), *, attached: bool = True
    ) -> Situation:
        """What holds in *conversation* now."""
        return Situation(
            agent=conversation.spec.name,
            mode=conversation.mode,
            attached=attached,
            root=conversation.cwd,
            lent=tuple(folder.resolve() for folder in conversation.configuration.directories),
            user=self.files.user,
            project=self.files.project(conversation.cwd),
            grants=grants,
            headless=self.headless,
            trusted=self.files.trusts(conversation.cwd),
        )

    def warnings(self, conversation: Conversation) -> tuple[str, ...]:
        """What the user should know about the policy files that hold in *conversation*."""
        user, project = self.files.user, self.files.project(conversation.cwd)
        found = [user.problem, project.problem, *user.warnings, *project.warnings, self.audit.problem]
        said = self.environment.get(HEADLESS)
        if said is not None and self.headless is None:
            found.append(f"{HEADLESS}={said!r} is neither 'allow' nor 'deny', so it is passed over.")
        return tuple(each for each in found if each)

    def record_mode(self, conversation: Conversation, mode: Mode, by: str) -> None:
        """Write into the log that the user has changed what answers *conversation*'s permission requests."""
        record = Record(
            **_about(conversation),
            door="session",
            tool="permissions",
            what=f"{conversation.mode} → {mode}",
            outcome=mode,
            by=by,
        )
        self.audit.add(record, {**self.environment, **conversation.env})

    def record_unasked(
        self, conversation: Conversation, request: PolicyRequest, verdict: Verdict, call_id: str
    ) -> None:
        """Write into the log that the agent ran something without asking, which permissions Deny would have denied."""
        what = request.line or ", ".join(request.files) or request.title
        about = _about(conversation)
        POLICY_UNASKED.tell(tab=conversation.tab_id, turn=about["turn"], call=call_id, tool=request.tool, _what=what)
        record = Record(
            **about,
            door=request.kind,
            tool=request.tool,
            what=what,
            outcome="allow",
            by="agent",
            severity=verdict.severity,
            reason="ran without asking",
        )
        self.audit.add(record, {**self.environment, **conversation.env})

    def record(
        self,
        conversation: Conversation,
        request: PolicyRequest,
        verdict: Verdict,
        *,
        outcome: Outcome,
        by: str,
        scope: Scope = "once",
        edited: str | None = None,
    ) -> None:
        """Write one decision into the log."""
        turn = conversation.chat.state.active_turn
        what = request.line or ", ".join(request.files) or request.title
        POLICY_DECIDED.tell(
            tab=conversation.tab_id,
            turn=turn.id if turn is not None else None,
            outcome=outcome,
            by=by,
            scope=scope,
            rule=verdict.rule,
            _what=what,
        )
        self.audit.add(
            Record(
                **_about(conversation),
                door=request.kind,
                tool=request.tool,
                what=what,
                outcome=outcome,
                by=by,
                rule=verdict.rule,
                source=verdict.source,
                scope=scope,
                severity=verdict.severity,
                reason=verdict.reason,
                edited=edited,
            ),
            {**self.environment, **conversation.env, **dict(request.env)},
        )


def _about(conversation: Conversation) -> dict[str, Any]:
    """When and where something was decided."""
    turn = conversation.chat.state.active_turn
    return {
        "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        "agent": conversation.spec.name,
        "session": conversation.session.uri,
        "tab": conversation.session.state.summary.title,
        "turn": turn.id if turn is not None else "",
    }
