"""The kernel's answers and notifications to a page, as structs.

The kernel builds them as they go out (`agentnb.comm.service`, `agentnb.comm.client`); these structs say what they must
look like. ``docs/reference/protocol.md`` is written from them, and the contract tests hold both sides against them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from agentnb.host.environment import Suggestion
from agentnb.log.record import SessionRecord
from agentnb.state import Envelope, Turn
from agentnb.state.wire import Index, Time, Wire

Count = Annotated[int, msgspec.Meta(ge=0)]


class FromKernel(Wire, frozen=True, kw_only=True):
    """The envelope of everything that the kernel says.

    Attributes:
        v: The protocol's version, the one agreed on.
        to: The client it is for; every page hears it, the others pass it over.
        method: What it is about, in a notification.
        params: The notification's parameters; by position in `text`.
        id: Which request it answers.
        result: The answer.
        error: The answer where it is a no.
    """

    v: int
    to: str
    method: str | None = None
    params: dict[str, Any] | list[Any] | None = None
    id: int | str | None = None
    result: dict[str, Any] | None = None
    error: KernelError | None = None


class KernelError(Wire, frozen=True, kw_only=True):
    """A "no" to a request.

    Attributes:
        code: What kind of error, see the table of codes.
        message: What happened and what to do next, for people.
    """

    code: int
    message: str


class ChannelUpdate(Wire, frozen=True, kw_only=True):
    """What brings a page up to date on one channel: its whole state, or the envelopes that the page lacks.

    Attributes:
        snapshot: The state.
        from_index: The index at which the state is that; goes with `snapshot`.
        answered: The page's own actions (their ``clientSeq``) that are in the snapshot: no echo of them will come.
        earlier: How many of a chat's first turns the snapshot leaves out; `fetchTurns` gives them.
        gap: What of the state could not be recovered, and why; the view says so.
        replay: The envelopes that the page lacks, in order; where there is no snapshot.
    """

    snapshot: dict[str, Any] | None = None
    from_index: Count | None = None
    answered: tuple[Count, ...] | None = None
    earlier: Count | None = None
    gap: str | None = None
    replay: tuple[Envelope, ...] | None = None

    def __post_init__(self) -> None:
        if (self.snapshot is None) == (self.replay is None) or (self.snapshot is None) != (self.from_index is None):
            raise ValueError("Expected `snapshot` with `fromIndex`, or `replay`")


class InitializeResult(Wire, frozen=True, kw_only=True):
    """Who answers, in which version, and what the page lacks.

    Attributes:
        protocol_version: The version that both go on in: the highest that both speak.
        host_id: The host, one per kernel process; another one than before is a new kernel.
        capabilities: What the kernel can do beyond this page's version; empty so far.
        channels: What brings the page up to date, by channel: the root, and what it has seen before.
        drafts: What other windows have typed and not sent, by chat.
        time: What the kernel's clock shows, in milliseconds since 1970; the page's own may show something else.
        kernel: The kernel access of a new conversation whose page does not choose one: ``"off"`` or ``"run"``.
    """

    protocol_version: int
    host_id: str
    capabilities: dict[str, Any]
    channels: dict[str, ChannelUpdate]
    drafts: dict[str, str] | None = None
    time: Time | None = None
    kernel: Literal["off", "run"] | None = None


class SubscribeResult(Wire, frozen=True, kw_only=True):
    """The present state of each channel.

    Attributes:
        channels: What brings the page up to date, by channel.
        missing: The channels that there are not.
    """

    channels: dict[str, ChannelUpdate]
    missing: tuple[str, ...]


class CreateSessionResult(Wire, frozen=True, kw_only=True):
    """The new tab's channels; its agent starts in the background.

    Attributes:
        channel: The session's URI.
        chat: Its chat's URI.
    """

    channel: str
    chat: str


class ForkSessionResult(CreateSessionResult, frozen=True, kw_only=True):
    """The copy's channels; it is there, and its agent knows what was said.

    Attributes:
        channel: The session's URI.
        chat: Its chat's URI.
    """


class CompleteResult(Wire, frozen=True, kw_only=True):
    """The things that can be mentioned, the best first; empty if they are not found in time.

    Attributes:
        items: The suggestions.
    """

    items: tuple[Suggestion, ...]


class MentionPreview(Wire, frozen=True, kw_only=True):
    """One attachment that a draft's mention would give.

    Attributes:
        label: What names it.
        kind: `image`, `document`, `symbol` or `directory`.
        left_out: What is cut or left out, a sentence each.
        is_taken: Whether the agent takes it, as far as that is known.
        tokens: About how many tokens it has; absent for a file, which the agent reads itself.
        text: Its text, where it is told with its content.
        data: A picture in base64, where it is told with its content.
        content_type: The picture's media type.
    """

    label: str
    kind: str
    left_out: tuple[str, ...]
    is_taken: bool
    tokens: Count | None = None
    text: str | None = None
    data: str | None = None
    content_type: str | None = None


class PreviewMentionsResult(Wire, frozen=True, kw_only=True):
    """The attachments; none where the user's objects could not be looked at in time.

    Attributes:
        items: The attachments, in the order in which the agent gets them.
    """

    items: tuple[MentionPreview, ...]


class SuggestPromptsResult(Wire, frozen=True, kw_only=True):
    """The examples; empty outside of IPython, and if they are not found in time.

    Attributes:
        prompts: What could be sent.
    """

    prompts: tuple[str, ...]


class RefreshAgentsResult(Wire, frozen=True, kw_only=True):
    """Which agents are installed now.

    Attributes:
        installed: Their names in the catalogue.
    """

    installed: tuple[str, ...]


class CheckAgentResult(Wire, frozen=True, kw_only=True):
    """How an agent is.

    Attributes:
        state: `ready`, `missing` (not installed), `old`, `login` (it wants one) or `broken`.
        message: What was found, for people.
        version: What it says its version is.
        todo: The line to type, where something is to be done.
        start_ms: How long it took from its start to an open session, in milliseconds.
        models: The models that it offers, by name.
    """

    state: str
    message: str
    version: str | None = None
    todo: str | None = None
    start_ms: Count | None = None
    models: tuple[str, ...] | None = None


class FetchContentResult(Wire, frozen=True, kw_only=True):
    """The bytes are the message's one binary buffer.

    Attributes:
        uri: The reference's URI.
        offset: The first byte given, from 0.
        size: How many bytes there are in all.
    """

    uri: str
    offset: Count
    size: Count


class FetchModuleResult(Wire, frozen=True, kw_only=True):
    """The module; its text is the one buffer beside the message.

    Attributes:
        size: How long it is, in bytes.
    """

    size: Count


class FileEntry(Wire, frozen=True, kw_only=True):
    """One name in a folder.

    Attributes:
        name: The name; what in it is no text is replaced.
        kind: `file`, `folder`, `link` (wherever it leads), or `other`.
        modified: When it was changed last, in milliseconds since 1970.
        size: Of a file, in bytes.
    """

    name: str
    kind: Literal["file", "folder", "link", "other"]
    modified: int
    size: Count | None = None


class ListFilesResult(Wire, frozen=True, kw_only=True):
    """The contents of the folder: folders first, by name.

    Attributes:
        path: The folder, relative to the workspace.
        entries: What is in it.
        more: How many there are besides.
    """

    path: str
    entries: tuple[FileEntry, ...]
    more: Count


class ReadFileResult(Wire, frozen=True, kw_only=True):
    """The bytes are the message's one binary buffer; none where the range begins behind the file's end.

    Attributes:
        path: The file, relative to the workspace, links followed.
        offset: The first byte given, from 0.
        size: How many bytes the file has.
        modified: When it was changed last, in milliseconds since 1970; another one than before is another file.
    """

    path: str
    offset: Count
    size: Count
    modified: int


class ChangeConflict(Wire, frozen=True, kw_only=True):
    """Something that was changed since, in its three versions.

    Attributes:
        id: The change's id.
        path: The file's path in the workspace, the cell's or the variable's name; what `choices` names.
        base: The text that the operation expected; absent where there was nothing, or no text.
        current: The text that is there now, likewise.
        target: The text that the operation would put there, likewise.
        merged: The three merged, with conflict marks; absent where they are no texts.
    """

    id: str
    path: str
    base: str | None = None
    current: str | None = None
    target: str | None = None
    merged: str | None = None


class InvokeChangesetOperationResult(Wire, frozen=True, kw_only=True):
    """What came of it (AHP ``InvokeChangesetOperationResult``); the change sets' channels have the new states.

    Attributes:
        message: What was done, or why nothing was, in a sentence.
        conflicts: What changed since: nothing was done, and the request can be sent again with `choices`.
    """

    message: str
    conflicts: tuple[ChangeConflict, ...] | None = None


class ReadChangeResult(Wire, frozen=True, kw_only=True):
    """The bytes are the message's one binary buffer.

    Attributes:
        size: How many bytes there are in all.
        cut: Whether there are more behind those that are given.
        binary: Whether it is no text: it has a NUL among its first bytes, or is not UTF-8.
    """

    size: Count
    cut: bool
    binary: bool


class FetchTurnsResult(Wire, frozen=True, kw_only=True):
    """The turns, oldest first.

    Attributes:
        turns: The turns.
        has_more: Whether there are turns before them.
        earlier: How many there are before them.
        index: The chat's index at which they are so; what comes later for them is applied to them.
    """

    turns: tuple[Turn, ...]
    has_more: bool
    earlier: Count
    index: Count


class ListSessionsResult(Wire, frozen=True, kw_only=True):
    """The sessions, the latest first.

    Attributes:
        sessions: What the log says of each.
        elsewhere: The URIs of those that another kernel has open.
        hits: Where the searched text stands in turns, a few places for each session's URI, the latest first.
        left: How many older sessions could not be searched yet; the next search goes on. Absent where there are none.
        note: Why some may be missing: the log is off, or in trouble.
    """

    sessions: tuple[SessionRecord, ...]
    elsewhere: tuple[str, ...] | None = None
    hits: dict[str, tuple[SearchHit, ...]] | None = None
    left: Count | None = None
    note: str | None = None


class SearchHit(Wire, frozen=True, kw_only=True):
    """One place where a searched text stands.

    Attributes:
        number: The turn's number, 0 for the session's first.
        turn_id: Its id.
        where: Whether it stands in the prompt or in the answer.
        before: The text before it, on one line, cut.
        text: What was found, as it stands there.
        after: The text behind it, on one line, cut.
    """

    number: Count
    turn_id: str
    where: Literal["prompt", "answer"]
    before: str
    text: str
    after: str


class PreviewSessionResult(Wire, frozen=True, kw_only=True):
    """The latest turns, oldest first.

    Attributes:
        title: The session's title.
        total: How many turns it has.
        turns: The last of them.
    """

    title: str
    total: Count
    turns: tuple[TurnPreview, ...]


class TurnPreview(Wire, frozen=True, kw_only=True):
    """A turn as plain text.

    Attributes:
        number: Its number, 0 for the session's first.
        turn_id: Its id.
        prompt: What was asked, cut.
        answer: The agent's message text, cut.
        cut: Whether either is longer than what is given.
    """

    number: Count
    turn_id: str
    prompt: str
    answer: str
    cut: bool


class ResumeSessionResult(Wire, frozen=True, kw_only=True):
    """The tab's channels; its agent starts with the next prompt.

    Attributes:
        channel: The session's URI.
        chat: Its chat's URI.
    """

    channel: str
    chat: str


class DuplicateSessionResult(Wire, frozen=True, kw_only=True):
    """The copy.

    Attributes:
        channel: Its channel.
        open: Whether it is open in a tab.
    """

    channel: str
    open: bool


class ExportSessionResult(Wire, frozen=True, kw_only=True):
    """The document, without the credentials that are known here.

    Attributes:
        text: Its text.
    """

    text: str


class AgentSession(Wire, frozen=True, kw_only=True):
    """A session that an agent keeps itself.

    Attributes:
        id: The agent's id of it.
        title: Its title; empty where it has none.
        cwd: Its folder; empty where the agent does not say.
        modified_at: When something last happened in it, in milliseconds since 1970, if the agent says it.
    """

    id: str
    title: str
    cwd: str
    modified_at: int | None = None


class ListAgentSessionsResult(Wire, frozen=True, kw_only=True):
    """One page, as the agent orders them.

    Attributes:
        sessions: Those that the log does not have.
        cursor: Where the next page begins; absent where this is the last.
    """

    sessions: tuple[AgentSession, ...]
    cursor: str | None = None


class KeptStorage(Wire, frozen=True, kw_only=True):
    """How much of one kind, agent or folder is kept.

    Attributes:
        what: Which of these it is; the kinds add up to everything.
        name: The kind in words, the agent, or the workspace.
        bytes: How much.
        items: How many conversations, or files.
    """

    what: Literal["kind", "agent", "folder"]
    name: str
    bytes: Count
    items: Count


class MeasureStorageResult(Wire, frozen=True, kw_only=True):
    """What is kept.

    Attributes:
        path: The log's file.
        rows: The kinds, then agents and folders, the largest first.
    """

    path: str
    rows: tuple[KeptStorage, ...]


class ChangeStorageResult(Wire, frozen=True, kw_only=True):
    """What came of it.

    Attributes:
        message: In a sentence or some.
        count: How many conversations were deleted, or would be.
    """

    message: str
    count: Count


class SettingLayer(Wire, frozen=True, kw_only=True):
    """What another place says of a setting, and does not count.

    Attributes:
        source: The place.
        value: The value there, without secrets.
    """

    source: str
    value: Any


class SettingInfo(Wire, frozen=True, kw_only=True):
    """A setting as it is now.

    Attributes:
        name: Its name.
        title: What it is called, for people.
        about: What it does.
        kind: The kind of its value: `switch`, `choice`, `number`, `text`, `folder`, `agent`, `names` or `servers`.
        value: The value that counts; of MCP servers their names alone.
        source: Where that comes from: `%config`, `startup`, `environment`, `project`, `user` or `default`.
        where: The file or the variable; may be empty.
        below: What other places say, the one that would count next first.
        file: The user's file that a change is written to; empty where none can hold it.
        is_trait: Whether it can be set in this kernel alone.
        counts: When a change counts.
        choices: The values of a `choice`, each with what it is called.
        in_file: What the user's file says; absent where it says nothing.
    """

    name: str
    title: str
    about: str
    kind: str
    value: Any
    source: str
    where: str
    below: tuple[SettingLayer, ...]
    file: str
    is_trait: bool
    counts: str
    choices: tuple[tuple[str, str], ...]
    in_file: Any = None


class SettingsGroup(Wire, frozen=True, kw_only=True):
    """Settings that are shown together.

    Attributes:
        title: What they are about.
        settings: The settings, in the order in which they are shown.
    """

    title: str
    settings: tuple[SettingInfo, ...]


class PolicyRule(Wire, frozen=True, kw_only=True):
    """A rule of the user's policy file.

    Attributes:
        number: Its number there, 1 for the first.
        text: The rule on one line.
    """

    number: Count
    text: str


class AgentCommand(Wire, frozen=True, kw_only=True):
    """How an agent of the catalogue, or one of the user's own, is started.

    Attributes:
        name: Its name.
        title: What people read.
        line: Its command as one types it.
        variables: The names of the variables that the user's description sets; their values may be secret.
        file: The user's description; absent for one of the catalogue that the user has not changed.
        state: Changes whenever that file does.
        problem: Why the file cannot be read.
    """

    name: str
    title: str
    line: str
    variables: tuple[str, ...] = ()
    file: str | None = None
    state: str | None = None
    problem: str | None = None


class OfferedModel(Wire, frozen=True, kw_only=True):
    """A model that an agent offers in a conversation that is open.

    Attributes:
        agent: The agent's name.
        id: The model's id.
        name: What the agent calls it.
    """

    agent: str
    id: str
    name: str


class ListSettingsResult(Wire, frozen=True, kw_only=True):
    """The settings.

    Attributes:
        groups: The settings by group.
        problems: What is wrong with files and variables; that does not count.
        rules: The rules of the user's policy file.
        project_rules: Those of the project's, on one line each.
        trusted: The trusted folders.
        folder: The kernel's current folder.
        policy_file: The user's policy file.
        project_file: The project's.
        agents: How agents are started: the user's own first. Absent from a kernel of an older version.
        models: The models that can be hidden. Absent from a kernel of an older version.
    """

    groups: tuple[SettingsGroup, ...]
    problems: tuple[str, ...]
    rules: tuple[PolicyRule, ...]
    project_rules: tuple[str, ...]
    trusted: tuple[str, ...]
    folder: str
    policy_file: str
    project_file: str
    agents: tuple[AgentCommand, ...] | None = None
    models: tuple[OfferedModel, ...] | None = None


class ListFoldersResult(Wire, frozen=True, kw_only=True):
    """The folders in a folder.

    Attributes:
        path: The folder.
        folders: The names of those in it, without hidden ones.
        is_cut: Whether there are more.
        parent: The folder above it; absent where that is not listed.
    """

    path: str
    folders: tuple[str, ...]
    is_cut: bool
    parent: str | None = None


class ChangedResult(Wire, frozen=True, kw_only=True):
    """Whether it was changed.

    Attributes:
        confirm: The sentence that the user must confirm; nothing was changed then.
    """

    confirm: str | None = None


class TestPolicyResult(Wire, frozen=True, kw_only=True):
    """What would happen.

    Attributes:
        outcome: `allow`, `ask` or `deny`.
        message: That, and why, in sentences.
    """

    outcome: Literal["allow", "ask", "deny"]
    message: str


class EmptyResult(Wire, frozen=True, kw_only=True):
    """Done; there is nothing to say."""


class ActionsParams(Wire, frozen=True, kw_only=True):
    """``actions``: one flush, with what the page has not seen of all its channels.

    Attributes:
        flush: Its number, 1, 2, 3 …; to be acknowledged with `ack` once it is applied.
        envelopes: What happened, for each channel in the order of its index.
        snapshots: The whole state, by channel, where that is smaller or the log no longer reaches back.
    """

    flush: Count
    envelopes: tuple[Envelope, ...]
    snapshots: dict[str, ChannelUpdate] | None = None


class TextParams(msgspec.Struct, frozen=True, array_like=True):
    """``text``: a flush that only continues a text, to a page that said `accepts: ["text"]`. An array, in this order.

    It stands for one envelope with a `chat/delta` or `chat/reasoning`. Channel, type, turn and part are those of the
    last envelope of the flush `like`, the last `actions` that ended with one of these two. A page that does not have
    that flush says `resync`. Such flushes are acknowledged together, a second after the first.

    Attributes:
        flush: Its number, among those of `actions`.
        like: The number of the flush with the names.
        first: As in an envelope; the index where nothing was merged.
        index: As in an envelope.
        content: The text.
        time: The action's, in milliseconds since 1970.
    """

    flush: Count
    like: Count
    first: Index
    index: Index
    content: str
    time: Time | None = None


class PongParams(Wire, frozen=True, kw_only=True):
    """``pong``: the kernel is there.

    Attributes:
        host_id: The host; where it is not the page's, the page introduces itself to the new kernel.
        indexes: Where each channel is that the page follows; a page that is behind says so.
    """

    host_id: str
    indexes: dict[str, Count] | None = None


class KernelDraftParams(Wire, frozen=True, kw_only=True):
    """``draft``: what another window has typed in a chat and not sent; empty when there is nothing any more.

    Attributes:
        channel: The chat's URI.
        text: The text.
    """

    channel: str
    text: str


class SessionsChangedParams(Wire, frozen=True, kw_only=True):
    """``sessionsChanged``: sessions of the log have changed, in this kernel or another one; the list is to be fetched.

    Only pages that asked for it are told (`watchSessions`). Each names 200 channels, at most.

    Attributes:
        added: The channels of those that are new.
        removed: Those that were deleted.
        changed: Those in which something happened, or that were renamed, pinned or archived.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


class SettingsChangedParams(Wire, frozen=True, kw_only=True):
    """``settingsChanged``: settings, rules or trusted folders have changed; the list is to be fetched.

    Only pages that asked for it are told (`watchSettings`).
    """


class UnknownClientParams(Wire, frozen=True, kw_only=True):
    """``unknownClient``: the kernel does not know this page (any more); the page sends `initialize` again."""
