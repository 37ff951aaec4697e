"""Lists kept conversations, and opens them again.

At the next prompt the agent resumes or loads its own session if it can; otherwise its new session gets the transcript.

Everything here runs on the host's thread.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.agent.catalog import AgentSpec, known
from agentnb.clock import now_ms
from agentnb.errors import AgentnbError, LogUnavailable, NotOffered, SessionError, UnknownSession, UsageError
from agentnb.events.kinds import SESSION_RESTORED
from agentnb.host import pairing
from agentnb.host.channels import KERNEL, PERMISSIONS, SENSITIVE, session_config, setting_value
from agentnb.host.conversation import Conversation
from agentnb.host.files import workspace_files
from agentnb.host.intents import FROM_PYTHON, choose_model, use_kernel
from agentnb.host.pairing import NOTEBOOK
from agentnb.host.turns.rewind import finish
from agentnb.ids import new_id
from agentnb.state import (
    AgentProcess,
    ChatError,
    ChatOrigin,
    ErrorInfo,
    ErrorResponsePart,
    SessionIsArchivedChanged,
    SessionStatus,
    XAgentChanged,
)
from agentnb.state.session_state import model_id
from agentnb.state.wire import with_flag

if TYPE_CHECKING:
    from agentnb.acp.opening import Page
    from agentnb.host.history.recorder import SessionRecorder
    from agentnb.host.host import Host
    from agentnb.host.session_options import Configuration, SessionOptions
    from agentnb.log.record import SessionRecord, StoredSession
    from agentnb.log.store import LogStore
    from agentnb.policy.keys import Mode
    from agentnb.state import SessionState


async def listed(host: Host, configuration: Configuration, cwd: str | None, cursor: str | None) -> Page:
    """One page of the sessions that the agent keeps (ACP ``session/list``)."""
    agent = await host.agents.borrow(configuration)
    return await agent.list_sessions(cwd, cursor)


async def opened(
    host: Host, configuration: Configuration, session_id: str, *, mode: Mode = "ask", title: str | None = None
) -> Conversation:
    """Open, in a separate tab, one of the sessions that the agent keeps: loaded and shown, or resumed.

    If a tab already has it, that tab is returned, and only the model of *configuration* is applied.
    """
    there = holder(host, configuration.spec, session_id)
    if there is not None:
        if configuration.model:
            await choose_model(there, configuration.model, FROM_PYTHON)
        return there
    conversation = Conversation(host, configuration, tab_id=new_id(), mode=mode, title=title)
    host.add(conversation)
    try:
        await conversation.lifecycle.reopen(session_id, insist=True)
    except BaseException:
        await conversation.close()
        raise
    return conversation


async def forked(conversation: Conversation, title: str | None = None) -> Conversation:
    """A copy of *conversation* in its own tab: the transcript and the agent's memory (ACP ``session/fork``)."""
    named = conversation.session.state.title
    if conversation.chat.state.active_turn is not None:
        raise SessionError(f"A turn runs in {named!r}.", hint="Wait until it ends, or cancel it, then copy.")
    agent = await conversation.ready()
    agent.capabilities.demand("fork")
    configuration = conversation.configuration
    if conversation.lifecycle.choices.model:
        configuration = replace(configuration, model=model_id(conversation.session.state))
    copy = Conversation(
        conversation.host,
        configuration,
        tab_id=new_id(),
        mode=conversation.mode,
        title=title or f"{named} (copy)",
    )
    copy.permissions.callback = conversation.permissions.callback
    if copy.kernel is not None:
        use_kernel(copy, conversation.channels.kernel_access, None, "copy")
    chat = conversation.chat.state
    origin = ChatOrigin(kind="fork", chat=chat.resource, turn_id=chat.turns[-1].id if chat.turns else None)
    transcript = replace(copy.chat.state, turns=chat.turns, terminals=chat.terminals, status=chat.status, origin=origin)
    copy.chat.restore(transcript, max(1, conversation.chat.index))
    try:
        await copy.lifecycle.copy(conversation.lifecycle)
    except BaseException:
        await copy.lifecycle.leave()
        raise
    conversation.host.add(copy)
    await copy.changes.adopt(conversation.changes)
    return copy


async def deleted(host: Host, configuration: Configuration, session_id: str) -> None:
    """Make the agent forget one of its sessions for good (ACP ``session/delete``)."""
    there = holder(host, configuration.spec, session_id)
    if there is not None:
        message = f"The session {session_id!r} is open in the tab {there.session.state.title!r}."
        raise SessionError(message, hint="Close it first.")
    agent = await host.agents.borrow(configuration)
    await agent.delete_session(session_id)


async def logged_out(host: Host, configuration: Configuration) -> int:
    """Log out of an agent (ACP ``logout``): in each of its running processes, or in a new one if none runs."""
    talks = [each for each in host.conversations.values() if each.spec == configuration.spec]
    busy = [each.session.state.title for each in talks if each.chat.state.active_turn is not None]
    if busy:
        raise UsageError(f"A turn runs in {busy[0]!r}.", hint="Wait until it ends, or cancel it, then log out.")
    agents = host.agents.running(configuration.spec) or [await host.agents.borrow(configuration)]
    failure: AgentnbError | None = None
    for agent in agents:
        try:
            await agent.logout()
        except NotOffered:
            raise
        except AgentnbError as error:  # the other agents still log out
            failure = error
    if failure is not None:
        raise failure
    return len(agents)


def holder(host: Host, spec: AgentSpec, session_id: str) -> Conversation | None:
    tabs = (each for each in host.conversations.values() if each.spec == spec)
    return next((each for each in tabs if session_id in (each.session_id, each.previous_session)), None)


KERNEL_ENDED = "The kernel ended while this turn ran."
RUNS_ELSEWHERE = "This turn is still running in another kernel. It is shown as it was when it was read here."
ELSEWHERE = "The session {!r} is open in another kernel."
LOG_OFF = "The session log is off (AGENTNB_LOG=off): sessions are not kept."
FLUSH_SECONDS = 5.0


def recorder_of(host: Host) -> SessionRecorder:
    """The host's recorder, with its file up to date; call it from any thread but the host's."""
    if host.recorder is None:
        raise LogUnavailable(LOG_OFF, hint="Unset AGENTNB_LOG and restart the kernel.")
    host.recorder.flush(FLUSH_SECONDS)
    return host.recorder


def read_back(recorder: SessionRecorder, tab_id: str) -> StoredSession:
    """Load the session whose tab id begins with *tab_id*, and claim it if possible; not on the host's thread."""
    record, store = named(recorder.store, tab_id), recorder.store
    if not Path(record.cwd).is_dir():
        return replace(store.load(record.uri), elsewhere=record.uri in store.held([record]))
    if not store.claim(record.uri):
        return replace(store.load(record.uri), elsewhere=True)
    try:
        return store.load(record.uri)
    except AgentnbError:
        store.release(record.uri)
        raise


def named(store: LogStore, tab_id: str) -> SessionRecord:
    """Returns the log's record of the session whose tab id begins with *tab_id*."""
    those = store.named(tab_id.rpartition("/")[2])
    if len(those) != 1:
        what = "several sessions whose id begins with" if those else "no session whose id begins with"
        raise UnknownSession(f"The log has {what} {tab_id!r}.", hint="agentnb.history() lists those that it has.")
    return those[0]


def kept(recorder: SessionRecorder, uri: str) -> SessionRecord:
    """Returns the log's record of exactly this channel; for a page, which has the full name from a list."""
    record = next((each for each in recorder.store.named(uri.rpartition("/")[2]) if each.uri == uri), None)
    if record is None:
        message = "The session log no longer has this conversation."
        raise UnknownSession(message, hint="It was deleted, here or in another kernel. Open the history again.")
    return record


def spec_of(record: SessionRecord) -> AgentSpec:
    """The agent of a session; an agent that is not (or no longer) in the catalogue cannot be started."""
    spec = next((spec for spec in known() if spec.name == record.agent), None)
    return spec or AgentSpec(name=record.agent, title=record.agent, command=(record.agent,))


def restore(host: Host, stored: StoredSession, options: SessionOptions) -> Conversation:
    """Open *stored* again; on the host's thread.

    If its workspace is gone or another kernel has it open, it is opened read-only: a prompt raises an error with the
    reason, no agent starts, and the log stays as it is.
    """
    record, cwd = stored.record, Path(stored.record.cwd)
    if (opened := host.conversations.get(record.uri)) is not None:
        if opened.barred is None:
            keep_open(opened)
            return opened
        opened.discard()  # the earlier reason may no longer apply
    configured = replace(options, cwd=cwd).configuration(host.environment)
    conversation = Conversation(host, configured, tab_id=record.tab_id, mode=options.mode, title=record.title)
    offered = conversation.session.state.changesets
    session = replace(_open_again(stored.session, options, conversation), changesets=offered)
    conversation.session.restore(session, stored.session_index)
    chat = replace(stored.chat, prompt_suggestions=None)  # the agent that suggested them is not running
    conversation.chat.restore(chat, stored.chat_index, stored.gap)
    conversation.restored(record.agent_session, _why_not(stored), stored.usage)
    conversation.channels.created_at, conversation.channels.modified_at = record.created_at, record.modified_at
    host.add(conversation)
    SESSION_RESTORED.tell(tab=record.tab_id, agent=record.agent)
    _say_what_happened(conversation, stored.gap if stored.gap != record.gap else None, elsewhere=stored.elsewhere)
    return conversation


def had_kernel_tools(stored: StoredSession) -> bool:
    return setting_value(stored.session.config, KERNEL) not in (None, "off")


def had_mode(stored: StoredSession, default: Mode) -> Mode:
    """The session's permissions when its kernel ended; *default* instead of full trust, which ends with a kernel."""
    mode = setting_value(stored.session.config, PERMISSIONS)
    return default if mode in (None, "allow") else mode


def keep_open(conversation: Conversation) -> None:
    """Keep a tab that was just closed in the chat open, since it is wanted again."""
    if conversation.closing is not None:
        conversation.closing.cancel()
        conversation.closing = None
    if conversation.is_hidden:
        conversation.dispatch(SessionIsArchivedChanged(is_archived=False, time=now_ms()))


def _open_again(session: SessionState, options: SessionOptions, conversation: Conversation) -> SessionState:
    """The session with today's settings, and visible again: closing its tab had archived it."""
    status = with_flag(session.status, SessionStatus.IS_ARCHIVED, on=False)
    access = setting_value(session.config, KERNEL)
    if access in (None, "off") or options.kernel_access == "off":
        access = options.kernel_access or "off"
    now = conversation.session.state.config
    config = session_config(
        conversation.mode,
        has_kernel_tools=conversation.kernel is not None,
        access=access if setting_value(now, KERNEL) is not None else None,
        review=conversation.review,
        sensitive=() if session.config is None else session.config.values.get(SENSITIVE, ()),
        ceiling=conversation.host.policy.ceiling(conversation.cwd),
    )
    return replace(session, status=status, config=config)


def _why_not(stored: StoredSession) -> SessionError | None:
    """Returns why the session can only be read; None if it can continue."""
    record = stored.record
    export = f"It can be read here, and `agentnb export {record.tab_id}` exports it."
    if stored.elsewhere:
        return SessionError(ELSEWHERE.format(record.title), hint=f"Continue there, or close it there. {export}")
    if record.agent.startswith(workspace_files.PREFIX):
        return SessionError(f"{record.title} only changed files here.", hint=f"It can do so again. {export}")
    if record.agent.startswith(NOTEBOOK):
        return SessionError("No agent is available here.", hint=f"Continue in another conversation. {export}")
    if record.agent.startswith(pairing.PREFIX):
        return SessionError(f"{record.title} was used in its terminal.", hint=f"Pair the kernel again there. {export}")
    if not Path(record.cwd).is_dir():
        message = f"The workspace of {record.title!r} is gone: {record.cwd}."
        return SessionError(message, hint=f"Restore the folder and resume the session again. {export}")
    return None


def _say_what_happened(conversation: Conversation, gap: str | None, *, elsewhere: bool) -> None:
    chat, now, barred = conversation.chat.state, now_ms(), conversation.barred
    if chat.active_turn is not None:
        kind, words = ("OpenElsewhere", RUNS_ELSEWHERE) if elsewhere else ("KernelEnded", KERNEL_ENDED)
        ended = ErrorResponsePart(error=ErrorInfo(error_type=kind, message=words))
        conversation.dispatch(ChatError(turn_id=chat.active_turn.id, part=ended, stop_reason="error", time=now))
    if gap is not None and (turns := conversation.chat.state.turns):
        conversation.channels.say(turns[-1].id, f"Something is missing here. {gap}")
    if barred is None:
        conversation.changes.restored()
        conversation.host.loop.spawn(finish(conversation))
    message = "The agent restarts with your next message." if barred is None else f"Read only. {barred}"
    stopped = AgentProcess(state="stopped", message=message)
    conversation.dispatch(XAgentChanged(agent_process=stopped, time=now))
