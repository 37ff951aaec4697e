"""What an agent may do: the doors it must pass, what is decided at them, and the wall round the workspace."""

from agentnb.policy.audit import AuditLog, Record
from agentnb.policy.commands import rate_command
from agentnb.policy.decision import choose_option
from agentnb.policy.door import Door, DoorKind
from agentnb.policy.engine import judge
from agentnb.policy.rules import InForce, Rule
from agentnb.policy.settings import Settings
from agentnb.policy.situation import Mode, Situation, Verdict
from agentnb.policy.store import PolicyFiles
from agentnb.policy.workspace import Workspace

__all__ = [
    "AuditLog",
    "Door",
    "DoorKind",
    "InForce",
    "Mode",
    "PolicyFiles",
    "Record",
    "Rule",
    "Settings",
    "Situation",
    "Verdict",
    "Workspace",
    "choose_option",
    "judge",
    "rate_command",
]
