"""The channels of a session: its states, the logs of what changed them, and who follows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, get_args

from agentnb.clock import now_ms
from agentnb.host.session_options import without_refused_models
from agentnb.log.record import ChannelLog
from agentnb.policy.keys import FREEDOMS, CellReview, Freedom, Mode, freedom_of
from agentnb.safe_json import without_half_characters
from agentnb.state import (
    Changeset,
    ChatResponsePart,
    ChatState,
    Envelope,
    Parts,
    SessionConfigChanged,
    SessionConfigState,
    SessionState,
    SessionStatus,
    SessionSummary,
    SessionTitleChanged,
    SystemNotificationResponsePart,
    XConfigOptionsChanged,
    XLate,
    find_turn,
    reduce_chat,
    reduce_session,
)
from agentnb.state.change import iso_time
from agentnb.state.codec import encodable
from agentnb.state.wire import ACTIVITY_MASK, with_activity, with_flag

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agentnb.agent.catalog import AgentSpec
    from agentnb.state import Action, ActionOrigin, Message, ToolCallState, TurnContentAction

    Listener = Callable[["Channel[Any]", Envelope], None]

S = TypeVar("S")
PERMISSIONS = "permissions"
FREEDOM = "freedom"
KERNEL = "kernel"
CELL_REVIEW = "cellReview"
SENSITIVE = "sensitive"
MOST_PATTERNS, LONGEST_PATTERN = 100, 500
ROOT = "ahp-root://"
PAIRING, PAIRED = "pairing", "paired"
"""The host's settings of pairing: whether programs in a terminal may connect, and the sessions of connected ones."""
AGENT = "agent"
"""The host's value with the name of the default agent; empty if there is none."""
SITE = "site"
"""The host's value with the administrator's message; absent if there is none."""
LOOK = "look"
"""The host's value with the non-default settings that a page itself needs."""
REMOTE_CLIENTS = "remoteClients"
"""The host's value with the clients connected from elsewhere (`agentnb.serve`), one line for each."""
BRANCHES = "branches"
"""The host's count of changes to branches (`agentnb.branches`): when it changes, a page showing them reloads them."""
CHANGES = "/changes"
"""The suffix of a session's URI in the URIs of its change sets; a slash and the turn's id follow it."""
KernelAccess: TypeAlias = Literal["off", "look", "run"]
"""An agent's use of the kernel tools: none, read, or run code and change cells as the policy decides."""
CHOICES: dict[str, tuple[Any, ...]] = {
    FREEDOM: FREEDOMS,
    PERMISSIONS: get_args(Mode),
    KERNEL: get_args(KernelAccess),
    CELL_REVIEW: get_args(CellReview),
}
"""The settings of a session, and the values of each."""


class Channel(Generic[S]):
    """A state that only :meth:`accept` changes."""

    def __init__(self, uri: str, state: S, reduce: Callable[[S, Any], S], listeners: Sequence[Listener]) -> None:
        self.uri = uri
        self.state: S = state
        self.index: int = 0
        self.gap: str | None = None
        self.log: ChannelLog = ChannelLog()
        self._reduce = reduce
        self._listeners = listeners

    def accept(self, action: Any, origin: ActionOrigin | None = None) -> Envelope:
        """Reduce *action* into the state, give it the next index and log it."""
        try:
            return self._accept(action, origin)
        except UnicodeEncodeError:
            return self._accept(encodable(action), origin)

    def _accept(self, action: Any, origin: ActionOrigin | None) -> Envelope:
        state = self._reduce(self.state, action)
        envelope = Envelope(channel=self.uri, index=self.index + 1, action=action, origin=origin)
        self.log.append(envelope)
        self.state, self.index = state, envelope.index
        self.emit(envelope)
        return envelope

    def emit(self, envelope: Envelope) -> None:
        for listener in self._listeners:
            listener(self, envelope)

    def restore(self, state: S, index: int, gap: str | None = None) -> None:
        """Continue from a state that the log kept; nobody is notified, since clients connect later."""
        self.state, self.index, self.gap = state, index, gap
        self.log = ChannelLog(begins_after=index)


class SessionChannels:
    """The session channel and the chat channel of one session. The session's services share them, and nothing else."""

    def __init__(
        self,
        tab_id: str,
        spec: AgentSpec,
        cwd: Path,
        config: SessionConfigState,
        *,
        title: str | None,
        listeners: Sequence[Listener],
        changed: Callable[[], None],
        has_changesets: bool = False,
        is_hidden: bool = False,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.tab_id = tab_id
        self.agent: str = spec.name
        uri, title = f"{spec.name}:/{tab_id}", without_half_characters(title or spec.title)
        session = SessionState(
            provider=spec.name,
            title=title,
            status=with_flag(SessionStatus.IDLE | SessionStatus.IS_READ, SessionStatus.IS_ARCHIVED, on=is_hidden),
            working_directories=(cwd.as_uri(),),
            lifecycle="creating",
            active_clients=(),
            chats=(),
            config=config,
            changesets=changesets_of(uri) if has_changesets else None,
            meta=meta,
        )
        chat = ChatState(
            resource=f"{uri}/chat", title=title, status=SessionStatus.IDLE, modified_at=iso_time(0), turns=()
        )
        self.session: Channel[SessionState] = Channel(uri, session, reduce_session, listeners)
        self.chat: Channel[ChatState] = Channel(chat.resource, chat, reduce_chat, listeners)
        self.created_at: int = now_ms()
        self.modified_at: int = self.created_at
        self.prompted: str | None = None
        self._changed = changed
        self._watchers: list[Callable[[], None]] = []

    def dispatch(self, action: Action, origin: ActionOrigin | None = None) -> None:
        """Accept *action* on the channel it belongs to; this is the only way the session's state changes."""
        if isinstance(action, XConfigOptionsChanged):
            action = without_refused_models(self.agent, action)
        channel: Channel[Any] = self.session if action.channel_kind == "session" else self.chat
        before = channel.state
        channel.accept(action, origin)
        if isinstance(action, (SessionTitleChanged, SessionConfigChanged)) and action.time is not None:
            self.modified_at = action.time
        if channel is self.session or before.status != channel.state.status:
            self._changed()
        self.notify()

    def dispatch_in_turn(self, turn_id: str, action: TurnContentAction) -> None:
        """Accept *action* on turn *turn_id*, which runs or has ended."""
        late = not self.is_active(turn_id)
        self.dispatch(XLate(turn_id=turn_id, action=action, time=now_ms()) if late else action)

    def configure(self, config: dict[str, Any], origin: ActionOrigin | None = None) -> None:
        """Set settings of the session, and the freedom that follows from them."""
        state = self.session.state.config
        values = {**(state.values if state is not None else {}), **config}
        self.dispatch(SessionConfigChanged(config={**config, FREEDOM: freedom_of(values)}, time=now_ms()), origin)

    def say(self, turn_id: str, words: str) -> None:
        """Put a notice for the user into turn *turn_id*, which runs or has ended."""
        part = SystemNotificationResponsePart(content=words)
        self.dispatch_in_turn(turn_id, ChatResponsePart(turn_id=turn_id, part=part, time=now_ms()))

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call *watcher* after every change; returns a function that ends that."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher) if watcher in self._watchers else None

    def notify(self) -> None:
        for watcher in tuple(self._watchers):
            watcher()

    # --- read from the state ---

    @property
    def speaking(self) -> str | None:
        """The turn that the agent's output belongs to now: the one whose prompt it answers, else the latest."""
        if self.prompted is not None:
            return self.prompted
        chat = self.chat.state
        if chat.active_turn is not None:
            return chat.active_turn.id
        return chat.turns[-1].id if chat.turns else None

    @property
    def title(self) -> str:
        return self.session.state.title

    @property
    def mode(self) -> Mode:
        mode: Mode = setting_value(self.session.state.config, PERMISSIONS) or "ask"
        return mode

    @property
    def freedom(self) -> str:
        """Returns how freely the agent works: ``"ask"``, ``"edit"``, ``"auto"``, or ``"custom"``."""
        config = self.session.state.config
        return freedom_of(config.values if config is not None else {})

    @property
    def sensitive(self) -> tuple[str, ...]:
        config = self.session.state.config
        return tuple(config.values.get(SENSITIVE, ())) if config is not None else ()

    @property
    def kernel_access(self) -> KernelAccess:
        access: KernelAccess = setting_value(self.session.state.config, KERNEL) or "off"
        return access

    @property
    def shown_review(self) -> CellReview | None:
        """When changes of cells are reviewed, as views show it; None if the agent has no kernel tools."""
        review: CellReview | None = setting_value(self.session.state.config, CELL_REVIEW)
        return review

    @property
    def waits_for_user(self) -> bool:
        return bool(self.chat.state.status & SessionStatus.INPUT_NEEDED == SessionStatus.INPUT_NEEDED)

    def is_active(self, turn_id: str) -> bool:
        active = self.chat.state.active_turn
        return active is not None and active.id == turn_id

    def queued(self, message_id: str) -> Message | None:
        queue = self.chat.state.queued_messages or ()
        return next((each.message for each in queue if each.id == message_id), None)

    def knows_turn(self, turn_id: str) -> bool:
        """True if there is a turn *turn_id*: ended, running or in the queue."""
        return find_turn(self.chat.state, turn_id) is not None or self.queued(turn_id) is not None

    def tool_call(self, call_id: str) -> ToolCallState | None:
        """The tool call *call_id* of the running turn."""
        active = self.chat.state.active_turn
        return Parts.of(active.response_parts).tool_call(call_id) if active is not None else None

    @property
    def summary(self) -> SessionSummary:
        """Returns this session's entry in the root channel."""
        session, activity = self.session.state, self.chat.state.status & ACTIVITY_MASK
        if session.lifecycle == "failed" and activity == SessionStatus.IDLE:
            activity = SessionStatus.ERROR
        return SessionSummary(
            resource=self.session.uri,
            provider=session.provider,
            title=session.title,
            status=with_activity(session.status, activity),
            created_at=iso_time(self.created_at),
            modified_at=iso_time(self.modified_at),
            project=session.project,
            working_directories=session.working_directories,
            annotations=session.annotations,
        )


def session_config(
    mode: Mode,
    *,
    has_kernel_tools: bool = False,
    access: KernelAccess | None = "run",
    review: CellReview = "first",
    sensitive: Sequence[str] = (),
    ceiling: Freedom | None = None,
) -> SessionConfigState:
    """A session's own settings, which a view shows and the user may change (AHP ``SessionConfigState``)."""
    properties: dict[str, Any] = {name: {"type": "string", "enum": [*choices]} for name, choices in CHOICES.items()}
    if ceiling is not None:
        properties[FREEDOM]["enum"] = [*FREEDOMS[: FREEDOMS.index(ceiling) + 1]]
    properties[SENSITIVE] = {"type": "array", "items": {"type": "string"}}
    values: dict[str, Any] = {PERMISSIONS: mode}
    if access is not None:
        values[KERNEL] = access
    if has_kernel_tools:
        values[CELL_REVIEW] = review
    if sensitive:
        values[SENSITIVE] = [*sensitive]
    values[FREEDOM] = freedom_of(values)
    return SessionConfigState(schema={"type": "object", "properties": properties}, values=values)


def wanted_setting(action: SessionConfigChanged) -> tuple[str, Any]:
    """Returns the setting that *action* sets, and its value; '' and None if it sets anything else."""
    name, value = next(iter(action.config.items())) if len(action.config) == 1 else ("", None)
    if name == SENSITIVE:
        return (name, value) if _are_patterns(value) else ("", None)
    return (name, value) if isinstance(value, str) and value in CHOICES.get(name, ()) else ("", None)


def _are_patterns(value: Any) -> bool:
    is_list = isinstance(value, (list, tuple)) and len(value) <= MOST_PATTERNS
    return is_list and all(isinstance(each, str) and each.strip() and len(each) <= LONGEST_PATTERN for each in value)


def setting_value(config: SessionConfigState | None, name: str) -> Any:
    value = config.values.get(name) if config is not None else None
    return value if value in CHOICES[name] else None


def changesets_of(uri: str) -> tuple[Changeset, ...]:
    """The change sets that the session *uri* offers (AHP: templates of their URIs)."""
    turn = Changeset(label="Changes of a turn", uri_template=f"{uri}{CHANGES}/{{turnId}}", change_kind="turn")
    return (
        turn,
        Changeset(label="Changes in this conversation", uri_template=f"{uri}{CHANGES}", change_kind="session"),
    )
