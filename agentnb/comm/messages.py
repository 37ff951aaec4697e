"""The messages between kernel and page: JSON-RPC 2.0 objects with the protocol's version, ``"v": 1``.

Everything that a page sends is decoded against these structs; what does not fit gets a JSON-RPC error (requests) or is
dropped and logged (notifications), and never breaks the channel. Additive fields are allowed within a version.

They travel on the host model's comm; what the JupyterLab extension says on its own is in `agentnb.comm.lab_messages`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from agentnb.json_rpc_codes import INVALID_PARAMS, METHOD_NOT_FOUND
from agentnb.policy.rules import Rule
from agentnb.state.versions import WINDOW

VERSION = WINDOW.current

LARGEST = 2**53 - 1
"""The largest number that a page can say exactly."""
Moment = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]

UNSUPPORTED_VERSION = -32010
UNKNOWN_CLIENT = -32011
REFUSED = -32012

ERRORS: dict[int, str] = {
    METHOD_NOT_FOUND: "There is no request of that name.",
    INVALID_PARAMS: "The parameters are not what the method takes; the message says which field, and why.",
    UNSUPPORTED_VERSION: "Page and kernel have no version in common; the message says which one to update.",
    UNKNOWN_CLIENT: "The client has not introduced itself: send `initialize` first.",
    REFUSED: "It was understood but cannot be done; the message says why and what to do next.",
}
"""The codes of errors, and what each means."""


class FromPage(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The envelope of everything that a page sends.

    Attributes:
        v: The protocol's version.
        client_id: Who speaks: one page's copy of the widget model (UUID).
        method: What it wants.
        params: The method's parameters.
        id: Present in a request, absent in a notification.
    """

    v: int
    client_id: str
    method: str
    params: msgspec.Raw = msgspec.Raw(b"{}")
    id: int | str | None = None


class InitializeParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``initialize``: a page is ready and says what it has seen.

    Attributes:
        protocol_versions: The versions that the page speaks.
        last_seen: The index that it has applied, by channel.
        host_id: The host that it spoke to before, if any.
        visible: Whether one of its views can be seen.
        accepts: What it reads beyond what any page of the version does: `text`, flushes in their short form.
    """

    protocol_versions: tuple[int, ...]
    last_seen: dict[str, int] = msgspec.field(default_factory=dict)
    host_id: str | None = None
    visible: bool = False
    accepts: tuple[str, ...] = ()


class SubscribeParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``subscribe``: follow these channels from their present state on.

    Attributes:
        channels: Their URIs.
    """

    channels: tuple[str, ...]


class UnsubscribeParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``unsubscribe``: follow these channels no more.

    Attributes:
        channels: Their URIs.
    """

    channels: tuple[str, ...]


class CreateSessionParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``createSession``: a new tab.

    Attributes:
        agent: The agent's name in the catalogue; the default one where absent.
        tab_id: The tab's id (UUID v4), made by the view.
        kernel: What the agent may do with the kernel: ``off``, ``look`` (read) or ``run``; as the settings say where
            absent.
    """

    agent: str | None = None
    tab_id: str | None = None
    kernel: Literal["off", "look", "run"] | None = None


class SuggestPromptsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``suggestPrompts``: examples for an empty conversation, made of the cells, tables and errors that there are.

    Attributes:
        channel: The session's or the chat's channel.
    """

    channel: str


class RefreshAgentsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``refreshAgents``: look again which agents are installed.

    The root channel tells where that has changed.
    """


class InstallAgentParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``installAgent``: run the command that installs an agent; the user saw it and agreed.

    The answer comes when it runs. How it goes is in the root channel, in the agent's `setup`, with what the command
    prints. One install runs at a time.

    Attributes:
        agent: The agent's name.
        command: The command as it was shown, the agent's `install`; another one than the kernel would run is refused.
    """

    agent: str
    command: str


class StopInstallParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``stopInstall``: end the install of an agent.

    Attributes:
        agent: The agent's name.
    """

    agent: str


class CheckAgentParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``checkAgent``: start an agent for a moment, open a session in an empty folder, and say how it is.

    One that is not installed is not started, also where npx or uvx could.

    Attributes:
        agent: The agent's name.
    """

    agent: str


class OpenSessionParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``openSession``: start the agent of a tab and open its session, before the first prompt.

    Someone is about to write there: the agent's commands, modes and options are wanted. The answer comes at once;
    how it goes is in the session's state. A session that is open, or is being opened, is left as it is.

    Attributes:
        channel: The session's or the chat's channel.
    """

    channel: str


class DisposeSessionParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``disposeSession``: close a tab and free the agent's session.

    Attributes:
        channel: The session's URI.
    """

    channel: str


class CompleteParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``complete``: what can stand after the ``@`` that is being typed.

    Attributes:
        channel: The session or chat whose prompt it is.
        start: What stands after the ``@`` so far.
    """

    channel: str
    start: str


class PreviewMentionsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``previewMentions``: what the mentions of a draft would attach, if it were sent now.

    Attributes:
        channel: The session or chat whose prompt it is.
        text: The draft, at most 100,000 characters.
        label: The attachment that is told with its content; absent: none.
    """

    channel: str
    text: Annotated[str, msgspec.Meta(max_length=100_000)]
    label: str | None = None


class RestartAgentParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``restartAgent``: start the agent of a session anew; the transcript stays.

    Attributes:
        channel: The session's or the chat's channel.
    """

    channel: str


class StopToolCallParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``stopToolCall``: stop the code that a tool call runs in the kernel, and only that; the turn goes on.

    Attributes:
        channel: The session's or the chat's channel.
        tool_call_id: The tool call, of the running turn.
    """

    channel: str
    tool_call_id: str


class RehearseToolCallParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``rehearseToolCall``: preview what a permission request is about; the tool call's details show it.

    Attributes:
        channel: The session's or the chat's channel.
        tool_call_id: The tool call that must be allowed, of the running turn.
        input: The command as the user has changed it, at most 100,000 characters; absent: as it is.
    """

    channel: str
    tool_call_id: str
    input: Annotated[str, msgspec.Meta(max_length=100_000)] | None = None


class ForkSessionParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``forkSession``: copy a session into a tab of its own, where its agent can (`agentProcess.fork`).

    What was said and what the agent knows are copied; both go their own ways from there.

    Attributes:
        channel: The session's or the chat's channel.
    """

    channel: str


class DraftParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``draft``: what is typed, and not sent, in a tab; empty when there is nothing.

    It is kept in memory for other windows and never logged: it may hold anything.

    Attributes:
        channel: The session's or the chat's channel.
        text: The text; one of more than 100,000 characters is ignored.
    """

    channel: str
    text: str


class FetchContentParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``fetchContent``: a range of large content, as the answer's one binary buffer.

    Attributes:
        channel: The chat's channel.
        uri: The reference's URI.
        offset: The first byte, from 0.
        length: How many bytes, at most; 262,144 are the most that are given at once.
    """

    channel: str
    uri: str
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0
    length: Annotated[int, msgspec.Meta(ge=1)] = 262_144


class FetchModuleParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``fetchModule``: a part of the front end that is not loaded at once, as the answer's one binary buffer.

    Attributes:
        name: Its name: `attention`, what calls the user; `cell-changes`, what follows changes of cells; `highlighting`,
            what colours code; `history`, the list of the log's conversations; or `math`, what draws formulas.
    """

    name: str


class ListFilesParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``listFiles``: what is in a folder of a session's workspace.

    Attributes:
        channel: The session's or the chat's channel.
        path: The folder, relative to the workspace or absolute.
    """

    channel: str
    path: str = "."


class ReadFileParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``readFile``: a range of a file of a session's workspace, or its first or last lines, as one binary buffer.

    Nothing outside the workspace is read, nothing that may hold secrets, and nothing of a file above 67,108,864 bytes.

    Attributes:
        channel: The session's or the chat's channel.
        path: The file, relative to the workspace or absolute.
        offset: The first byte, from 0.
        length: How many bytes, at most; 262,144 are the most that are given at once.
        head: How many of the range's first lines, if not all.
        tail: How many lines of the file's last `length` bytes, if not all; then `offset` does not count.
    """

    channel: str
    path: str
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0
    length: Annotated[int, msgspec.Meta(ge=1)] = 262_144
    head: Annotated[int, msgspec.Meta(ge=1)] | None = None
    tail: Annotated[int, msgspec.Meta(ge=1)] | None = None


class ChangeTarget(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One change of a change set (AHP ``ChangesetOperationTarget``).

    Attributes:
        kind: `resource`.
        resource: The change's id in its change set.
    """

    kind: Literal["resource"]
    resource: str


class InvokeChangesetOperationParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``invokeChangesetOperation``: undo, redo or keep changes (AHP ``invokeChangesetOperation``).

    Nothing that changed since is overwritten: texts are merged; where that is not possible nothing is done, and the
    answer has the conflicts. No turn may run in the workspace meanwhile.

    Attributes:
        changeset: The change set's channel: a turn's, or the conversation's.
        operation_id: What to do.
        target: The one change that is meant; all of the change set where absent.
        choices: What to do about conflicts, by their `path`: `mine` leaves it as it is now, `theirs` takes what the
            operation would make of it.
        onwards: With a turn's change set and `undo`: whether the changes of all later turns are undone, too.
    """

    changeset: str
    operation_id: Literal["undo", "redo", "keep", "apply"]
    target: ChangeTarget | None = None
    choices: dict[str, Literal["mine", "theirs"]] = msgspec.field(default_factory=dict)
    onwards: bool = False


class ReadChangeParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``readChange``: a range of what one side of a change holds, as the answer's one binary buffer.

    Attributes:
        changeset: The change set's channel.
        id: The change's id in it.
        side: `before` or `after` the change, or `now`: a file as it is in the workspace.
        first: The first byte, from 0.
        length: How many bytes, at most; 262,144 are the most that are given at once.
    """

    changeset: str
    id: str
    side: Literal["before", "after", "now"]
    first: Annotated[int, msgspec.Meta(ge=0)] = 0
    length: Annotated[int, msgspec.Meta(ge=1)] = 262_144


class FetchTurnsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``fetchTurns``: older turns of a chat (AHP ``fetchTurns``).

    Attributes:
        channel: The chat's channel.
        before: The turn that they come right before; the end of the chat where absent.
        limit: How many, at most; 100 are the most that are given at once.
    """

    channel: str
    before: str | None = None
    limit: int = 50


class ListSessionsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``listSessions``: the sessions that the log has kept, the latest first.

    All that are given must hold.

    Attributes:
        search: What is to be found in titles, prompts, answers, agents or folders.
        here: Only those that were begun in this notebook, or in this folder where no notebook is known.
        folder: Only those whose workspace is the kernel's folder.
        agent: Only those of this agent, by its name in the catalogue.
        since: Only those in which something happened at this moment or later, in milliseconds since 1970.
        until: Only those in which nothing has happened from this moment on, in milliseconds since 1970.
        state: Only those in which a turn runs, or waits for an answer, or whose last turn failed.
        archived: Only those that are archived; otherwise only those that are not.
        limit: How many, at most; 200 are the most that are given at once.
        offset: How many to pass over.
    """

    search: str = ""
    here: bool = False
    folder: bool = False
    agent: str | None = None
    since: Moment | None = None
    until: Moment | None = None
    state: Literal["", "running", "needs-you", "failed"] = ""
    archived: bool = False
    limit: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)] = 50
    offset: Moment = 0


class PreviewSessionParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``previewSession``: the latest turns of a session of the log, as plain text.

    Nothing is opened and no agent starts, so that a session that another kernel has open can be read, too.

    Attributes:
        channel: The session's channel.
    """

    channel: str


class WatchSessionsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``watchSessions``: tell this page when sessions of the log change, or tell it no more.

    While it is on, the kernel says `sessionsChanged` a second, at most, after any kernel has changed something.

    Attributes:
        on: Whether to tell it.
    """

    on: bool


class UpdateSessionParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``updateSession``: rename a session of the log, pin it, archive it, or take that back.

    What is absent stays as it is. One that another kernel has open is renamed there only.

    Attributes:
        channel: The session's channel.
        title: Its new title: one line of at most 200 characters.
        pinned: Whether it stands before all others in lists.
        archived: Whether lists leave it out.
    """

    channel: str
    title: str | None = None
    pinned: bool | None = None
    archived: bool | None = None


class DuplicateSessionParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``duplicateSession``: copy a session of the log, so that it can go on in two ways.

    The answer has the copy's `channel`, and whether it is `open` in a tab: it is where the session is open here and its
    agent can copy it with its memory.

    Attributes:
        channel: The session's channel.
    """

    channel: str


class ExportSessionParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``exportSession``: a session of the log as a document.

    Attributes:
        channel: The session's channel.
        form: Markdown, one HTML page, JSON lines or a notebook.
    """

    channel: str
    form: Literal["md", "html", "jsonl", "ipynb"] = "md"


class ListSettingsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``listSettings``: every setting, where its value comes from, the policy's rules and the trusted folders."""


class WatchSettingsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``watchSettings``: tell this page when what `listSettings` answers changes, or tell it no more.

    While it is on, the kernel says `settingsChanged` a second, at most, after a file or `%config` has changed.

    Attributes:
        on: Whether to tell it.
    """

    on: bool


class ListFoldersParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``listFolders``: the folders in a folder of the home or the kernel's folder, to choose one.

    Attributes:
        path: The folder, absolute or with ``~/``; empty for the kernel's current one.
    """

    path: Annotated[str, msgspec.Meta(max_length=4_000)] = ""


class ChangeSettingParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``changeSetting``: the user changes a setting in the page.

    What would let agents do more is answered with a sentence to confirm, and changed when that comes back.

    Attributes:
        name: The setting's name.
        value: Its new value; null removes what is written in the user's file, or said in this kernel.
        here: Whether it holds in this kernel alone; else it is written into the user's file.
        was: What the file said when the user decided, with `checks`; null where it said nothing.
        checks: Whether `was` must still be so.
        confirmed: The sentence that the user confirmed.
    """

    name: str
    value: Any = None
    here: bool = False
    was: Any = None
    checks: bool = False
    confirmed: str = ""


class McpServerChange(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """An MCP server as the page's user types it.

    Attributes:
        line: Its command with its arguments, as one types it in a shell, or its address. No shell reads it.
        env: Variables for the command, by name.
    """

    line: Annotated[str, msgspec.Meta(max_length=4_000)]
    env: dict[str, str] = msgspec.field(default_factory=dict)


class ChangeMcpServerParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``changeMcpServer``: add one MCP server to those of the settings, or remove one; the others stay as they are.

    A new one is answered with a sentence to confirm, and added when that comes back.

    Attributes:
        name: What agents call it.
        server: The server; absent to remove the one of that name.
        here: Whether it holds in this kernel alone; else it is written into the user's file.
        confirmed: The sentence that the user confirmed.
    """

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    server: McpServerChange | None = None
    here: bool = False
    confirmed: str = ""


class OwnAgentChange(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """An agent as the page's user describes it.

    Attributes:
        line: Its command with its arguments, as one types it in a shell. No shell reads it.
        env: Variables for it, by name, all that it is to have; null keeps the value that it has, which no page is told.
    """

    line: Annotated[str, msgspec.Meta(max_length=4_000)]
    env: dict[str, str | None] = msgspec.field(default_factory=dict)


class ChangeOwnAgentParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``changeOwnAgent``: write an agent's description into the user's folder, or remove it from there.

    What runs another program is answered with a sentence to confirm, and written when that comes back.

    Attributes:
        name: The agent's name; one of the catalogue's is replaced by a description that is based on it.
        agent: The agent; absent to remove the user's description of that name.
        state: The `state` of the description that the user saw; empty where there was none.
        confirmed: The sentence that the user confirmed.
    """

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    agent: OwnAgentChange | None = None
    state: str = ""
    confirmed: str = ""


class ChangePolicyParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``changePolicy``: the user changes a rule or a trusted folder of the own policy file in the page.

    What would let agents do more is answered with a sentence to confirm, and changed when that comes back.

    Attributes:
        action: What to do: ``add`` or ``remove`` a rule, ``trust`` or ``untrust`` a folder.
        rule: The rule to add, with the keys of a policy file.
        number: The number of the rule to remove, 1 for the first.
        text: That rule on one line, as it was listed.
        folder: The folder, absolute or with ``~/``.
        confirmed: The sentence that the user confirmed.
    """

    action: Literal["add", "remove", "trust", "untrust"]
    rule: Rule | None = None
    number: int | None = None
    text: str = ""
    folder: str = ""
    confirmed: str = ""


class TestPolicyParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``testPolicy``: what would happen if an agent wanted to run a command, or to use a file; nothing is run.

    Attributes:
        command: A command line; empty for none.
        path: A file, relative to the workspace or absolute.
        tool: What the agent would do with that file.
        agent: The agent; the default one where empty.
    """

    command: str = ""
    path: str = ""
    tool: str = "edit"
    agent: str = ""


class ListAgentSessionsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``listAgentSessions``: the sessions that an agent keeps itself and the log does not have (ACP ``session/list``).

    The agent is started for it where it does not run.

    Attributes:
        agent: Its name in the catalogue.
        everywhere: Those of all folders; otherwise those of the kernel's folder.
        cursor: Where the page begins: the `cursor` of the page before.
    """

    agent: str
    everywhere: bool = False
    cursor: str | None = None


class OpenAgentSessionParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``openAgentSession``: open a session that an agent keeps itself, in a tab of its own (ACP ``session/load``).

    From then on the log keeps it, too. Its folder becomes the workspace: it must be in the kernel's folder, or one in
    which the log has conversations.

    Attributes:
        agent: The agent's name in the catalogue.
        id: The agent's id of the session.
        cwd: Its folder, as the agent says; the kernel's where absent.
        title: Its title, as the agent says.
    """

    agent: str
    id: str
    cwd: str | None = None
    title: str | None = None


class MeasureStorageParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``measureStorage``: how much agentnb keeps on disk, by kind, agent and folder."""


class ChangeStorageParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``changeStorage``: compact, check, repair, export or import the log, or delete conversations of it.

    By their age or size, or all of them. Open ones stay; pinned ones do, too, except where all are deleted.

    Attributes:
        action: What to do.
        older_than_days: With `remove`: conversations in which nothing has happened for so many days.
        larger_than: With `remove`, in the place of the age: the oldest ones, until the data of the others is no more
            than this, as `2G`.
        dry_run: With `remove` and `deleteAll`: only say how many.
        path: With `export` and `import`: the file where the kernel runs, absolute or with `~/`; a new one to export.
    """

    action: Literal["compact", "check", "repair", "export", "import", "remove", "deleteAll"]
    older_than_days: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 90
    larger_than: Annotated[str, msgspec.Meta(max_length=40)] = ""
    dry_run: bool = True
    path: Annotated[str, msgspec.Meta(max_length=4_000)] = ""


class DeleteSessionParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``deleteSession``: delete a session from the log for good, with what its turns changed.

    It must not be open, here or in another kernel; a tab that was closed and can still be brought back is closed for
    good. What the agent itself keeps of it stays.

    Attributes:
        channel: The session's channel.
    """

    channel: str


class ResumeSessionParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``resumeSession``: open a session of the log again.

    Attributes:
        channel: The session's channel.
    """

    channel: str


class DispatchParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``dispatchAction``: a client's action, applied there already.

    Attributes:
        client_seq: The client's own number for it; comes back in the envelope's origin.
        channel: Where to.
        action: What (AHP action).
    """

    client_seq: int
    channel: str
    action: dict[str, Any]


class AckParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``ack``: a flush was applied.

    Attributes:
        flush: The flush's number.
        seen: The index now applied, by channel.
    """

    flush: int
    seen: dict[str, int] = msgspec.field(default_factory=dict)


class ResyncParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``resync``: something is missing; send again what follows.

    Attributes:
        seen: The index that the page has applied, by channel.
    """

    seen: dict[str, int]


class VisibilityParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``visibility``: whether any view of this client can be seen; a hidden one gets the root channel only.

    Attributes:
        visible: Whether one can.
    """

    visible: bool


class PingParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``ping``: the page is there; the kernel answers `pong`."""


class LeaveParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``leave``: the page goes away, or loads anew; unless one comes back within a minute, nobody is there."""


def response(request_id: int | str, result: Any) -> dict[str, Any]:
    """A JSON-RPC answer."""
    return {"jsonrpc": "2.0", "v": VERSION, "id": request_id, "result": result}


def failure(request_id: int | str | None, code: int, message: str) -> dict[str, Any]:
    """A JSON-RPC error answer."""
    return {"jsonrpc": "2.0", "v": VERSION, "id": request_id, "error": {"code": code, "message": message}}


def notification(method: str, params: dict[str, Any] | list[Any]) -> dict[str, Any]:
    """A JSON-RPC notification."""
    return {"jsonrpc": "2.0", "v": VERSION, "method": method, "params": params}
