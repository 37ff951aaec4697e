"""What an agent may do: the doors it must pass, what is decided at them, and the wall round the workspace."""

from agentnb.policy.decision import Decision, Mode, choose_option, decide
from agentnb.policy.door import Door, DoorKind
from agentnb.policy.workspace import Workspace

__all__ = ["Decision", "Door", "DoorKind", "Mode", "Workspace", "choose_option", "decide"]
