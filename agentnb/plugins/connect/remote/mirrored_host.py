"""Another host's state as channels of this kernel, which pages follow like its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.errors import AgentnbError, ProtocolError, UnknownSession
from agentnb.host.channels import CHANGES, LOOK, ROOT, Channel, changesets_of
from agentnb.host.intents import DISPATCHABLE, Rejected
from agentnb.ids import new_id
from agentnb.plugins.connect.remote.older_turns import LOADED, OlderTurns
from agentnb.plugins.connect.remote.session_list import ChannelNames, HostForm, MirroredSessions, session_of
from agentnb.plugins.connect.remote.unanswered import Unanswered
from agentnb.state import (
    ActionOrigin,
    ChangesetState,
    ChatState,
    RootActiveSessionsChanged,
    RootAgentsChanged,
    RootConfigChanged,
    RootConfigState,
    RootState,
    SessionState,
    SessionSummary,
    decode,
    decode_action,
    find_turn,
    reduce_changeset,
    reduce_chat,
    reduce_root,
    reduce_session,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.host.channels import Listener
    from agentnb.host.loop import HostLoop
    from agentnb.plugins.connect.remote.host_client import HostClient, LinkState
    from agentnb.state import Action

REMOTE_HOST = "remoteHost"
"""Key in a mirrored root's settings for the other host's address and the state of the connection to it."""
_LEFT_OUT = frozenset(
    {
        "session/chatAdded",
        "session/chatRemoved",
        "session/chatUpdated",
        "session/defaultChatChanged",
        "session/changesetsChanged",
    }
)
"""Actions about names of channels, which differ here."""


class MirroredConversation(NamedTuple):
    session: Channel[SessionState]
    chat: Channel[ChatState]
    changesets: dict[str, Channel[ChangesetState]]


class MirroredHost:
    """The mirror of one host, with what `agentnb.server` needs of a host. Runs on the host's thread."""

    client: HostClient
    """The connection, which is set before anything else is called."""

    def __init__(self, loop: HostLoop, name: str, look: dict[str, Any]) -> None:
        self.host_id: str = f"remote-{new_id()}"
        self.loop = loop
        self.conversations: dict[str, MirroredConversation] = {}
        self.listeners: list[Listener] = []
        self.refuse: Callable[[str, Action, ActionOrigin, str], None] = lambda *_: None
        self.snapshots_changed: Callable[[], None] = lambda: None
        self.seen: int | None = None
        self._name = name
        config = RootConfigState(schema={}, values={LOOK: look, REMOTE_HOST: {"name": name, "state": "connecting"}})
        self.root: Channel[RootState] = Channel(ROOT, RootState(agents=(), config=config), reduce_root, self.listeners)
        self._changesets: dict[str, dict[str, str]] = {}
        self.names: ChannelNames = ChannelNames()
        self.form: HostForm = HostForm(self._began)
        self.sessions: MirroredSessions = MirroredSessions(self)
        self._unanswered = Unanswered(self)
        self._older = OlderTurns(self)

    # --- what pages' common requests need (ChannelOwner) ---

    def listen(self, listener: Listener) -> None:
        """Call *listener* with every envelope that any channel accepts."""
        self.listeners.append(listener)

    def channel_or_none(self, uri: str) -> Channel[Any] | None:
        if uri == ROOT:
            return self.root
        conversation = self.conversations.get(session_of(uri))
        if conversation is None:
            return None
        known: dict[str, Channel[Any]] = {
            conversation.session.uri: conversation.session,
            conversation.chat.uri: conversation.chat,
            **conversation.changesets,
        }
        return known.get(uri)

    def find(self, channel: str) -> MirroredConversation:
        conversation = self.conversations.get(session_of(channel))
        if conversation is None:
            raise UnknownSession(f"The other host has no conversation {channel[:200]!r}.")
        return conversation

    async def follow(self, uri: str) -> None:
        """Mirror the channel *uri*, if the other host has it."""
        session = session_of(uri)
        if session not in self.names:
            return
        if session not in self.conversations:
            await self._mirror(session)
        if CHANGES in uri and self.channel_or_none(uri) is None:
            await self._mirror_changeset(session, uri)

    async def _mirror(self, session: str) -> None:
        theirs = self.names.theirs(session)
        result = await self.client.request("subscribe", {"channel": theirs})
        state = decode(SessionState, self.form.read(result["snapshot"]["state"]))
        chat_uri = state.default_chat or (state.chats[0].resource if state.chats else None)
        if chat_uri is None:
            raise UnknownSession(f"The conversation {state.title!r} has no chat.")
        self._changesets[session] = {each.change_kind: each.uri_template for each in state.changesets or ()}

        def take(result: Any) -> None:
            if session in self.conversations or session not in self.names:
                return
            self.names.keep(f"{session}/chat", chat_uri)
            chat = self._chat(result["snapshot"]["state"], f"{session}/chat")
            self.conversations[session] = MirroredConversation(
                Channel(session, _session(state, session), reduce_session, self.listeners),
                Channel(f"{session}/chat", chat, reduce_chat, self.listeners),
                {},
            )
            self._take_snapshots([result["snapshot"]])

        await self.client.request("subscribe", {"channel": chat_uri}, take)
        # The new snapshot contains the session's changes up to now.
        await self.client.request(
            "subscribe", {"channel": theirs}, lambda result: self._take_snapshots([result["snapshot"]])
        )
        if session in self.conversations:
            await self._older.fetch(self.conversations[session].chat)

    async def _mirror_changeset(self, session: str, uri: str) -> None:
        turn_id = uri.removeprefix(f"{session}{CHANGES}").removeprefix("/")
        template = self._changesets.get(session, {}).get("turn" if turn_id else "session")
        if template is None:
            return
        theirs = template.replace("{turnId}", turn_id)

        def take(result: Any) -> None:
            conversation = self.conversations.get(session)
            if conversation is not None:
                self.names.keep(uri, theirs)
                state = decode(ChangesetState, self.form.read(result["snapshot"]["state"]))
                conversation.changesets[uri] = Channel(uri, state, reduce_changeset, self.listeners)

        await self.client.request("subscribe", {"channel": theirs}, take)

    def _began(self, turn_id: str) -> str | None:
        turns = (find_turn(conversation.chat.state, turn_id) for conversation in self.conversations.values())
        return next((turn.started_at for turn in turns if turn is not None), None)

    def _chat(self, snapshot: dict[str, Any], uri: str) -> ChatState:
        self._older.keep_cursor(uri, snapshot)
        return replace(decode(ChatState, self.form.read(snapshot)), resource=uri)

    # --- what the other host says (Listener) ---

    @property
    def subscriptions(self) -> Sequence[str]:
        """Returns the channels that are mirrored, as the other host names them."""
        return [self.names.theirs(uri) for uri in self.names if self.channel_or_none(uri) is not None]

    def introduced(self, result: Any) -> None:
        """Take the answer to ``initialize`` or ``reconnect``."""
        self.form.take(result)
        for envelope in result.get("actions", ()):
            self._take(envelope)
        if "snapshots" in result:
            self._take_snapshots(result["snapshots"])
        if "serverSeq" in result:
            self.seen = int(result["serverSeq"])
        for uri in result.get("missing", ()):
            self.forget(self.names.find(uri))
        self.loop.spawn(self._catch_up())
        self._unanswered.send_again()

    async def _catch_up(self) -> None:
        try:
            await self.sessions.fetch()
            for conversation in tuple(self.conversations.values()):
                await self._older.fetch(conversation.chat)
        except ProtocolError as error:
            self.client.fail(error)
        except AgentnbError:
            return  # the connection was lost: the request is repeated later

    def notified(self, method: str, params: dict[str, Any]) -> None:
        match method:
            case "action":
                self._take(params)
            case "root/sessionAdded":
                self.sessions.set(decode(SessionSummary, self.form.read(params.get("summary"))))
            case "root/sessionSummaryChanged":
                self.sessions.change(params.get("session"), params.get("changes"))
            case "root/sessionRemoved":
                self.forget(self.names.find(str(params.get("session"))))

    def stands(self, state: LinkState, why: str) -> None:
        """Publish a new state of the connection."""
        status = {"name": self._name, "state": state} | ({"message": why} if why else {})
        self.root.accept(RootConfigChanged(config={REMOTE_HOST: status}, time=now_ms()))
        if state == "ended":
            self._unanswered.refuse_all(why)

    def _take(self, envelope: dict[str, Any]) -> None:
        try:
            seq = int(envelope["serverSeq"])
            uri = self.names.find(envelope["channel"])
            kind = str(envelope["action"]["type"])
        except (KeyError, TypeError, ValueError) as error:
            raise ProtocolError(f"The other host sent an action without {error}.") from error
        origin, reason = self._origin(envelope.get("origin")), envelope.get("rejectionReason")
        if reason is not None:
            if origin is not None:
                self._unanswered.refuse(origin.client_seq, str(reason)[:1_000])
            return
        self.seen = max(self.seen or 0, seq)
        mine = None if origin is None else self._unanswered.take(origin.client_seq)
        channel = None if uri is None else self.channel_or_none(uri)
        if channel is None or kind in _LEFT_OUT:
            return
        if kind == LOADED and not self.form.is_ours:
            self._older.take(channel, envelope["action"])
            return
        action = decode_action(self.form.read(envelope["action"]))
        if channel is self.root and not isinstance(action, (RootAgentsChanged, RootActiveSessionsChanged)):
            return
        channel.accept(action, _said_by(envelope.get("origin")) if mine is None else mine)

    def _origin(self, sent_origin: Any) -> ActionOrigin | None:
        """Returns the origin of an action of a page here; None if the action is from another client."""
        origin = _said_by(sent_origin)
        return origin if origin is not None and origin.client_id == self.client.client_id else None

    def _take_snapshots(self, snapshots: Sequence[dict[str, Any]]) -> None:
        for snapshot in snapshots:
            uri = self.names.find(str(snapshot["resource"]))
            self.seen = max(self.seen or 0, int(snapshot["fromSeq"]))
            channel = None if uri is None else self.channel_or_none(uri)
            if uri is None or channel is None:
                continue
            channel.restore(self._snapshot(channel, uri, snapshot["state"]), channel.index + 1)
            if isinstance(channel.state, ChatState):
                self._unanswered.take_known(channel)
        self.snapshots_changed()

    def _snapshot(self, channel: Channel[Any], uri: str, snapshot: Any) -> Any:
        match channel.state:
            case RootState() as root:
                state = decode(RootState, self.form.read(snapshot))
                return replace(root, agents=state.agents, active_sessions=state.active_sessions)
            case SessionState():
                return _session(decode(SessionState, self.form.read(snapshot)), uri)
            case ChatState() as before:
                cursor = self._older.cursors.get(uri)
                return self._older.merge(before, self._chat(snapshot, uri), cursor)
            case _:
                return decode(ChangesetState, self.form.read(snapshot))

    def forget(self, uri: str | None) -> None:
        """Remove a channel that no longer exists on the other host."""
        if uri is None or uri == ROOT:
            return
        session = session_of(uri)
        if uri not in {session, f"{session}/chat"}:
            if (conversation := self.conversations.get(session)) is not None:
                conversation.changesets.pop(uri, None)
            self.names.forget(uri)
            return
        self.conversations.pop(session, None)
        self._changesets.pop(session, None)
        theirs = self.names.theirs(session) if session in self.names else ""
        for each in [each for each in self.names if each != ROOT and session_of(each) == session]:
            self.names.forget(each)
        self._unanswered.refuse_all("The conversation was closed.", session)
        self.sessions.remove(session, theirs)

    # --- what pages want ---

    def carry_out(self, channel: str, action: Action, origin: ActionOrigin) -> None:
        if isinstance(action, RootConfigChanged) or not isinstance(action, DISPATCHABLE):
            raise Rejected("That can only be changed in the other host's own notebook.")
        if self.client.state == "ended":
            raise Rejected(f"There is no connection to {self._name}: {self.client.why}")
        self.names.theirs(channel)  # raises if there is none
        self.form.tell(action)
        self._unanswered.add(channel, action, origin)


def _session(state: SessionState, uri: str) -> SessionState:
    """Returns a session's state with our names of its channels."""
    return replace(
        state,
        chats=(),
        default_chat=None,
        changesets=changesets_of(uri) if state.changesets else None,
    )


def _said_by(origin: Any) -> ActionOrigin | None:
    return None if origin is None else decode(ActionOrigin, origin)
