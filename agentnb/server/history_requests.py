"""The requests about the conversations that the log has kept."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from agentnb.errors import SessionError
from agentnb.host.history.arrangement import arrange, delete, duplicate
from agentnb.host.history.restore import (
    LOG_OFF,
    had_kernel_tools,
    had_mode,
    kept,
    read_back,
    recorder_of,
    restore,
    spec_of,
)
from agentnb.log.location import VARIABLE
from agentnb.log.record import SessionRecord
from agentnb.log.search_index import SearchHit
from agentnb.server.messages import LARGEST, Moment
from agentnb.server.notices import HistoryNotices
from agentnb.server.request_table import Asker, request
from agentnb.server.session_requests import TabChannels, channels_of
from agentnb.state.wire import Count, Wire

if TYPE_CHECKING:
    from agentnb.host.host import Host
    from agentnb.log.record import TurnText
    from agentnb.log.store import Which

MAX_LISTED = 200
EXPORT_SECONDS = 120.0
PREVIEWED_TURNS = 5
PREVIEWED_CHARACTERS = 4_000
"""Of each prompt and each answer."""


class ListSessionsParams(Wire, frozen=True, kw_only=True):
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


@request("listSessions", ListSessionsParams, ListSessionsResult)
async def list_sessions(asker: Asker[Host], params: ListSessionsParams) -> ListSessionsResult:
    """List the sessions that the log has kept."""
    if asker.host.recorder is None:
        return ListSessionsResult(sessions=(), note=LOG_OFF)
    return await asyncio.to_thread(_listed, asker.host, params)


def _listed(host: Host, params: ListSessionsParams) -> ListSessionsResult:
    recorder = recorder_of(host)
    which: Which = {"limit": min(params.limit, MAX_LISTED), "offset": params.offset}
    which |= {"agent": params.agent, "since": params.since, "until": params.until}
    which |= {"state": params.state, "archived": params.archived}
    which |= {"cwd": str(Path.cwd())} if params.folder else {}
    which |= recorder.here() if params.here else {}
    found = recorder.store.find(params.search, **which)
    held = recorder.store.held(found.sessions)
    return ListSessionsResult(
        sessions=tuple(found.sessions),
        elsewhere=tuple(record.uri for record in found.sessions if record.uri in held),
        hits=found.hits if params.search else None,
        left=found.left or None,
        note=recorder.note or None,
    )


@request("resumeSession")
async def resume_session(asker: Asker[Host], *, channel: str) -> TabChannels:
    """Open a session of the log again.

    Args:
        channel: The session's channel.
    """
    host = asker.host
    stored = await asyncio.to_thread(lambda: read_back(recorder_of(host), channel))
    options = host.environment.default_options(spec_of(stored.record), Path(stored.record.cwd))
    mode = had_mode(stored, host.environment.default_mode())
    options = msgspec.structs.replace(options, mode=mode, kernel_tools=had_kernel_tools(stored) or options.kernel_tools)
    return channels_of(restore(host, stored, options))


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


@request("previewSession")
async def preview_session(asker: Asker[Host], *, channel: str) -> PreviewSessionResult:
    """Show the latest turns of a session of the log, as plain text.

    Nothing is opened and no agent starts, so that a session that another kernel has open can be read, too.

    Args:
        channel: The session's channel.
    """
    return await asyncio.to_thread(_preview, asker.host, channel)


def _preview(host: Host, uri: str) -> PreviewSessionResult:
    recorder = recorder_of(host)
    record = kept(recorder, uri)
    turns = recorder.store.latest_turns(uri, PREVIEWED_TURNS)
    return PreviewSessionResult(title=record.title, total=record.turns, turns=tuple(map(_turn, turns)))


def _turn(turn: TurnText) -> TurnPreview:
    prompt, answer = turn.prompt[:PREVIEWED_CHARACTERS], turn.answer[:PREVIEWED_CHARACTERS]
    cut = (prompt, answer) != (turn.prompt, turn.answer)
    return TurnPreview(number=turn.number, turn_id=turn.turn_id, prompt=prompt, answer=answer, cut=cut)


@request("watchSessions")
async def watch_sessions(asker: Asker[Host], *, on: bool) -> None:
    """Tell this page when sessions of the log change, or tell it no more.

    While it is on, the kernel says `sessionsChanged` a second, at most, after any kernel has changed something.

    Args:
        on: Whether to tell it.
    """
    await asker.service.notices(HistoryNotices, asker.host).watch(asker.client_id, on=on)


@request("updateSession")
async def update_session(
    asker: Asker[Host],
    *,
    channel: str,
    title: str | None = None,
    pinned: bool | None = None,
    archived: bool | None = None,
) -> None:
    """Rename a session of the log, pin it, archive it, or take that back.

    What is absent stays as it is. One that another kernel has open is renamed there only.

    Args:
        channel: The session's channel.
        title: Its new title: one line of at most 200 characters.
        pinned: Whether it stands before all others in lists.
        archived: Whether lists leave it out.
    """
    await arrange(
        asker.host,
        lambda recorder: kept(recorder, channel),
        title=title,
        pinned=pinned,
        archived=archived,
    )


class DuplicateSessionResult(Wire, frozen=True, kw_only=True):
    """The copy.

    Attributes:
        channel: Its channel.
        open: Whether it is open in a tab.
    """

    channel: str
    open: bool


@request("duplicateSession")
async def duplicate_session(asker: Asker[Host], *, channel: str) -> DuplicateSessionResult:
    """Copy a session of the log, so that it can go on in two ways.

    The answer has the copy's `channel`, and whether it is `open` in a tab: it is where the session is open here and its
    agent can copy it with its memory.

    Args:
        channel: The session's channel.
    """
    copied, is_open = await duplicate(asker.host, lambda recorder: kept(recorder, channel))
    return DuplicateSessionResult(channel=copied, open=is_open)


class ExportSessionParams(Wire, frozen=True, kw_only=True):
    """``exportSession``: a session of the log as a document.

    Attributes:
        channel: The session's channel.
        form: Markdown, one HTML page, JSON lines or a notebook.
    """

    channel: str
    form: Literal["md", "html", "jsonl", "ipynb"] = "md"


class ExportSessionResult(Wire, frozen=True, kw_only=True):
    """The document, without the credentials that are known here.

    Attributes:
        text: Its text.
    """

    text: str


@request("exportSession", ExportSessionParams, ExportSessionResult)
async def export_session(asker: Asker[Host], params: ExportSessionParams) -> ExportSessionResult:
    """Make a document of a session of the log."""
    return ExportSessionResult(text=await asyncio.to_thread(_exported, asker.host, params))


def _exported(host: Host, params: ExportSessionParams) -> str:
    """Made by the command that a shell uses: documents stand above this layer, and a long one takes a while."""
    recorder = recorder_of(host)
    tab_id = kept(recorder, params.channel).tab_id
    command = [sys.executable, "-m", "agentnb", "export", tab_id, "--to", params.form]
    env = {**os.environ, VARIABLE: str(recorder.store.path)}
    try:
        done = subprocess.run(command, env=env, capture_output=True, check=False, timeout=EXPORT_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f"The conversation could not be exported: {error}"
        raise SessionError(message, hint=f"Try `agentnb export {tab_id[:8]}` in a terminal.") from error
    if done.returncode != 0:
        why = done.stderr.decode("utf-8", "replace").strip().removeprefix("agentnb: ")
        raise SessionError(f"The conversation could not be exported: {why[-500:]}")
    return done.stdout.decode("utf-8", "replace")


@request("deleteSession")
async def delete_session(asker: Asker[Host], *, channel: str) -> None:
    """Delete a session from the log for good, with what its turns changed.

    It must not be open, here or in another kernel; a tab that was closed and can still be brought back is closed for
    good. What the agent itself keeps of it stays.

    Args:
        channel: The session's channel.
    """
    await delete(asker.host, lambda recorder: kept(recorder, channel))
