"""What a page asks about kept conversations and the room that they take, and the kernel's answers, as structs."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from agentnb.comm.answers import Count
from agentnb.comm.messages import LARGEST, Moment
from agentnb.log.record import SessionRecord
from agentnb.state.wire import Wire


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
