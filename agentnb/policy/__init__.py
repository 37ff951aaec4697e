"""Decides what an agent may do: policy requests, rules, and the boundary of the workspace."""

from agentnb.policy.audit import AuditLog, Record
from agentnb.policy.commands import rate_command
from agentnb.policy.decision import choose_option
from agentnb.policy.engine import judge
from agentnb.policy.request import PolicyRequest, RequestKind
from agentnb.policy.rules import InForce, Rule
from agentnb.policy.settings import Settings
from agentnb.policy.situation import Mode, Situation, Verdict
from agentnb.policy.store import PolicyFiles
from agentnb.policy.workspace import Workspace

__all__ = [
    "AuditLog",
    "InForce",
    "Mode",
    "PolicyFiles",
    "PolicyRequest",
    "Record",
    "RequestKind",
    "Rule",
    "Settings",
    "Situation",
    "Verdict",
    "Workspace",
    "choose_option",
    "judge",
    "rate_command",
]
