"""Restoring: a session of an earlier kernel, read from the log, is opened again.

The transcript, the queue and the title are as they were. A turn that was running when that kernel ended is over, and
says so. The agent resumes or loads its own session at the next prompt, where it can; where it cannot, it is said that
it has forgotten.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.agent.catalog import AgentSpec, known
from agentnb.cassette.switch import SWITCH
from agentnb.errors import LogUnavailable, SessionError, UnknownSession
from agentnb.events.kinds import SESSION_RESTORED
from agentnb.host.clock import now_ms
from agentnb.host.configuration import configuration
from agentnb.host.conversation import Conversation
from agentnb.host.settings import settings
from agentnb.state import (
    AgentProcess,
    ChatError,
    ChatResponsePart,
    ErrorInfo,
    SystemNotificationResponsePart,
    XAgentChanged,
    XLate,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentnb.agent.mcp import McpServer
    from agentnb.host.host import Host
    from agentnb.host.recorder import Recorder
    from agentnb.log.record import SessionRecord, StoredSession
    from agentnb.policy.decision import Mode

KERNEL_ENDED = "The kernel ended while this turn ran."
LOG_OFF = "The session log is off (AGENTNB_LOG=off): sessions are not kept."
FLUSH_SECONDS = 5.0


def recorder_of(host: Host) -> Recorder:
    """The host's recorder, with all that has happened so far in its file; not on the host's thread.

    Raises:
        LogUnavailable: If the log is off.
    """
    if host.recorder is None:
        raise LogUnavailable(LOG_OFF, hint="Unset AGENTNB_LOG and restart the kernel.")
    host.recorder.flush(FLUSH_SECONDS)
    return host.recorder


def read_back(recorder: Recorder, tab_id: str) -> StoredSession:
    """The session whose tab id begins so, if no other kernel has it open; not on the host's thread.

    Raises:
        UnknownSession: If the log has none, or several.
        SessionError: If another kernel has it open.
        LogError: If the log cannot be read.
    """
    return recorder.store.load(found(recorder, tab_id).uri)


def found(recorder: Recorder, tab_id: str) -> SessionRecord:
    """As :func:`read_back`, without its transcript.

    Raises:
        UnknownSession: If the log has none, or several.
        SessionError: If another kernel has it open.
        LogError: If the log cannot be read.
    """
    named = recorder.store.named(tab_id.rpartition("/")[2])
    if len(named) != 1:
        what = "several sessions whose id begins with" if named else "no session whose id begins with"
        raise UnknownSession(f"The log has {what} {tab_id!r}.", hint="agentnb.sessions() lists those that it has.")
    if recorder.store.held(named):
        message = f"The session {named[0].title!r} is open in another kernel."
        raise SessionError(message, hint="Go on there, or close it there (`%agents close`).")
    return named[0]


def spec_of(record: SessionRecord) -> AgentSpec:
    """The agent that a session talked to; one that the catalogue does not know (any more) cannot be started.

    Its transcript can be read all the same; a prompt then fails and says what is missing.
    """
    spec = next((spec for spec in known() if spec.name == record.agent), None)
    return spec or AgentSpec(name=record.agent, title=record.agent, command=(record.agent,))


def restore(
    host: Host,
    stored: StoredSession,
    spec: AgentSpec,
    mode: Mode = "ask",
    *,
    env: Mapping[str, str] | None = None,
    mcp_servers: Sequence[McpServer] = (),
    directories: Sequence[Path] = (),
    kernel_tools: bool = False,
) -> Conversation:
    """Open *stored* again; on the host's thread. A session that is open here already is returned as it is.

    Args:
        host: Where to.
        stored: The session, as the log gave it.
        spec: The agent that it talked to.
        mode: What answers a permission request.
        env: Variables for the agent's process; they hold secrets, so the log does not keep them.
        mcp_servers: MCP servers that the agent may use; not kept for the same reason.
        directories: More folders to work in.
        kernel_tools: Whether the kernel is lent to the agent.

    Raises:
        SessionError: If its workspace is gone.
    """
    record = stored.record
    if record.uri in host.conversations:
        return host.conversations[record.uri]
    cwd = Path(record.cwd)
    if not cwd.is_dir():
        message = f"The workspace of {record.title!r} is gone: {record.cwd}."
        raise SessionError(message, hint="Bring the folder back, or start a new session.")
    own = {**(env or {}), **SWITCH.apart()}
    configured = configuration(
        spec, cwd, own, components=mcp_servers, directories=directories, kernel_tools=kernel_tools
    )
    conversation = Conversation(host, configured, tab_id=record.tab_id, mode=mode, title=record.title)
    conversation.session.restore(replace(stored.session, config=settings(mode)), stored.session_index)
    conversation.chat.restore(stored.chat, stored.chat_index, stored.gap)
    conversation.restored(record.agent_session)
    host.add(conversation)
    SESSION_RESTORED.tell(tab=record.tab_id, agent=record.agent)
    _say_what_happened(conversation, stored.gap if stored.gap != record.gap else None)
    return conversation


def _say_what_happened(conversation: Conversation, gap: str | None) -> None:
    chat, now = conversation.chat.state, now_ms()
    if chat.active_turn is not None:
        ended = ErrorInfo(error_type="KernelEnded", message=KERNEL_ENDED)
        conversation.dispatch(ChatError(turn_id=chat.active_turn.id, error=ended, stop_reason="error", time=now))
    if gap is not None and (turns := conversation.chat.state.turns):
        part = SystemNotificationResponsePart(content=f"Something is missing here. {gap}")
        turn_id = turns[-1].id
        conversation.dispatch(XLate(turn_id=turn_id, action=ChatResponsePart(turn_id=turn_id, part=part), time=now))
    stopped = AgentProcess(state="stopped", message="It starts again at the next prompt.")
    conversation.dispatch(XAgentChanged(agent_process=stopped, time=now))
