"""The engine: decides on a request by the rules.

A command is also checked against rules about the files that it names: these can stop it, but never let it run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agentnb.policy.keys import EDITS, TITLES
from agentnb.policy.request import Decider, Situation, Verdict
from agentnb.policy.rules import STRICTNESS, InForce, Outcome, PolicySubject, matches
from agentnb.policy.settings import loosening
from agentnb.policy.severity import Severity, rank
from agentnb.policy.subjects import READING, Seen, seen
from agentnb.policy.workspace import for_display

if TYPE_CHECKING:
    from agentnb.policy.request import PolicyRequest
    from agentnb.policy.settings import PolicySettings

NO_RULE = "no rule applies, so you are asked"
NOBODY = "no front end is attached to ask"
HEADLESS = f'{NOBODY}; to let the agent act, start with permissions="allow" (`%agent -n --permissions allow`)'
WORST_AT_ONCE: Severity = "medium"
"""The worst severity that Auto runs without asking: worse ones reach outside the workspace or hide their effect."""
_UNTRUSTED = "this folder is not trusted"
_TO_TRUST = "to trust it, type `agentnb trust` in it, or agentnb.trust() (`%agents trust`)"


class _Decision(msgspec.Struct, frozen=True):
    outcome: Outcome
    reason: str
    rule: InForce | None = None
    by: Decider = "mode"


def judge(request: PolicyRequest, situation: Situation) -> Verdict:
    situation = situation.here
    assessment = seen(request, situation)
    verdict = _judged(request, assessment, situation)
    if verdict.outcome == "allow" or _standing_counts(request, situation) or not _allows_some(situation.user):
        return verdict
    if _judged(request, assessment, msgspec.structs.replace(situation, trusted=True)).outcome != "allow":
        return verdict
    return _distrusted(verdict, situation)


def acts(request: PolicyRequest) -> bool:
    """True if *request* does more than look, so that standing permissions for it need a trusted workspace."""
    return request.kind != "read" and (request.command is not None or request.tool not in READING)


def _judged(request: PolicyRequest, assessment: Seen, situation: Situation) -> Verdict:
    subjects, risk = assessment.subjects, assessment.risk
    decisions = [_about(subject, request, situation) for subject in subjects]
    stopping = [stop for each in assessment.files if (stop := _stopping(each, situation)) is not None]
    first = max((*decisions, *stopping), key=lambda each: STRICTNESS[each.outcome])
    floor = _floor(request, assessment, decisions, situation)
    verdict = Verdict(
        outcome=first.outcome,
        reason=first.reason,
        severity=risk.severity,
        risk=risk.reason,
        decided_by="rule" if first.rule is not None else "user" if first.outcome == "ask" else first.by,
        rule=None if first.rule is None else first.rule.rule.text,
        source="default" if first.rule is None else first.rule.source,
        floor=floor,
        subjects=subjects,
    )
    if floor is not None and verdict.outcome == "allow":
        verdict = msgspec.structs.replace(
            verdict, outcome="ask", reason=_FLOORS[floor], decided_by="floor", rule=None, source="default"
        )
    return verdict if verdict.outcome != "ask" else _ask_or_decide(verdict, request, situation)


def opens(path: str, tool: str, situation: Situation) -> bool:
    """True if a rule covers *path*, which is outside the workspace, and does not deny it."""
    subject = PolicySubject(agent=situation.agent, tool=tool, path=path)
    last = _last(subject, situation.here)
    return last is not None and last.rule.action != "deny" and bool(last.rule.path)


_FLOORS = {
    "critical": "critical commands always ask",
    "sensitive": "sensitive files always ask",
    "outside": "it is outside the workspace",
    "unreadable": "the command could not be read",
    "vague": "the agent doesn't say what it would do",
    "dangerous": "dangerous commands ask even if the session allows everything",
    "broken": "a policy file cannot be read, so everything asks",
}


def _stopping(subject: PolicySubject, situation: Situation) -> _Decision | None:
    folder = msgspec.structs.replace(subject, inside=f"{subject.inside}/") if subject.inside is not None else subject

    def about(each: InForce) -> bool:
        return bool(each.rule.path) and (matches(each.rule, subject) or matches(each.rule, folder))

    last = next(filter(about, reversed((*situation.user.rules, *situation.grants))), None)
    rules = list(filter(about, situation.project.rules))
    rules += [last] if last is not None and last.rule.action != "allow" else []
    if not rules:
        return None
    strictest = max(rules, key=lambda each: STRICTNESS[each.rule.action])
    return _Decision(strictest.rule.action, _by(strictest), strictest)


def _standing_counts(request: PolicyRequest, situation: Situation) -> bool:
    return situation.trusted or not acts(request)


def _allows_some(settings: PolicySettings) -> bool:
    allowing = any(each.rule.action == "allow" for each in settings.rules)
    return allowing or bool(settings.bypass) or bool(loosening(settings))


def _distrusted(verdict: Verdict, situation: Situation) -> Verdict:
    if verdict.outcome == "deny":
        denied = f"{verdict.reason}, and" if verdict.rule is not None else f"denied: {NOBODY}, and"
        return msgspec.structs.replace(verdict, reason=f"{denied} {_UNTRUSTED}; {_TO_TRUST}", distrusted=True)
    risk = f"{verdict.risk} Your policy file allows it, but {_UNTRUSTED}: {for_display(Path(situation.root))}.".strip()
    return msgspec.structs.replace(verdict, reason=_UNTRUSTED, risk=risk, distrusted=True)


def _last(subject: PolicySubject, situation: Situation, *, standing: bool = True) -> InForce | None:
    user = (each for each in situation.user.rules if standing or each.rule.action != "allow" or each.rule.folder)
    rules = (*user, *situation.grants)
    return next((each for each in reversed(rules) if matches(each.rule, subject)), None)


def _about(subject: PolicySubject, request: PolicyRequest, situation: Situation) -> _Decision:
    decision = _default(subject, request, situation)
    last = _last(subject, situation, standing=_standing_counts(request, situation))
    if last is not None and not (situation.mode == "deny" and decision.outcome == "deny"):
        decision = _Decision(last.rule.action, _by(last), last)
    raising = [each for each in situation.project.rules if matches(each.rule, subject)]
    if raising:
        strictest = max(raising, key=lambda each: STRICTNESS[each.rule.action])
        answered = last is not None and last.source in {"session", "turn"} and strictest.rule.action == "ask"
        if STRICTNESS[strictest.rule.action] > STRICTNESS[decision.outcome] and not answered:
            decision = _Decision(strictest.rule.action, _by(strictest), strictest)
    if (hidden := _hidden_denial(subject, decision, situation)) is not None:
        return _Decision("ask", f"it could run what is {_by(hidden)}", hidden)
    return decision


def _hidden_denial(subject: PolicySubject, decision: _Decision, situation: Situation) -> InForce | None:
    """Returns the rule that denies a command which the allowed *subject* could hide in a computed name or in code."""
    named = decision.rule is not None and any(each.strip("* ") for each in decision.rule.rule.command)
    if decision.outcome != "allow" or subject.command is None or named or rank(subject.severity) < rank("high"):
        return None
    denying = (
        each
        for each in (*situation.user.rules, *situation.project.rules, *situation.grants)
        if each.rule.action == "deny" and each.rule.command
    )
    replace = msgspec.structs.replace
    return next((each for each in denying if matches(replace(each.rule, command=()), subject)), None)


def _by(in_force: InForce) -> str:
    words = {"allow": "allowed", "ask": "asks", "deny": "denied"}[in_force.rule.action]
    where = f", {in_force.where}" if in_force.where else ""
    return f"{words} by a rule of the {in_force.source} ({in_force.rule.text}{where})"


def _default(subject: PolicySubject, request: PolicyRequest, situation: Situation) -> _Decision:
    if request.kind == "read":
        return _Decision("allow", "reading inside the workspace is allowed", by="reading")
    if situation.mode == "deny":
        return _Decision("deny", 'denied: this session has permissions="deny"')
    if situation.mode == "allow":
        return _Decision("allow", 'allowed: this session has permissions="allow"')
    if situation.agent in situation.user.bypass and _standing_counts(request, situation):
        return _Decision("allow", f"allowed: your policy file has bypass for {situation.agent}", by="bypass")
    if situation.mode in EDITS and _is_edit(request, situation):
        return _Decision("allow", f"allowed: {TITLES[situation.mode]} makes edits at once", by="freedom")
    confined = situation.confined and situation.mode == "auto" and request.tool == "execute"
    if confined and rank(subject.severity) <= rank(WORST_AT_ONCE):
        return _Decision("allow", "allowed: Auto runs commands of a confined agent at once", by="freedom")
    # An agent can call anything a cell edit, so `call` must be set.
    if request.tool == "cell" and request.call is not None and situation.review == "after":
        reason = 'allowed: cell_review = "after", so you review cell edits afterwards'
        return _Decision("allow", reason, by="review")
    return _Decision("ask", NO_RULE)


def _is_edit(request: PolicyRequest, situation: Situation) -> bool:
    """True if *request* is an edit that can be reviewed and undone afterwards."""
    if request.tool == "cell":
        return request.call is not None and situation.review == "after"
    return request.tool == "edit" and bool(request.files)


def _floor(request: PolicyRequest, assessment: Seen, decisions: list[_Decision], situation: Situation) -> str | None:
    if request.vague or not assessment.readable:
        return "vague" if request.vague else "unreadable"
    runs = request.tool == "kernel" or any(subject.asks for subject in assessment.subjects)
    if request.command is not None and assessment.risk.severity == "critical" and runs:
        return "critical"
    for subject, each in zip(assessment.subjects, decisions, strict=True):
        allowed = each.rule is not None and each.rule.rule.action == "allow"
        if subject.sensitive and not (allowed and each.rule is not None and each.rule.rule.sensitive):
            return "sensitive"
        if subject.outside and not allowed:
            return "outside"
    if any(each.outside and not each.free and not _opened(each, request, situation) for each in assessment.files):
        return "outside"
    if request.tool == "execute" and any(
        subject.asks and each.outcome == "allow" and each.rule is None
        for subject, each in zip(assessment.subjects, decisions, strict=True)
    ):
        return "dangerous"
    if (situation.user.problem or situation.project.problem) and request.kind != "read":
        return "broken"
    return None


def _opened(subject: PolicySubject, request: PolicyRequest, situation: Situation) -> bool:
    """True if a rule allows a file outside the workspace that a command names."""
    last = _last(subject, situation, standing=_standing_counts(request, situation))
    return last is not None and last.rule.action == "allow" and bool(last.rule.path)


def _ask_or_decide(verdict: Verdict, request: PolicyRequest, situation: Situation) -> Verdict:
    if situation.mode == "deny":
        reason = 'denied: this session has permissions="deny"'
        return msgspec.structs.replace(
            verdict, outcome="deny", reason=reason, decided_by="mode" if verdict.rule is None else "rule"
        )
    if situation.attached:
        # A question deserves at least medium severity.
        severity: Severity = max(verdict.severity, "medium", key=rank)
        return msgspec.structs.replace(verdict, severity=severity)
    headless = situation.headless or (situation.user.headless if _standing_counts(request, situation) else "deny")
    is_default = verdict.floor is None and verdict.rule is None
    if headless == "allow" and is_default:
        return msgspec.structs.replace(
            verdict, outcome="allow", reason='allowed: headless = "allow"', decided_by="headless"
        )
    why = "" if verdict.decided_by == "user" else f"{verdict.reason}, and "
    hint = HEADLESS if is_default else f"{NOBODY}; run it yourself, or in an open notebook"
    return msgspec.structs.replace(verdict, outcome="deny", reason=f"denied: {why}{hint}", decided_by="nobody")
