"""Effects: everything that the host does to the world outside its state, by name, and which action causes which.

Reducers are pure; what has to happen besides is an effect. Each has one function that carries it out. The table
:data:`EFFECTS` is part of the documentation (``docs/explanation/data-flow.md``), and a test holds both to the code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.acp.agent import Agent
from agentnb.host.agents.agent_lifecycle import AgentLifecycle
from agentnb.host.agents.agent_pool import AgentPool
from agentnb.host.changes.change_tracker import ChangeTracker
from agentnb.host.conversation import Conversation
from agentnb.host.history.recorder import Recorder
from agentnb.host.pairing.pairing import Pairing
from agentnb.host.permissions.permissions import Permissions
from agentnb.host.permissions.session_policy import SessionPolicy
from agentnb.host.turns.input_requests import InputRequests
from agentnb.host.turns.mention_resolution import MentionResolution
from agentnb.state import (
    ChatError,
    ChatInputCompleted,
    ChatPendingMessageSet,
    ChatToolCallConfirmed,
    ChatToolCallReady,
    ChatTurnCancelled,
    ChatTurnComplete,
    ChatTurnStarted,
    RootConfigChanged,
    SessionConfigChanged,
    SessionIsArchivedChanged,
    XAgentChanged,
    XConfigOptionChosen,
    XModeChanged,
)

if TYPE_CHECKING:
    from collections.abc import Callable


class Effect(NamedTuple):
    """One thing that the host does outside its state."""

    what: str
    by: Callable[..., Any]

    @property
    def function(self) -> str:
        """The function's name, as the documentation has it."""
        return self.by.__qualname__


LAUNCH = Effect("start the agent's process, or use one that runs", AgentPool.acquire)
OPEN = Effect("open the agent's session, or take an old one up", AgentLifecycle.ready)
RESTART = Effect("start a process that died again, ever more slowly", AgentLifecycle.lost)
LOOK = Effect("take a snapshot of the workspace", ChangeTracker.begin)
COMPARE = Effect("find out what the turn changed", ChangeTracker.ended)
PROMPT = Effect("send the prompt to the agent", Agent.prompt)
CANCEL = Effect("ask the agent to stop", Agent.cancel)
SET_MODE = Effect("ask the agent for another mode", Agent.set_mode)
SET_OPTION = Effect("ask the agent for another value of an option", Agent.set_config_option)
MENTIONS = Effect("look at what the message mentions, on another thread", MentionResolution.begin)
ANSWER = Effect("answer the agent's permission request", Permissions.answer)
REFUSE = Effect("answer every open permission request with cancelled", Permissions.cancel_all)
INPUT = Effect("answer what the agent asked the user", InputRequests.complete)
DECIDE = Effect("write the decision into the policy's log", SessionPolicy.record)
MODE_LOG = Effect("write the new mode into the policy's log", SessionPolicy.record_mode)
CLOSE = Effect("close the session after twelve seconds", Conversation.close)
PAIR = Effect("let programs in a terminal connect, or end that", Pairing.start)
RECORD = Effect("write the action into the session log", Recorder.envelope)

EFFECTS: dict[type[Any], tuple[Effect, ...]] = {
    ChatTurnStarted: (LOOK, LAUNCH, OPEN, PROMPT),
    ChatTurnComplete: (COMPARE,),
    ChatTurnCancelled: (REFUSE, CANCEL, COMPARE),
    ChatError: (REFUSE, COMPARE),
    ChatPendingMessageSet: (MENTIONS, PROMPT),
    ChatToolCallReady: (DECIDE,),
    ChatToolCallConfirmed: (ANSWER, DECIDE),
    ChatInputCompleted: (INPUT,),
    SessionConfigChanged: (MODE_LOG,),
    SessionIsArchivedChanged: (CLOSE,),
    RootConfigChanged: (PAIR,),
    XAgentChanged: (RESTART,),
    XModeChanged: (LAUNCH, OPEN, SET_MODE),
    XConfigOptionChosen: (LAUNCH, OPEN, SET_OPTION),
}
"""What each action causes, besides its change of the state. Every action causes :data:`RECORD` as well."""


def table() -> str:
    """The table as Markdown, for the documentation."""
    rows = [
        f"| `{kind.__struct_config__.tag}` | {'; '.join(f'{each.what} (`{each.function}`)' for each in effects)} |"
        for kind, effects in EFFECTS.items()
    ]
    every = f"| every action | {RECORD.what} (`{RECORD.function}`) |"
    return "\n".join(["| action | effects |", "|---|---|", *rows, every])
